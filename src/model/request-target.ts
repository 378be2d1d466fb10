/** A request with its target (RFC 9112, section 3.2.1), percent-encoded as it came. */
interface Targeted {
  readonly url?: string | undefined;
}

export function pathOf({ url = '' }: Targeted): string {
  return url.replace(/\?.*/s, '');
}

/** The query of a request with its question mark; '' if there is none. */
export function searchOf({ url = '' }: Targeted): string {
  return url.slice(pathOf({ url }).length);
}
