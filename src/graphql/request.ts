import type { IncomingMessage, ServerResponse } from 'node:http';
import { HeaderMap } from '@apollo/server';
import express from 'express';
import { GraphQLError } from 'graphql';
import Negotiator from 'negotiator';
import { nextTurn } from '../limits/turns.js';
import { ClientGoneError, methodNotAllowed } from '../model/errors.js';
import { memoized } from '../model/memoized.js';
import { EVENTS, PARTS, type StreamFormat } from './event-stream.js';

/** An error of a request that is not executed, with the status and header fields of its response. */
export function rejection(
  status: number,
  code: string,
  message: string,
  fields: Readonly<Record<string, string>> = {},
): GraphQLError {
  const http = { status, headers: new HeaderMap(Object.entries(fields)) };
  return new GraphQLError(message, { extensions: { code, http } });
}

export const JSON_RESPONSE = 'application/json; charset=utf-8';

/** In order of preference where the client has none. */
const OF_RESPONSE = [JSON_RESPONSE, 'application/graphql-response+json; charset=utf-8'];

/** For GET: a browser prefers the page. Clients that list multipart/mixed first do not. */
const WITH_PAGE = [...OF_RESPONSE, 'multipart/mixed', 'text/html'];

/** What a request accepts. Clients send few different fields: each is read once. */
export function acceptedBy({ headers: { accept } }: Pick<IncomingMessage, 'headers'>) {
  return readAccept(accept || '*/*');
}

const readAccept = memoized((accept: string) => {
  const client = new Negotiator({ headers: { accept } });
  return {
    /** The value of Content-Type for a response; undefined: none that is supported. */
    mediaType: client.mediaType(OF_RESPONSE),
    /** As what it accepts the results of a subscription, and, without a media type, any result. */
    stream: streamFor(client, accept),
    /** Whether it prefers a page to a response to GET. */
    page: /text\//i.test(accept) && client.mediaType(WITH_PAGE) === 'text/html',
  };
}, 1_000);

/** In a range of Accept, by whatever boundary the client expects. */
const NAMES_PARTS = /^\s*multipart\/mixed\s*;.*\bsubscriptionSpec="?1\.0\b/i;

/** Parts only where they are named: whoever accepts anything gets events. */
function streamFor(client: Negotiator, accept: string): StreamFormat | undefined {
  const range = accept.split(',').find((each) => NAMES_PARTS.test(each));
  const parts = range?.replace(/;\s*q=.*/i, '').trim() ?? EVENTS.mediaType;
  const accepted = client.mediaType([EVENTS.mediaType, parts]);
  if (accepted === undefined) return undefined;
  return accepted === EVENTS.mediaType ? EVENTS : PARTS;
}

export const METHODS = 'GET, HEAD, POST';

const HOW_TO_SEND =
  'Send {"query": "…", "variables": {…}} by POST with the header field content-type: application/json';

/** Before the body is read. @throws GraphQLError, a rejection() */
export function checkHead(request: IncomingMessage, response: ServerResponse): void {
  const { method, headers } = request;
  if (method !== 'POST' && method !== 'GET' && method !== 'HEAD') {
    throw rejection(405, 'METHOD_NOT_ALLOWED', methodNotAllowed(METHODS), { allow: METHODS });
  }
  // RFC 9112, section 6.3.
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  // It has its parameters in the body (GraphQL over HTTP, 6.3): who forgets it forgets its type, too.
  if (method === 'POST' && !hasBody) throw badRequest(`POST body missing. ${HOW_TO_SEND}.`);
  const type = headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
  if (type !== 'application/json' && (method === 'POST' || type !== undefined)) {
    throw rejection(415, 'UNSUPPORTED_MEDIA_TYPE', `Content-Type must be application/json. ${HOW_TO_SEND}.`);
  }
  // Nothing is executed whose response the client does not accept (RFC 9110, section 15.5.7).
  const { mediaType, stream } = acceptedBy(request);
  if (mediaType === undefined && stream === undefined) {
    const message =
      'No supported media type in Accept: send application/json, application/graphql-response+json or ' +
      'text/event-stream.';
    throw rejection(406, 'NOT_ACCEPTABLE', message);
  }
  // A browser would send it at the expense of the page's reader. Other clients do not say where a request comes
  // from (Fetch Metadata, section 2.2).
  const isForeign = method !== 'POST' && /^(?:cross|same)-site$/.test(String(headers['sec-fetch-site']));
  if (isForeign && !response.hasHeader('access-control-allow-origin')) {
    const message =
      'The request comes from a page of another site (CSRF), which CORS_ORIGINS does not allow.';
    throw badRequest(message);
  }
}

const readText = express.text({
  // Of what is decompressed.
  limit: 512 * 1024,
  type: () => true,
  verify(_request, _response, _body, encoding) {
    // RFC 8259, section 8.1.
    if (!encoding.startsWith('utf-')) throw rejection(415, 'UNSUPPORTED_MEDIA_TYPE', ENCODINGS);
  },
});

/** In characters: to parse as many takes a millisecond, 512 kB with 45,000 names up to a hundred. */
const LARGE_BODY = 16_384;

/** JSON, in Unicode (RFC 8259, section 8.1): large ones in turns. @throws GraphQLError, a rejection() */
export async function readBody(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
  await new Promise<void>((resolve, reject) => {
    if (request.headers['content-encoding'] !== undefined) {
      // The parser does not see that the client has gone.
      response.once('close', () => reject(new ClientGoneError()));
    }
    readText(request, response, (error?: unknown) => {
      const { status } = Object(error);
      const wrong = OF_BODY[status];
      if (error === undefined) resolve();
      else reject(wrong === undefined ? error : rejection(status, ...wrong));
    });
  });
  const text = String(Reflect.get(request, 'body'));
  if (text.length > LARGE_BODY) await nextTurn();
  try {
    return JSON.parse(text);
  } catch {
    throw rejection(400, ...NO_JSON);
  }
}

const NO_JSON = ['BAD_REQUEST', 'The body is not JSON. Send {"query": "…", "variables": {…}}.'] as const;

const ENCODINGS =
  'The encoding of the body is not supported. Send UTF-8, plain or compressed by gzip, deflate or br.';

/** What is wrong with a body, by the status that body-parser gives its error. */
const OF_BODY: Readonly<Record<number, readonly [code: string, message: string]>> = {
  400: NO_JSON,
  413: ['PAYLOAD_TOO_LARGE', 'The body is larger than 512 kB. Ask for less in one request.'],
  415: ['UNSUPPORTED_MEDIA_TYPE', ENCODINGS],
};

/** The parameters of a GET as a body (GraphQL over HTTP, section 6.2). @throws GraphQLError, a rejection() */
export function bodyOfSearch(search: string): object {
  const parameters = new URLSearchParams(search);
  const json = (name: string): unknown => JSON.parse(parameters.get(name) ?? '{}');
  try {
    return {
      query: parameters.get('query') ?? undefined,
      operationName: parameters.get('operationName'),
      variables: json('variables'),
      extensions: json('extensions'),
    };
  } catch {
    throw badRequest('The query parameters variables and extensions must be JSON objects.');
  }
}

function badRequest(message: string): GraphQLError {
  return rejection(400, 'BAD_REQUEST', message);
}
