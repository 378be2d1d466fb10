import type { DnsEntry } from '../loaders/dns-entries.js';
import type { HeaderEntry } from '../loaders/header-entries.js';
import { requireType } from '../model/dns-types.js';
import { InvalidObservationError, PublicError } from '../model/errors.js';
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
