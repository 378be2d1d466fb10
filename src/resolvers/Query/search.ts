import ipaddr from 'ipaddr.js';
import { requireScope } from '../../auth/viewer.js';
import { type FeedChange, type FeedPage, type FeedPlace, goneCursor } from '../../feed/change-feed.js';
import type { HeaderPlace } from '../../loaders/search-headers.js';
import type { RecordPlace } from '../../loaders/search-records.js';
import { CHANGE_KINDS, type ChangeKind } from '../../model/change-kinds.js';
import { parseDomainName } from '../../model/domain-name.js';
import { PublicError } from '../../model/errors.js';
import { trimmed } from '../../model/header-fields.js';
import { canonicalIp, isIpv4, isIpv6 } from '../../model/ip-address.js';
import {
  parseNameOrSubdomains,
  parseNamePattern,
  requirePart,
  requireText,
} from '../../model/name-pattern.js';
import { registrableDomain } from '../../model/registrable-domain.js';
import { quoted } from '../../model/text.js';
import { WHAT_IS_NEW } from '../../model/what-is-new.js';
import { requireInterval } from '../Change.js';
import { connection, type Paging, paging, RECORD_PLACE } from '../connection.js';
import type { ChangePage, DomainPage, FoundDomain, HeaderMatchAt, RecordMatchAt } from '../pages.js';
import { canonicalTypes } from '../select-entries.js';
import { selectsLastSeen, selectsOfNodes } from '../selections.js';
import type {
  ChangeOrder,
  DnsRecordFilter,
  DnsRecordMatchResolvers,
  DomainConnectionResolvers,
  DomainEdgeResolvers,
  DomainFilter,
  HttpHeaderFilter,
  HttpHeaderMatchResolvers,
  QueryResolvers,
} from '../types.generated.js';
import { domainOfEntry, foundDomain, instantOf } from './domain.js';

export const dnsRecords: NonNullable<QueryResolvers['dnsRecords']> = async (_query, args, context, info) => {
  const { caller, loaders } = context;
  requireScope(caller.viewer, 'search:read');
  const filter = recordFilter(args.where);
  const { first, after, pageOf } = paging<RecordPlace>(questionOf('dnsRecords', filter), args, RECORD_PLACE);
  const key = { filter, first, after, lastSeen: selectsLastSeen(info) };
  const { matches, next } = await loaders.records.load(key, caller.signal);
  const nodes = matches.map((match): RecordMatchAt => ({ ...match, at: filter.at }));
  return pageOf(nodes, next, ({ place }) => place);
};

/** Text that is the same for all pages of a question. */
function questionOf(field: string, filter: object): string {
  const entries = Object.entries(filter).filter(([, value]) => value !== undefined);
  return `${field} ${JSON.stringify(entries.sort(), (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value))}`;
}

/** Nothing is found by them alone: what is new at any domain has other questions. */
const OTHER_CONDITIONS = `; other conditions select among what is found. ${WHAT_IS_NEW}`;

function recordFilter(where: DnsRecordFilter) {
  const { ip, network, target, text, host, types, present } = where;
  if ([ip, network, target, text, host].every((condition) => condition == null)) {
    throw invalid(`At least one of ip, network, target, text and host is required${OTHER_CONDITIONS}`);
  }
  requireInterval('seenFrom', where.seenFrom, 'seenTo', where.seenTo);
  requireInterval('firstSeenFrom', where.firstSeenFrom, 'firstSeenTo', where.firstSeenTo);
  return {
    ip: ip == null ? undefined : requireIp(ip),
    network: network == null ? undefined : requireNetwork(network),
    target: target == null ? undefined : parseNameOrSubdomains('target', target),
    text: text == null ? undefined : requirePart('text', text),
    host: host == null ? undefined : parseNamePattern('host', host),
    types: types == null ? undefined : [...canonicalTypes(types)].sort(),
    present: present ?? undefined,
    at: instantOf(where.at),
    seenFrom: where.seenFrom ?? undefined,
    seenTo: where.seenTo ?? undefined,
    firstSeenFrom: where.firstSeenFrom ?? undefined,
    firstSeenTo: where.firstSeenTo ?? undefined,
  };
}

function requireIp(text: string): string {
  if (isIpv4(text) || isIpv6(text)) return canonicalIp(text);
  throw invalid(`ip: ${quoted(text)} is not an IPv4 or IPv6 address.`);
}

/** The first and the last address of a network, whose address may be any in it. */
function requireNetwork(text: string): { readonly first: string; readonly last: string } {
  const [address = '', prefix = '', ...others] = text.split('/');
  const longest = isIpv4(address) ? 32 : isIpv6(address) ? 128 : -1;
  if (/^(?:0|[1-9]\d{0,2})$/.test(prefix) && Number(prefix) <= longest && others.length === 0) {
    const octets = ipaddr.parse(address).toByteArray();
    const end = (bit: 0 | 1) =>
      ipaddr.fromByteArray(octets.map((octet, at) => withBits(octet, Number(prefix) - 8 * at, bit)));
    return { first: canonicalIp(end(0).toString()), last: canonicalIp(end(1).toString()) };
  }
  throw invalid(
    `network: ${quoted(text)} is not a network. Write an address and the length of the prefix, such as 192.0.2.0/24.`,
  );
}

/** An octet whose bits after the first ones are all 0 or all 1. */
function withBits(octet: number, first: number, bit: 0 | 1): number {
  const rest = 0xff >> Math.min(Math.max(first, 0), 8);
  return bit === 1 ? octet | rest : octet & ~rest;
}

export const httpHeaders: NonNullable<QueryResolvers['httpHeaders']> = async (
  _query,
  args,
  context,
  info,
) => {
  const { caller, loaders } = context;
  requireScope(caller.viewer, 'search:read');
  const filter = headerFilter(args.where);
  const { first, after, pageOf } = paging<HeaderPlace>(questionOf('httpHeaders', filter), args, {
    domain: 'text',
    from: 'bigint',
  });
  const key = { filter, first, after, lastSeen: selectsOfNodes('lastSeen', info) };
  const { matches, next } = await loaders.headers.load(key, caller.signal);
  const nodes = matches.map((match): HeaderMatchAt => ({ ...match, at: filter.at }));
  return pageOf(nodes, next, ({ domain, from }) => ({ domain, from }));
};

function headerFilter(where: HttpHeaderFilter) {
  const { name, value, contains, present, seenFrom, seenTo } = where;
  if ((value == null) === (contains == null)) {
    throw invalid(`Exactly one of value and contains is required${OTHER_CONDITIONS}`);
  }
  if (name === '') throw invalid('name must not be empty.');
  requireInterval('seenFrom', seenFrom, 'seenTo', seenTo);
  return {
    name: requireText('name', name).toLowerCase(),
    // Recorded values are trimmed (RFC 9110, section 5.5).
    value: value == null ? undefined : trimmed(requireText('value', value)),
    contains: contains == null ? undefined : requirePart('contains', contains),
    present: present ?? undefined,
    at: instantOf(where.at),
    seenFrom: seenFrom ?? undefined,
    seenTo: seenTo ?? undefined,
  };
}

export const searchDomains: NonNullable<QueryResolvers['searchDomains']> = async (_query, args, context) => {
  const { caller, loaders } = context;
  requireScope(caller.viewer, 'search:read');
  const filter = domainFilter(args.where ?? {});
  const question = questionOf('searchDomains', filter);
  const { first, after, pageOf } = paging<{ name: string }>(question, args, { name: 'text' });
  const { matches, next } = await loaders.domains.load({ filter, first, after: after?.name }, caller.signal);
  const nodes = matches.map((row): FoundDomain => ({ row }));
  return pageOf(nodes, next === null ? null : { name: next }, ({ row: { name } }) => ({ name }));
};

function domainFilter(where: DomainFilter) {
  const { match, registrableDomain: registrable, createdFrom, createdTo, changedFrom, changedTo } = where;
  requireInterval('createdFrom', createdFrom, 'createdTo', createdTo);
  requireInterval('changedFrom', changedFrom, 'changedTo', changedTo);
  return {
    match: match == null ? undefined : parseNamePattern('match', match),
    registrableDomain: registrable == null ? undefined : requireRegistrable(registrable),
    createdFrom: createdFrom ?? undefined,
    createdTo: createdTo ?? undefined,
    changedFrom: changedFrom ?? undefined,
    changedTo: changedTo ?? undefined,
  };
}

function requireRegistrable(text: string): string {
  const name = parseDomainName(text);
  const registrable = registrableDomain(name);
  if (registrable === name) return name;
  const hint = registrable === null ? 'it is a public suffix' : `use ${registrable}`;
  throw invalid(`registrableDomain: ${name} is not a registrable domain: ${hint}.`);
}

/** How many names one question may have. */
const MOST_NAMES = 1_000;

/** Which changes of all domains, as pages and subscriptions of the feed have it. */
export function feedQuestion(args: {
  readonly domains?: readonly string[] | null | undefined;
  readonly kinds?: readonly ChangeKind[] | null | undefined;
  readonly order?: ChangeOrder | null | undefined;
  readonly first?: number | null | undefined;
  readonly after?: string | null | undefined;
}) {
  const named = args.domains?.length ?? 0;
  if (named > MOST_NAMES) throw invalid(`domains: ${named} names; ${MOST_NAMES} are allowed.`);
  const domains = args.domains == null ? undefined : [...new Set(args.domains.map(parseDomainName))].sort();
  const kinds: ReadonlySet<ChangeKind> = new Set(args.kinds ?? CHANGE_KINDS);
  const newestFirst = args.order === 'NEWEST_FIRST';
  const question = questionOf('feed', { domains, kinds: [...kinds].sort(), newestFirst });
  return { filter: { domains, kinds, newestFirst }, ...paging<FeedPlace>(question, args, PLACE_IN_FEED) };
}

const PLACE_IN_FEED = { number: 'bigint', recordedAt: 'bigint', given: 'number' } as const;

/** A page of the feed. */
export function feedPage(
  { pageOf }: Paging<FeedPlace>,
  { changes, end, next = null }: Pick<FeedPage, 'changes' | 'end'> & Partial<Pick<FeedPage, 'next'>>,
): ChangePage {
  return pageOf<FeedChange>(changes, next, ({ feedPlace }) => feedPlace, end);
}

export const changes: NonNullable<QueryResolvers['changes']> = async (_query, args, context) => {
  const { caller, feed } = context;
  requireScope(caller.viewer, 'search:read');
  const { filter, ...asked } = feedQuestion(args);
  const page = await feed.page({ ...filter, first: asked.first, after: asked.after });
  if (page === null) throw goneCursor();
  return feedPage(asked, page);
};

export const statistics: NonNullable<QueryResolvers['statistics']> = async (_query, _args, context) => {
  const { loaders, caller } = context;
  return loaders.statistics.load(undefined, caller.signal);
};

export const DnsRecordMatch: DnsRecordMatchResolvers = {
  domain: ({ domain, at }, _args, context, info) => domainOfEntry(domain, at, context, info),
};

export const HttpHeaderMatch: HttpHeaderMatchResolvers = {
  domain: ({ domain, at }, _args, context, info) => domainOfEntry(domain, at, context, info),
};

export const DnsRecordMatchConnection = connection<RecordMatchAt>();
export const HttpHeaderMatchConnection = connection<HeaderMatchAt>();

const domainConnection = connection<FoundDomain>();

export const DomainConnection: DomainConnectionResolvers = {
  ...domainConnection,
  nodes: (page: DomainPage, _args, context, info) =>
    Promise.all(page.nodes.map(({ row }) => foundDomain(row, context, info))),
};

export const DomainEdge: DomainEdgeResolvers = {
  node: ({ node }, _args, context, info) => foundDomain(node.row, context, info),
};

function invalid(message: string): PublicError {
  return new PublicError('INVALID_PARAMETER', message);
}
