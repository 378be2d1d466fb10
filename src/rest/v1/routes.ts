import type { Scope } from '../../auth/viewer.js';
import { parseDomainName } from '../../model/domain-name.js';
import { PublicError } from '../../model/errors.js';
import { formatInstant, parseInstant } from '../../model/instant.js';
import { DESCRIBED, type DescribedOperation } from './described.js';
import type { Variables } from './parameters.js';
import type { Body } from './presenters/body.js';
import { CHANGES, DOMAIN_CHANGES } from './presenters/changes.js';
import {
  DOMAIN_DETAILS,
  DOMAIN_DIFF,
  DOMAIN_DNS_INFO,
  DOMAIN_HISTORY,
  DOMAIN_HTTP_HEADERS,
} from './presenters/domain.js';
import { CHANGES_ATOM, CHANGES_FEED, DOMAIN_CHANGES_ATOM, DOMAIN_CHANGES_FEED } from './presenters/feeds.js';
import { DNS_RECORD_MATCHES, DOMAIN_MATCHES, HTTP_HEADER_MATCHES } from './presenters/search.js';

/** How an operation of REST v1 is answered. What it is for and which parameters it has, openapi.yaml says. */
interface Row {
  /** After `/api/v1`; `{domain}` is any segment but an empty one, and the parameter of that name. */
  readonly path: string;
  readonly body: Body;
  /** What a client must be allowed to do; null: nothing. */
  readonly scope: Scope | null;
  /** What is answered where the field is null; null: it never is. */
  readonly missing: ((variables: Variables) => PublicError) | null;
  /** The stored operation that selects nothing but `version`, for validators. Null: only feeds have an ETag. */
  readonly state: string | null;
  /** Whose stored operation it runs, with variables that no parameter has; absent: its own. */
  readonly runs?: { readonly operationId: string; readonly variables: Variables };
}

/** The entry in the OpenAPI document and on the start page, and the name in metrics follow from it. */
export type Route = Row & DescribedOperation;

const OF_DOMAIN = {
  scope: null,
  missing: ({ domain, at }: Variables) => {
    const upTo = at === undefined ? '' : ` up to ${formatInstant(parseInstant(String(at)))}`;
    const message = `No history is recorded for ${parseDomainName(String(domain))}${upTo}.`;
    return new PublicError('DOMAIN_NOT_FOUND', message);
  },
  state: 'domain-state.graphql',
};

const ACROSS_DOMAINS = { missing: null, state: null, scope: 'search:read' } as const;

const LATEST = { order: 'NEWEST_FIRST', first: 100 };
const FEED_OF_DOMAIN = { ...OF_DOMAIN, runs: { operationId: 'getDomainChanges', variables: LATEST } };
const FEED = { ...ACROSS_DOMAINS, runs: { operationId: 'getChanges', variables: LATEST } };

const ROWS: readonly Row[] = [
  { path: '/domain/{domain}', ...OF_DOMAIN, body: DOMAIN_HISTORY },
  { path: '/domain/{domain}/dns', ...OF_DOMAIN, body: DOMAIN_DNS_INFO, scope: 'dns:read' },
  { path: '/domain/{domain}/details', ...OF_DOMAIN, body: DOMAIN_DETAILS, scope: 'details:read' },
  { path: '/domain/{domain}/headers', ...OF_DOMAIN, body: DOMAIN_HTTP_HEADERS, scope: 'headers:read' },
  { path: '/domain/{domain}/diff', ...OF_DOMAIN, body: DOMAIN_DIFF },
  { path: '/domain/{domain}/changes', ...OF_DOMAIN, body: DOMAIN_CHANGES },
  { path: '/domain/{domain}/changes.atom', ...FEED_OF_DOMAIN, body: DOMAIN_CHANGES_ATOM },
  { path: '/domain/{domain}/changes.json', ...FEED_OF_DOMAIN, body: DOMAIN_CHANGES_FEED },
  { path: '/search/dns-records', ...ACROSS_DOMAINS, body: DNS_RECORD_MATCHES },
  { path: '/search/http-headers', ...ACROSS_DOMAINS, body: HTTP_HEADER_MATCHES },
  { path: '/search/domains', ...ACROSS_DOMAINS, body: DOMAIN_MATCHES },
  { path: '/changes', ...ACROSS_DOMAINS, body: CHANGES },
  { path: '/changes.atom', ...FEED, body: CHANGES_ATOM },
  { path: '/changes.json', ...FEED, body: CHANGES_FEED },
];

export const ROUTES: readonly Route[] = ROWS.map((row) => {
  const described = DESCRIBED.paths[row.path]?.get;
  if (described === undefined) throw new Error(`openapi.yaml does not describe ${row.path}.`);
  return { ...row, ...described };
});

/** Of paths percent-encoded as they came. Case and a final slash count (RFC 3986, section 6.2.2.1). */
export function pathMatcher<Row extends Pick<Route, 'path'>>(rows: readonly Row[]) {
  const patterns = rows.map((row) => ({ row, pattern: row.path.split('/') }));
  return (path: string) => {
    const segments = path.split('/');
    const fits = (wanted: string, at: number) =>
      wanted === '{domain}' ? segments[at] !== '' : segments[at] === wanted;
    const found = patterns.find(({ pattern }) => pattern.length === segments.length && pattern.every(fits));
    return found && { row: found.row, domain: segments[found.pattern.indexOf('{domain}')] };
  };
}

export interface AnonymousAccess {
  readonly tokenRequired: boolean;
  /** Unless every request needs a token. */
  readonly anonymousScopes: ReadonlySet<Scope>;
}

export function isOpen({ scope }: Route, { tokenRequired, anonymousScopes }: AnonymousAccess): boolean {
  return !tokenRequired && (scope === null || anonymousScopes.has(scope));
}
