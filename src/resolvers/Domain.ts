import type { GraphQLResolveInfo } from 'graphql';
import {
  LargeHistoryError,
  MAX_LIST_ENTRIES,
  requireListSize,
  TooLargeError,
} from '../limits/response-size.js';
import type { DnsEntry, OfDomain } from '../loaders/dns-entries.js';
import type { DomainHistory } from '../loaders/domain-history.js';
import type { HeaderEntry, HeaderHistoryItem } from '../loaders/header-entries.js';
import { observedParts } from '../loaders/observed-parts.js';
import type { RecordPlace } from '../loaders/search-records.js';
import { unicodeName } from '../model/domain-name.js';
import { PublicError } from '../model/errors.js';
import { formatInstant, type Instant, requireReached } from '../model/instant.js';
import { writeNodeId } from '../model/node-id.js';
import { registrableDomain } from '../model/registrable-domain.js';
import { changesOf } from './Change.js';
import { connection, loadersOf, octetsOf, pageOf, placeIn, requireFirst } from './connection.js';
import type { RequestContext } from './context.js';
import { nameOfDomain, nameOfHeader } from './node-names.js';
import { canonicalNames, canonicalTypes, selectDnsEntries, selectHeaders } from './select-entries.js';
import { copiesSelected, type Selecting, selectsField, selectsOfNodes } from './selections.js';
import type {
  DomainDiffArgs,
  DomainDiffResolvers,
  DomainDnsRecordsArgs,
  DomainHttpHeadersArgs,
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
    const { dnsRecords: all, octets } = history;
    if (all === null) return recordsOfLarge(history, args, context, info);
    const found = selectDnsEntries(all, args);
    // Small histories were measured when they were read.
    const share = all.length === 0 ? 0 : (octets.dnsRecords * found.length) / all.length;
    context.size.addList(found.length, share, copiesSelected(info), BY_RECORDS);
    return withDomain(found, { domain: history.name, at: history.at }, info);
  },
  httpHeaders(history, args, context, info) {
    const { httpHeaders: all, octets } = history;
    if (all === null) return headersOfLarge(history, args, context, info);
    const found = selectHeaders(all, args);
    const share = all.length === 0 ? 0 : (octets.httpHeaders * found.length) / all.length;
    context.size.addList(found.length, share, copiesSelected(info), BY_HEADERS);
    return withHistory(found, history, info);
  },
  async dnsRecordsConnection(history, args, context, info) {
    const { name, at } = history;
    const first = requireFirst(args.first);
    const filter = { ...recordFilter(history, args), types: sortedTypes(args.types) };
    const question = ['dnsRecordsConnection', name, at, filter.types, filter.present].join(' ');
    const after = placeIn<RecordPlace>(question, args.after, {
      domain: 'text',
      firstSeen: 'bigint',
      type: 'text',
      position: 'number',
    });
    const key = { filter, first, after, lastSeen: selectsOfNodes('lastSeen', info) };
    const { matches, next } = await loadersOf(history, context).recordPage.load(key, context.caller.signal);
    const of = selectsOfNodes('id', info) ? { domain: name, at } : undefined;
    const nodes = matches.map(({ record }) => (of === undefined ? record : { ...record, of }));
    const places = new Map(nodes.map((record, index) => [record, matches[index]?.place]));
    const placeOf = (entry: DnsEntry) => places.get(entry);
    return pageOf<DnsEntry, RecordPlace | undefined>(question, { nodes, next, after }, placeOf);
  },
  async httpHeadersConnection(history, args, context, info) {
    const { name: domain, at, isOfPrimary } = history;
    const first = requireFirst(args.first);
    const names = args.names == null ? undefined : [...canonicalNames(args.names)].sort();
    const question = ['httpHeadersConnection', domain, at, JSON.stringify(names)].join(' ');
    const after = placeIn<{ name: string }>(question, args.after, { name: 'text' })?.name;
    const key = { domain, at, names, first, after, history: selectsOfNodes('history', info) };
    const { headers, next } = await loadersOf(history, context).headerPage.load(key, context.caller.signal);
    const nodes = headers.map((header) => ({ ...header, of: { domain, at, isOfPrimary } }));
    const end = next === null ? null : { name: next };
    return pageOf<HeaderEntry, { name: string }>(question, { nodes, next: end, after }, ({ name }) => ({
      name,
    }));
  },
  changes: (history, args, context) => changesOf(history, args, context),
  async parts({ name, times, at, isOfPrimary }, _args, context) {
    const { attempt: attempts } = loadersOf({ isOfPrimary }, context);
    const attempt = at === undefined ? await attempts.load({ name }, context.caller.signal) : null;
    return observedParts(loadedPart(times), attempt);
  },
  async diff(history, args, context) {
    const { from, to } = args;
    if (from > to) {
      const message = `from, ${formatInstant(from)}, is later than to, ${formatInstant(to)}: exchange them.`;
      throw new PublicError('INVALID_PARAMETER', message);
    }
    requireReached(to, BigInt(Date.now()) * 1_000n);
    const { name: domain, at, times } = history;
    // As of an instant, nothing is different after it.
    const upTo = (instant: Instant) => (at !== undefined && at < instant ? at : instant);
    const loaders = loadersOf(history, context);
    const { signal } = context.caller;
    const seen =
      times && (await loaders.domainHistory.load({ name: domain, at: upTo(to), ...TIMES }, signal));
    const key = { domain, from: upTo(from), to: upTo(to), times: seen?.times ?? null, ...partsOfDiff(args) };
    const diff = await loaders.diff.load(key, signal);
    if (diff.isCut)
      throw new TooLargeError(`The difference has more than ${MAX_LIST_ENTRIES} entries.`, BY_TIMES);
    return { ...diff, from, to, of: { domain, at: upTo(to) } };
  },
};

const BY_RECORDS = 'Request dnsRecordsConnection, which has pages, or fewer types.';
const BY_HEADERS = 'Request httpHeadersConnection, which has pages, or fewer names.';
const BY_TIMES = 'Request changes, which has pages, or times that are nearer to each other.';
const BY_HISTORY = 'Request historyConnection, which has pages.';

function requireSmall(
  { name, octets }: DomainHistory,
  list: 'dnsRecords' | 'httpHeaders',
  { wholeHistories }: RequestContext,
): void {
  if (wholeHistories) throw new LargeHistoryError(name, octets[list]);
}

function recordFilter({ name: domain, at }: DomainHistory, { present }: Partial<DomainDnsRecordsArgs>) {
  return { domain, at, present: present ?? undefined };
}

function sortedTypes(types: readonly string[] | null | undefined): string[] | undefined {
  return types == null ? undefined : [...canonicalTypes(types)].sort();
}

/** When the parts of a domain were observed, and nothing else. */
const TIMES = { dnsRecords: false, httpHeaders: false, counts: false, times: true };

/** The types and names of a difference: with one of the two alone, nothing of the other list. */
function partsOfDiff({ types, headers }: Pick<DomainDiffArgs, 'types' | 'headers'>) {
  if (types == null && headers == null) return { types: undefined, names: undefined };
  return { types: [...canonicalTypes(types ?? [])], names: [...canonicalNames(headers ?? [])] };
}

/** The records of a large history, page by page: those that the arguments select are read, and no others. */
async function recordsOfLarge(
  history: DomainHistory,
  args: DomainDnsRecordsArgs,
  context: RequestContext,
  info: GraphQLResolveInfo,
): Promise<readonly DnsEntry[]> {
  requireSmall(history, 'dnsRecords', context);
  const { recordPage } = loadersOf(history, context);
  const filter = { ...recordFilter(history, args), types: sortedTypes(args.types) };
  const entries: DnsEntry[] = [];
  let octets = 0;
  let after: RecordPlace | undefined;
  do {
    const key = { filter, first: MAX_LIST_ENTRIES + 1, after, lastSeen: history.times !== null };
    const { matches, next } = await recordPage.load(key, context.caller.signal);
    for (const { record } of matches) entries.push(record);
    octets += octetsOf(matches.map(({ record }) => record));
    requireListSize(entries.length, octets, BY_RECORDS);
    after = next ?? undefined;
  } while (after !== undefined);
  context.size.addList(entries.length, octets, copiesSelected(info), BY_RECORDS);
  return withDomain(entries, { domain: history.name, at: history.at }, info);
}

/** The same for headers. */
async function headersOfLarge(
  history: DomainHistory,
  { names }: DomainHttpHeadersArgs,
  context: RequestContext,
  info: GraphQLResolveInfo,
): Promise<readonly HeaderEntry[]> {
  requireSmall(history, 'httpHeaders', context);
  const { name: domain, at } = history;
  const { headerPage } = loadersOf(history, context);
  const wanted = names == null ? undefined : [...canonicalNames(names)].sort();
  const entries: HeaderEntry[] = [];
  let octets = 0;
  let after: string | undefined;
  do {
    const page = { first: MAX_LIST_ENTRIES + 1, after, history: selectsField('history', info) };
    const key = { domain, at, names: wanted, ...page };
    const { headers, next } = await headerPage.load(key, context.caller.signal);
    for (const header of headers) entries.push(header);
    octets += octetsOf(headers);
    requireListSize(entries.length, octets, BY_HEADERS);
    after = next ?? undefined;
  } while (after !== undefined);
  context.size.addList(entries.length, octets, copiesSelected(info), BY_HEADERS);
  return withHistory(entries, history, info);
}

/** The records of a list, with their domain where their ids are selected. */
export function withDomain(entries: readonly DnsEntry[], of: OfDomain, info: Selecting): readonly DnsEntry[] {
  return selectsField('id', info) ? entries.map((entry) => ({ ...entry, of })) : entries;
}

/** The headers of a list, with their domain where their ids or pages of their histories are selected. */
function withHistory(
  headers: readonly HeaderEntry[],
  { name: domain, at, isOfPrimary }: DomainHistory,
  info: Selecting,
): readonly HeaderEntry[] {
  if (!selectsField('id', info) && !selectsField('historyConnection', info)) return headers;
  return headers.map((header) => ({ ...header, of: { domain, at, isOfPrimary } }));
}

export const DnsRecordConnection = connection<DnsEntry>();
export const HeaderHistoryConnection = connection<HeaderEntry>();
export const HeaderChangeConnection = connection<HeaderHistoryItem>();

export const HeaderHistory: HeaderHistoryResolvers = {
  id: (header) => writeNodeId(nameOfHeader(header)),
  history({ history }, _args, { size }) {
    // Its octets are among those of the list of headers.
    size.addList(history.length, 0, 1, BY_HISTORY);
    return history;
  },
  async historyConnection({ name, of }, args, context) {
    const first = requireFirst(args.first);
    if (of === undefined) throw new Error('A header whose pages are selected has no domain.');
    const question = ['historyConnection', of.domain, of.at, name].join(' ');
    const after = placeIn<{ date: Instant }>(question, args.after, { date: 'bigint' })?.date;
    const key = { domain: of.domain, at: of.at, name, first, after };
    const page = await loadersOf(of, context).headerHistory.load(key, context.caller.signal);
    const next = page.next === null ? null : { date: page.next };
    return pageOf<HeaderHistoryItem, { date: Instant }>(
      question,
      { nodes: page.items, next, after },
      ({ date }) => ({ date }),
    );
  },
};

export const DomainDiff: DomainDiffResolvers = {
  dnsRecordsAdded: ({ dnsRecordsAdded, of }, _args, context, info) =>
    withDomain(sized(dnsRecordsAdded, context, info), of, info),
  dnsRecordsRemoved: ({ dnsRecordsRemoved, of }, _args, context, info) =>
    withDomain(sized(dnsRecordsRemoved, context, info), of, info),
  httpHeaders: ({ httpHeaders }, _args, context, info) => sized(httpHeaders, context, info),
};

function sized<Entry>(
  entries: readonly Entry[],
  { size }: RequestContext,
  info: GraphQLResolveInfo,
): readonly Entry[] {
  size.addList(entries.length, octetsOf(entries), copiesSelected(info), BY_TIMES);
  return entries;
}

/**
 * A part of a history that neededParts has found.
 *
 * @throws Error where it has not: neededParts and the resolvers disagree on what a field is read from.
 */
function loadedPart<Part>(part: Part | null): Part {
  if (part === null) throw new Error('A part of the history was selected but not loaded.');
  return part;
}
