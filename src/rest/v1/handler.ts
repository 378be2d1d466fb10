import { readFileSync } from 'node:fs';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { ExecutionResult } from 'graphql';
import type { Viewer } from '../../auth/viewer.js';
import { requireScope, requireToken } from '../../auth/viewer.js';
import {
  type GraphqlExecutor,
  type Loaders,
  largeHistoryIn,
  type Recipient,
  type StoredOperation,
} from '../../graphql/execute.js';
import { nothingAtPath, PublicError } from '../../model/errors.js';
import type { Instant } from '../../model/instant.js';
import { setRateFields } from '../../rates/rate-policy.js';
import { BodyCache, type BodyCacheOptions, type KeptBody } from './body-cache.js';
import { BodyInParts } from './body-in-parts.js';
import { type EventStream, streamEvents } from './event-stream.js';
import { type MediaType, mediaTypesOf, preferredType, writeBody } from './media-types.js';
import { parameterReader, type ReadParameters, type Requested, type Variables } from './parameters.js';
import { dnsRecordFragment } from './presenters/dns-records.js';
import { nextOf } from './presenters/page.js';
import { requireGetOrHead, withAccept } from './problem.js';
import { pathMatcher, ROUTES, type Route } from './routes.js';
import {
  cacheControl,
  isUnmodified,
  lastModifiedField,
  mayBeUnmodified,
  namesLater,
  tagOfOperation,
  type Validators,
  validatorsOf,
} from './validators.js';

/**
 * Answers a request for a path under `/api/v1`.
 *
 * @param path After `/api/v1`, percent-encoded as it came, without the query.
 * @throws What problemOf() makes a problem of.
 */
export type RestHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
  viewer: Viewer,
) => Promise<void>;

/** What responses of REST v1 have besides the data. */
export interface RestOptions {
  /** '' or like `/dms`: errors name paths. */
  readonly basePath: string;
  /** For how many seconds an answer may be used before it is revalidated. */
  readonly maxAge: number;
  /** Which bodies are kept to be sent again. */
  readonly cache: BodyCacheOptions;
  /** Takes the errors that the client of a stream is not shown, for the log. */
  readonly onInternalError: (error: unknown, response: ServerResponse) => void;
}

/** A route, ready to run. */
export interface PreparedRoute extends Route {
  readonly readParameters: ReadParameters;
  readonly stored: StoredOperation;
  /** The same with what a table has. */
  readonly table: StoredOperation;
  readonly mediaTypes: readonly MediaType[];
  /** The operation that gives the state alone, and what entity tags of the route end in. */
  readonly validation: { readonly stored: StoredOperation; readonly tag: string } | null;
  readonly stream?: EventStream | undefined;
}

/** A request that a route answers. */
interface Exchange extends Requested {
  readonly route: PreparedRoute;
  readonly viewer: Viewer;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly mediaType: MediaType;
  /** Cache-Control of an answer that has validators. */
  readonly caching: string;
  readonly bodies: BodyCache;
}

/**
 * Makes the handler of REST v1: one for all rows of the table, whose operations are compiled here.
 *
 * @param table Absent: ROUTES.
 */
export function createRestV1(
  executor: GraphqlExecutor,
  { basePath, maxAge, cache, onInternalError }: RestOptions,
  table: readonly Route[] = ROUTES,
): RestHandler {
  const match = pathMatcher(table.map((route) => prepareRoute(executor, route)));
  const bodies = new BodyCache(cache);
  return async (request, response, path, viewer) => {
    const matched = match(path);
    if (matched === undefined) throw nothingAtPath(basePath);
    const { row: route, segments } = matched;
    requireGetOrHead(request, response);
    requireToken(viewer);
    if (route.scope !== null) requireScope(viewer, route.scope);
    const audience = route.scope === null && viewer.kind === 'anonymous' ? 'public' : 'private';
    const caching = cacheControl(audience, maxAge);
    const { stream, mediaTypes } = route;
    if (mediaTypes.length > 1)
      response.setHeader('vary', withAccept(String(response.getHeader('vary') ?? '')));
    const mediaType = preferredType(request.headers.accept, mediaTypes);
    if (stream !== undefined && mediaType === 'text/event-stream') {
      const { variables } = await read(stream, segments, request, response, viewer);
      const onFailure = (error: unknown) => onInternalError(error, response);
      const listening = { variables, viewer, request, response, onInternalError: onFailure };
      return streamEvents(executor, stream, listening);
    }
    const requested = await read(route, segments, request, response, viewer);
    const asked = validatedAs(mediaType, route, requested);
    const exchange = { route: asked, ...requested, mediaType, viewer, request, response, caching, bodies };
    return answer(executor, exchange);
  };

  /** What a request asks for. One that is rejected counts against the rate limit like what the operation rejects. */
  async function read(
    { readParameters }: Pick<PreparedRoute, 'readParameters'>,
    segments: readonly string[],
    request: IncomingMessage,
    response: ServerResponse,
    viewer: Viewer,
  ): Promise<Requested> {
    try {
      return readParameters(segments, request.url, now());
    } catch (error) {
      if (error instanceof PublicError) await countRequest(executor, viewer, response);
      throw error;
    }
  }
}

/** The route with the validators that its answer has: every media type has tags of its own. */
function validatedAs(mediaType: MediaType, route: PreparedRoute, { countedFrom }: Requested): PreparedRoute {
  // At another moment, the same request means another instant: nobody keeps the answer.
  if (countedFrom !== null) return { ...route, validation: null };
  if (mediaType === 'application/json' || route.validation === null) return route;
  const { stored, tag } = route.validation;
  return { ...route, validation: { stored, tag: `${tag}-${mediaType.replace(/.*\W/, '')}` } };
}

/** Wall-clock time. */
export function now(): Instant {
  return BigInt(Date.now()) * 1_000n;
}

/** Counts a request that executes nothing. @throws RateLimitedError */
async function countRequest(
  executor: GraphqlExecutor,
  viewer: Viewer,
  response: ServerResponse,
): Promise<void> {
  const { budget } = executor.contextFor(viewer, response);
  await budget.spend(1).finally(() => setRateFields(response, viewer.rates));
}

/** Compiles the operations of a route. */
export function prepareRoute(executor: GraphqlExecutor, route: Route): PreparedRoute {
  const text = readStoredOperation(route.operation);
  const stored = executor.prepare(text);
  const { live } = route;
  const state = route.state === null ? null : executor.prepare(readStoredOperation(route.state));
  return {
    ...route,
    readParameters: parameterReader(route.path, route.parameters),
    stored,
    table:
      route.body.page === undefined
        ? stored
        : executor.prepare(readStoredOperation(route.operation, [...TABLE_FRAGMENTS, ...FRAGMENTS])),
    mediaTypes: mediaTypesOf(route),
    validation: state && { stored: state, tag: tagOfOperation(text) },
    stream: live && {
      ...live,
      readParameters: parameterReader(route.path, live.parameters),
      stored: executor.prepare(readStoredOperation(live.operation)),
    },
  };
}

/** In src/, whether this runs from there or from dist/: only TypeScript is compiled. */
const OPERATIONS = new URL('../../../src/rest/v1/operations/', import.meta.url);

function readText(file: string): string {
  return readFileSync(new URL(`${file}.graphql`, OPERATIONS), 'utf8');
}

/** Of what comes in bodies more than once, or is another in tables. */
const FRAGMENTS = [
  ...['HttpHeaderFields', 'ChangeFields', 'RecordMatchFields', 'HeaderMatchFields', 'DnsRecordWithText'].map(
    readText,
  ),
  dnsRecordFragment(),
];

/** What tables have in place of fragments of the same names. */
const TABLE_FRAGMENTS = ['tables/RecordMatchFields', 'tables/HeaderMatchFields'].map(readText);

/** The text of a stored operation, with the fragments that it spreads: of each name the first. */
function readStoredOperation(file: string, fragments: readonly string[] = FRAGMENTS): string {
  let text = readText(file.replace('.graphql', ''));
  // A fragment may spread one that follows it.
  for (const fragment of fragments) {
    const name = /fragment (\w+)/.exec(fragment)?.[1];
    if (text.includes(`...${name}`) && !text.includes(`fragment ${name} `)) text += `\n${fragment}`;
  }
  return text;
}

/**
 * Answers by what one database has. Where the client has a later state than a replica, that is the primary: nothing is to go
 * back in time for it.
 */
function answer(executor: GraphqlExecutor, exchange: Exchange): Promise<void> {
  const { route, variables, request } = exchange;
  const key = keyOfBody(route, variables);
  const kept = key === undefined ? undefined : exchange.bodies.find(key);
  if (kept !== undefined && exchange.bodies.isFresh(kept) && !mayHaveLater(exchange, kept.validators)) {
    return answerKept(executor, exchange, kept);
  }
  const { primary } = executor;
  const loaders = route.validation !== null && namesDate(request) ? primary : executor.readFrom();
  const answered = answerFrom(executor, exchange, loaders, kept, key, false);
  if (loaders === primary || route.validation === null) return answered;
  return answered.catch((error: unknown) => {
    if (!isOlder(error, exchange)) throw error;
    return answerFrom(executor, exchange, primary, kept, key, true);
  });
}

async function answerKept(executor: GraphqlExecutor, exchange: Exchange, kept: KeptBody): Promise<void> {
  await countRequest(executor, exchange.viewer, exchange.response);
  sendKept(exchange, kept);
}

/**
 * @param key Of the body; undefined: it is not kept.
 * @param wasCounted Whether the request has been counted against the rate limit.
 * @throws OlderStateError where the client has a later state.
 */
async function answerFrom(
  executor: GraphqlExecutor,
  exchange: Exchange,
  loaders: Loaders,
  kept: KeptBody | undefined,
  key: string | undefined,
  wasCounted: boolean,
): Promise<void> {
  const { route, variables, countedFrom, mediaType, viewer, request, response, bodies } = exchange;
  const { validation } = route;
  const asked = { route, variables, countedFrom, mediaType, viewer, recipient: response, loaders };
  const askedAt = performance.now();
  const setRates = () => setRateFields(response, viewer.rates);
  const isReplica = loaders !== executor.primary;
  const readsState =
    validation !== null &&
    isChecked(route) &&
    (kept !== undefined || mayBeUnmodified(request.headers, validation.tag));
  if (readsState) {
    const result = await execute(executor, asked, validation.stored, wasCounted).finally(setRates);
    const validators = validatorsOf(foundIn(result, route, variables), validation.tag);
    requireLatest(exchange, validators, isReplica);
    if (kept?.validators.etag === validators.etag) {
      kept.checkedAt = askedAt;
      return sendKept(exchange, kept);
    }
    if (sendIfUnmodified(exchange, validators)) return;
  }
  const found = await findBody(executor, asked, wasCounted || readsState).finally(setRates);
  const { state, body, next } = found;
  const validators = validation && validatorsOf(state, validation.tag);
  requireLatest(exchange, validators, isReplica);
  if (sendIfUnmodified(exchange, validators)) return;
  setLink(exchange, next);
  if (typeof body !== 'string') return sendParts(exchange, validators, body);
  send(exchange, validators, body);
  if (key !== undefined && validators !== null) bodies.keep(key, { validators, body, checkedAt: askedAt });
}

/** Whether a request of the route that is read is valid: other parameters are checked by the operation, before a 304, too. */
function isChecked({ parameters }: PreparedRoute): boolean {
  return Object.keys(parameters).every((name) => name === 'domain' || name === 'at');
}

/** The state that was read is older than what the client has. No client sees it. */
class OlderStateError extends Error {}

/** @param validators Null: the route has none. @throws OlderStateError */
function requireLatest(exchange: Exchange, validators: Validators | null, isReplica: boolean): void {
  if (isReplica && validators !== null && hasLater(exchange, validators)) throw new OlderStateError();
}

function isOlder(error: unknown, exchange: Exchange): boolean {
  if (error instanceof OlderStateError) return true;
  return error instanceof PublicError && error.code === 'DOMAIN_NOT_FOUND' && hasLater(exchange, undefined);
}

/** Whether the client has a state that it names only by a date, which a later state than that of a replica may have, too. */
function namesDate({ headers }: IncomingMessage): boolean {
  return headers['if-modified-since'] !== undefined && headers['if-none-match'] === undefined;
}

/** Whether the client may have a later state than what is kept: its date may be that of one. */
function mayHaveLater(exchange: Exchange, kept: Validators): boolean {
  return namesDate(exchange.request) || hasLater(exchange, kept);
}

/** @param validators Undefined: nothing was found. */
function hasLater({ request, variables }: Exchange, validators: Validators | undefined): boolean {
  return namesLater(request.headers['if-none-match'], variables['after'], validators);
}

/** The key of a body that is kept; pages are not, of which each has another cursor. */
function keyOfBody(
  { validation, inParts, parameters, path }: PreparedRoute,
  variables: Variables,
): string | undefined {
  const isKept = validation !== null && inParts && !('first' in parameters);
  return isKept ? `${path} ${JSON.stringify(variables)}` : undefined;
}

/**
 * In characters. A proxy reads all header fields of a response into one buffer, which is 4 kB in nginx by default. Without the
 * field, clients still have the cursor in the body, if that is JSON.
 */
const LONGEST_LINK = 2_048;

/** Links to the next page (RFC 8288). @param next Its cursor; null: there is none. */
function setLink({ request, response, query, mediaType }: Exchange, next: string | null): void {
  if (next === null) return;
  const target = new URL(request.url ?? '', 'http://localhost');
  const continued = new URLSearchParams(query);
  continued.set('after', next);
  const link = `<${target.pathname}?${continued}>; rel="next"`;
  if (mediaType !== 'application/json' || link.length <= LONGEST_LINK) response.setHeader('link', link);
}

function sendKept(exchange: Exchange, { validators, octets }: KeptBody): void {
  if (!sendIfUnmodified(exchange, validators)) send(exchange, validators, octets);
}

function send(exchange: Exchange, validators: Validators | null, body: string | Buffer): void {
  const length = Buffer.byteLength(body);
  begin(exchange, validators, length);
  if (typeof body !== 'string') exchange.response.end(body);
  // ASCII is the same octets in Latin-1, which Node.js copies faster than it encodes UTF-8.
  else exchange.response.end(body, length === body.length ? 'latin1' : 'utf8');
}

function sendParts(exchange: Exchange, validators: Validators | null, parts: readonly Buffer[]): void {
  const { response } = exchange;
  begin(
    exchange,
    validators,
    parts.reduce((sum, { length }) => sum + length, 0),
  );
  for (const part of parts.slice(0, -1)) response.write(part);
  response.end(parts.at(-1));
}

function begin(exchange: Exchange, validators: Validators | null, octets: number): void {
  exchange.response.writeHead(200, {
    'content-type': `${exchange.mediaType}; charset=utf-8`,
    'content-length': octets,
    ...(validators && validationFields(exchange, validators)),
  });
}

/** What an operation has found, and the body that it makes: that of a large history in parts. */
export interface FoundBody {
  /** With the version of what the body has, where the operation selects one. */
  readonly state: object;
  readonly body: string | readonly Buffer[];
  /** Of a page that others follow, the cursor of the next one; otherwise null. */
  readonly next: string | null;
}

/** What a route is asked, and for whom. */
export interface Asked extends Pick<Requested, 'variables' | 'countedFrom'> {
  readonly route: PreparedRoute;
  readonly mediaType: MediaType;
  readonly viewer: Viewer;
  /** Absent: nobody who could disconnect. */
  readonly recipient: Recipient | undefined;
  /** What all of it is read from. */
  readonly loaders: Loaders;
}

/**
 * Runs the operation of a route, a large history in parts.
 *
 * @param counted Whether the request has been counted against the rate limit.
 * @throws as foundIn() does.
 */
export async function findBody(
  executor: GraphqlExecutor,
  asked: Asked,
  counted: boolean,
): Promise<FoundBody> {
  const { route, variables, countedFrom, mediaType, viewer, recipient, loaders } = asked;
  const stored = mediaType === 'text/csv' ? route.table : route.stored;
  const result = await execute(executor, asked, stored, counted);
  const large = largeHistoryIn(result);
  if (large === undefined) {
    const found = foundIn(result, route, variables);
    const { version } = result.extensions ?? {};
    const state = version === undefined ? found : { version };
    const body = writeBody(route.body, found, countedFrom, mediaType);
    return { state, body, next: nextOf(route.body.page?.pageIn(found), countedFrom) };
  }
  const parts = new BodyInParts();
  let first: object | undefined;
  const results = executor.executeStoredInParts(route.stored, variables, viewer, recipient, large, loaders);
  for await (const part of results) {
    const found = foundIn(part, route, variables);
    first ??= found;
    parts.add(route.body.present(found, countedFrom));
  }
  if (first === undefined) throw nothingFound(route, variables);
  return { state: first, body: parts.octets(), next: null };
}

function execute(
  executor: GraphqlExecutor,
  { route, variables, viewer, recipient, loaders }: Asked,
  operation: StoredOperation,
  counted: boolean,
): Promise<ExecutionResult> {
  return executor.executeStored(operation, variables, viewer, recipient, {
    counted,
    inParts: route.inParts,
    isPage: 'first' in route.parameters,
    loaders,
  });
}

/** What the operation's one field is. @throws the first error, or what the route says where nothing is found. */
function foundIn({ data, errors }: ExecutionResult, route: Route, variables: Variables): object {
  if (errors?.[0] !== undefined) throw errors[0].originalError ?? errors[0];
  const [found] = Object.values(data ?? {});
  if (typeof found === 'object' && found !== null) return found;
  throw nothingFound(route, variables);
}

function nothingFound({ missing, operationId }: Route, variables: Variables): Error {
  return missing?.error(variables) ?? new Error(`${operationId} has found nothing.`);
}

/** Answers 304 to a client that has this state, with what a cache needs to know (RFC 9110, section 15.4.5). */
function sendIfUnmodified({ request, response, caching }: Exchange, validators: Validators | null): boolean {
  if (validators === null || !isUnmodified(request.headers, validators, secondsNow())) return false;
  response.writeHead(304, { etag: validators.etag, 'cache-control': caching }).end();
  return true;
}

function validationFields({ caching }: Exchange, validators: Validators): OutgoingHttpHeaders {
  return {
    etag: validators.etag,
    'last-modified': lastModifiedField(validators, secondsNow()),
    'cache-control': caching,
  };
}

function secondsNow(): number {
  return Date.now() / 1000;
}
