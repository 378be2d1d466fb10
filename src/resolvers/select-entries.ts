import type { DnsEntry } from '../loaders/dns-entries.js';
import type { HeaderEntry } from '../loaders/header-entries.js';
import { requireType } from '../model/dns-types.js';
import { InvalidObservationError, PublicError } from '../model/errors.js';
import type { DomainDiffArgs, DomainDnsRecordsArgs, DomainHttpHeadersArgs } from './types.generated.js';

/** Work on a list, which yields before each part how many milliseconds it takes, approximately. */
export type InParts<Result> = Generator<number, Result>;

/** So many entries of a list take so many milliseconds, and are a part of the work on it. */
export const ENTRIES_OF_PART = 4_000;
export const MILLISECONDS_OF_PART = 2;

/**
 * The entries of the given types, in any case, that are present or that were removed.
 *
 * @throws PublicError INVALID_PARAMETER for what is not a type of records.
 */
export function* selectDnsEntries(
  entries: readonly DnsEntry[],
  { types, present }: Partial<DomainDnsRecordsArgs>,
): InParts<readonly DnsEntry[]> {
  if (types == null && present == null) return entries;
  const state = present == null ? ANY : present ? PRESENT : REMOVED;
  return yield* selected(
    entries,
    state,
    types == null ? null : canonicalTypes(types),
    ({ type, removed }) => ({
      state: removed === null ? PRESENT : REMOVED,
      key: type,
    }),
  );
}

/** States of entries; an index has each entry under its own, and under `ANY`. */
const [PRESENT, REMOVED, ANY] = ['present', 'removed', 'any'];

/** The headers of the given names, in any case. */
export function* selectHeaders(
  headers: readonly HeaderEntry[],
  { names }: Partial<DomainHttpHeadersArgs>,
): InParts<readonly HeaderEntry[]> {
  if (names == null) return headers;
  return yield* selected(headers, ANY, canonicalNames(names), ({ name }) => ({ state: ANY, key: name }));
}

/** The lists of a history. */
interface Lists {
  readonly dnsRecords: readonly DnsEntry[];
  readonly httpHeaders: readonly HeaderEntry[];
}

/** The records of the types and the headers of the names: with one of the two alone, nothing of the other list. */
export function* selectLists(
  lists: Lists,
  { types, headers }: Pick<DomainDiffArgs, 'types' | 'headers'>,
): InParts<Lists> {
  if (types == null && headers == null) return lists;
  return {
    dnsRecords: types == null ? [] : yield* selectDnsEntries(lists.dnsRecords, { types }),
    httpHeaders: headers == null ? [] : yield* selectHeaders(lists.httpHeaders, { names: headers }),
  };
}

/** The places of entries: all, and by key, each in order. */
interface Places {
  readonly all: number[];
  readonly byKey: Map<string, number[]>;
}

/** By state. */
type Index = ReadonlyMap<string, Places>;

/** Many aliases may select from one long list, each little of it. */
const indexes = new WeakMap<readonly object[], Index>();

/**
 * The entries that have one of the keys, in their order. It takes as long as the selected ones are many, and as
 * the keys are, those that are wanted or those of the entries: the fewer.
 *
 * @param wanted Null: every key.
 */
function* selected<Entry extends object>(
  entries: readonly Entry[],
  state: string,
  wanted: ReadonlySet<string> | null,
  describe: Describe<Entry>,
): InParts<readonly Entry[]> {
  let index = indexes.get(entries);
  if (index === undefined) {
    index = yield* indexOf(entries, describe);
    indexes.set(entries, index);
  }
  const places = index.get(state);
  if (places === undefined) return [];
  if (wanted !== null) yield Math.min(wanted.size, places.byKey.size) / KEYS_OF_MILLISECOND;
  const found = wanted === null ? places.all : placesOf(wanted, places.byKey);
  const chosen: Entry[] = [];
  for (const [at, place] of found.entries()) {
    if (isNextPart(at)) yield MILLISECONDS_OF_PART;
    const entry = entries[place];
    if (entry !== undefined) chosen.push(entry);
  }
  return chosen;
}

/** So many keys are looked up, and their places put in order, in a millisecond. */
const KEYS_OF_MILLISECOND = 1_000;

/** Whether a part begins with an entry; the first one begins with the list. */
function isNextPart(at: number): boolean {
  return at % ENTRIES_OF_PART === 0 && at > 0;
}

function placesOf(wanted: ReadonlySet<string>, byKey: Places['byKey']): readonly number[] {
  const lists =
    wanted.size <= byKey.size
      ? [...wanted].flatMap((key) => [byKey.get(key) ?? []])
      : [...byKey].flatMap(([key, places]) => (wanted.has(key) ? [places] : []));
  return lists.length > 1 ? lists.flat().sort((one, other) => one - other) : (lists[0] ?? []);
}

type Describe<Entry> = (entry: Entry) => { readonly state: string; readonly key: string };

function* indexOf<Entry>(entries: readonly Entry[], describe: Describe<Entry>): InParts<Index> {
  const index = new Map<string, Places>();
  for (const [place, entry] of entries.entries()) {
    if (isNextPart(place)) yield MILLISECONDS_OF_PART;
    const { state, key } = describe(entry);
    for (const each of state === ANY ? [ANY] : [state, ANY]) {
      const places: Places = index.get(each) ?? { all: [], byKey: new Map() };
      index.set(each, places);
      places.all.push(place);
      const same = places.byKey.get(key);
      if (same === undefined) places.byKey.set(key, [place]);
      else same.push(place);
    }
  }
  return index;
}

/** In characters. */
const LONGEST_FIELD_NAME = 1024;

export const canonicalTypes = canonicalizer((types) => types.map(readType));
export const canonicalNames = canonicalizer((names) =>
  names
    .filter((name) => name !== '' && name.length <= LONGEST_FIELD_NAME && !name.includes('\0'))
    .map((name) => name.toLowerCase()),
);

function readType(text: string): string {
  try {
    return requireType(text);
  } catch (error) {
    if (error instanceof InvalidObservationError)
      throw new PublicError('INVALID_PARAMETER', `types: ${error.message}`);
    throw error;
  }
}

/** A list in a variable is one object, under however many aliases it is used, as types or as names. */
function canonicalizer(
  write: (list: readonly string[]) => readonly string[],
): (list: readonly string[]) => ReadonlySet<string> {
  const known = new WeakMap<readonly string[], ReadonlySet<string>>();
  return (list) => {
    const found = known.get(list);
    if (found !== undefined) return found;
    const set = new Set(write(list));
    known.set(list, set);
    return set;
  };
}
