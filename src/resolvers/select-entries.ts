import type { DnsEntry } from '../loaders/dns-entries.js';
import type { HeaderEntry } from '../loaders/header-entries.js';
import type { DomainDnsRecordsArgs, DomainHttpHeadersArgs } from './types.generated.js';

/** The entries of the given types, in any case, that are present or that were removed. */
export function selectDnsEntries(
  entries: readonly DnsEntry[],
  { types, present }: Partial<DomainDnsRecordsArgs>,
): readonly DnsEntry[] {
  if (types == null && present == null) return entries;
  const states = present == null ? [PRESENT, REMOVED] : [present ? PRESENT : REMOVED];
  const wanted = types == null ? [EVERY] : canonicalTypes(types);
  const keys = [...wanted].flatMap((type) => states.map((state) => state + type));
  return selected(entries, keys, ({ type, removed }) => {
    const state = removed === null ? PRESENT : REMOVED;
    return [state, state + type];
  });
}

/** Of keys: a type follows, or nothing for every type. No type is empty. */
const [PRESENT, REMOVED, EVERY] = ['+', '-', ''];

/** The headers of the given names, in any case. */
export function selectHeaders(
  headers: readonly HeaderEntry[],
  { names }: Partial<DomainHttpHeadersArgs>,
): readonly HeaderEntry[] {
  if (names == null) return headers;
  return selected(headers, [...canonicalNames(names)], ({ name }) => [name]);
}

type Index = ReadonlyMap<string, readonly number[]>;

/** Many aliases may select from one long list, each little of it. */
const indexes = new WeakMap<readonly object[], Index>();

/** The entries that have one of the keys, in their order. It takes as long as the selected ones are many. */
function selected<Entry extends object>(
  entries: readonly Entry[],
  keys: readonly string[],
  keysOf: (entry: Entry) => readonly string[],
): readonly Entry[] {
  const index = indexes.get(entries) ?? indexBy(entries, keysOf);
  indexes.set(entries, index);
  const places = keys.flatMap((key) => index.get(key) ?? []);
  // Each key's places are in order.
  if (keys.length > 1) places.sort((one, other) => one - other);
  return places.flatMap((place) => entries[place] ?? []);
}

function indexBy<Entry>(entries: readonly Entry[], keysOf: (entry: Entry) => readonly string[]): Index {
  const index = new Map<string, number[]>();
  for (const [place, entry] of entries.entries()) {
    for (const key of keysOf(entry)) {
      const places = index.get(key);
      if (places === undefined) index.set(key, [place]);
      else places.push(place);
    }
  }
  return index;
}

/** In characters, such as `TYPE65535`. */
const LONGEST_TYPE = 32;
const LONGEST_FIELD_NAME = 1024;

const canonicalTypes = canonicalizer(LONGEST_TYPE, (type) => type.toUpperCase());
const canonicalNames = canonicalizer(LONGEST_FIELD_NAME, (name) => name.toLowerCase());

/** A list in a variable is one object, under however many aliases it is used, as types or as names. */
function canonicalizer(
  longest: number,
  write: (text: string) => string,
): (list: readonly string[]) => ReadonlySet<string> {
  const known = new WeakMap<readonly string[], ReadonlySet<string>>();
  return (list) => {
    const found = known.get(list);
    if (found !== undefined) return found;
    const set = new Set(list.filter(({ length }) => length > 0 && length <= longest).map(write));
    known.set(list, set);
    return set;
  };
}
