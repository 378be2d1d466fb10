import type { GraphQLResolveInfo } from 'graphql';
import {
  LargeHistoryError,
  MAX_LIST_ENTRIES,
  requireListSize,
  TooLargeError,
} from '../limits/response-size.js';
import type { DnsEntry } from '../loaders/dns-entries.js';
import type { DomainHistory } from '../loaders/domain-history.js';
import type { HeaderEntry, HeaderHistoryItem } from '../loaders/header-entries.js';
import { observedParts } from '../loaders/observed-parts.js';
import type { RecordPlace } from '../loaders/search-records.js';
import { unicodeName } from '../model/domain-name.js';
import { BusyError, PublicError } from '../model/errors.js';
import { formatInstant, type Instant, requireReached } from '../model/instant.js';
import { writeNodeId } from '../model/node-id.js';
import { registrableDomain } from '../model/registrable-domain.js';
import { changesOf } from './Change.js';
import { connection, loadersOf, octetsOf, paging, RECORD_PLACE } from './connection.js';
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
    return found;
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
    const filter = recordFilter(history, args);
    const question = ['dnsRecordsConnection', name, at, filter.types, filter.present].join(' ');
    const { first, after, pageOf } = paging<RecordPlace>(question, args, RECORD_PLACE);
    const key = { filter, first, after, lastSeen: selectsOfNodes('lastSeen', info) };
    const { matches, next } = await loadersOf(history, context).recordPage.load(key, context.caller.signal);
    const places = new Map(matches.map(({ record, place }) => [record, place]));
    return pageOf([...places.keys()], next, (record) => places.get(record));
  },
  async httpHeadersConnection(history, args, context, info) {
    const { name: domain, at, isOfPrimary } = history;
    const names = sortedNames(args.names);
    const question = ['httpHeadersConnection', domain, at, JSON.stringify(names)].join(' ');
    const { first, after, pageOf } = paging<{ name: string }>(question, args, { name: 'text' });
    const ofNodes = { history: selectsOfNodes('history', info) };
    const key = { domain, at, names, first, after: after?.name, ...ofNodes };
    const { headers, next } = await loadersOf(history, context).headerPage.load(key, context.caller.signal);
    const nodes = headers.map((header): HeaderEntry => ({ ...header, of: { domain, at, isOfPrimary } }));
    return pageOf(nodes, next === null ? null : { name: next }, ({ name }) => ({ name }));
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
    return { ...diff, from, to };
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

function recordFilter(
  { name: domain, at }: DomainHistory,
  { types, present }: Partial<DomainDnsRecordsArgs>,
) {
  const sorted = types == null ? undefined : [...canonicalTypes(types)].sort();
  return { domain, at, present: present ?? undefined, types: sorted };
}

function sortedNames(names: readonly string[] | null | undefined): string[] | undefined {
  return names == null ? undefined : [...canonicalNames(names)].sort();
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
  const page = { filter: recordFilter(history, args), first: WHOLE, lastSeen: history.times !== null };
  const entries = await readAll(BY_RECORDS, context, info, async (after: RecordPlace | undefined) => {
    const { matches, next } = await recordPage.load({ ...page, after }, context.caller.signal);
    return [matches.map(({ record }) => record), next];
  });
  await requireVersion(history, context);
  return entries;
}

/** The same for headers. */
async function headersOfLarge(
  history: DomainHistory,
  args: DomainHttpHeadersArgs,
  context: RequestContext,
  info: GraphQLResolveInfo,
): Promise<readonly HeaderEntry[]> {
  requireSmall(history, 'httpHeaders', context);
  const { name: domain, at } = history;
  const { headerPage } = loadersOf(history, context);
  const names = sortedNames(args.names);
  const page = { domain, at, names, first: WHOLE, history: selectsField('history', info) };
  const entries = await readAll(BY_HEADERS, context, info, async (after: string | undefined) => {
    const { headers, next } = await headerPage.load({ ...page, after }, context.caller.signal);
    return [headers, next];
  });
  await requireVersion(history, context);
  return withHistory(entries, history, info);
}

/** A list that was read after its domain has to be of the same version. @throws BusyError where the domain has changed since. */
async function requireVersion(history: DomainHistory, context: RequestContext): Promise<void> {
  const { name, at, version } = history;
  const key = { name, at, dnsRecords: false, httpHeaders: false, counts: false, times: false };
  const found = await loadersOf(history, context).domainHistory.load(key, context.caller.signal);
  if (found?.version !== version) throw new BusyError(1, 'The history changed while it was read.');
}

/** What a page has that is longer than a list may be. */
const WHOLE = MAX_LIST_ENTRIES + 1;

/** @param advice What to request instead of a list that is too long. */
async function readAll<Node, Place>(
  advice: string,
  { size }: RequestContext,
  info: GraphQLResolveInfo,
  load: (after: Place | undefined) => Promise<readonly [nodes: readonly Node[], next: Place | null]>,
): Promise<readonly Node[]> {
  const all: Node[] = [];
  let octets = 0;
  for (let after: Place | null | undefined; after !== null; ) {
    const [nodes, next] = await load(after);
    for (const node of nodes) all.push(node);
    octets += octetsOf(nodes);
    requireListSize(all.length, octets, advice);
    after = next;
  }
  size.addList(all.length, octets, copiesSelected(info), advice);
  return all;
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
    if (of === undefined) throw new Error('A header whose pages are selected has no domain.');
    const { domain, at } = of;
    const question = ['historyConnection', domain, at, name].join(' ');
    const { first, after, pageOf } = paging<{ date: Instant }>(question, args, { date: 'bigint' });
    const key = { domain, at, name, first, after: after?.date };
    const { items, next } = await loadersOf(of, context).headerHistory.load(key, context.caller.signal);
    return pageOf(items, next === null ? null : { date: next }, ({ date }) => ({ date }));
  },
};

export const DomainDiff: DomainDiffResolvers = {
  dnsRecordsAdded: ({ dnsRecordsAdded }, _args, context, info) => sized(dnsRecordsAdded, context, info),
  dnsRecordsRemoved: ({ dnsRecordsRemoved }, _args, context, info) => sized(dnsRecordsRemoved, context, info),
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
