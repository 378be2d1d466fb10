import type { Scope } from '../../auth/viewer.js';
import { parseDomainName } from '../../model/domain-name.js';
import { PublicError } from '../../model/errors.js';
import { formatInstant, parseInstant } from '../../model/instant.js';
import { DESCRIBED, type DescribedOperation } from './described.js';
import type { Parameter, Variables } from './parameters.js';
import type { Body } from './presenters/body.js';
import { CHANGES, DOMAIN_CHANGES, type EventPage, presentEvents } from './presenters/changes.js';
import {
  DOMAIN_DETAILS,
  DOMAIN_DIFF,
  DOMAIN_DNS_INFO,
  DOMAIN_HISTORY,
  DOMAIN_HTTP_HEADERS,
} from './presenters/domain.js';
import { DNS_RECORD_MATCHES, DOMAIN_MATCHES, HTTP_HEADER_MATCHES } from './presenters/search.js';

/** How an operation of REST v1 is answered. What it is for and which parameters it has, openapi.yaml says. */
interface Row {
  /** After `/api/v1`; `{name}` is any segment but an empty one, and the parameter of that name. */
  readonly path: string;
  /** The stored GraphQL operation: a file of operations/. It selects one field. */
  readonly operation: string;
  readonly body: Body;
  /** What a client must be allowed to do; null: nothing. */
  readonly scope: Scope | null;
  /** What is answered where the field is null; null: it never is. */
  readonly missing: ((variables: Variables) => PublicError) | null;
  /**
   * The stored operation that selects nothing but `version`, where `operation` selects it besides the body:
   * answers have an ETag and a Last-Modified. Null: answers have none, and no cache keeps them.
   */
  readonly state: string | null;
  /** What a client gets as it happens that accepts server-sent events; absent: it gets the body. */
  readonly live?: Live;
}

/** A stream of events. */
export interface Live {
  /** The stored subscription. It selects one field. */
  readonly operation: string;
  /** Those of the route's that a stream has. `after` is also the request's `Last-Event-ID`. */
  readonly parameters: readonly string[];
  /** @param found A result of the subscription: of the type that the events are made from. */
  present(found: object): EventPage;
}

/**
 * One operation of REST v1. Everything about it follows from its row: which requests it answers, with what
 * and to whom, its entry in the OpenAPI document and on the start page, its name in metrics and traces.
 */
export interface Route extends Row {
  /** As the specification calls it (section 4). */
  readonly name: string;
  /** Its name for programs; it never changes. */
  readonly operationId: string;
  readonly parameters: readonly Parameter[];
  readonly maturity: DescribedOperation['x-maturity'];
  readonly described: DescribedOperation;
}

/** What the operations on one domain have in common. */
const OF_DOMAIN = {
  scope: null,
  missing: ({ domain, at }: Variables) => {
    const upTo = at === undefined ? '' : ` up to ${formatInstant(parseInstant(String(at)))}`;
    const message = `No history is recorded for ${parseDomainName(String(domain))}${upTo}.`;
    return new PublicError('DOMAIN_NOT_FOUND', message);
  },
  state: 'domain-state.graphql',
};

/** What the operations on all domains have in common. */
const ACROSS_DOMAINS = { missing: null, state: null, scope: 'search:read' } as const;

const ROWS: readonly Row[] = [
  {
    path: '/domain/{domain}',
    ...OF_DOMAIN,
    operation: 'get-domain.graphql',
    body: DOMAIN_HISTORY,
  },
  {
    path: '/domain/{domain}/dns',
    ...OF_DOMAIN,
    operation: 'domain-dns-info.graphql',
    body: DOMAIN_DNS_INFO,
    scope: 'dns:read',
  },
  {
    path: '/domain/{domain}/details',
    ...OF_DOMAIN,
    operation: 'domain-details.graphql',
    body: DOMAIN_DETAILS,
    scope: 'details:read',
  },
  {
    path: '/domain/{domain}/headers',
    ...OF_DOMAIN,
    operation: 'domain-http-headers.graphql',
    body: DOMAIN_HTTP_HEADERS,
    scope: 'headers:read',
  },
  { path: '/domain/{domain}/diff', ...OF_DOMAIN, operation: 'domain-diff.graphql', body: DOMAIN_DIFF },
  {
    path: '/domain/{domain}/changes',
    ...OF_DOMAIN,
    operation: 'domain-changes.graphql',
    body: DOMAIN_CHANGES,
  },
  {
    path: '/search/dns-records',
    ...ACROSS_DOMAINS,
    operation: 'search-dns-records.graphql',
    body: DNS_RECORD_MATCHES,
  },
  {
    path: '/search/http-headers',
    ...ACROSS_DOMAINS,
    operation: 'search-http-headers.graphql',
    body: HTTP_HEADER_MATCHES,
  },
  {
    path: '/search/domains',
    ...ACROSS_DOMAINS,
    operation: 'search-domains.graphql',
    body: DOMAIN_MATCHES,
  },
  {
    path: '/changes',
    ...ACROSS_DOMAINS,
    operation: 'changes.graphql',
    body: CHANGES,
    live: {
      operation: 'changes-live.graphql',
      parameters: ['domains', 'kinds', 'after'],
      present: presentEvents,
    },
  },
];

/** All that REST v1 answers. */
export const ROUTES: readonly Route[] = ROWS.map((row) => {
  const described = DESCRIBED.paths[row.path]?.get;
  if (described === undefined) throw new Error(`openapi.yaml does not describe ${row.path}.`);
  const { summary: name, operationId, parameters, 'x-maturity': maturity } = described;
  return { ...row, name, operationId, parameters, maturity, described };
});

/** A row of a table, and the segments of the path that it was found by. */
export interface PathMatch<Row> {
  readonly row: Row;
  readonly segments: readonly string[];
}

/**
 * Makes the function that finds the row of a path, percent-encoded as it came. Case and a final slash count
 * (RFC 3986, section 6.2.2.1).
 */
export function pathMatcher<Row extends Pick<Route, 'path'>>(
  rows: readonly Row[],
): (path: string) => PathMatch<Row> | undefined {
  const patterns = rows.map((row) => ({ row, pattern: row.path.split('/') }));
  return (path) => {
    const segments = path.split('/');
    const found = patterns.find(({ pattern }) => fits(pattern, segments));
    return found && { row: found.row, segments };
  };
}

function fits(pattern: readonly string[], segments: readonly string[]): boolean {
  if (segments.length !== pattern.length) return false;
  return pattern.every((wanted, at) =>
    wanted.startsWith('{') ? segments[at] !== '' : segments[at] === wanted,
  );
}

/** What a client without a token may do. */
export interface AnonymousAccess {
  /** Whether every request needs a token. */
  readonly tokenRequired: boolean;
  /** What may be done without a token otherwise. */
  readonly anonymousScopes: ReadonlySet<Scope>;
}

/** Whether an operation needs no token. */
export function isOpen({ scope }: Route, { tokenRequired, anonymousScopes }: AnonymousAccess): boolean {
  return !tokenRequired && (scope === null || anonymousScopes.has(scope));
}
