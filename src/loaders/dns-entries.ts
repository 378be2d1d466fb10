import type { Instant } from '../model/instant.js';
import { cell, splitColumn, splitInstants } from './columns.js';

/** A stay of a DNS record, with the type's own fields under their names in the specification (2.3). */
export interface DnsEntry {
  readonly host: string;
  readonly class: string;
  readonly type: string;
  readonly firstSeen: Instant;
  /** Null while the record is present. */
  readonly removed: Instant | null;
}

/** SOA's entry, with the field whose name GraphQL cannot write. */
export interface SoaEntry extends DnsEntry {
  readonly 'minimum-ttl': number;
}

/** NAPTR's entry, with the field whose name is another type's in GraphQL. */
export interface NaptrEntry extends DnsEntry {
  readonly flags: string;
}

/**
 * The DNS records of the row of table `domain` at hand, for parseDnsEntries; null for none. The primary
 * key is the order of the answer.
 */
export const DNS_ENTRIES_SQL = `
  SELECT '["' || string_agg(type, ',') || '","' || string_agg(class, ',') || '",' || json_agg(host)
      || ',"' || string_agg(first_seen::text, ',') || '","' || string_agg(coalesce(removed::text, ''), ',')
      || '",[' || string_agg(rdata::text, ',') || ']]'
    FROM (SELECT type, class, host, first_seen, removed, rdata
            FROM dns_record
           WHERE dns_record.domain = domain.name
           ORDER BY first_seen, type, position) AS entry`;

type Columns = readonly [
  types: string,
  classes: string,
  hosts: readonly string[],
  firstSeen: string,
  removed: string,
  rdata: readonly object[],
];

/** A domain's DNS records, in their order, from what DNS_ENTRIES_SQL gives. */
export function parseDnsEntries(text: string | null): readonly DnsEntry[] {
  if (text === null) return [];
  const columns: Columns = JSON.parse(text);
  const types = splitColumn(columns[0]);
  const classes = splitColumn(columns[1]);
  const hosts = columns[2];
  const firstSeen = splitInstants(columns[3]);
  const removed = splitColumn(columns[4]);
  return columns[5].map((rdata, row) => ({
    host: cell(hosts, row),
    class: cell(classes, row),
    type: cell(types, row),
    firstSeen: cell(firstSeen, row),
    removed: removalTime(cell(removed, row)),
    ...rdata,
  }));
}

function removalTime(digits: string): Instant | null {
  return digits === '' ? null : BigInt(digits);
}
