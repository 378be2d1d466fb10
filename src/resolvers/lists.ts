import type { GraphQLResolveInfo } from 'graphql';
import { LargeHistoryError, MAX_LIST_ENTRIES, requireListSize } from '../limits/response-size.js';
import type { Loaders } from '../loaders/create-loaders.js';
import type { DnsEntry } from '../loaders/dns-entries.js';
import type { DomainHistory } from '../loaders/domain-history.js';
import type { Page } from '../loaders/search.js';
import type { RecordPlace } from '../loaders/search-records.js';
import { requireType } from '../model/dns-types.js';
import { BusyError, readArgument } from '../model/errors.js';
import { octetsOf } from './connection.js';
import { loadersOf, type RequestContext } from './context.js';
import { selected } from './selections.js';
import type { DomainDnsRecordsArgs, DomainResolvers } from './types.generated.js';

/** A list without pages: loaded with its domain, or of a large history read by the connection's pages. */
interface List {
  readonly history: DomainHistory;
  readonly name: 'dnsRecords' | 'httpHeaders';
  readonly context: RequestContext;
  readonly info: GraphQLResolveInfo;
}

const ADVICE = {
  dnsRecords: 'Request dnsRecordsConnection, which has pages, or fewer types.',
  httpHeaders: 'Request httpHeadersConnection, which has pages, or fewer names.',
};

/** What a page has that is longer than a list may be. */
const WHOLE = MAX_LIST_ENTRIES + 1;

/** Of a large history, no others are read than the arguments select. */
export const recordsOf: NonNullable<DomainResolvers['dnsRecords']> = (history, args, context, info) => {
  const list: List = { history, name: 'dnsRecords', context, info };
  const { dnsRecords: all, times } = history;
  if (all !== null) return selectedOf(list, all, selectDnsEntries(all, args));
  const page = { filter: recordFilter(history, args), first: WHOLE, lastSeen: times !== null };
  return readList(list, async ({ recordPage }, after: RecordPlace | undefined) => {
    const { items, next } = await recordPage.load({ ...page, after }, context.caller);
    return { items: items.map(({ record }) => record), next };
  });
};

export const headersOf: NonNullable<DomainResolvers['httpHeaders']> = (history, args, context, info) => {
  const list: List = { history, name: 'httpHeaders', context, info };
  const { httpHeaders: all, of } = history;
  if (all !== null) {
    const names = args.names == null ? undefined : new Set(sortedNames(args.names));
    return selectedOf(list, all, names === undefined ? all : all.filter(({ name }) => names.has(name)));
  }
  const needsHistory = selected(info).fields.has('history');
  const page = { of, names: sortedNames(args.names), first: WHOLE, history: needsHistory };
  return readList(list, ({ headerPage }, after: { readonly name: string } | undefined) =>
    headerPage.load({ ...page, after }, context.caller),
  );
};

/** @throws PublicError INVALID_PARAMETER for what is not a type of records. */
export function selectDnsEntries(
  entries: readonly DnsEntry[],
  { types, present }: Partial<DomainDnsRecordsArgs>,
): readonly DnsEntry[] {
  if (types == null && present == null) return entries;
  const wanted = types == null ? null : new Set(sortedTypes(types));
  return entries.filter(
    ({ type, removed }) =>
      (wanted === null || wanted.has(type)) && (present == null || (removed === null) === present),
  );
}

export function recordFilter(
  { name: domain, at }: DomainHistory,
  { types, present }: Partial<DomainDnsRecordsArgs>,
) {
  return { domain, at, present: present ?? undefined, types: sortedTypes(types) };
}

/** Counts what is selected of a loaded list, which was measured when it was read. */
function selectedOf<Entry>(
  { history, name, context, info }: List,
  all: readonly Entry[],
  found: readonly Entry[],
): readonly Entry[] {
  const share = all.length === 0 ? 0 : (history.octets[name] * found.length) / all.length;
  context.size.addList(found.length, share, selected(info).copies, ADVICE[name]);
  return found;
}

/** @throws BusyError where the domain has changed since it was read: a list has to be of the same version. */
async function readList<Entry, Place>(
  { history, name: list, context, info }: List,
  load: (loaders: Loaders, after: Place | undefined) => Promise<Page<Entry, Place>>,
): Promise<readonly Entry[]> {
  const { name, at, version } = history;
  if (context.rejectsLarge) throw new LargeHistoryError(name, history.octets[list]);
  const loaders = loadersOf(history, context);
  const { size } = context;
  const advice = ADVICE[list];
  return size.inTurn(async () => {
    const all: Entry[] = [];
    let octets = 0;
    for (let after: Place | null | undefined; after !== null; ) {
      // Nothing more is read where others have read too much.
      size.addRead(0, advice);
      const { items, next } = await load(loaders, after);
      all.push(...items);
      const read = octetsOf(items);
      size.addRead(read, advice);
      octets += read;
      requireListSize(all.length, octets, advice);
      after = next;
    }
    size.addList(all.length, octets, selected(info).copies, advice);
    const found = await loaders.domainHistory.load({ name, at }, context.caller);
    if (found?.version !== version) throw new BusyError(1, 'The history changed while it was read.');
    return all;
  });
}

/** Types in canonical form, sorted; undefined: all. @throws PublicError INVALID_PARAMETER */
export function sortedTypes(types: readonly string[] | null | undefined): readonly string[] | undefined {
  return types ? sorted(types.map((type) => readArgument('types', () => requireType(type)))) : undefined;
}

/** Field names in lower case, sorted, without those that no header has; undefined: all. */
export function sortedNames(names: readonly string[] | null | undefined): readonly string[] | undefined {
  // PostgreSQL has no text with this character.
  const possible = names?.filter((name) => !name.includes('\0'));
  return possible && sorted(possible.map((name) => name.toLowerCase()));
}

function sorted(list: readonly string[]): readonly string[] {
  return [...new Set(list)].sort();
}
