import type { Scope } from '../../auth/viewer.js';
import { CHANGE_KINDS, DOMAIN_CHANGE_KINDS } from '../../model/change-kinds.js';
import { parseDomainName } from '../../model/domain-name.js';
import { type ErrorCode, PublicError } from '../../model/errors.js';
import { formatInstant, parseInstant } from '../../model/instant.js';
import {
  AFTER,
  AT,
  DOMAIN,
  FIRST,
  FROM,
  flag,
  instant,
  oneOf,
  type ParameterTable,
  plainText,
  TO,
  type Variables,
} from './parameters.js';
import { CHANGES, DOMAIN_CHANGES, type EventPage, presentEvents } from './presenters/changes.js';
import {
  type Body,
  DOMAIN_DETAILS,
  DOMAIN_DIFF,
  DOMAIN_DNS_INFO,
  DOMAIN_HISTORY,
  DOMAIN_HTTP_HEADERS,
} from './presenters/domain.js';
import { DNS_RECORD_MATCHES, DOMAIN_MATCHES, HTTP_HEADER_MATCHES } from './presenters/search.js';

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
  /** What a client gets as it happens that accepts server-sent events; absent: it gets the body. */
  readonly live?: Live;
  /** What a client must be allowed to do; null: nothing. */
  readonly scope: Scope | null;
  /** How settled the body is (specification, 9). */
  readonly maturity: 'Testing' | 'Developing';
}

/** A stream of events. */
export interface Live {
  /** The stored subscription. It selects one field. */
  readonly operation: string;
  /** Those of the route's that a stream has. `after` is also the request's `Last-Event-ID`. */
  readonly parameters: ParameterTable;
  /** What it sends, for people. */
  readonly description: string;
  /** @param found A result of the subscription: of the type that the events are made from. */
  present(found: object): EventPage;
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

/** What the operations on all domains have in common. */
const ACROSS_DOMAINS = {
  missing: null,
  state: null,
  inParts: false,
  scope: 'search:read',
  maturity: 'Developing',
} satisfies Partial<Route>;

const KINDS_TEXT = 'Only changes of this kind; may be given several times.';
const KINDS_OPTIONS = { isList: true, example: 'DNS_RECORD_REMOVED' } as const;
const KINDS = oneOf('kinds', CHANGE_KINDS, KINDS_TEXT, KINDS_OPTIONS);

const LATE = '2024-03-02T00:00:00Z';

const ORDER = { isList: false, default: 'OLDEST_FIRST', example: 'NEWEST_FIRST' } as const;
const ORDERS = ['OLDEST_FIRST', 'NEWEST_FIRST'];

const DOMAINS = plainText('Only changes of this domain; may be given up to 1,000 times.', 'example.com', {
  isList: true,
  errorCode: 'INVALID_DOMAIN',
});

/** Of values with `/`, `:` or `*`, as documents show them. */
const RESERVED = { allowReserved: true } as const;

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
      types: plainText(
        'Only records of this type, and the headers of `headers`; may be given several times.',
        'NS',
        { isList: true },
      ),
      headers: plainText(
        'Only this header, and the records of `types`; may be given several times.',
        'server',
        { isList: true },
      ),
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
      from: instant('from', 'Only changes after this time. Without it, all from the first on.'),
      to: instant('to', 'Only changes up to this time, not before `from`. Without it, all.', LATE),
      kinds: oneOf('kinds', DOMAIN_CHANGE_KINDS, KINDS_TEXT, KINDS_OPTIONS),
      types: plainText(
        'Only changes of records of this type, and of the headers of `names`; may be given several times.',
        'NS',
        { isList: true },
      ),
      names: plainText(
        'Only changes of this header, and of the records of `types`; may be given several times.',
        'server',
        { isList: true },
      ),
      order: oneOf('order', ORDERS, 'The order in time.', ORDER),
      first: FIRST,
      after: AFTER,
    },
    operation: 'domain-changes.graphql',
    body: DOMAIN_CHANGES,
    scope: null,
    maturity: 'Developing',
  },
  {
    name: 'Search DNS records',
    operationId: 'searchDnsRecords',
    description:
      'The DNS records of all domains that have an address, name a host, have a text or belong to an owner name: at least ' +
      'one of `ip`, `network`, `target`, `text` and `host` is required.',
    path: '/search/dns-records',
    ...ACROSS_DOMAINS,
    parameters: {
      ip: plainText('An IPv4 or IPv6 address, of A and AAAA records.', '192.0.2.7', RESERVED),
      network: plainText(
        'A network in CIDR notation, such as `192.0.2.0/24`, with the addresses of A and AAAA records.',
        '192.0.2.0/24',
        RESERVED,
      ),
      target: plainText(
        "A host name that the record's data has: of NS, CNAME, DNAME, PTR, MX, SRV, HTTPS, SVCB, AFSDB, KX, LP and RT records, " +
          '`mname` and `rname` of SOA, `replacement` of NAPTR, and the certification authority that a CAA record allows. ' +
          '`*.example.net` stands for all names below it.',
        '*.example.net',
        RESERVED,
      ),
      text: plainText('A part of the text of a TXT record, at least three characters.', 'spf'),
      host: plainText(
        'The owner name, or a pattern of it as `match` of Search domains. The `*` of a DNS wildcard is `\\*`, as in a master file.',
        '*.example.com',
        RESERVED,
      ),
      types: plainText('Only records of this type; may be given several times.', 'A', { isList: true }),
      present: flag(
        'present',
        '`true`: only records that are present; `false`: only removed ones. Default: both.',
      ),
      at: AT,
      seenFrom: instant('seenFrom', 'Only records that were present at some time after this one.'),
      seenTo: instant('seenTo', 'Only records that were present at some time up to this one.', LATE),
      firstSeenFrom: instant('firstSeenFrom', 'Only records that were first observed after this time.'),
      firstSeenTo: instant('firstSeenTo', 'Only records that were first observed up to this time.', LATE),
      first: FIRST,
      after: AFTER,
    },
    operation: 'search-dns-records.graphql',
    body: DNS_RECORD_MATCHES,
  },
  {
    name: 'Search HTTP headers',
    operationId: 'searchHttpHeaders',
    description:
      'The HTTP response headers of all domains that had a value, or a value with a part: exactly one of `value` and ' +
      '`contains` is required.',
    path: '/search/http-headers',
    ...ACROSS_DOMAINS,
    parameters: {
      name: plainText('The name of the header, in upper or lower case.', 'server', { required: true }),
      value: plainText('The whole value.', 'nginx'),
      contains: plainText('A part of the value, at least three characters, in the same case.', 'ngin'),
      present: flag(
        'present',
        '`true`: only headers that still have the value; `false`: only those that had it. Default: both.',
      ),
      at: AT,
      seenFrom: instant('seenFrom', 'Only headers that had the value at some time after this one.'),
      seenTo: instant('seenTo', 'Only headers that had the value at some time up to this one.', LATE),
      first: FIRST,
      after: AFTER,
    },
    operation: 'search-http-headers.graphql',
    body: HTTP_HEADER_MATCHES,
  },
  {
    name: 'Search domains',
    operationId: 'searchDomains',
    description: 'The domains that meet every condition, by name; without any, all of them.',
    path: '/search/domains',
    ...ACROSS_DOMAINS,
    parameters: {
      match: plainText(
        'A name in which `*` stands for any characters, such as `*.example.com`, `example.*` or `*shop*`, with at least three ' +
          'characters besides.',
        '*.example',
        RESERVED,
      ),
      registrableDomain: plainText(
        'A registrable domain, such as `example.co.uk`: it and all domains below it.',
        'example.com',
        { errorCode: 'INVALID_DOMAIN' },
      ),
      createdFrom: instant('createdFrom', 'Domains whose earliest observation is after this time.'),
      createdTo: instant('createdTo', 'Domains whose earliest observation is not after this time.', LATE),
      changedFrom: instant('changedFrom', 'Domains that last changed after this time.'),
      changedTo: instant('changedTo', 'Domains that last changed up to this time.', LATE),
      first: FIRST,
      after: AFTER,
    },
    operation: 'search-domains.graphql',
    body: DOMAIN_MATCHES,
  },
  {
    name: 'Changes',
    operationId: 'getChanges',
    description:
      'What changed at any domain, in the order in which it was recorded. A reader that continues with `next` of its last page ' +
      'misses no change and gets none twice. A cursor from before a restore of the database, or older than what is kept, is ' +
      '400 `INVALID_CURSOR`. With `Accept: text/event-stream`, the changes are sent as they are recorded.',
    path: '/changes',
    ...ACROSS_DOMAINS,
    parameters: {
      domains: DOMAINS,
      kinds: KINDS,
      order: oneOf('order', ORDERS, 'The order of recording.', ORDER),
      first: FIRST,
      after: AFTER,
    },
    operation: 'changes.graphql',
    body: CHANGES,
    live: {
      operation: 'changes-live.graphql',
      parameters: { domains: DOMAINS, kinds: KINDS, after: AFTER },
      description:
        'Server-sent events (HTML, section 9.2), for a client that prefers `text/event-stream`: each change as it is recorded. `data` is an item of `changes`, `id` its cursor. A first event without ' +
        'data has the `id` where the stream begins: at `Last-Event-ID`, at `after`, or now. The parameters `order` and `first` ' +
        'are not allowed. When the service ends the stream, since the client reads too slowly, the rate limit is used up, an ' +
        'hour is over, the database is not available or the service stops, the last event is `end`, whose data is a problem: ' +
        'reconnect with the last `id` as `Last-Event-ID`, as EventSource does.',
      present: presentEvents,
    },
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
