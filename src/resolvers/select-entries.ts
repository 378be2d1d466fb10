import type { DnsEntry } from '../loaders/dns-entries.js';
import type { HeaderEntry } from '../loaders/header-entries.js';
import type { DomainDnsRecordsArgs, DomainHttpHeadersArgs } from './types.generated.js';

/** The entries of the given types, in any case, that are present or that were removed. */
export function selectDnsEntries(
  entries: readonly DnsEntry[],
  { types, present }: Partial<DomainDnsRecordsArgs>,
): readonly DnsEntry[] {
  const wanted = types == null ? null : canonical(types, LONGEST_TYPE, (type) => type.toUpperCase());
  if (wanted === null && present == null) return entries;
  return entries.filter(
    ({ type, removed }) =>
      (wanted === null || wanted.has(type)) && (present == null || present === (removed === null)),
  );
}

/** The headers of the given names, in any case. */
export function selectHeaders(
  headers: readonly HeaderEntry[],
  { names }: Partial<DomainHttpHeadersArgs>,
): readonly HeaderEntry[] {
  if (names == null) return headers;
  const wanted = canonical(names, LONGEST_FIELD_NAME, (name) => name.toLowerCase());
  return headers.filter(({ name }) => wanted.has(name));
}

/** In characters, such as `TYPE65535`. */
const LONGEST_TYPE = 32;
const LONGEST_FIELD_NAME = 1024;

/** A list in a variable is one object, under however many aliases it is used. */
const known = new WeakMap<readonly string[], ReadonlySet<string>>();

function canonical(
  list: readonly string[],
  longest: number,
  write: (text: string) => string,
): ReadonlySet<string> {
  const found = known.get(list);
  if (found !== undefined) return found;
  const set = new Set(list.filter(({ length }) => length <= longest).map(write));
  known.set(list, set);
  return set;
}
