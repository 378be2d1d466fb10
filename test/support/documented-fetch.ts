/** Where REST v1 is, of the services whose answers are looked at. */
const apis = new Set<string>();

/** What describes the operations is none of them. */
const DOCUMENTS = ['/openapi.json', '/docs'];

/**
 * From now on, whatever a test asks of a service's REST v1 by fetch() must be answered as the OpenAPI
 * document says, refusals and failures too: fetch() rejects otherwise.
 *
 * @param url The service's, with the base path.
 */
export function requireDocumentedAnswers(url: string): void {
  if (apis.size === 0) globalThis.fetch = fetchDocumented;
  apis.add(`${url}/api/v1`);
}

const fetchAnything = globalThis.fetch;

async function fetchDocumented(...[input, init]: Parameters<typeof fetch>): Promise<Response> {
  const response = await fetchAnything(input, init);
  const { origin, pathname } = new URL(response.url);
  const api = [...apis].find((candidate) => isUnder(candidate, origin + pathname));
  const path = (origin + pathname).slice(api?.length);
  if (api === undefined || DOCUMENTS.includes(path)) return response;
  const method = init?.method ?? (input instanceof Request ? input.method : 'GET');
  await requireDocumented(method, path, response);
  return response;
}

function isUnder(api: string, url: string): boolean {
  return url === api || url.startsWith(`${api}/`);
}

async function requireDocumented(method: string, path: string, response: Response): Promise<void> {
  const { status, headers } = response;
  // Where the body breaks off, the test itself will meet it.
  const body = await response
    .clone()
    .text()
    .catch(() => null);
  if (body === null) return;
  // Most test files never ask REST.
  const { violationsOf } = await import('./documented.js');
  const violations = violationsOf({ method, path, status, headers, body });
  if (violations.length > 0) {
    throw new Error(`${method} ${path} is not answered as documented:\n${violations.join('\n')}\n${body}`);
  }
}
