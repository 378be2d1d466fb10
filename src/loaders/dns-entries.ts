import { Prisma } from '../database/generated/client.js';
import type { Instant } from '../model/instant.js';
import { cell, instantOrNull, knownAt, upTo } from './columns.js';
import type { Batch } from './domain-row.js';

/** A stay of a DNS record, with the type's own fields under their names in the specification (2.3). */
export interface DnsEntry {
  readonly host: string;
  readonly class: string;
  readonly type: string;
  readonly firstSeen: Instant;
  /** Null while the record is present. */
  readonly removed: Instant | null;
  /** The latest observation of its type that held it. Of one that is present it is set where it is needed. */
  lastSeen: Instant | null;
  readonly of: OfDomain;
}

export interface OfDomain {
  readonly domain: string;
  readonly at: Instant | undefined;
  /** Set where it was read from the primary, since a replica did not have it. */
  isOfPrimary?: true;
}

/**
 * Rows of table `dns_record` in their order, for parseDnsEntries; null for none. They are sent by columns, a
 * text or an array for each field of all rows: half as long as an object for each row, and faster for
 * PostgreSQL to write. Texts are joined by commas, which none of them (times, types, classes, names of header
 * fields) can contain. After the time of a removal follow a space and when the record was last seen.
 */
export const RECORD_COLUMNS_SQL = Prisma.sql`
  '["' || string_agg(type, ',') || '","' || string_agg(class, ',') || '",' || json_agg(host)
      || ',"' || string_agg(first_seen::text, ',') || '","'
      || string_agg(CASE WHEN coalesce(removed, last_seen) IS NULL THEN ''
                         ELSE coalesce(removed::text, '') || ' ' || coalesce(last_seen, first_seen) END, ',')
      || '",[' || string_agg(rdata::text, ',') || ']]'`;

/** The DNS records of a row of table `domain`, for parseDnsEntries. The primary key is the order of the answer. */
export function dnsEntriesSql({ at, name }: Batch): Prisma.Sql {
  return Prisma.sql`
  SELECT ${RECORD_COLUMNS_SQL}
    FROM (SELECT type, class, host, first_seen, ${knownAt('removed', at)} AS removed,
                 ${knownAt('last_seen', at)} AS last_seen, rdata
            FROM dns_record
           WHERE dns_record.domain = ${name} ${upTo('first_seen', at)}
           ORDER BY first_seen, type, position) AS entry`;
}

type Columns = readonly [
  types: string,
  classes: string,
  hosts: readonly string[],
  firstSeen: string,
  times: string,
  rdata: readonly object[],
];

/** DNS records, in their order, from what dnsEntriesSql() gives; from an empty text none. */
export function parseDnsEntries(text: string, of: OfDomain): readonly DnsEntry[] {
  if (text === '') return [];
  const [joinedTypes, joinedClasses, hosts, joinedFirstSeen, joinedTimes, allRdata]: Columns =
    JSON.parse(text);
  const [types, classes] = [joinedTypes.split(','), joinedClasses.split(',')];
  const [firstSeen, times] = [joinedFirstSeen.split(','), joinedTimes.split(',')];
  return allRdata.map((rdata, row) => {
    const [removed = '', lastSeen = ''] = cell(times, row).split(' ');
    return {
      host: cell(hosts, row),
      class: cell(classes, row),
      type: cell(types, row),
      firstSeen: BigInt(cell(firstSeen, row)),
      removed: instantOrNull(removed),
      lastSeen: instantOrNull(lastSeen),
      of,
      ...rdata,
    };
  });
}
