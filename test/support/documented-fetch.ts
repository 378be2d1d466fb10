import { exchangeRaw, type RawResponse } from './raw-http.js';

/** Where REST v1 is, of the services whose answers are looked at. */
const apis = new Set<string>();

const API = '/api/v1';

/** What describes the operations is none of them. */
const DOCUMENTS = [`${API}/openapi.json`, `${API}/docs`];

/**
 * From now on, whatever a test asks of a service's REST v1 by fetch() must be answered as the OpenAPI
 * document says, rejections and failures too: fetch() rejects otherwise.
 *
 * @param url The service's, with the base path.
 * @returns what ends it: the port may be another program's then, and test files share a process.
 */
export function requireDocumentedAnswers(url: string): () => void {
  if (globalThis.fetch === fetchAnything) globalThis.fetch = fetchDocumented;
  apis.add(url + API);
  return () => apis.delete(url + API);
}

const fetchAnything = globalThis.fetch;

async function fetchDocumented(...[input, init]: Parameters<typeof fetch>): Promise<Response> {
  const response = await fetchAnything(input, init);
  const { origin, pathname } = new URL(response.url);
  const service = [...apis].find((candidate) => isUnder(candidate, origin + pathname))?.slice(0, -API.length);
  if (service === undefined) return response;
  const method = init?.method ?? (input instanceof Request ? input.method : 'GET');
  await requireDocumented(method, (origin + pathname).slice(service.length), response);
  return response;
}

function isUnder(api: string, url: string): boolean {
  return url === api || url.startsWith(`${api}/`);
}

/**
 * Holds a response against the OpenAPI document, however it was asked for; what does not ask REST v1 may be
 * answered in any way.
 *
 * @param path Without the base path and the query.
 * @throws Error that says what is not as documented.
 */
export async function requireDocumented(method: string, path: string, response: Response): Promise<void> {
  if (!isUnder(API, path) || DOCUMENTS.includes(path)) return;
  const { status, headers } = response;
  // A stream has no end. Where the body breaks off, the test itself will meet it.
  const isStream = headers.get('content-type')?.startsWith('text/event-stream') === true;
  const copy = response.clone();
  const body = isStream ? '' : await copy.text().catch(() => null);
  if (body === null) return;
  // Most test files never ask REST.
  const { violationsOf } = await import('./documented.js');
  const violations = violationsOf({ method, path: path.slice(API.length), status, headers, body });
  if (violations.length > 0) {
    throw new Error(`${method} ${path} is not answered as documented:\n${violations.join('\n')}\n${body}`);
  }
}

/** The response to a request as it is; what REST answers must be documented. @param octets In Latin-1. */
export async function askRaw(port: number, octets: string): Promise<RawResponse> {
  const response = await exchangeRaw(port, Buffer.from(octets, 'latin1'));
  const [, method = '', target = ''] = /^(\S+) (\S+) /.exec(octets) ?? [];
  const path = target.replace(/^https?:\/\/[^/]*/i, '').replace(/[?#].*$/s, '');
  await requireDocumented(method, path, responseOf(response));
  return response;
}

export function responseOf({ status, fields, body }: RawResponse): Response {
  return new Response(body === '' ? null : body, { status, headers: [...fields] });
}
