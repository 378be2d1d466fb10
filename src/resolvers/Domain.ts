import { MAX_LIST_ENTRIES, TooLargeError } from '../limits/response-size.js';
import type { HeaderEntry } from '../loaders/header-entries.js';
import { observedParts } from '../loaders/observed-parts.js';
import type { RecordPlace } from '../loaders/search-records.js';
import type { StateDiff } from '../loaders/state-diff.js';
import { unicodeName } from '../model/domain-name.js';
import { type Instant, requireReached } from '../model/instant.js';
import { writeNodeId } from '../model/node-id.js';
import { registrableDomain } from '../model/registrable-domain.js';
import { changesOf, requireInterval } from './Change.js';
import { octetsOf, paging, RECORD_PLACE } from './connection.js';
import { loadersOf, type RequestContext } from './context.js';
import { headersOf, NOTHING, recordFilter, recordsOf } from './lists.js';
import { nameOfDomain, nameOfHeader } from './node-names.js';
import { sortedNames, sortedTypes } from './select-entries.js';
import { type Selecting, selected } from './selections.js';
import type {
  DomainDiffArgs,
  DomainDiffResolvers,
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
  dnsRecords: recordsOf,
  httpHeaders: headersOf,
  async dnsRecordsConnection(history, args, context, info) {
    const { name, at } = history;
    const filter = recordFilter(history, args);
    const question = ['dnsRecordsConnection', name, at, filter.types, filter.present].join(' ');
    const { first, after, pageOf } = paging<RecordPlace>(question, args, RECORD_PLACE);
    const key = { filter, first, after, lastSeen: selected(info).anywhere.has('lastSeen') };
    const { items, next } = await loadersOf(history, context).recordPage.load(key, context.caller.signal);
    const places = new Map(items.map(({ record, place }) => [record, place]));
    return pageOf([...places.keys()], next, (record) => places.get(record));
  },
  async httpHeadersConnection(history, args, context, info) {
    const { name: domain, at, isOfPrimary } = history;
    const names = sortedNames(args.names);
    const question = ['httpHeadersConnection', domain, at, JSON.stringify(names)].join(' ');
    const { first, after, pageOf } = paging<{ name: string }>(question, args, { name: 'text' });
    const key = {
      domain,
      at,
      names,
      first,
      after,
      history: selected(info).anywhere.has('history'),
    };
    const { items, next } = await loadersOf(history, context).headerPage.load(key, context.caller.signal);
    const nodes = items.map((header): HeaderEntry => ({ ...header, of: { domain, at, isOfPrimary } }));
    return pageOf(nodes, next, (header) => header);
  },
  changes: changesOf,
  async parts(history, _args, context) {
    const { name, times, at } = history;
    const { attempt: attempts } = loadersOf(history, context);
    const attempt = at === undefined ? await attempts.load({ name }, context.caller.signal) : null;
    return observedParts(loadedPart(times), attempt);
  },
  async diff(history, args, context) {
    const { from, to } = args;
    requireInterval('from', from, 'to', to);
    requireReached(to, BigInt(Date.now()) * 1_000n);
    const { name: domain, at, times } = history;
    // As of an instant, nothing is different after it.
    const upTo = (instant: Instant) => (at !== undefined && at < instant ? at : instant);
    const loaders = loadersOf(history, context);
    const { signal } = context.caller;
    const timesUpTo = { ...NOTHING, name: domain, at: upTo(to), times: true };
    const seen = times && (await loaders.domainHistory.load(timesUpTo, signal));
    const key = { domain, from: upTo(from), to: upTo(to), times: seen?.times ?? null, ...partsOfDiff(args) };
    const diff = await loaders.diff.load(key, signal);
    if (!diff.isCut) return { ...diff, from, to };
    throw new TooLargeError(`The difference has more than ${MAX_LIST_ENTRIES} entries.`, BY_TIMES);
  },
};

const BY_TIMES = 'Request changes, which has pages, or times that are nearer to each other.';
const BY_HISTORY = 'Request historyConnection, which has pages.';

/** The types and names of a difference: with one of the two alone, nothing of the other list. */
function partsOfDiff({ types, headers }: DomainDiffArgs) {
  if (types == null && headers == null) return { types: undefined, names: undefined };
  return { types: sortedTypes(types ?? []), names: sortedNames(headers ?? []) };
}

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
    const key = { domain, at, name, first, after };
    const { items, next } = await loadersOf(of, context).headerHistory.load(key, context.caller.signal);
    return pageOf(items, next, (item) => item);
  },
};

/** Counts a list of a difference in the size of the response. */
function sized<Field extends 'dnsRecordsAdded' | 'dnsRecordsRemoved' | 'httpHeaders'>(field: Field) {
  return ({ [field]: entries }: StateDiff, _args: object, { size }: RequestContext, info: Selecting) => {
    size.addList(entries.length, octetsOf(entries), selected(info).copies, BY_TIMES);
    return entries;
  };
}

export const DomainDiff: DomainDiffResolvers = {
  dnsRecordsAdded: sized('dnsRecordsAdded'),
  dnsRecordsRemoved: sized('dnsRecordsRemoved'),
  httpHeaders: sized('httpHeaders'),
};

/** @throws Error where neededParts and the resolvers disagree on what a field is read from. */
function loadedPart<Part>(part: Part | null): Part {
  if (part === null) throw new Error('A part of the history was selected but not loaded.');
  return part;
}
