import ipaddr from 'ipaddr.js';
import { requireScope, type Viewer } from '../../auth/viewer.js';
import { type FeedPage, type FeedPlace, goneCursor } from '../../feed/change-feed.js';
import { ResponseSize } from '../../limits/response-size.js';
import type { Change } from '../../loaders/changes.js';
import type { HeaderPlace } from '../../loaders/search-headers.js';
import type { RecordPlace } from '../../loaders/search-records.js';
import { CHANGE_KINDS, type ChangeKind } from '../../model/change-kinds.js';
import { parseDomainName } from '../../model/domain-name.js';
import { invalidParameter } from '../../model/errors.js';
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
import { CONNECTION, type PageOf, paging, questionOf, RECORD_PLACE } from '../connection.js';
import type { RequestContext } from '../context.js';
import { sortedNames, sortedTypes } from '../lists.js';
import { selected } from '../selections.js';
import type {
  DnsRecordFilter,
  DomainFilter,
  HttpHeaderFilter,
  QueryChangesArgs,
  QueryResolvers,
  Resolvers,
  SubscriptionResolvers,
} from '../types.generated.js';
import { domainOfEntry, instantOf, requireFew } from './domain.js';

export const acrossDomains: QueryResolvers = {
  async dnsRecords(_query, args, { caller, loaders }, info) {
    requireScope(caller.viewer, 'search:read');
    const filter = recordFilter(args.where);
    const question = questionOf('dnsRecords', filter);
    const { first, after, pageOf } = paging<RecordPlace>(question, args, RECORD_PLACE);
    const key = { filter, first, after, lastSeen: selected(info).anywhere.has('lastSeen') };
    return pageOf(await loaders.records.load(key, caller), ({ place }) => place);
  },
  async httpHeaders(_query, args, { caller, loaders }, info) {
    requireScope(caller.viewer, 'search:read');
    const filter = headerFilter(args.where);
    const question = questionOf('httpHeaders', filter);
    const { first, after, pageOf } = paging<HeaderPlace>(question, args, { domain: 'text', from: 'bigint' });
    const key = { filter, first, after, lastSeen: selected(info).anywhere.has('lastSeen') };
    return pageOf(await loaders.headers.load(key, caller), (match) => match);
  },
  async searchDomains(_query, args, { caller, loaders }) {
    requireScope(caller.viewer, 'search:read');
    const filter = domainFilter(args.where ?? {});
    const question = questionOf('searchDomains', filter);
    const { first, after, pageOf } = paging<{ name: string }>(question, args, { name: 'text' });
    return pageOf(await loaders.domains.load({ filter, first, after }, caller), (row) => row);
  },
  async changes(_query, args, { caller, feed }) {
    requireScope(caller.viewer, 'search:read');
    const { key, pageOf } = feedQuestion(args, caller.viewer);
    const page = await feed.page(key, caller);
    if (page === null) throw goneCursor();
    return pageOf(page);
  },
  statistics: (_query, _args, { loaders, caller }) => loaders.statistics.load(undefined, caller),
};

function optional<Value, Read>(value: Value | null | undefined, read: (value: Value) => Read) {
  return value == null ? undefined : read(value);
}

/** Nothing is found by them alone: what is new at any domain has other questions. */
const OTHER_CONDITIONS = `; other conditions select among what is found. ${WHAT_IS_NEW}`;

function recordFilter(where: DnsRecordFilter) {
  const { ip, network, target, text, host } = where;
  if ([ip, network, target, text, host].every((condition) => condition == null)) {
    const rule = 'At least one of ip, network, target, text and host is required';
    throw invalidParameter(`${rule}${OTHER_CONDITIONS}`);
  }
  requireInterval('seenFrom', where.seenFrom, 'seenTo', where.seenTo);
  requireInterval('firstSeenFrom', where.firstSeenFrom, 'firstSeenTo', where.firstSeenTo);
  return {
    ...where,
    ip: optional(ip, requireIp),
    network: optional(network, requireNetwork),
    target: optional(target, (name) => parseNameOrSubdomains('target', name)),
    text: optional(text, (part) => requirePart('text', part)),
    host: optional(host, (pattern) => parseNamePattern('host', pattern)),
    types: sortedTypes(where.types),
    at: instantOf(where.at),
  };
}

function requireIp(text: string): string {
  if (isIpv4(text) || isIpv6(text)) return canonicalIp(text);
  throw invalidParameter(`ip: ${quoted(text)} is not an IPv4 or IPv6 address.`);
}

/** The first and the last address of a network, whose address may be any in it. */
function requireNetwork(text: string): { readonly first: string; readonly last: string } {
  const [address = '', prefix = '', ...others] = text.split('/');
  const longest = isIpv4(address) ? 32 : isIpv6(address) ? 128 : -1;
  if (/^(?:0|[1-9]\d{0,2})$/.test(prefix) && Number(prefix) <= longest && others.length === 0) {
    const family = isIpv4(address) ? ipaddr.IPv4 : ipaddr.IPv6;
    const [first, last] = [family.networkAddressFromCIDR(text), family.broadcastAddressFromCIDR(text)];
    return { first: canonicalIp(first.toString()), last: canonicalIp(last.toString()) };
  }
  throw invalidParameter(
    `network: ${quoted(text)} is not a network. Write an address and the length of the prefix, such as ` +
      '192.0.2.0/24.',
  );
}

function headerFilter(where: HttpHeaderFilter) {
  const { name, value, contains } = where;
  if ((value == null) === (contains == null)) {
    throw invalidParameter(`Exactly one of value and contains is required${OTHER_CONDITIONS}`);
  }
  if (name === '') throw invalidParameter('name must not be empty.');
  requireInterval('seenFrom', where.seenFrom, 'seenTo', where.seenTo);
  return {
    ...where,
    name: requireText('name', name).toLowerCase(),
    // Recorded values are trimmed (RFC 9110, section 5.5).
    value: optional(value, (whole) => trimmed(requireText('value', whole))),
    contains: optional(contains, (part) => requirePart('contains', part)),
    at: instantOf(where.at),
  };
}

function domainFilter(where: DomainFilter) {
  requireInterval('createdFrom', where.createdFrom, 'createdTo', where.createdTo);
  requireInterval('changedFrom', where.changedFrom, 'changedTo', where.changedTo);
  return {
    ...where,
    match: optional(where.match, (pattern) => parseNamePattern('match', pattern)),
    registrableDomain: optional(where.registrableDomain, requireRegistrable),
  };
}

function requireRegistrable(text: string): string {
  const name = parseDomainName(text);
  const registrable = registrableDomain(name);
  if (registrable === name) return name;
  const hint = registrable === null ? 'it is a public suffix' : `use ${registrable}`;
  throw invalidParameter(`registrableDomain: ${name} is not a registrable domain: ${hint}.`);
}

/** Which changes of all domains. @throws PublicError FORBIDDEN, INVALID_PARAMETER, INVALID_CURSOR */
function feedQuestion(args: Partial<QueryChangesArgs>, viewer: Viewer) {
  if (args.watched != null) requireScope(viewer, 'watch:read');
  requireFew('domains', args.domains ?? []);
  const read = (text: string) =>
    text.includes('*') ? parseNameOrSubdomains('domains', text) : { parts: [parseDomainName(text)] };
  const patterns = new Map(args.domains?.map(read).map((each) => [each.parts.join('*'), each]));
  const conditions = {
    registrableDomain: optional(args.registrableDomain, requireRegistrable),
    watched: args.watched ?? undefined,
    types: sortedTypes(args.types),
    headers: sortedNames(args.headers),
    notable: args.notable ?? undefined,
    newestFirst: args.order === 'NEWEST_FIRST',
  };
  const kinds: ReadonlySet<ChangeKind> = new Set(args.kinds ?? CHANGE_KINDS);
  const names = args.domains == null ? undefined : [...patterns.keys()].sort();
  const question = questionOf('feed', { ...conditions, domains: names, kinds: [...kinds].sort() });
  const place = { number: 'bigint', recordedAt: 'bigint', given: 'number' } as const;
  const { first, after, pageOf } = paging<FeedPlace>(question, args, place);
  return {
    key: { ...conditions, domains: names && [...patterns.values()], kinds, first, after },
    pageOf: (page: Omit<FeedPage, 'octets'>) => pageOf(page, (change) => change.feedPlace, page.end),
  };
}

export const Subscription: SubscriptionResolvers = {
  changes: {
    async subscribe(_root, args, context) {
      requireScope(context.caller.viewer, 'search:read');
      const question = feedQuestion(args, context.caller.viewer);
      context.resumeAfter = args.after ?? undefined;
      return pages(question, context);
    },
    resolve: (page: PageOf<Change>) => page,
  },
};

const CHANGES_PER_UNIT = 100;

/** The pages of a listener. The next one is loaded when the result of the last one is executed and sent. */
async function* pages(
  { key, pageOf }: ReturnType<typeof feedQuestion>,
  context: RequestContext,
): AsyncGenerator<PageOf<Change>, void, void> {
  const { caller, feed, cost } = context;
  let sent = 0;
  for await (const found of feed.listen({ ...key, ...caller })) {
    const before = Math.floor(sent / CHANGES_PER_UNIT);
    sent += found.items.length;
    const units = Math.floor(sent / CHANGES_PER_UNIT) - before + cost.unitsOfChange * found.items.length;
    if (units > 0) await context.charge(units);
    const hasPreviousPage = context.resumeAfter !== undefined;
    const page = { ...pageOf({ ...found, next: null }), hasPreviousPage };
    context.size = new ResponseSize();
    yield page;
    context.resumeAfter = page.end;
  }
}

export const toDomains: Resolvers = {
  DnsRecordMatch: { domain: ({ record }, _args, context, info) => domainOfEntry(record.of, context, info) },
  HttpHeaderMatch: { domain: (match, _args, context, info) => domainOfEntry(match, context, info) },
  DomainConnection: {
    ...CONNECTION,
    nodes: ({ nodes }, _args, context, info) =>
      Promise.all(nodes.map((row) => domainOfEntry({ domain: row.name, row }, context, info))),
  },
  DomainEdge: {
    node: ({ node: row }, _args, context, info) => domainOfEntry({ domain: row.name, row }, context, info),
  },
};
