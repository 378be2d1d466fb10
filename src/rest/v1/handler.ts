import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { requireScope, requireToken, type Viewer } from '../../auth/viewer.js';
import type { GraphqlExecutor } from '../../graphql/execute.js';
import type { Caller } from '../../limits/caller.js';
import type { RequestCost } from '../../limits/costs.js';
import type { Gate } from '../../limits/gate.js';
import { setRateFields } from '../../limits/rates.js';
import { nothingAtPath } from '../../model/errors.js';
import { formatHttpDate } from '../../model/http-date.js';
import { pathOf, searchOf } from '../../model/request-target.js';
import { BodyCache, type BodyCacheOptions, type KeptBody } from './body-cache.js';
import { streamEvents } from './event-stream.js';
import { type Asked, bodyFinder, type FoundBody } from './find-body.js';
import { type Requested, readParameters } from './parameters.js';
import { foundBy, type Operation, type PreparedRoute, prepareRoute } from './prepared-routes.js';
import type { MediaType } from './presenters/body.js';
import { requireGetOrHead, varyByAccept } from './problem.js';
import { pathMatcher, ROUTES } from './routes.js';
import {
  isConditional,
  isUnmodified,
  type Validators,
  validatorsOf,
  validatorsOfText,
} from './validators.js';

export type RestHandler = ReturnType<typeof createRestV1>;

interface RestOptions {
  /** '' or like `/dms`: errors name paths. */
  readonly basePath: string;
  /** For how many seconds an answer may be used before it is revalidated. */
  readonly maxAge: number;
  readonly cache: BodyCacheOptions;
  readonly onInternalError: (error: unknown, request: IncomingMessage) => void;
}

interface Exchange extends Asked, Requested {
  readonly response: ServerResponse;
  readonly cost: RequestCost;
  /** Null: the answer has no validators. */
  readonly validation: PreparedRoute['validation'];
  /** Cache-Control of an answer that has validators. */
  readonly caching: string;
}

/** One handler for all rows of the table. It throws what problemOf() takes. */
export function createRestV1(
  executor: GraphqlExecutor,
  { basePath, maxAge, cache, onInternalError }: RestOptions,
) {
  const match = pathMatcher(ROUTES.map((route) => prepareRoute(executor, route)));
  const answer = createAnswers(executor, cache);
  return async (
    request: IncomingMessage,
    response: ServerResponse,
    viewer: Viewer,
    originOf: (request: IncomingMessage) => string,
  ) => {
    const matched = match(pathOf(request).slice(`${basePath}/api/v1`.length));
    if (matched === undefined) throw nothingAtPath(basePath);
    const { row: route, domain } = matched;
    requireGetOrHead(request, response);
    requireToken(viewer);
    if (route.mediaTypes.length > 1) varyByAccept(response);
    const mediaType = route.preferred(request.headers.accept ?? '');
    const stream = mediaType === 'text/event-stream' ? route.stream : null;
    const caller = { viewer, signal: response };
    const [requested, cost] = await readAndPay(executor, stream ?? route, domain, caller, response);
    const { variables, query, countedFrom } = requested;
    if (stream !== null) {
      return streamEvents(stream, variables, caller, response, (error) => onInternalError(error, request));
    }
    const audience = route.scope === null && viewer.kind === 'anonymous' ? 'public' : 'private';
    const validation = validationOf(route, mediaType, requested);
    // A stale answer must be revalidated: a 304 where nothing has changed (RFC 9111, section 5.2.2).
    const caching = `${audience}, max-age=${maxAge}, must-revalidate`;
    // Field by field: this is on the way of every request, and to spread objects takes some microseconds each.
    return answer({
      route,
      variables,
      query,
      countedFrom,
      cost,
      caller,
      loaders: executor.readFrom(cost.ofPrimary || isConditional(request.headers)),
      response,
      mediaType,
      validation,
      caching,
      place: route.body.feed && { base: originOf(request) + basePath, self: originOf(request) + request.url },
    });
  };
}

/** What a request asks for, once that is paid for. One that is rejected costs 1. */
async function readAndPay(
  executor: GraphqlExecutor,
  { parameters, scope, stored, runs }: Operation,
  domain: string | undefined,
  caller: Caller,
  response: ServerResponse,
): Promise<readonly [Requested, RequestCost]> {
  let units = 1;
  try {
    if (scope !== null) requireScope(caller.viewer, scope);
    const query = new URLSearchParams(searchOf(response.req).slice(1));
    const asked = readParameters(parameters, domain, query);
    const requested = runs ? { ...asked, variables: { ...asked.variables, ...runs.variables } } : asked;
    const cost = stored().cost(requested.variables);
    units = Math.max(1, cost.sum);
    return [requested, cost];
  } finally {
    await executor.charge(caller, units).finally(() => setRateFields(response, caller.viewer.rates));
  }
}

/** The validators that an answer has: every media type has tags of its own. */
function validationOf(route: PreparedRoute, mediaType: MediaType, { countedFrom }: Requested) {
  // At another moment, the same request means another instant: nobody keeps the answer.
  if (countedFrom !== null) return null;
  if (mediaType === 'application/json' || route.validation === null) return route.validation;
  const { stored, tag } = route.validation;
  return { stored, tag: `${tag}-${mediaType.replace(/.*\W/, '')}` };
}

/** Makes what answers a request: by a body that is kept, or by its operation, in a place of the gate. */
function createAnswers(executor: GraphqlExecutor, cache: BodyCacheOptions) {
  const { gate } = executor;
  const bodies = new BodyCache(cache);
  const findBody = bodyFinder(executor);
  return async (exchange: Exchange): Promise<void> => {
    const { route, variables, caller, response, validation, cost } = exchange;
    const { headers } = response.req;
    const state = route.isPlain ? validation : null;
    const key = state && `${route.path} ${JSON.stringify(variables)}`;
    const kept = bodies.find(key);
    if (kept !== undefined && bodies.isFresh(kept) && agrees(headers, kept.validators))
      return send(gate, exchange, kept.validators, kept.octets);
    const leave = await gate.enter(caller, cost.isSearch);
    try {
      const isKnown = state !== null && (kept !== undefined || isConditional(headers));
      if (isKnown && (await sendByState(gate, exchange, state, kept))) return;
      const askedAt = performance.now();
      const found = await findBody(exchange);
      const validators = validatorsFor(exchange, found);
      send(gate, exchange, validators, found.body, found.next);
      if (validators !== null && typeof found.body === 'string')
        bodies.keep(key, found.body, validators, askedAt);
    } finally {
      leave();
    }
  };
}

/** Answers by the state alone where that is of the kept body, or the client has it. @returns whether so. */
async function sendByState(
  gate: Gate,
  exchange: Exchange,
  { stored, tag }: NonNullable<Exchange['validation']>,
  kept: KeptBody | undefined,
): Promise<boolean> {
  const { route, variables, caller, loaders } = exchange;
  const askedAt = performance.now();
  const found = foundBy(await stored().execute(variables, caller, loaders), route, variables);
  const validators = validatorsOf(found, tag);
  if (kept?.validators.etag !== validators.etag) return sendIfUnmodified(exchange, validators);
  kept.checkedAt = askedAt;
  send(gate, exchange, validators, kept.octets);
  return true;
}

function validatorsFor({ route, validation }: Exchange, { state, body }: FoundBody): Validators | null {
  if (validation !== null) return validatorsOf(state, validation.tag);
  return route.state === null && route.body.feed && typeof body === 'string' ? validatorsOfText(body) : null;
}

/** @param next The cursor of the next page; null: there is none. */
function send(
  gate: Gate,
  exchange: Exchange,
  validators: Validators | null,
  body: string | Buffer | readonly Buffer[],
  next: string | null = null,
): void {
  if (sendIfUnmodified(exchange, validators)) return;
  if (next !== null) setLink(exchange, next);
  const { caller, response, mediaType, caching } = exchange;
  const parts = [body].flat();
  const octets = parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0);
  response.writeHead(200, {
    'content-type': `${mediaType}; charset=utf-8`,
    'content-length': octets,
    ...(validators && {
      etag: validators.etag,
      ...(validators.lastModified !== Number.POSITIVE_INFINITY && {
        // Never later than the answer's own time (RFC 9110, section 8.8.2.1).
        'last-modified': formatHttpDate(Math.min(validators.lastModified, Math.floor(Date.now() / 1000))),
      }),
      'cache-control': caching,
    }),
  });
  for (const part of parts.slice(0, -1)) response.write(part);
  // ASCII is the same octets in Latin-1, which Node.js copies faster than it encodes UTF-8.
  response.end(parts.at(-1), octets === body.length ? 'latin1' : 'utf8');
  gate.written(caller, octets, response);
}

/** Whether a kept body may be used without a look at the database: not where the client may have a later. */
function agrees(headers: IncomingHttpHeaders, { etag }: Validators): boolean {
  return !isConditional(headers) || isUnmodified(headers, { etag, lastModified: Number.POSITIVE_INFINITY });
}

/** Answers 304 to a client that has this state, with what a cache needs to know (RFC 9110, section 15.4.5). */
function sendIfUnmodified({ response, caching }: Exchange, validators: Validators | null): boolean {
  if (validators === null || !isUnmodified(response.req.headers, validators)) return false;
  response.writeHead(304, { etag: validators.etag, 'cache-control': caching }).end();
  return true;
}

/**
 * In characters. A proxy reads all header fields of a response into one buffer, which is 4 kB in nginx by
 * default. Without the field, clients still have the cursor in the body, if that is JSON.
 */
const MAX_LINK = 2_048;

/** Links to the next page (RFC 8288). @param next Its cursor. */
function setLink({ response, query, mediaType }: Exchange, next: string): void {
  const continued = new URLSearchParams(query);
  continued.set('after', next);
  const link = `<${pathOf(response.req)}?${continued}>; rel="next"`;
  if (mediaType !== 'application/json' || link.length <= MAX_LINK) response.setHeader('link', link);
}
