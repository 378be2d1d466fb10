import type { DnsEntry } from '../loaders/dns-entries.js';
import type { HeaderEntry } from '../loaders/header-entries.js';
import type { DomainDnsRecordsArgs, DomainHttpHeadersArgs } from './types.generated.js';

/** The entries of the given types, in any case, that are present or that were removed. */
export function selectDnsEntries(
  entries: readonly DnsEntry[],
  { types, present }: Partial<DomainDnsRecordsArgs>,
): readonly DnsEntry[] {
  const wanted = types == null ? null : new Set(types.map((type) => type.toUpperCase()));
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
  const wanted = new Set(names.map((name) => name.toLowerCase()));
  return headers.filter(({ name }) => wanted.has(name));
}
