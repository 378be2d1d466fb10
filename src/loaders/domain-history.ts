import { Prisma, type PrismaClient } from '../database/generated/client.js';
import { BusyError, PublicError } from '../model/errors.js';
import type { Instant } from '../model/instant.js';
import { fairTurns } from '../rates/fair-turns.js';
import type { Pages } from './columns.js';
import { type DnsEntry, dnsEntriesSql, parseDnsEntries, readDnsPages } from './dns-entries.js';
import {
  type Batch,
  batchOf,
  type DomainRow,
  type DomainRowKey,
  domainRowSql,
  loadDomainRows,
  parseDomainRow,
} from './domain-row.js';
import {
  type HeaderEntry,
  headerEntriesSql,
  parseHeaderEntries,
  parseHeaderPages,
  readHeaderPages,
} from './header-entries.js';
import { parsePartTimes, partTimesSql, setLastSeen, type TimesOfParts } from './observed-parts.js';
import type { Recipient } from './recipient.js';

/** The parts of a domain's history that are read from further tables. */
export interface HistoryParts {
  readonly dnsRecords: boolean;
  readonly httpHeaders: boolean;
  readonly counts: boolean;
  /** When each part was observed; absent: not needed. */
  readonly times?: boolean;
  /** Whether records are needed by type or presence only: those of a large history are read by these, and not with it. */
  readonly filtered?: boolean;
}

/** A domain, the parts of its history that are needed, and the recipient. */
export interface DomainHistoryKey extends HistoryParts, DomainRowKey {
  readonly recipient?: Recipient | undefined;
  /** Identifies the client that the recipient responds to. */
  readonly client?: string | undefined;
  /** Called before large parts are read, with the approximate octets of a response with all of them; may reject. */
  readonly onLarge?: ((octets: number) => Promise<void>) | undefined;
  /** Whether a history of any size is counted; if absent, one of up to 256 kB. */
  readonly countsAny?: boolean;
}

/** What is recorded of a domain. A part that was not requested is null. */
export interface DomainHistory extends DomainRow {
  readonly dnsRecords: readonly DnsEntry[] | null;
  readonly httpHeaders: readonly HeaderEntry[] | null;
  /** Also null where the history is larger than what is counted without `countsAny`. */
  readonly counts: HistoryCounts | null;
  readonly times: TimesOfParts | null;
  /** As of when it is; undefined: now. */
  readonly at: Instant | undefined;
  /** About how many octets a response with all records and headers has; 0 where that is little. */
  readonly octets: number;
  /** Set where the replica that a request reads from did not have it, or an earlier version of it. */
  isOfPrimary?: boolean;
}

/** The parts of a history besides its row. */
type LoadedParts = Pick<DomainHistory, 'dnsRecords' | 'httpHeaders' | 'counts' | 'times' | 'octets'>;

/** What a domain has whose row alone is needed. */
export const NO_PARTS: LoadedParts = {
  dnsRecords: null,
  httpHeaders: null,
  counts: null,
  times: null,
  octets: 0,
};

/** A history of its row and its parts. Field by field: to spread several objects into one takes ten times as long. */
export function historyOf(row: DomainRow, parts: LoadedParts, at: Instant | undefined): DomainHistory {
  return {
    name: row.name,
    created: row.created,
    lastUpdate: row.lastUpdate,
    lastChange: row.lastChange,
    recordedAt: row.recordedAt,
    version: row.version,
    dnsRecords: parts.dnsRecords,
    httpHeaders: parts.httpHeaders,
    counts: parts.counts,
    times: parts.times,
    octets: parts.octets,
    at,
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

/** In place of a history whose needed parts are too large to be read at once. */
export class LargeHistory {
  readonly octets: number;

  /** @param octets Approximately those of a response with these parts. */
  constructor(octets: number) {
    this.octets = octets;
  }
}

/** A history is too large for one execution. No client sees it: another execution follows. */
export class LargeHistoryError extends PublicError {
  readonly key: DomainHistoryKey;
  readonly octets: number;

  constructor(key: DomainHistoryKey, octets: number) {
    super('UNAVAILABLE', 'The history is too large to be loaded at once.');
    this.key = key;
    this.octets = octets;
  }
}

/** The counts of a row of table `domain`, for parseHistoryCounts. */
function historyCountsSql({ at, name }: Batch): Prisma.Sql {
  const upTo = (column: string) =>
    at === undefined ? Prisma.empty : Prisma.sql`AND ${Prisma.raw(column)} <= ${at}`;
  return Prisma.sql`
  (SELECT count(*) || ',' || count(removed) FILTER (WHERE true ${upTo('removed')})
     FROM dns_record WHERE dns_record.domain = ${name} ${upTo('first_seen')})
  || ',' ||
  (SELECT count(DISTINCT name) FILTER (WHERE value IS NOT NULL) || ',' || count(*)
     FROM header_change WHERE header_change.domain = ${name} ${upTo('observed_at')})`;
}

interface HistoryRow {
  readonly name: string;
  readonly numbers: string;
  /** Of records and of headers; null where both together are small. */
  readonly octets: string | null;
  /** Null where records are not read. */
  readonly dnsRecords: string | null;
  /** Null where headers are not read. */
  readonly httpHeaders: string | null;
  readonly counts: string | null;
  readonly times: string | null;
}

/** Parts with more octets together are large: one request may ask for many just below it. Ordinary ones have a tenth. */
const LARGE = 64 * 1024;
const ALL_OCTETS = 'record_octets + header_octets';
/** What is counted at once: a unit of the rate limit pays for it. */
const COUNTED_SQL = Prisma.raw(`${ALL_OCTETS} <= ${256 * 1024}`);
const LARGE_OCTETS_SQL = Prisma.raw(
  `CASE WHEN ${ALL_OCTETS} > ${LARGE} THEN record_octets || ',' || header_octets END`,
);

/** A history as it was read: parsing it and what is done with it afterwards keep the event loop for a while. */
interface ReadHistory {
  /** Of the parts that the key needs. */
  readonly characters: number;
  /** When each part was observed, for parsePartTimes; null: not requested. */
  readonly times: string | null;
  parse(): DomainHistory;
}

/**
 * Loads the histories of up to BATCH_SIZE domains as of one instant by one SQL statement, but for large parts of
 * them.
 *
 * @returns For each key in its place the history, or null where nothing is recorded of the domain. Whether it is
 * large depends on the parts that the key needs, and not on the other keys; small ones of one name share one
 * history, with the parts that any of them needs.
 */
export async function loadDomainHistories(
  prisma: PrismaClient,
  keys: readonly DomainHistoryKey[],
): Promise<(ReadHistory | LargeHistory | null)[]> {
  const batch = batchOf(keys);
  const isWhole = isSmall(ALL_OCTETS, keys, (key) => key.dnsRecords && key.httpHeaders);
  const isOnlyRecords = isSmall('record_octets', keys, (key) => key.dnsRecords && !key.httpHeaders);
  const isOnlyHeaders = isSmall('header_octets', keys, (key) => key.httpHeaders && !key.dnsRecords);
  // Rows are joined by the domain's name only, so that it runs where domains are spread over several servers.
  const rows = await prisma.$queryRaw<HistoryRow[]>`
    SELECT name,
           ${domainRowSql(batch)} AS numbers,
           ${LARGE_OCTETS_SQL} AS octets,
           CASE WHEN ${isWhole} OR ${isOnlyRecords} THEN coalesce((${dnsEntriesSql(batch)}), '') END AS "dnsRecords",
           CASE WHEN ${isWhole} OR ${isOnlyHeaders} THEN coalesce((${headerEntriesSql(batch)}), '') END AS "httpHeaders",
           CASE WHEN ${isOfKey(keys, ({ counts }) => counts)}
                 AND (${COUNTED_SQL} OR ${isOfKey(keys, ({ countsAny }) => countsAny === true)})
                THEN (${historyCountsSql(batch)}) END AS counts,
           CASE WHEN ${isOfKey(keys, ({ times }) => times === true)} THEN ${partTimesSql(batch)} END AS times
      FROM domain
     WHERE ${batch.isIncluded}`;
  const histories = new Map(rows.map((row) => [row.name, historiesOf(row, batch.at)]));
  return keys.map((key) => histories.get(key.name)?.(key) ?? null);
}

/** How often a history is read that changes meanwhile. */
const MAX_READINGS = 4;

/** A large history as it was read: its lists are parsed page by page, which takes long for all of them. */
export interface HistoryPages {
  /** Without records and headers. */
  readonly domain: DomainHistory;
  /** Null: not requested. */
  readonly dnsPages: string[] | null;
  readonly headerPages: readonly string[] | null;
  /** When each part was observed, for parsePartTimes; null: not requested. */
  readonly timesOfParts: string | null;
}

/**
 * Reads the history of one domain, of any size, page by page.
 *
 * @returns null where nothing is recorded of the domain.
 * @throws BusyError when it changed during every reading.
 */
export async function readHistoryPages(
  prisma: PrismaClient,
  key: DomainHistoryKey,
  pages: Pages,
): Promise<HistoryPages | null> {
  const small = { ...key, dnsRecords: false, httpHeaders: false, countsAny: true };
  for (let reading = 0; reading < MAX_READINGS; reading += 1) {
    const [read] = await loadDomainHistories(prisma, [small]);
    if (read === null || read === undefined || read instanceof LargeHistory) return null;
    const domain = read.parse();
    const dnsPages = key.dnsRecords ? await readDnsPages(prisma, key, pages) : null;
    const headerPages = key.httpHeaders ? await readHeaderPages(prisma, key, pages) : null;
    const [after] = await loadDomainRows(prisma, [small]);
    if (after?.version === domain.version) return { domain, dnsPages, headerPages, timesOfParts: read.times };
  }
  throw new BusyError(1, `The history of ${key.name} changed each time that it was read.`);
}

/** Approximately, of a page of a large history with what is done with it. */
const MILLISECONDS_OF_PAGE = 5;

/**
 * A large history in parts, once, each with some of its records or of its headers, in their order. Each has a turn of the
 * event loop.
 *
 * @param client That the response is for.
 */
export async function* partsOfHistory(pages: HistoryPages, client?: string): AsyncGenerator<DomainHistory> {
  const { domain } = pages;
  const dnsRecords = pages.dnsPages && [];
  const headers = pages.headerPages && (await parseHeaderPages(pages.headerPages));
  const nothing = { ...domain, dnsRecords, httpHeaders: headers && [] };
  yield nothing;
  // Each page is dropped when it is used: a response is as large as all of them.
  for (let page = pages.dnsPages?.shift(); page !== undefined; page = pages.dnsPages?.shift()) {
    await fairTurns.take(client, MILLISECONDS_OF_PAGE);
    yield { ...nothing, dnsRecords: parseDnsEntries(page) };
  }
  for (let at = 0; at < (headers?.length ?? 0); at += HEADERS_OF_PART) {
    await fairTurns.take(client, MILLISECONDS_OF_PAGE);
    yield { ...nothing, httpHeaders: headers?.slice(at, at + HEADERS_OF_PART) ?? [] };
  }
}

const HEADERS_OF_PART = 10;

/** A large history in one piece, as of the instant that its pages were read for. */
export async function wholeHistory(
  pages: HistoryPages,
  at: Instant | undefined,
  client?: string,
): Promise<DomainHistory> {
  const dnsRecords: DnsEntry[] = [];
  const httpHeaders: HeaderEntry[] = [];
  for await (const part of partsOfHistory(pages, client)) {
    for (const entry of part.dnsRecords ?? []) dnsRecords.push(entry);
    for (const entry of part.httpHeaders ?? []) httpHeaders.push(entry);
  }
  await fairTurns.take(client, (dnsRecords.length + httpHeaders.length) / ENTRIES_OF_MILLISECOND);
  const lists = {
    dnsRecords: pages.dnsPages && dnsRecords,
    httpHeaders: pages.headerPages && httpHeaders,
  };
  return { ...pages.domain, ...withTimes(pages.timesOfParts, at, lists) };
}

/** Whose times are compared. */
const ENTRIES_OF_MILLISECOND = 10_000;

/** Whether a row of table `domain` is of a key that meets the condition. */
function isOfKey(keys: readonly DomainHistoryKey[], meets: (key: DomainHistoryKey) => boolean): Prisma.Sql {
  const names = keys.filter(meets).map(({ name }) => name);
  return Prisma.sql`name = ANY (string_to_array(${names.join(',')}, ','))`;
}

/** Whether it is of such a key, and so many octets, an expression of SQL, are small. */
function isSmall(octets: string, ...ofKey: Parameters<typeof isOfKey>): Prisma.Sql {
  return Prisma.sql`${Prisma.raw(`${octets} <= ${LARGE}`)} AND ${isOfKey(...ofKey)}`;
}

/** What a row has for a key of its name, by the parts that the key needs. */
function historiesOf(
  row: HistoryRow,
  at: Instant | undefined,
): (needed: HistoryParts) => ReadHistory | LargeHistory {
  const [recordOctets = 0, headerOctets = 0] = row.octets?.split(',').map(Number) ?? [];
  let parsed: DomainHistory | undefined;
  const parse = () => {
    if (parsed !== undefined) return parsed;
    const { dnsRecords, httpHeaders, times } = withTimes(row.times, at, {
      dnsRecords: row.dnsRecords === null ? null : parseDnsEntries(row.dnsRecords),
      httpHeaders: row.httpHeaders === null ? null : parseHeaderEntries(row.httpHeaders),
    });
    const counts = row.counts === null ? null : parseHistoryCounts(row.counts);
    const parts = { dnsRecords, httpHeaders, counts, times, octets: recordOctets + headerOctets };
    parsed = historyOf(parseDomainRow(row.name, row.numbers), parts, at);
    return parsed;
  };
  return (needed) => {
    const sum = (records: number, headers: number) =>
      (needed.dnsRecords ? records : 0) + (needed.httpHeaders ? headers : 0);
    const octets = sum(recordOctets, headerOctets);
    if (octets > LARGE) return new LargeHistory(octets);
    const characters = sum(row.dnsRecords?.length ?? 0, row.httpHeaders?.length ?? 0);
    return { characters, times: row.times, parse };
  };
}

/** The lists of a history with the times of its parts, where they were read, from which its entries have `lastSeen`. */
function withTimes(
  times: string | null,
  at: Instant | undefined,
  lists: Pick<DomainHistory, 'dnsRecords' | 'httpHeaders'>,
): Pick<DomainHistory, 'dnsRecords' | 'httpHeaders' | 'times'> {
  const { dnsRecords, httpHeaders } = lists;
  if (times === null) return { dnsRecords, httpHeaders, times: null };
  const parsed = parsePartTimes(times, lists, at);
  setLastSeen(lists, parsed);
  return { dnsRecords, httpHeaders, times: parsed };
}

/** The counts from what historyCountsSql() gives. */
function parseHistoryCounts(text: string): HistoryCounts {
  const [added = 0, removed = 0, httpHeaders = 0, headerChanges = 0] = text.split(',').map(Number);
  return { dnsRecords: added, httpHeaders, changes: added + removed + headerChanges };
}
