import supertest from 'supertest';

interface Addressed {
  /** Without a slash at the end. */
  readonly url: string;
}

type Fields = Readonly<Record<string, string>>;

export function graphqlRequest(query: string, variables: object = {}, headers: Fields = {}) {
  return {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ query, variables }),
  };
}

export async function askGraphql(
  { url }: Addressed,
  query: string,
  variables: object = {},
  headers: Fields = {},
) {
  const response = await supertest(url).post('/graphql').set(headers).send({ query, variables });
  const { status, text } = response;
  const { data, errors, extensions } = JSON.parse(text);
  return { status, fields: new Headers(response.headers), text, data, errors, extensions };
}

/** Asks a service by REST. The body of what is not JSON is undefined. @param path After `/api/v1`. */
export async function askRest({ url }: Addressed, path: string, headers: Fields = {}) {
  const response = await supertest(url).get(`/api/v1${path}`).set(headers).buffer();
  const { status, text = '' } = response;
  const fields = new Headers(response.headers);
  const isJson = /[/+]json;/.test(fields.get('content-type') ?? '') && text !== '';
  return { status, fields, text, body: isJson ? JSON.parse(text) : undefined };
}

/** The path and query of the page that follows; undefined: there is none. */
export function nextPageOf(fields: Headers): string | undefined {
  return /^<(\/[^>]*)>; rel="next"$/.exec(fields.get('link') ?? '')?.[1];
}
