import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ExecutionResult } from 'graphql';
import { requireScope, requireToken } from '../../auth/require-scope.js';
import type { Viewer } from '../../auth/viewer.js';
import type { GraphqlDoor } from '../../graphql/execute.js';
import type { StoredOperation } from '../../graphql/stored-operation.js';
import { parseDomainName } from '../../model/domain-name.js';
import { PublicError } from '../../model/errors.js';
import { setRateFields } from '../../rates/rate-fields.js';
import { deprecationFields } from './deprecation.js';
import { decodeDomain } from './domain-parameter.js';
import type { DomainResult } from './presenters/domain-result.js';
import { requireReading } from './require-reading.js';
import { ROUTES, type Route } from './routes.js';
import { readStoredOperation } from './stored-operations.js';

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

interface PreparedRoute extends Route {
  readonly segments: readonly string[];
  readonly stored: StoredOperation;
  /** What tells of its deprecation, if there is one. */
  readonly notices: readonly (readonly [name: string, value: string])[];
}

/** Makes the handler of REST v1: one for all rows of the table, each row's operation compiled here. */
export function createRestV1(door: GraphqlDoor, table: readonly Route[] = ROUTES): RestHandler {
  const routes = table.map((route) => prepareRoute(door, route));
  return async (request, response, path, viewer) => {
    const segments = path.split('/');
    const route = routes.find((candidate) => matches(candidate.segments, segments));
    if (route === undefined) throw new PublicError('NOT_FOUND', 'There is nothing at this path.');
    for (const [name, value] of route.notices) response.setHeader(name, value);
    requireReading(request, response);
    requireToken(viewer);
    if (route.scope !== null) requireScope(viewer, route.scope);
    const name = decodeDomain(segments[DOMAIN_SEGMENT] ?? '');
    const result = await door.execute(route.stored, { name }, viewer);
    setRateFields(response, viewer.rates);
    const domain = domainOf(result, name);
    sendJson(response, JSON.stringify(route.present(domain)));
  };
}

/** Of '', 'domain', '{domain}'. */
const DOMAIN_SEGMENT = 2;
const PLACEHOLDER = '{domain}';

function prepareRoute(door: GraphqlDoor, route: Route): PreparedRoute {
  const stored = door.prepare(readStoredOperation(route.operation));
  const { deprecation } = route;
  const notices = deprecation === undefined ? [] : Object.entries(deprecationFields(deprecation));
  return { ...route, segments: route.path.split('/'), stored, notices };
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

function domainOf({ data, errors }: ExecutionResult, name: string): DomainResult {
  if (errors?.[0] !== undefined) throw errors[0].originalError ?? errors[0];
  const domain = data?.['domain'];
  if (isDomainResult(domain)) return domain;
  throw new PublicError('DOMAIN_NOT_FOUND', `No history is recorded for ${parseDomainName(name)}.`);
}

/** What is found has the fields that the operation selects: GraphQL sees to that. */
function isDomainResult(value: unknown): value is DomainResult {
  return typeof value === 'object' && value !== null;
}

function sendJson(response: ServerResponse, text: string): void {
  response.writeHead(200, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
  });
  response.end(text);
}
