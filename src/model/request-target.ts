/** A request with its target (RFC 9112, section 3.2.1), percent-encoded as it came. */
interface Targeted {
  readonly url?: string | undefined;
}

/** The parameters of a query, by name: without a value it is left out, with a list it is there for each. */
export type QueryParameters = Readonly<Record<string, string | readonly string[] | undefined>>;

export function queryOf(parameters: QueryParameters): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, value = []] of Object.entries(parameters)) {
    for (const text of [value].flat()) query.append(name, text);
  }
  return query;
}

export function pathOf({ url = '' }: Targeted): string {
  return url.replace(/\?.*/s, '');
}

/** The query of a request with its question mark; '' if there is none. */
export function searchOf({ url = '' }: Targeted): string {
  return url.slice(pathOf({ url }).length);
}
