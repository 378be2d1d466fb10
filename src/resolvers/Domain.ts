import type { GraphQLResolveInfo } from 'graphql';
import type { DnsEntry, OfDomain } from '../loaders/dns-entries.js';
import type { DomainHistory, DomainHistoryKey } from '../loaders/domain-history.js';
import type { HeaderEntry, HeaderHistoryItem } from '../loaders/header-entries.js';
import { observedParts } from '../loaders/observed-parts.js';
import type { RecordPlace } from '../loaders/search-records.js';
import { compareStates, weightOf } from '../loaders/state-diff.js';
import { unicodeName } from '../model/domain-name.js';
import { PublicError } from '../model/errors.js';
import { formatInstant, type Instant, requireReached } from '../model/instant.js';
import { writeNodeId } from '../model/node-id.js';
import { registrableDomain } from '../model/registrable-domain.js';
import { changesOf } from './Change.js';
import { connection, loadersOf, pageOf, placeOfDomain, requireFirst, versionOf } from './connection.js';
import type { RequestContext } from './context.js';
import { memberOf } from './DnsRecord.js';
import { allOf, granted } from './granted.js';
import { loadedPart, ofDomain, selectsIdOrPages, selectsOfNodes } from './needed-parts.js';
import { nameOfDomain, nameOfHeader } from './node-names.js';
import {
  canonicalNames,
  canonicalTypes,
  selectDnsEntries,
  selectHeaders,
  selectLists,
} from './select-entries.js';
import type {
  DomainDiffResolvers,
  DomainDnsRecordsArgs,
  DomainResolvers,
  HeaderHistoryResolvers,
} from './types.generated.js';

export const Domain: DomainResolvers = {
  id: ({ name: domain, at }) => writeNodeId(nameOfDomain({ domain, at })),
  unicodeName: ({ name }) => unicodeName(name),
  registrableDomain: ({ name }) => registrableDomain(name),
  version: ({ version }) => String(version),
  dnsRecordCount: ({ counts }) => loadedPart(counts).dnsRecords,
  httpHeaderCount: ({ counts }) => loadedPart(counts).httpHeaders,
  changeCount: ({ counts }) => loadedPart(counts).changes,
  dnsRecords(history, args, context, info) {
    const { budget } = context;
    if (history.dnsRecords === null) return recordsOfLarge(history, args, context, info);
    const of = { domain: history.name, at: history.at };
    return grantedOf(of, () => selectDnsEntries(loadedPart(history.dnsRecords), args), budget, info);
  },
  httpHeaders({ name: domain, at, version, isOfPrimary, httpHeaders }, args, { budget }, info) {
    const headers = granted(
      () => selectHeaders(loadedPart(httpHeaders), args),
      () => 'HeaderHistory',
      budget,
      info,
    );
    // Its pages are read by themselves, with cursors of the domain.
    if (!selectsIdOrPages(info)) return headers;
    return Promise.resolve(headers).then((all) =>
      all.map((header) => ({ ...header, of: { domain, at, version, isOfPrimary } })),
    );
  },
  async dnsRecordsConnection(history, args, context, info) {
    const { name, at } = history;
    const { budget, viewer, recipient } = context;
    const first = requireFirst(args.first);
    const types = args.types == null ? undefined : [...canonicalTypes(args.types)].sort();
    const filter = { domain: name, at, types, present: args.present ?? undefined };
    const question = ['dnsRecordsConnection', name, at, types, filter.present].join(' ');
    const place = { domain: 'text', firstSeen: 'bigint', type: 'text', position: 'number' } as const;
    const after = placeOfDomain<RecordPlace>(question, args.after, place);
    await budget.readPage(first);
    const lastSeen = selectsOfNodes('lastSeen', info);
    const onMany = (rows: number) => budget.readRows(rows);
    const key = { filter, first, after, lastSeen, onMany, recipient, client: viewer.rateLimitKey };
    const found = await loadersOf(history, context).records.load(key);
    const { matches, next } = found;
    const isNamed = selectsOfNodes('id', info);
    const nodes = matches.map(({ record }) => (isNamed ? { ...record, of: { domain: name, at } } : record));
    const places = new Map(nodes.map((record, place) => [record, matches[place]?.place]));
    const placeOf = (entry: DnsEntry) => places.get(entry);
    return pageOf<DnsEntry, RecordPlace | undefined>(
      question,
      { nodes, next, after },
      placeOf,
      versionOf(history, found, context),
    );
  },
  async httpHeadersConnection({ name: domain, at, version: ofRow, isOfPrimary }, args, context, info) {
    const { budget, viewer, recipient } = context;
    const first = requireFirst(args.first);
    const names = args.names == null ? undefined : [...canonicalNames(args.names)].sort();
    const question = ['httpHeadersConnection', domain, at, JSON.stringify(names)].join(' ');
    const place = { name: 'text' } as const;
    const after = placeOfDomain<{ name: string }>(question, args.after, place)?.name;
    await budget.readPage(first);
    const history = selectsOfNodes('history', info);
    const key = { domain, at, names, first, after, history, recipient, client: viewer.rateLimitKey };
    const found = await loadersOf({ isOfPrimary }, context).headerPage.load(key);
    const { headers, next } = found;
    const version = versionOf({ version: ofRow }, found, context);
    const of = { domain, at, version, isOfPrimary };
    const nodes = headers.map((header) => ({ ...header, of }));
    const end = next === null ? null : { name: next };
    const placeOf = ({ name }: HeaderEntry) => ({ name });
    return pageOf<HeaderEntry, { name: string }>(question, { nodes, next: end, after }, placeOf, version);
  },
  changes: (history, args, context) => changesOf(history, args, context),
  async parts({ name, times, at, isOfPrimary }, _args, context) {
    const { attempt: attempts } = loadersOf({ isOfPrimary }, context);
    const attempt = at === undefined ? await attempts.load({ name, recipient: context.recipient }) : null;
    return observedParts(loadedPart(times), attempt);
  },
  async diff(history, args, context) {
    const { from, to } = args;
    const { budget } = context;
    if (from > to) {
      const message = `from, ${formatInstant(from)}, is later than to, ${formatInstant(to)}: exchange them.`;
      throw new PublicError('INVALID_PARAMETER', message);
    }
    requireReached(to, BigInt(Date.now()) * 1_000n);
    const dnsRecords = loadedPart(history.dnsRecords);
    const httpHeaders = loadedPart(history.httpHeaders);
    const lists = { dnsRecords, httpHeaders };
    if (!budget.isOver) await budget.compare(weightOf(lists));
    const { name: domain, at } = history;
    const of = { domain, at: at === undefined || to < at ? to : at };
    const times = history.times && (await timesAt(history, of.at, context));
    const diff = await budget.inTurns(function* () {
      const compared = budget.isOver ? NOTHING : yield* selectLists(lists, args);
      return yield* compareStates(compared, from, to, times);
    });
    return { ...diff, of };
  },
};

/** When the parts of a domain were observed up to an instant, as the domain at that instant tells. */
async function timesAt(history: DomainHistory, at: Instant, context: RequestContext) {
  const { viewer, recipient } = context;
  const parts = { dnsRecords: true, httpHeaders: false, counts: false, times: true };
  const key = { name: history.name, at, ...parts, recipient, client: viewer.rateLimitKey };
  return (await loadersOf(history, context).domainHistory.load(key))?.times ?? null;
}

/** What is read at once of the records of a large history that are requested by type or presence. */
const MOST_FILTERED = 2_000;

/** The records of a large history that are requested by type or presence. Where they are many, the whole history is read. */
async function recordsOfLarge(
  domain: DomainHistory,
  args: DomainDnsRecordsArgs,
  context: RequestContext,
  info: GraphQLResolveInfo,
): Promise<readonly DnsEntry[]> {
  const { name, at, times } = domain;
  const { budget, viewer, recipient, onLarge } = context;
  const loaders = loadersOf(domain, context);
  if (budget.isOver) return [];
  // Those that are found are counted with the list.
  await budget.readPage(0);
  const types = args.types == null ? undefined : [...canonicalTypes(args.types)];
  const filter = { domain: name, at, types, present: args.present ?? undefined };
  const key = { recipient, client: viewer.rateLimitKey, onMany: (rows: number) => budget.readRows(rows) };
  const lastSeen = times !== null;
  const page = await loaders.records.load({ ...key, filter, first: MOST_FILTERED, lastSeen });
  versionOf(domain, page, context);
  const found = page.matches.map(({ record }) => record);
  const of = { domain: name, at };
  if (page.next === null) return grantedOf(of, allOf(found), budget, info);
  const parts = { dnsRecords: true, httpHeaders: false, counts: false, times: lastSeen };
  const whole: DomainHistoryKey = {
    ...{ ...key, ...parts, name, at },
    onLarge: (octets) => onLarge(whole, octets),
  };
  const history = await loaders.domainHistory.load(whole);
  versionOf(domain, history ?? { version: null }, context);
  return grantedOf(of, () => selectDnsEntries(history?.dnsRecords ?? [], args), budget, info);
}

/** The records of a list, with their domain where their ids are selected. */
function grantedOf(
  of: OfDomain,
  select: Parameters<typeof granted<DnsEntry>>[0],
  budget: RequestContext['budget'],
  info: GraphQLResolveInfo,
): readonly DnsEntry[] | Promise<readonly DnsEntry[]> {
  const entries = granted(select, memberOf, budget, info);
  if (!selectsIdOrPages(info)) return entries;
  return Promise.resolve(entries).then((all) => all.map((entry) => ofDomain(entry, of, info)));
}

const NOTHING = { dnsRecords: [], httpHeaders: [] };

export const DnsRecordConnection = connection<DnsEntry>(memberOf, 'DnsRecordEdge');
export const HeaderHistoryConnection = connection<HeaderEntry>(() => 'HeaderHistory', 'HeaderHistoryEdge');
export const HeaderChangeConnection = connection<HeaderHistoryItem>(() => 'HeaderChange', 'HeaderChangeEdge');

export const HeaderHistory: HeaderHistoryResolvers = {
  id: (header) => writeNodeId(nameOfHeader(header)),
  async historyConnection({ name, of }, args, context) {
    const { budget, viewer, recipient } = context;
    const first = requireFirst(args.first);
    if (of === undefined) throw new Error('A header whose pages are selected has no domain.');
    const question = ['historyConnection', of.domain, of.at, name].join(' ');
    const place = { date: 'bigint' } as const;
    const after = placeOfDomain<{ date: Instant }>(question, args.after, place)?.date;
    await budget.readPage(first);
    const page = await loadersOf(of, context).headerHistory.load({
      ...of,
      name,
      first,
      after,
      recipient,
      client: viewer.rateLimitKey,
    });
    const next = page.next === null ? null : { date: page.next };
    return pageOf<HeaderHistoryItem, { date: Instant }>(
      question,
      { nodes: page.items, next, after },
      ({ date }) => ({ date }),
      versionOf(of, page, context),
    );
  },
};

export const DomainDiff: DomainDiffResolvers = {
  dnsRecordsAdded: ({ dnsRecordsAdded, of }, _args, { budget }, info) =>
    grantedOf(of, allOf(dnsRecordsAdded), budget, info),
  dnsRecordsRemoved: ({ dnsRecordsRemoved, of }, _args, { budget }, info) =>
    grantedOf(of, allOf(dnsRecordsRemoved), budget, info),
  httpHeaders: ({ httpHeaders }, _args, { budget }, info) =>
    granted(allOf(httpHeaders), () => 'HeaderDifference', budget, info),
};
