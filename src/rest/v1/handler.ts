import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Viewer } from '../../auth/viewer.js';
import { requireScope, requireToken } from '../../auth/viewer.js';
import type { GraphqlExecutor, Loaders } from '../../graphql/execute.js';
import { type Caller, signalOf } from '../../limits/caller.js';
import type { Gate } from '../../limits/gate.js';
import { setRateFields } from '../../limits/rate-policy.js';
import { nothingAtPath, PublicError } from '../../model/errors.js';
import type { Instant } from '../../model/instant.js';
import { BodyCache, type BodyCacheOptions, type KeptBody } from './body-cache.js';
import { streamEvents } from './event-stream.js';
import { bodyFinder, type FindBody } from './find-body.js';
import { type MediaType, preferredType } from './media-types.js';
import type { Requested, Variables } from './parameters.js';
import { foundBy, type PreparedRoute, prepareRoute } from './prepared-routes.js';
import { requireGetOrHead, withAccept } from './problem.js';
import { pathMatcher, ROUTES, type Route } from './routes.js';
import {
  cacheControl,
  isConditional,
  isUnmodified,
  lastModifiedField,
  mayBeUnmodified,
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

/** A request that a route answers. */
interface Exchange extends Requested {
  readonly route: PreparedRoute;
  readonly caller: Caller;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly mediaType: MediaType;
  /** Cache-Control of an answer that has validators. */
  readonly caching: string;
  /** Of keyOfBody(). */
  readonly key: string | undefined;
  readonly bodies: BodyCache;
  readonly findBody: FindBody;
  readonly gate: Gate;
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
  const shared = { bodies: new BodyCache(cache), findBody: bodyFinder(executor), gate: executor.gate };
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
    const caller = { viewer, signal: signalOf(response) };
    try {
      if (stream !== undefined && mediaType === 'text/event-stream') {
        const { variables } = await read(stream, segments, request, caller);
        const onFailure = (error: unknown) => onInternalError(error, response);
        const listening = { variables, caller, request, response, onInternalError: onFailure };
        return await streamEvents(executor, stream, listening);
      }
      const requested = await read(route, segments, request, caller);
      const asked = validatedAs(mediaType, route, requested);
      const exchange = { ...requested, route: asked, mediaType, caller, request, response, caching };
      const key = keyOfBody(asked, requested.variables);
      return await answer(executor, { ...exchange, ...shared, key });
    } catch (error) {
      setRateFields(response, viewer.rates);
      throw error;
    }
  };

  /** What a request asks for. One that is rejected costs 1. */
  async function read(
    { readParameters }: Pick<PreparedRoute, 'readParameters'>,
    segments: readonly string[],
    request: IncomingMessage,
    caller: Caller,
  ): Promise<Requested> {
    try {
      return readParameters(segments, new URLSearchParams(/\?(.*)$/s.exec(request.url ?? '')?.[1]), now());
    } catch (error) {
      if (error instanceof PublicError) await executor.charge(caller, 1);
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

/** Answers a request that is paid for here, in its place. */
async function answer(executor: GraphqlExecutor, exchange: Exchange): Promise<void> {
  const { route, variables, caller, request, response, bodies, gate } = exchange;
  const cost = route.stored.cost(variables);
  // What has no cost of its own costs 1.
  await executor.charge(caller, Math.max(1, cost.sum));
  setRateFields(response, caller.viewer.rates);
  const kept = bodies.find(exchange.key);
  if (kept !== undefined && bodies.isFresh(kept) && agrees(request, kept.validators)) {
    return sendKept(exchange, kept);
  }
  const loaders = executor.readFrom(cost.hasCursor || isConditional(request.headers));
  const leave = await gate.enter(caller, cost.isSearch ? 'search' : 'ordinary');
  try {
    await answerFrom(executor, exchange, loaders, kept);
  } finally {
    leave();
  }
}

/** Whether a kept body may be used without a look at the database: not where the client may have a later one. */
function agrees({ headers }: IncomingMessage, { etag }: Validators): boolean {
  if (headers['if-none-match'] === undefined) return headers['if-modified-since'] === undefined;
  return isUnmodified(headers, { etag, lastModified: 0 }, secondsNow());
}

async function answerFrom(
  executor: GraphqlExecutor,
  exchange: Exchange,
  loaders: Loaders,
  kept: KeptBody | undefined,
): Promise<void> {
  const { route, variables, caller, request, bodies, key } = exchange;
  const { validation } = route;
  const askedAt = performance.now();
  const asksForState = kept !== undefined || mayBeUnmodified(request.headers, validation?.tag ?? '');
  if (validation !== null && key !== undefined && asksForState) {
    const state = await executor.executeStored(validation.stored, variables, caller, loaders, false);
    const validators = validatorsOf(foundBy(state, route, variables), validation.tag);
    if (kept?.validators.etag === validators.etag) {
      kept.checkedAt = askedAt;
      return sendKept(exchange, kept);
    }
    if (sendIfUnmodified(exchange, validators)) return;
  }
  const { state, body, next } = await exchange.findBody({ ...exchange, loaders });
  const validators = validation && validatorsOf(state, validation.tag);
  if (sendIfUnmodified(exchange, validators)) return;
  setLink(exchange, next);
  send(exchange, validators, body);
  if (key !== undefined && validators !== null && typeof body === 'string')
    bodies.keep(key, { validators, body, checkedAt: askedAt });
}

/**
 * The key of an answer whose state may be asked for alone, and whose body is kept: those of the specification's operations. Others
 * have parameters that are checked by the operation, before a 304, too, or are pages.
 */
function keyOfBody(
  { validation, parameters, path }: PreparedRoute,
  variables: Variables,
): string | undefined {
  const isPlain = parameters.every(({ name }) => name === 'domain' || name === 'at');
  return validation !== null && isPlain ? `${path} ${JSON.stringify(variables)}` : undefined;
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

function send(
  { caller, response, mediaType, caching, gate }: Exchange,
  validators: Validators | null,
  body: string | Buffer | readonly Buffer[],
): void {
  const parts = typeof body === 'string' || Buffer.isBuffer(body) ? [body] : body;
  const octets = parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0);
  gate.written(caller, octets, response);
  response.writeHead(200, {
    'content-type': `${mediaType}; charset=utf-8`,
    'content-length': octets,
    ...(validators && {
      etag: validators.etag,
      'last-modified': lastModifiedField(validators, secondsNow()),
      'cache-control': caching,
    }),
  });
  for (const part of parts.slice(0, -1)) response.write(part);
  // ASCII is the same octets in Latin-1, which Node.js copies faster than it encodes UTF-8.
  response.end(parts.at(-1), octets === body.length ? 'latin1' : 'utf8');
}

/** Answers 304 to a client that has this state, with what a cache needs to know (RFC 9110, section 15.4.5). */
function sendIfUnmodified({ request, response, caching }: Exchange, validators: Validators | null): boolean {
  if (validators === null || !isUnmodified(request.headers, validators, secondsNow())) return false;
  response.writeHead(304, { etag: validators.etag, 'cache-control': caching }).end();
  return true;
}

function secondsNow(): number {
  return Date.now() / 1000;
}
