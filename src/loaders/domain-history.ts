import { Prisma, type PrismaClient } from '../database/generated/client.js';
import type { Instant } from '../model/instant.js';
import { upTo } from './columns.js';
import { type DnsEntry, dnsEntriesSql, type OfDomain, parseDnsEntries } from './dns-entries.js';
import {
  type Batch,
  batchOf,
  type DomainRow,
  type DomainRowKey,
  domainRowSql,
  parseDomainRow,
} from './domain-row.js';
import { type HeaderEntry, headerEntriesSql, parseHeaderEntries } from './header-entries.js';
import { parsePartTimes, partTimesSql, seenUpTo, type TimesOfParts } from './observed-parts.js';
import { parseSite, type Site, siteSql } from './site.js';

/** What is read from further tables. `times`: of the domain's parts, from which entries have `lastSeen`. */
const PARTS = ['dnsRecords', 'httpHeaders', 'counts', 'times', 'site'] as const;

export type HistoryParts = Readonly<Partial<Record<(typeof PARTS)[number], boolean>>>;

/** Whether more than the domain's row is needed. */
export function needsParts(needed: HistoryParts): boolean {
  return PARTS.some((part) => needed[part]);
}

/** A domain, and the parts of its history that are needed. */
export interface DomainHistoryKey extends HistoryParts, DomainRowKey {}

/** What is recorded of a domain. A part that was not requested is null, as are lists of a large history. */
export interface DomainHistory extends DomainRow {
  readonly dnsRecords: readonly DnsEntry[] | null;
  readonly httpHeaders: readonly HeaderEntry[] | null;
  readonly counts: HistoryCounts | null;
  readonly times: TimesOfParts | null;
  /** Null also where no response is known. */
  readonly site: Site | null;
  /** As of when it is; undefined: now. */
  readonly at: Instant | undefined;
  /** How long the lists are as JSON, in octets, about: of a large history also where they were not read. */
  readonly octets: { readonly dnsRecords: number; readonly httpHeaders: number };
  /** That of its entries. */
  readonly of: OfDomain;
}

/** The parts of a history besides its row, as far as they were read. */
type LoadedParts = Partial<Pick<DomainHistory, (typeof PARTS)[number] | 'octets' | 'of'>>;

const NO_OCTETS = { dnsRecords: 0, httpHeaders: 0 };

/** A history of its row and parts. Field by field: to spread an object takes more than ten times as long. */
export function historyOf(row: DomainRow, at: Instant | undefined, parts: LoadedParts = {}): DomainHistory {
  const { name, created, lastUpdate, lastChange, recordedAt, version } = row;
  const { dnsRecords = null, httpHeaders = null, counts = null, times = null, site = null } = parts;
  const { octets = NO_OCTETS, of = { domain: name, at } } = parts;
  return {
    name,
    created,
    lastUpdate,
    lastChange,
    recordedAt,
    version,
    dnsRecords,
    httpHeaders,
    counts,
    times,
    site,
    octets,
    at,
    of,
  };
}

/** How much there is of a domain's history. */
interface HistoryCounts {
  /** DNS entries: records present and records removed. */
  readonly dnsRecords: number;
  /** Headers that ever had a value. */
  readonly httpHeaders: number;
  /** DNS records added and removed; headers created, updated, gone, and back with the same value. */
  readonly changes: number;
}

/** The HistoryCounts of a row of table `domain`, as JSON. */
function historyCountsSql({ at, name }: Batch): Prisma.Sql {
  return Prisma.sql`
    SELECT json_build_object('dnsRecords', added, 'httpHeaders', headers,
                             'changes', added + removed + changed)::text
      FROM (SELECT count(*) AS added, count(removed) FILTER (WHERE true ${upTo('removed', at)}) AS removed
              FROM dns_record WHERE dns_record.domain = ${name} ${upTo('first_seen', at)}) AS record,
           (SELECT count(DISTINCT name) FILTER (WHERE value IS NOT NULL) AS headers, count(*) AS changed
              FROM header_change WHERE header_change.domain = ${name} ${upTo('observed_at', at)}) AS header`;
}

/** What is not read is null, or absent. */
interface HistoryRow extends Partial<Record<(typeof PARTS)[number], string | null>> {
  readonly name: string;
  readonly numbers: string;
  /** Of records and of headers, in octets, joined by a comma; null where both are small. */
  readonly octets?: string | null;
}

/** In octets: a longer list is read by pages. The longest of 100,000 ordinary domains had a tenth. */
const LARGE = 64 * 1024;

/**
 * Loads the histories of up to BATCH_SIZE domains as of one instant by one SQL statement, but for the lists of
 * large ones. Where no key needs a part, and none has an instant, it reads no other table than that of domains.
 *
 * @returns For each key in its place the history, or null where nothing is recorded of the domain. Those of one
 *   name share one history, with the parts that any of them needs.
 */
export async function loadDomainHistories(
  prisma: PrismaClient,
  keys: readonly DomainHistoryKey[],
): Promise<(DomainHistory | null)[]> {
  const batch = batchOf(keys);
  const isSmall = (octets: string) => Prisma.raw(`${octets} <= ${LARGE}`);
  // Rows are joined by the domain's name only, so that it runs where domains are spread over several servers.
  const parts = keys.some(needsParts)
    ? Prisma.sql`,
           CASE WHEN NOT (${isSmall('record_octets')} AND ${isSmall('header_octets')})
                THEN record_octets || ',' || header_octets END AS octets,
           CASE WHEN ${isSmall('record_octets')} AND ${isOfKey(keys, 'dnsRecords')}
                THEN coalesce((${dnsEntriesSql(batch)}), '') END AS "dnsRecords",
           CASE WHEN ${isSmall('header_octets')} AND ${isOfKey(keys, 'httpHeaders')}
                THEN coalesce((${headerEntriesSql(batch)}), '') END AS "httpHeaders",
           CASE WHEN ${isOfKey(keys, 'counts')} THEN (${historyCountsSql(batch)}) END AS counts,
           CASE WHEN ${isOfKey(keys, 'times')} THEN ${partTimesSql(batch)} END AS times,
           CASE WHEN ${isOfKey(keys, 'site')} THEN ${siteSql(batch)} END AS site`
    : Prisma.empty;
  const rows = await prisma.$queryRaw<HistoryRow[]>`
    SELECT name, ${domainRowSql(batch)} AS numbers ${parts} FROM domain WHERE ${batch.isIncluded}`;
  const histories = new Map(rows.map((row) => [row.name, parseHistory(row, batch.at)]));
  return keys.map(({ name }) => histories.get(name) ?? null);
}

/** Whether a row of table `domain` is of a key that needs the part. */
function isOfKey(keys: readonly DomainHistoryKey[], part: (typeof PARTS)[number]): Prisma.Sql {
  const names = keys.filter((key) => key[part]).map(({ name }) => name);
  return Prisma.sql`name = ANY (string_to_array(${names.join(',')}, ','))`;
}

function parseHistory(row: HistoryRow, at: Instant | undefined): DomainHistory {
  const of = { domain: row.name, at };
  const dnsRecords = row.dnsRecords == null ? null : parseDnsEntries(row.dnsRecords, of);
  const httpHeaders = row.httpHeaders == null ? null : parseHeaderEntries(row.httpHeaders, of);
  const times = row.times == null ? null : parsePartTimes(row.times, at);
  if (times !== null) setLastSeen(dnsRecords ?? [], httpHeaders ?? [], times);
  const counts = row.counts == null ? null : (JSON.parse(row.counts) as HistoryCounts);
  const site = row.site == null ? null : parseSite(row.site);
  const [records, headers] = row.octets?.split(',').map(Number) ?? [];
  const octets = {
    dnsRecords: records ?? row.dnsRecords?.length ?? 0,
    httpHeaders: headers ?? row.httpHeaders?.length ?? 0,
  };
  const parts = { dnsRecords, httpHeaders, counts, times, site, octets, of };
  return historyOf(parseDomainRow(row.name, row.numbers), at, parts);
}

/** What is present was last seen by the latest observation of its part, or later. */
function setLastSeen(
  dnsRecords: readonly DnsEntry[],
  httpHeaders: readonly HeaderEntry[],
  { types, http }: TimesOfParts,
): void {
  for (const entry of dnsRecords) {
    if (entry.removed === null) entry.lastSeen = seenUpTo(entry, types.get(entry.type)?.latest);
  }
  for (const header of httpHeaders) if (header.present) header.lastSeen = http?.latest ?? null;
}
