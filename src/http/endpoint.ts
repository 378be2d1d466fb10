import type { IncomingMessage, ServerResponse } from 'node:http';
import { methodNotAllowed } from '../model/errors.js';
import { DEFAULT_FIELDS, REQUEST_ID_FIELD, requestIdOf } from './response-fields.js';

/**
 * Handles a request that is for it, and returns whether it was. Endpoints come before everything else: they are
 * neither authenticated, limited nor logged.
 */
export type Endpoint = (request: IncomingMessage, response: ServerResponse) => boolean;

/** A whole response. */
interface TextResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly contentType: string;
  readonly text: string;
}

/** The media type of JSON, as all responses declare it. */
export const JSON_TYPE = 'application/json; charset=utf-8';

/** The path of a request, without the query. */
export function pathOf({ url = '' }: IncomingMessage): string {
  const query = url.indexOf('?');
  return query === -1 ? url : url.slice(0, query);
}

/** Sends a response that is not cached, to GET and HEAD; other methods are rejected. */
export function sendText(request: IncomingMessage, response: ServerResponse, answer: TextResponse): void {
  if (response.headersSent) return;
  const { status, headers, contentType, text } = allowed(request) ? answer : METHOD_NOT_ALLOWED;
  response.writeHead(status, {
    ...DEFAULT_FIELDS,
    [REQUEST_ID_FIELD]: requestIdOf(request.headers),
    ...headers,
    'content-type': contentType,
    'content-length': Buffer.byteLength(text),
  });
  response.end(text);
}

/** Rejects a request that no endpoint has handled, on a port with nothing but endpoints. */
export function nothingHere(request: IncomingMessage, response: ServerResponse): void {
  const text =
    '{"status":"rejected","reason":"There is nothing at this path: use /livez, /readyz or /metrics."}\n';
  sendText(request, response, { status: 404, headers: {}, contentType: JSON_TYPE, text });
}

function allowed({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD';
}

const METHOD_NOT_ALLOWED: TextResponse = {
  status: 405,
  headers: { allow: 'GET, HEAD' },
  contentType: JSON_TYPE,
  text: `{"status":"rejected","reason":"${methodNotAllowed('GET or HEAD')}"}\n`,
};
