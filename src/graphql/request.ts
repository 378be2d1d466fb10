import type { IncomingMessage, ServerResponse } from 'node:http';
import express, { type Request } from 'express';
import type { GraphQLFormattedError } from 'graphql';
import { LRUCache } from 'lru-cache';
import type { Variables } from '../limits/costs.js';
import { ClientGoneError, methodNotAllowed } from '../model/errors.js';
import { endOfString, isJsonObject } from '../model/json-values.js';

declare module 'node:http' {
  interface IncomingMessage {
    /** The text of the body once it was read, then its value. */
    body?: unknown;
  }
}

/** What a client sends: the parameters of GraphQL over HTTP, section 5.1. */
export interface GraphqlParameters {
  /** The document; undefined where it is named instead. */
  readonly query: string | undefined;
  /** The id or SHA-256 that names a document. */
  readonly id: string | undefined;
  /** Null: the document's only operation. */
  readonly operationName: string | null;
  readonly variables: Variables;
  /** Whether they came by POST. */
  readonly posted: boolean;
}

/** Details of a rejected request. */
interface RejectionDetails {
  readonly extensions?: Readonly<Record<string, unknown>>;
  readonly fields?: Readonly<Record<string, string>>;
}

/** A request that gets no data, and what its response says instead. */
export class RejectedRequest extends Error {
  override readonly name = 'RejectedRequest';
  readonly status: number;
  readonly errors: readonly GraphQLFormattedError[];
  /** Of the response. */
  readonly extensions: Readonly<Record<string, unknown>> | undefined;
  /** Header fields of the response. */
  readonly fields: Readonly<Record<string, string>>;

  constructor(
    status: number,
    errors: readonly GraphQLFormattedError[],
    { extensions, fields = {} }: RejectionDetails = {},
  ) {
    super(errors[0]?.message);
    this.status = status;
    this.errors = errors;
    this.extensions = extensions;
    this.fields = fields;
  }
}

/** A rejection with one error. */
export function rejection(
  status: number,
  code: string,
  message: string,
  details?: RejectionDetails,
): RejectedRequest {
  return new RejectedRequest(status, [{ message, extensions: { code } }], details);
}

/** Every client knows this one. */
export const JSON_RESPONSE = 'application/json; charset=utf-8';

/** The media type under which a response without data has a status of 400 or more (GraphQL over HTTP, 6.4). */
export const GRAPHQL_RESPONSE = 'application/graphql-response+json; charset=utf-8';

/** For the results of subscriptions, and for clients that accept nothing else (GraphQL over SSE, distinct connections). */
export const EVENT_STREAM = 'text/event-stream; charset=utf-8';

/** In order of preference where the client has none. */
const OF_RESPONSE = [JSON_RESPONSE, GRAPHQL_RESPONSE];

/** For GET: a browser prefers the page. Clients that list multipart/mixed first do not. */
const WITH_PAGE = [...OF_RESPONSE, 'multipart/mixed', 'text/html'];

/** By value of Accept: clients send few different ones, and negotiation takes a while. */
const negotiated = new LRUCache<string, string | false>({ max: 1_000 });
/** Longer values are negotiated each time, so that a full cache stays small. */
const LONGEST_KEPT = 255;

/**
 * The media type for the response to a request.
 *
 * @returns The value of `Content-Type`; undefined where Accept has none that is supported.
 */
export function mediaTypeFor({ headers }: Pick<IncomingMessage, 'headers'>): string | undefined {
  const { accept } = headers;
  if (accept === undefined) return JSON_RESPONSE;
  const known = negotiated.get(accept);
  if (known !== undefined) return known || undefined;
  const mediaType = preferred({ headers }, OF_RESPONSE);
  if (accept.length <= LONGEST_KEPT) negotiated.set(accept, mediaType);
  return mediaType || undefined;
}

/** Which of some media types a client prefers, as Express finds it; false: none. */
function preferred({ headers }: Pick<IncomingMessage, 'headers'>, mediaTypes: string[]): string | false {
  const request: Pick<Request, 'accepts'> = Object.assign(Object.create(express.request), { headers });
  return request.accepts(mediaTypes);
}

/** Whether the value of Content-Type is that of JSON, with any parameters. */
export function isJson(type: string | undefined): boolean {
  return type?.split(';', 1)[0]?.trim().toLowerCase() === 'application/json';
}

/** Whether the client accepts server-sent events. */
export function acceptsEvents(request: IncomingMessage): boolean {
  return preferred(request, [EVENT_STREAM]) !== false;
}

/** Whether the client of a GET prefers a page to a response. */
export function prefersPage(request: IncomingMessage): boolean {
  const { accept } = request.headers;
  return accept !== undefined && /text\//i.test(accept) && preferred(request, WITH_PAGE) === 'text/html';
}

export const METHODS = 'GET, HEAD, POST';

const HOW_TO_SEND =
  'Send {"query": "…", "variables": {…}} by POST with the header field content-type: application/json';

/**
 * Rejects a request by its method and header fields, before its body is read.
 *
 * @throws RejectedRequest
 */
export function checkHead(request: IncomingMessage): void {
  const { method, headers } = request;
  if (method !== 'POST' && method !== 'GET' && method !== 'HEAD') {
    throw rejection(405, 'METHOD_NOT_ALLOWED', methodNotAllowed(METHODS), {
      fields: { allow: METHODS },
    });
  }
  const { 'content-type': type } = headers;
  if (!isJson(type) && (method === 'POST' || type !== undefined)) {
    throw rejection(415, 'UNSUPPORTED_MEDIA_TYPE', `Content-Type must be application/json. ${HOW_TO_SEND}.`);
  }
  // Nothing is executed whose response the client does not accept (RFC 9110, section 15.5.7).
  if (mediaTypeFor(request) === undefined && !acceptsEvents(request)) {
    const message =
      'No supported media type in Accept: send application/json, application/graphql-response+json or text/event-stream.';
    throw rejection(406, 'NOT_ACCEPTABLE', message);
  }
}

/** What browsers say of a request by a page of another origin (Fetch Metadata, section 2.2). */
const FOREIGN = ['cross-site', 'same-site'];

/**
 * Rejects a GET that a browser sends for a page of another origin, unless CORS allows that page: it would be executed at the expense of
 * the page's reader. Clients that are no browsers do not say where a request comes from.
 */
function requireOwnPage({ headers }: IncomingMessage, response: ServerResponse): void {
  const site = headers['sec-fetch-site'];
  if (typeof site !== 'string' || !FOREIGN.includes(site)) return;
  if (response.hasHeader('access-control-allow-origin')) return;
  throw badRequest(
    'The request comes from a page of another site (CSRF), which CORS_ORIGINS does not allow.',
  );
}

/** The largest body that is read, in octets, decompressed. */
export const BODY_LIMIT = 512 * 1024;

const readText = express.text({
  limit: BODY_LIMIT,
  type: 'application/json',
  verify: (_request, _response, _body, charset) => requireUnicode(charset),
});

/**
 * Reads the body of a request, and replaces it by its value.
 *
 * @throws RejectedRequest where it cannot be read, is not JSON, or is nested too deep.
 */
export async function readBody(request: IncomingMessage, response: ServerResponse): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    if (request.headers['content-encoding'] !== undefined) {
      // The parser does not see that the client has gone.
      response.once('close', () => reject(new ClientGoneError()));
    }
    readText(request, response, (error?: unknown) => {
      if (error === undefined) resolve();
      else reject(bodyError(error));
    });
  });
  request.body = parseBody(String(request.body ?? ''));
}

/**
 * The error for a body that could not be read.
 *
 * @param error As body-parser gives it, with the HTTP status in `status`.
 * @returns the error itself if it is not the client's.
 */
function bodyError(error: unknown): unknown {
  switch (error instanceof Error ? Reflect.get(error, 'status') : undefined) {
    case 400:
      return badRequest(NO_JSON);
    case 413:
      return rejection(
        413,
        'PAYLOAD_TOO_LARGE',
        'The body is larger than 512 kB. Ask for less in one request.',
      );
    case 415:
      return rejection(
        415,
        'UNSUPPORTED_MEDIA_TYPE',
        'The encoding of the body is not supported. Send UTF-8, plain or compressed by gzip, deflate or br.',
      );
    default:
      return error;
  }
}

const NO_JSON = 'The body is not JSON. Send {"query": "…", "variables": {…}}.';

/** JSON is in Unicode (RFC 8259, section 8.1). @throws an error for bodyError(). */
function requireUnicode(charset: string): void {
  if (!charset.startsWith('utf-')) throw Object.assign(new Error('charset'), { status: 415 });
}

/**
 * Parses the JSON of a body.
 *
 * @returns undefined where it is empty.
 * @throws RejectedRequest where it is not JSON, or is nested too deep.
 */
function parseBody(body: string): unknown {
  if (body === '') return undefined;
  requireShallow(body, 'The body');
  try {
    return JSON.parse(body);
  } catch {
    throw badRequest(NO_JSON);
  }
}

/** No variable of the schema is nested as deep. 250,000 levels take 100 ms to parse, and to collect as garbage. */
const DEEPEST = 100;

/** A bracket and a brace differ in one bit of their codes. */
const BRACE = 0x20;
const [OPENING, CLOSING, QUOTE] = [0x7b, 0x7d, 0x22];

function requireShallow(json: string, what: string): void {
  let depth = 0;
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) at = endOfString(json, at) - 1;
    else if ((code | BRACE) === OPENING) depth += 1;
    else if ((code | BRACE) === CLOSING) depth -= 1;
    if (depth > DEEPEST) throw badRequest(`${what} is nested more than ${DEEPEST} deep.`);
  }
}

/**
 * Reads the parameters of a request, from its body or its URL.
 *
 * @param request Its body is parsed.
 * @param response Has the fields of CORS for the request.
 * @param page Whether a browser would get a page at this address.
 * @throws RejectedRequest
 */
export function readParameters(
  request: IncomingMessage,
  response: ServerResponse,
  page: boolean,
): GraphqlParameters {
  const { method, body, url = '' } = request;
  if (method === 'POST') {
    const reason = Array.isArray(body) ? 'The body is a list: send one operation in a request.' : NO_QUERY;
    if (!isJsonObject(body)) throw badRequest(`${reason} ${HOW_TO_SEND}.`);
    return parametersOf(body, true, `${NO_QUERY} ${HOW_TO_SEND}.`);
  }
  const search = new URLSearchParams(/\?.*$/s.exec(url)?.[0]);
  const parameters = {
    query: searchParameter(search, 'query'),
    operationName: searchParameter(search, 'operationName'),
    variables: jsonParameter(search, 'variables'),
    extensions: jsonParameter(search, 'extensions'),
  };
  const read = parametersOf(
    parameters,
    false,
    `The request has no query. ${HOW_TO_SEND}${page ? ', or open this address in a browser' : ''}.`,
  );
  requireOwnPage(request, response);
  return read;
}

const NO_QUERY = 'The body has no query.';

/** @param parameters Values of JSON; null is as absent (GraphQL over HTTP, section 5.1). */
function parametersOf(
  parameters: Readonly<Record<string, unknown>>,
  posted: boolean,
  withoutQuery: string,
): GraphqlParameters {
  const query = parameters['query'] ?? undefined;
  const operationName = parameters['operationName'] ?? null;
  const variables = parameters['variables'] ?? {};
  const extensions = parameters['extensions'] ?? {};
  if (query !== undefined && typeof query !== 'string') throw badRequest('`query` must be a string.');
  if (operationName !== null && typeof operationName !== 'string') {
    throw badRequest('`operationName` must be a string.');
  }
  if (!isJsonObject(variables)) throw badRequest('`variables` must be a JSON object.');
  if (!isJsonObject(extensions)) throw badRequest('`extensions` must be a JSON object.');
  const id = persistedId(extensions['persistedQuery'] ?? undefined);
  if (id === undefined && !query) throw badRequest(withoutQuery);
  return { query, id, operationName, variables, posted };
}

/** The id by which automatic persisted queries name a document. */
function persistedId(persisted: unknown): string | undefined {
  if (persisted === undefined) return undefined;
  if (!isJsonObject(persisted) || persisted['version'] !== 1) {
    throw badRequest('The version of `extensions.persistedQuery` must be 1.');
  }
  const id = persisted['sha256Hash'];
  if (typeof id !== 'string') throw badRequest('`extensions.persistedQuery.sha256Hash` must be a string.');
  return id;
}

function searchParameter(search: URLSearchParams, name: string): string | undefined {
  const [value, ...others] = search.getAll(name);
  if (others.length > 0) throw badRequest(`The query parameter ${name} is given more than once.`);
  return value;
}

function jsonParameter(search: URLSearchParams, name: string): unknown {
  const text = searchParameter(search, name);
  if (text === undefined) return undefined;
  requireShallow(text, `The query parameter ${name}`);
  try {
    return JSON.parse(text);
  } catch {
    throw badRequest(`The query parameter ${name} is not JSON.`);
  }
}

function badRequest(message: string): RejectedRequest {
  return rejection(400, 'BAD_REQUEST', message);
}
