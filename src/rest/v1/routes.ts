import type { Scope } from '../../auth/viewer.js';
import { CHANGE_KINDS } from '../../model/change-kinds.js';
import { parseDomainName } from '../../model/domain-name.js';
import { type ErrorCode, PublicError } from '../../model/errors.js';
import { formatInstant, parseInstant } from '../../model/instant.js';
import {
  AFTER,
  AT,
  DOMAIN,
  FIRST,
  FROM,
  oneOf,
  type ParameterTable,
  TO,
  type Variables,
} from './parameters.js';
import { DOMAIN_CHANGES } from './presenters/changes.js';
import {
  type Body,
  DOMAIN_DETAILS,
  DOMAIN_DIFF,
  DOMAIN_DNS_INFO,
  DOMAIN_HISTORY,
  DOMAIN_HTTP_HEADERS,
} from './presenters/domain.js';

/**
 * One operation of REST v1. Everything about it follows from its row: which requests it answers, with what
 * and to whom, its entry in the OpenAPI document and on the start page, its name in metrics and traces.
 */
export interface Route {
  /** As the specification calls it (section 4). */
  readonly name: string;
  /** Its name for programs; it never changes. */
  readonly operationId: string;
  /** What it answers, for people. */
  readonly description: string;
  /** After `/api/v1`; `{name}` is any segment but an empty one, and the parameter of that name. */
  readonly path: string;
  readonly parameters: ParameterTable;
  /** The stored GraphQL operation: a file of operations/. It selects one field. */
  readonly operation: string;
  /** What it means that the field is null; null: it never is. */
  readonly missing: Missing | null;
  /**
   * The stored operation that selects nothing but `version`, where `operation` selects it besides the body:
   * answers have an ETag and a Last-Modified. Null: answers have none, and no cache keeps them.
   */
  readonly state: string | null;
  readonly body: Body;
  /** Whether the body of a large history is made part by part; otherwise it is read in one piece, up to 64 MB. */
  readonly inParts: boolean;
  /** What a client must be allowed to do; null: nothing. */
  readonly scope: Scope | null;
  /** How settled the body is (specification, 9). */
  readonly maturity: 'Testing' | 'Developing';
}

/** A 404 for a request that is valid. */
export interface Missing {
  readonly code: ErrorCode;
  /** When it is answered, for people. */
  readonly meaning: string;
  readonly error: (variables: Variables) => PublicError;
}

/** What the operations on one domain have in common. */
const OF_DOMAIN = {
  parameters: { domain: DOMAIN, at: AT },
  missing: {
    code: 'DOMAIN_NOT_FOUND',
    meaning: 'Nothing is recorded of the domain, or nothing up to `at`.',
    error: ({ domain, at }) => {
      const upTo = at === undefined ? '' : ` up to ${formatInstant(parseInstant(String(at)))}`;
      const message = `No history is recorded for ${parseDomainName(String(domain))}${upTo}.`;
      return new PublicError('DOMAIN_NOT_FOUND', message);
    },
  },
  state: 'domain-state.graphql',
  inParts: true,
} satisfies Partial<Route>;

/** All that REST v1 answers. */
export const ROUTES: readonly Route[] = [
  {
    name: 'Get domain',
    operationId: 'getDomain',
    description: 'The DNS records and the HTTP response headers of a domain, with their history.',
    path: '/domain/{domain}',
    ...OF_DOMAIN,
    operation: 'get-domain.graphql',
    body: DOMAIN_HISTORY,
    scope: null,
    maturity: 'Testing',
  },
  {
    name: 'Domain DNS info',
    operationId: 'getDomainDnsInfo',
    description: 'The DNS records of a domain, with their history.',
    path: '/domain/{domain}/dns',
    ...OF_DOMAIN,
    operation: 'domain-dns-info.graphql',
    body: DOMAIN_DNS_INFO,
    scope: 'dns:read',
    maturity: 'Developing',
  },
  {
    name: 'Domain details',
    operationId: 'getDomainDetails',
    description: 'The names, times and counts of a domain.',
    path: '/domain/{domain}/details',
    ...OF_DOMAIN,
    operation: 'domain-details.graphql',
    body: DOMAIN_DETAILS,
    scope: 'details:read',
    maturity: 'Developing',
  },
  {
    name: 'Domain HTTP headers',
    operationId: 'getDomainHttpHeaders',
    description: 'The HTTP response headers of a domain, with their history.',
    path: '/domain/{domain}/headers',
    ...OF_DOMAIN,
    operation: 'domain-http-headers.graphql',
    body: DOMAIN_HTTP_HEADERS,
    scope: 'headers:read',
    maturity: 'Developing',
  },
  {
    name: 'Domain diff',
    operationId: 'getDomainDiff',
    description: 'What is present of a domain at one of two times and not at the other.',
    path: '/domain/{domain}/diff',
    ...OF_DOMAIN,
    parameters: {
      domain: DOMAIN,
      from: { ...FROM, required: true },
      to: { ...TO, required: true },
    },
    operation: 'domain-diff.graphql',
    body: DOMAIN_DIFF,
    // A record may have gone in one part and returned in another.
    inParts: false,
    scope: null,
    maturity: 'Developing',
  },
  {
    name: 'Domain changes',
    operationId: 'getDomainChanges',
    description: 'What changed at a domain and when, with who observed it, a page at a time.',
    path: '/domain/{domain}/changes',
    ...OF_DOMAIN,
    parameters: {
      domain: DOMAIN,
      from: {
        ...FROM,
        description: 'Only changes after this time, an RFC 3339 time. Without it, all from the first on.',
      },
      to: {
        ...TO,
        description: 'Only changes up to this time, an RFC 3339 time, not before `from`. Without it, all.',
      },
      kinds: oneOf('kinds', CHANGE_KINDS, 'Only changes of this kind; may be given several times.', {
        isList: true,
        example: 'DNS_RECORD_REMOVED',
      }),
      order: oneOf('order', ['OLDEST_FIRST', 'NEWEST_FIRST'], 'The order in time.', {
        isList: false,
        default: 'OLDEST_FIRST',
        example: 'NEWEST_FIRST',
      }),
      first: FIRST,
      after: AFTER,
    },
    operation: 'domain-changes.graphql',
    body: DOMAIN_CHANGES,
    scope: null,
    maturity: 'Developing',
  },
];

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
