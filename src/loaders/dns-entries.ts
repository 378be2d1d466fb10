import { Prisma, type PrismaClient } from '../database/generated/client.js';
import type { Instant } from '../model/instant.js';
import { cell, splitColumn, splitInstants } from './columns.js';
import type { Pages } from './pages.js';

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

/** Rows of table `dns_record` in their order, as columns for parseDnsEntries; null for none. */
const COLUMNS_SQL = `
  '["' || string_agg(type, ',') || '","' || string_agg(class, ',') || '",' || json_agg(host)
      || ',"' || string_agg(first_seen::text, ',') || '","' || string_agg(coalesce(removed::text, ''), ',')
      || '",[' || string_agg(rdata::text, ',') || ']]'`;

/**
 * The DNS records of the row of table `domain` at hand, for parseDnsEntries; null for none. The primary
 * key is the order of the answer.
 */
export const DNS_ENTRIES_SQL = `
  SELECT ${COLUMNS_SQL}
    FROM (SELECT type, class, host, first_seen, removed, rdata
            FROM dns_record
           WHERE dns_record.domain = domain.name
           ORDER BY first_seen, type, position) AS entry`;

/** Reads a domain's DNS records page by page, in their order. */
export async function readDnsEntries(
  prisma: PrismaClient,
  domain: string,
  pages: Pages,
): Promise<DnsEntry[]> {
  const entries: DnsEntry[] = [];
  let position = -1;
  await pages.readAll(async (limit) => {
    const { firstSeen, type } = entries.at(-1) ?? BEFORE_ALL;
    const [page] = await prisma.$queryRaw<readonly { columns: string | null; position: number | null }[]>`
      SELECT ${Prisma.raw(COLUMNS_SQL)} AS columns, (array_agg(position))[count(*)] AS position
        FROM (SELECT type, class, host, first_seen, removed, rdata, position
                FROM dns_record
               WHERE domain = ${domain} AND (first_seen, type, position) > (${firstSeen}, ${type}, ${position})
               ORDER BY first_seen, type, position
               LIMIT ${limit}) AS entry`;
    const read = parseDnsEntries(page?.columns ?? null);
    for (const entry of read) entries.push(entry);
    position = page?.position ?? -1;
    return { rows: read.length, characters: page?.columns?.length ?? 0 };
  });
  return entries;
}

/** The least `bigint` of PostgreSQL. */
const BEFORE_ALL = { firstSeen: -(2n ** 63n), type: '' };

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
