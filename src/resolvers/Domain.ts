import { MAX_LIST_ENTRIES, TooLargeError } from '../limits/response-size.js';
import type { HeaderHistoryItem } from '../loaders/header-entries.js';
import { observedParts } from '../loaders/observed-parts.js';
import type { RecordPlace } from '../loaders/search-records.js';
import type { StateDiff } from '../loaders/state-diff.js';
import type { ChangeKind } from '../model/change-kinds.js';
import { unicodeName } from '../model/domain-name.js';
import type { Instant } from '../model/instant.js';
import { writeNodeId } from '../model/node-id.js';
import { rdataText } from '../model/rdata-text.js';
import { registrableDomain } from '../model/registrable-domain.js';
import { changesOf, requireInterval } from './Change.js';
import { octetsOf, paging, RECORD_PLACE } from './connection.js';
import { loadersOf, type RequestContext } from './context.js';
import { idOf } from './entries.js';
import { headersOf, recordFilter, recordsOf, sortedNames, sortedTypes } from './lists.js';
import { instantOf } from './Query/domain.js';
import { type Selecting, selected } from './selections.js';
import type { DomainDiffResolvers, DomainResolvers, HeaderHistoryResolvers } from './types.generated.js';

export const Domain: DomainResolvers = {
  id: ({ name: domain, at }) => writeNodeId({ kind: 'domain', domain, at, key: [] }),
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
    const { items, next } = await loadersOf(history, context).recordPage.load(key, context.caller);
    const places = new Map(items.map(({ record, place }) => [record, place]));
    return pageOf({ items: [...places.keys()], next }, (record) => places.get(record));
  },
  async rrsets(history, args, context) {
    const { name, at } = history;
    const key = { name, at, types: sortedTypes(args.types) };
    const rrsets = await loadersOf(history, context).rrsets.load(key, context.caller);
    if (rrsets === null) throw new TooLargeError('The RRsets have more than 30,000 stays.', BY_TYPES);
    const pools = rrsets.map((rrset) => {
      const data = (rdata: object) => rdataText(rrset.type, { ...rdata });
      return { ...rrset, pool: rrset.pool.map(({ rdata, ...value }) => ({ data: data(rdata), ...value })) };
    });
    const values = pools.flatMap(({ pool }) => pool);
    context.size.addList(values.length, octetsOf(values), 1, BY_TYPES);
    return pools;
  },
  async httpHeadersConnection(history, args, context, info) {
    const { name: domain, at, of } = history;
    const names = sortedNames(args.names);
    const question = ['httpHeadersConnection', domain, at, JSON.stringify(names)].join(' ');
    const { first, after, pageOf } = paging<{ name: string }>(question, args, { name: 'text' });
    const key = { of, names, first, after, history: selected(info).anywhere.has('history') };
    const page = await loadersOf(history, context).headerPage.load(key, context.caller);
    return pageOf(page, (header) => header);
  },
  changes: changesOf,
  async parts(history, _args, context) {
    const { name, times, at } = history;
    const { attempt } = loadersOf(history, context);
    const latest = at === undefined ? await attempt.load({ name }, context.caller) : null;
    return observedParts(loadedPart(times), latest);
  },
  async diff(history, args, context) {
    const { from, to } = args;
    requireInterval('from', from, 'to', to);
    instantOf(to);
    const { name: domain, at } = history;
    // As of an instant, nothing is different after it.
    const upTo = (instant: Instant) => (at !== undefined && at < instant ? at : instant);
    const loaders = loadersOf(history, context);
    const { caller } = context;
    const seen =
      history.times &&
      (await loaders.domainHistory.load({ name: domain, at: upTo(to), times: true }, caller));
    // With types or headers alone, there is nothing of the others.
    const isAll = args.types == null && args.headers == null;
    const types = sortedTypes(isAll ? undefined : (args.types ?? []));
    const names = sortedNames(isAll ? undefined : (args.headers ?? []));
    const key = { domain, from: upTo(from), to: upTo(to), times: seen?.times ?? null, types, names };
    const diff = await loaders.diff.load(key, caller);
    if (!diff.isCut) return { ...diff, from, to };
    throw new TooLargeError(`The difference has more than ${MAX_LIST_ENTRIES} entries.`, BY_TIMES);
  },
};

const BY_TIMES = 'Request changes, which has pages, or times that are nearer to each other.';
const BY_TYPES = 'Select fewer types, or request dnsRecordsConnection, which has pages.';
const BY_HISTORY = 'Request historyConnection, which has pages.';

export const HeaderHistory: HeaderHistoryResolvers = {
  id: idOf,
  history({ history }, _args, { size }) {
    // Its octets are among those of the list of headers.
    size.addList(history.length, 0, 1, BY_HISTORY);
    return history;
  },
  async historyConnection(header, args, context) {
    const { name, of } = header;
    const question = ['historyConnection', of.domain, of.at, name].join(' ');
    const { first, after, pageOf } = paging<{ date: Instant }>(question, args, { date: 'bigint' });
    const interval = { from: after?.date, to: of.at, at: of.at };
    const key = { name: of.domain, kinds: EVENTS, headers: [name], newestFirst: false, first, ...interval };
    const { items, next } = await loadersOf(header, context).changes.load(key, context.caller);
    const events = items.map(({ kind, date, new: value, old = null }): HeaderHistoryItem => {
      return { event: kind === 'HEADER_CREATED' ? 'created' : 'updated', date, new: value ?? '', old };
    });
    return pageOf({ items: events, next }, (item) => item);
  },
};

/** The changes of a header's value that are events. */
const EVENTS: ReadonlySet<ChangeKind> = new Set(['HEADER_CREATED', 'HEADER_UPDATED']);

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

/** @throws Error where neededParts() and the resolvers disagree on what a field is read from. */
function loadedPart<Part>(part: Part | null): Part {
  if (part === null) throw new Error('A part of the history was selected but not loaded.');
  return part;
}
