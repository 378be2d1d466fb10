/** By name: without a value the parameter is omitted, with a list it is there for each. */
export type QueryParameters = Readonly<Record<string, string | readonly string[] | undefined>>;

export function queryOf(parameters: QueryParameters): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, value = []] of Object.entries(parameters)) {
    for (const text of [value].flat()) query.append(name, text);
  }
  return query;
}

/** @param request With its target (RFC 9112, section 3.2.1), percent-encoded as it came. */
export function pathOf({ url = '' }: { readonly url?: string | undefined }): string {
  return url.replace(/\?.*/s, '');
}

/** With its question mark. */
export function searchOf(request: { readonly url?: string | undefined }): string {
  return (request.url ?? '').slice(pathOf(request).length);
}
