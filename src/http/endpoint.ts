import type { IncomingMessage, ServerResponse } from 'node:http';
import { DEFAULT_FIELDS, REQUEST_ID_FIELD, requestIdOf } from './response-fields.js';

/**
 * Answers a request that is for it, and says whether it was. What stands before everything else: it is
 * neither authenticated, limited nor logged.
 */
export type Endpoint = (request: IncomingMessage, response: ServerResponse) => boolean;

/** A whole answer. */
export interface TextAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly contentType: string;
  readonly text: string;
}

/** The media type of JSON, as all answers declare it. */
export const JSON_TYPE = 'application/json; charset=utf-8';

/** The path of a request, without the query. */
export function pathOf({ url = '' }: IncomingMessage): string {
  const query = url.indexOf('?');
  return query === -1 ? url : url.slice(0, query);
}

/** Sends an answer that no cache keeps, to GET and HEAD; other methods are rejected. */
export function sendText(request: IncomingMessage, response: ServerResponse, answer: TextAnswer): void {
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

/** Answers a request that nothing else has answered, where there are only endpoints. */
export function nothingHere(request: IncomingMessage, response: ServerResponse): void {
  const text =
    '{"status":"refused","reason":"There is nothing at this path: ask for /livez, /readyz or /metrics."}\n';
  sendText(request, response, { status: 404, headers: {}, contentType: JSON_TYPE, text });
}

function allowed({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD';
}

const METHOD_NOT_ALLOWED: TextAnswer = {
  status: 405,
  headers: { allow: 'GET, HEAD' },
  contentType: JSON_TYPE,
  text: '{"status":"refused","reason":"Method not allowed: use GET or HEAD."}\n',
};
