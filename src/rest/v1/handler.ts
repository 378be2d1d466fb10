import type { IncomingMessage, ServerResponse } from 'node:http';
import { requireScope, requireToken } from '../../auth/require-scope.js';
import type { Viewer } from '../../auth/viewer.js';
import type { GraphqlDoor } from '../../graphql/execute.js';
import type { StoredOperation } from '../../graphql/stored-operation.js';
import { parseDomainName } from '../../model/domain-name.js';
import { PublicError } from '../../model/errors.js';
import { setRateFields } from '../../rates/rate-fields.js';
import { cacheControl } from './cache-control.js';
import { deprecationFields } from './deprecation.js';
import { decodeDomain } from './domain-parameter.js';
import { isUnmodified, mayBeUnmodified } from './preconditions.js';
import type { DomainResult } from './presenters/domain-result.js';
import { requireReading } from './require-reading.js';
import { ROUTES, type Route } from './routes.js';
import { readStoredOperation } from './stored-operations.js';
import { lastModifiedField, type RecordedState, tagOfOperation, validatorsOf } from './validators.js';

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

/** What the clients of REST v1 are told besides the data. */
export interface RestOptions {
  /** For how many seconds an answer may be used before it is revalidated. */
  readonly maxAge: number;
}

interface PreparedRoute extends Route {
  readonly segments: readonly string[];
  readonly stored: StoredOperation;
  /** What its entity tags end in. */
  readonly tag: string;
  /** What tells of its deprecation, if there is one. */
  readonly notices: readonly (readonly [name: string, value: string])[];
}

/** A request for a domain, as the route says: what answers it, and for whom. */
interface DomainRequest {
  readonly route: PreparedRoute;
  readonly name: string;
  readonly viewer: Viewer;
}

/**
 * Makes the handler of REST v1: one for all rows of the table, each row's operation compiled here.
 *
 * @param table Absent: ROUTES.
 */
export function createRestV1(
  door: GraphqlDoor,
  { maxAge }: RestOptions,
  table: readonly Route[] = ROUTES,
): RestHandler {
  const routes = table.map((route) => prepareRoute(door, route));
  const stateOperation = door.prepare(readStoredOperation('domain-state.graphql'));
  return async (request, response, path, viewer) => {
    const segments = path.split('/');
    const route = routes.find((candidate) => matches(candidate.segments, segments));
    if (route === undefined) throw new PublicError('NOT_FOUND', 'There is nothing at this path.');
    for (const [name, value] of route.notices) response.setHeader(name, value);
    requireReading(request, response);
    requireToken(viewer);
    if (route.scope !== null) requireScope(viewer, route.scope);
    const asked = { route, name: decodeDomain(segments[DOMAIN_SEGMENT] ?? ''), viewer };
    const audience = route.scope === null && viewer.kind === 'anonymous' ? 'public' : 'private';
    const caching = cacheControl(audience, maxAge);
    const conditional = mayBeUnmodified(request.headers, route.tag);
    if (conditional) {
      const state = await findDomain(door, response, stateOperation, asked);
      if (sendIfUnmodified(request, response, caching, asked, state)) return;
    }
    const domain = await findDomain(door, response, route.stored, asked, conditional);
    sendDomain(response, caching, asked, domain);
  };
}

/** Of '', 'domain', '{domain}'. */
const DOMAIN_SEGMENT = 2;
const PLACEHOLDER = '{domain}';

function prepareRoute(door: GraphqlDoor, route: Route): PreparedRoute {
  const text = readStoredOperation(route.operation);
  const stored = door.prepare(text);
  const { deprecation } = route;
  const notices = deprecation === undefined ? [] : Object.entries(deprecationFields(deprecation));
  return { ...route, segments: route.path.split('/'), stored, tag: tagOfOperation(text), notices };
}

/** Case and a final slash count (RFC 3986, section 6.2.2.1); an empty segment is no domain. */
function matches(wanted: readonly string[], segments: readonly string[]): boolean {
  if (segments.length !== wanted.length) return false;
  for (let index = 0; index < wanted.length; index += 1) {
    const segment = segments[index];
    if (wanted[index] === PLACEHOLDER ? segment === '' : segment !== wanted[index]) return false;
  }
  return true;
}

/**
 * Runs an operation on the domain, and tells what the viewer has left of its budget.
 *
 * @param counted Whether the request has been counted against the rate limit.
 */
async function findDomain(
  door: GraphqlDoor,
  response: ServerResponse,
  operation: StoredOperation,
  { name, viewer }: DomainRequest,
  counted = false,
): Promise<DomainResult> {
  const { data, errors } = await door.execute(operation, { name }, viewer, response, counted);
  if (!counted) setRateFields(response, viewer.rates);
  if (errors?.[0] !== undefined) throw errors[0].originalError ?? errors[0];
  const domain = data?.['domain'];
  if (isDomainResult(domain)) return domain;
  throw new PublicError('DOMAIN_NOT_FOUND', `No history is recorded for ${parseDomainName(name)}.`);
}

/** What is found has the fields that the operation selects: GraphQL sees to that. */
function isDomainResult(value: unknown): value is DomainResult {
  return typeof value === 'object' && value !== null;
}

/** Answers 304 to a client that has this state already, with what a cache is to know (RFC 9110, section 15.4.5). */
function sendIfUnmodified(
  { headers }: IncomingMessage,
  response: ServerResponse,
  caching: string,
  { route }: DomainRequest,
  state: RecordedState,
): boolean {
  const validators = validatorsOf(state, route.tag);
  if (!isUnmodified(headers, validators, secondsNow())) return false;
  response.writeHead(304, { etag: validators.etag, 'cache-control': caching });
  response.end();
  return true;
}

function sendDomain(
  response: ServerResponse,
  caching: string,
  { route }: DomainRequest,
  domain: DomainResult,
): void {
  const text = JSON.stringify(route.present(domain));
  const validators = validatorsOf(domain, route.tag);
  response.writeHead(200, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    etag: validators.etag,
    'last-modified': lastModifiedField(validators, secondsNow()),
    'cache-control': caching,
  });
  response.end(text);
}

function secondsNow(): number {
  return Date.now() / 1000;
}
