import type { MergedChanges } from '../history/merge-changes.js';

/** What an entry of `dnsRecords` has besides its owner name and rdata: keys, class, type and two times. */
const RECORD = 128;
/** What an item of a header's history has besides its two values: keys, event and time. */
const HEADER_CHANGE = 80;

/** About the octets of a DNS record's entry in an answer; column `history_octets` is the sum of all entries. */
export function octetsOfRecord({ host, rdata }: { readonly host: string; readonly rdata: string }): number {
  return RECORD + Buffer.byteLength(host) + Buffer.byteLength(rdata);
}

/** The same of a header's change: a value is the `new` of one item, and the `old` of the next. */
export function octetsOfHeaderChange(change: {
  readonly name: string;
  readonly value: string | null;
}): number {
  return HEADER_CHANGE + Buffer.byteLength(change.name) + 2 * Buffer.byteLength(change.value ?? '');
}

/** By how much changes let a history grow: an end of a stay adds no row. */
export function octetsAdded({ added, headers }: Pick<MergedChanges, 'added' | 'headers'>): number {
  return (
    added.reduce((sum, { record }) => sum + octetsOfRecord(record), 0) +
    headers.reduce((sum, change) => sum + octetsOfHeaderChange(change), 0)
  );
}

/** The sum over the rows of a domain that a statement calls `d`: an expression of SQL. */
export const OCTETS_OF_ROWS = `(
  (SELECT coalesce(sum(${RECORD} + octet_length(r.host) + octet_length(r.rdata::text)), 0)
     FROM dns_record AS r WHERE r.domain = d.name) +
  (SELECT coalesce(sum(${HEADER_CHANGE} + octet_length(h.name) + 2 * coalesce(octet_length(h.value), 0)), 0)
     FROM header_change AS h WHERE h.domain = d.name))::bigint`;
