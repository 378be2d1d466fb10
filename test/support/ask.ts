interface Addressed {
  /** Without a slash at the end. */
  readonly url: string;
}

type Fields = Readonly<Record<string, string>>;

/** The request of a GraphQL operation by POST, for fetch(). */
export function graphqlRequest(query: string, variables: object = {}, headers: Fields = {}) {
  return {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ query, variables }),
  };
}

/** Asks a service by GraphQL. */
export async function askGraphql(
  { url }: Addressed,
  query: string,
  variables: object = {},
  headers: Fields = {},
) {
  const response = await fetch(`${url}/graphql`, graphqlRequest(query, variables, headers));
  const text = await response.text();
  const { data, errors, extensions } = JSON.parse(text);
  return { status: response.status, fields: response.headers, text, data, errors, extensions };
}

/** Asks a service by REST. The body of what is not JSON is undefined. @param path After `/api/v1`. */
export async function askRest({ url }: Addressed, path: string, headers: Fields = {}) {
  const response = await fetch(`${url}/api/v1${path}`, { headers });
  const text = await response.text();
  const isJson = /[/+]json;/.test(response.headers.get('content-type') ?? '') && text !== '';
  const body = isJson ? JSON.parse(text) : undefined;
  return { status: response.status, fields: response.headers, text, body };
}

/** The path and query of the page that follows; undefined: there is none. */
export function nextPageOf(fields: Headers): string | undefined {
  return /^<(\/[^>]*)>; rel="next"$/.exec(fields.get('link') ?? '')?.[1];
}
