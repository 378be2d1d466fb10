import { Prisma, type PrismaClient } from '../database/generated/client.js';
import { EARLIEST_INSTANT, type Instant } from '../model/instant.js';
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
import {
  latestOfHttpSql,
  parsePartTimes,
  partTimesSql,
  seenUpTo,
  type TimesOfParts,
} from './observed-parts.js';

/** What is read from further tables. `times`: of the domain's parts, from which entries have `lastSeen`. */
const PARTS = ['dnsRecords', 'httpHeaders', 'counts', 'times', 'site'] as const;
type Part = (typeof PARTS)[number];

export type HistoryParts = Readonly<Partial<Record<Part, boolean>>>;

export function needsParts(needed: HistoryParts): boolean {
  return PARTS.some((part) => needed[part]);
}

export interface DomainHistoryKey extends HistoryParts, DomainRowKey {}

/** What is recorded of a domain. A part that was not requested is null, as are lists of a large history. */
export interface DomainHistory extends DomainRow {
  readonly dnsRecords: readonly DnsEntry[] | null;
  readonly httpHeaders: readonly HeaderEntry[] | null;
  readonly counts: HistoryCounts | null;
  readonly times: TimesOfParts | null;
  /** Null also where no response is known. */
  readonly site: Site | null;
  readonly at: Instant | undefined;
  /** How long the lists are as JSON, in octets, about: of a large history also where they were not read. */
  readonly octets: { readonly dnsRecords: number; readonly httpHeaders: number };
  readonly of: OfDomain;
}

/** How a site responds, by the latest response that is known. */
interface Site {
  /** `https` or `http`. */
  readonly scheme: string;
  readonly status: number;
  readonly firstSeen: Instant;
  readonly lastSeen: Instant;
}

interface HistoryCounts {
  readonly dnsRecords: number;
  readonly httpHeaders: number;
  /** DNS records added and removed; headers created, updated, gone, and back with the same value. */
  readonly changes: number;
}

/** @param parts Those that were read. Field by field: to spread an object takes more than ten times as long. */
export function historyOf(
  { name, created, lastUpdate, lastChange, recordedAt, version }: DomainRow,
  at: Instant | undefined,
  parts: Partial<Pick<DomainHistory, Part | 'octets' | 'of'>> = {},
): DomainHistory {
  const { dnsRecords = null, httpHeaders = null, counts = null, times = null, site = null } = parts;
  const { octets = { dnsRecords: 0, httpHeaders: 0 }, of = { domain: name, at } } = parts;
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

function historyCountsSql({ at, name }: Batch): Prisma.Sql {
  return Prisma.sql`
    SELECT json_build_object('dnsRecords', added, 'httpHeaders', headers,
                             'changes', added + removed + changed)::text
      FROM (SELECT count(*) AS added, count(removed) FILTER (WHERE true ${upTo('removed', at)}) AS removed
              FROM dns_record WHERE dns_record.domain = ${name} ${upTo('first_seen', at)}) AS record,
           (SELECT count(DISTINCT name) FILTER (WHERE value IS NOT NULL) AS headers, count(*) AS changed
              FROM header_change WHERE header_change.domain = ${name} ${upTo('observed_at', at)}) AS header`;
}

/**
 * The site of a row of table `domain`, for parseSite; null where no response is known. As of an instant, it was
 * last seen by the latest observation of HTTP whose time is known.
 */
function siteSql({ at, name }: Batch): Prisma.Sql {
  if (at === undefined) {
    return Prisma.sql`
      CASE WHEN site_scheme IS NOT NULL
           THEN json_build_array(site_scheme, site_status, site_first::text,
                                 coalesce(site_latest, http_latest)::text)::text END`;
  }
  const ofDomain = (table: string) =>
    Prisma.sql`FROM site_response AS ${Prisma.raw(table)} WHERE ${Prisma.raw(table)}.domain = ${name}`;
  return Prisma.sql`
    (SELECT json_build_array(scheme, status,
              (SELECT min(same.observed_at) ${ofDomain('same')}
                  AND same.observed_at > coalesce((SELECT max(other.observed_at) ${ofDomain('other')}
                       AND other.observed_at < latest.observed_at
                       AND (other.scheme, other.status) <> (latest.scheme, latest.status)),
                   ${EARLIEST_INSTANT - 1n}))::text,
              greatest(observed_at, ${latestOfHttpSql(at, name)})::text)::text
       FROM (SELECT * ${ofDomain('response')} AND response.observed_at <= ${at}
              ORDER BY response.observed_at DESC LIMIT 1) AS latest)`;
}

function parseSite(text: string): Site {
  const [scheme, status, first, latest] = JSON.parse(text) as [string, number, string, string];
  return { scheme, status, firstSeen: BigInt(first), lastSeen: BigInt(latest) };
}

interface HistoryRow extends Partial<Record<Part, string | null>> {
  readonly name: string;
  readonly numbers: string;
  /** Of records and of headers, in octets, joined by a comma; null where both are small. */
  readonly octets?: string | null;
}

/** In octets: a longer list is read by pages. The longest of 100,000 ordinary domains had a tenth. */
const LARGE = 64 * 1024;

/**
 * Loads up to BATCH_SIZE domains as of one instant by one SQL statement, but for the lists of large ones. Where
 * no key needs a part, and none has an instant, it reads no other table than that of domains.
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

function isOfKey(keys: readonly DomainHistoryKey[], part: Part): Prisma.Sql {
  const names = keys.filter((key) => key[part]).map(({ name }) => name);
  return Prisma.sql`name = ANY (string_to_array(${names.join(',')}, ','))`;
}

function parseHistory(row: HistoryRow, at: Instant | undefined): DomainHistory {
  const of = { domain: row.name, at };
  const read = <Value>(part: Part, parse: (text: string) => Value) => {
    const text = row[part];
    return text == null ? null : parse(text);
  };
  const dnsRecords = read('dnsRecords', (text) => parseDnsEntries(text, of));
  const httpHeaders = read('httpHeaders', (text) => parseHeaderEntries(text, of));
  const times = read('times', (text) => parsePartTimes(text, at));
  if (times !== null) setLastSeen(dnsRecords ?? [], httpHeaders ?? [], times);
  const counts = read('counts', (text): HistoryCounts => JSON.parse(text));
  const site = read('site', parseSite);
  const [records = row.dnsRecords?.length ?? 0, headers = row.httpHeaders?.length ?? 0] =
    row.octets?.split(',').map(Number) ?? [];
  const octets = { dnsRecords: records, httpHeaders: headers };
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
