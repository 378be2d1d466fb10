import { requireDocumented } from './documented-fetch.js';
import { exchangeRaw, type RawResponse } from './raw-http.js';

/** The response to a request as it is; what REST answers must be documented. @param octets In Latin-1. */
export async function askRaw(port: number, octets: string): Promise<RawResponse> {
  const response = await exchangeRaw(port, Buffer.from(octets, 'latin1'));
  await requireDocumentedRaw(octets, response);
  return response;
}

/**
 * Holds what a service has answered to octets against the OpenAPI document, where they ask its REST v1.
 *
 * @param octets What was sent, beginning with a request line.
 * @throws Error that says what is not as documented.
 */
async function requireDocumentedRaw(octets: string, response: RawResponse): Promise<void> {
  const [, method = '', target = ''] = /^(\S+) (\S+) /.exec(octets) ?? [];
  await requireDocumented(method, pathOf(target), responseOf(response));
}

/** A raw response as fetch() would give it. */
export function responseOf({ status, fields, body }: RawResponse): Response {
  return new Response(body === '' ? null : body, { status, headers: [...fields] });
}

/** Of a target in whichever form: without origin, query and fragment. */
function pathOf(target: string): string {
  return target.replace(/^https?:\/\/[^/]*/i, '').replace(/[?#].*$/s, '');
}
