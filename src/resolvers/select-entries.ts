import type { DnsEntry } from '../loaders/dns-entries.js';
import type { HeaderEntry } from '../loaders/header-entries.js';
import { requireType } from '../model/dns-types.js';
import { readArgument } from '../model/errors.js';
import type { DomainDnsRecordsArgs, DomainHttpHeadersArgs } from './types.generated.js';

/**
 * The entries of the given types, in any case, that are present or that were removed.
 *
 * @throws PublicError INVALID_PARAMETER for what is not a type of records.
 */
export function selectDnsEntries(
  entries: readonly DnsEntry[],
  { types, present }: Partial<DomainDnsRecordsArgs>,
): readonly DnsEntry[] {
  if (types == null && present == null) return entries;
  const wanted = types == null ? null : canonicalTypes(types);
  return entries.filter(
    ({ type, removed }) =>
      (wanted === null || wanted.has(type)) && (present == null || (removed === null) === present),
  );
}

/** The headers of the given names, in any case. */
export function selectHeaders(
  headers: readonly HeaderEntry[],
  { names }: Partial<DomainHttpHeadersArgs>,
): readonly HeaderEntry[] {
  if (names == null) return headers;
  const wanted = canonicalNames(names);
  return headers.filter(({ name }) => wanted.has(name));
}

const canonicalTypes = canonicalizer((types) =>
  types.map((type) => readArgument('types', () => requireType(type))),
);
// PostgreSQL has no text with this character.
const canonicalNames = canonicalizer((names) =>
  names.filter((name) => !name.includes('\0')).map((name) => name.toLowerCase()),
);

/** Types in canonical form, sorted; undefined: all. @throws PublicError INVALID_PARAMETER */
export function sortedTypes(types: readonly string[] | null | undefined): readonly string[] | undefined {
  return types == null ? undefined : [...canonicalTypes(types)];
}

/** Field names in lower case, sorted, without those that no header has; undefined: all. */
export function sortedNames(names: readonly string[] | null | undefined): readonly string[] | undefined {
  return names == null ? undefined : [...canonicalNames(names)];
}

/** A list in a variable is one object, under however many aliases it is used, as types or as names. */
function canonicalizer(write: (list: readonly string[]) => readonly string[]) {
  const known = new WeakMap<readonly string[], ReadonlySet<string>>();
  return (list: readonly string[]): ReadonlySet<string> => {
    const set = known.get(list) ?? new Set([...write(list)].sort());
    known.set(list, set);
    return set;
  };
}
