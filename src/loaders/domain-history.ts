import { Prisma, type PrismaClient } from '../database/generated/client.js';
import { BusyError, PublicError } from '../model/errors.js';
import { fairTurns } from '../rates/fair-turns.js';
import type { Pages } from './columns.js';
import { DNS_ENTRIES_SQL, type DnsEntry, parseDnsEntries, readDnsPages } from './dns-entries.js';
import {
  DOMAIN_ROW_SQL,
  type DomainRow,
  loadDomainRows,
  namesOfBatch,
  parseDomainRow,
} from './domain-row.js';
import {
  HEADER_ENTRIES_SQL,
  type HeaderEntry,
  parseHeaderEntries,
  parseHeaderPages,
  readHeaderPages,
} from './header-entries.js';
import type { Recipient, Requested } from './recipient.js';

/** The parts of a domain's history that are read from further tables. */
export interface HistoryParts {
  readonly dnsRecords: boolean;
  readonly httpHeaders: boolean;
  readonly counts: boolean;
}

/** A domain by its canonical name, the parts of its history that are needed, and the recipient. */
export interface DomainHistoryKey extends HistoryParts, Requested {
  readonly name: string;
  readonly recipient?: Recipient | undefined;
  /** Identifies the client that the recipient responds to. */
  readonly client?: string | undefined;
  /** Called before a large history is read, with the approximate octets of a response with all of it; may reject. */
  readonly onLarge?: ((octets: number) => Promise<void>) | undefined;
}

/** What is recorded of a domain. A part that was not requested is null. */
export interface DomainHistory extends DomainRow {
  readonly dnsRecords: readonly DnsEntry[] | null;
  readonly httpHeaders: readonly HeaderEntry[] | null;
  readonly counts: HistoryCounts | null;
}

/** How much there is of a domain's history. */
interface HistoryCounts {
  /** DNS entries: records present and records removed. */
  readonly dnsRecords: number;
  /** Headers that ever had a value. */
  readonly httpHeaders: number;
  /** DNS records added and removed; headers created, updated, gone, and back with the same value. */
  readonly changes: number;
  /** The size of a large history that was counted; 0 for any other. */
  readonly octets: number;
}

/** In place of a history with records or headers that is too large to be read at once. */
export class LargeHistory {
  readonly octets: number;

  /** @param octets Approximately those of a response with all of it. */
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
const HISTORY_COUNTS_SQL = Prisma.sql`
  (SELECT count(*) || ',' || count(removed) FROM dns_record WHERE dns_record.domain = domain.name)
  || ',' ||
  (SELECT count(DISTINCT name) FILTER (WHERE value IS NOT NULL) || ',' || count(*)
     FROM header_change WHERE header_change.domain = domain.name)`;

interface HistoryRow {
  readonly name: string;
  readonly numbers: string;
  readonly largeOctets: bigint | null;
  readonly dnsRecords: string | null;
  readonly httpHeaders: string | null;
  readonly counts: string | null;
}

/** A history with more octets is large: one request may ask for many just below it. Ordinary ones have a tenth. */
const LARGE = 64 * 1024;
const IS_SMALL = Prisma.raw(`history_octets <= ${LARGE}`);

/** A history as it was read: parsing it and what is done with it afterwards keep the event loop for a while. */
interface ReadHistory {
  /** Of records and headers. */
  readonly characters: number;
  parse(): DomainHistory;
}

/**
 * Loads the histories of up to BATCH_SIZE domains by one SQL statement, but for records and headers of
 * large ones.
 *
 * @returns For each key in its place the history, or null where nothing is recorded of the domain. Keys
 * of one name share one history, with the parts that any of them needs.
 */
export async function loadDomainHistories(
  prisma: PrismaClient,
  keys: readonly DomainHistoryKey[],
): Promise<(ReadHistory | LargeHistory | null)[]> {
  const wanted: WantedParts = {
    dnsRecords: namesWanting('dnsRecords', keys),
    httpHeaders: namesWanting('httpHeaders', keys),
    counts: namesWanting('counts', keys),
  };
  // Rows are joined by the domain's name only, so that it runs where domains are spread over several servers.
  const rows = await prisma.$queryRaw<HistoryRow[]>`
    SELECT name,
           ${DOMAIN_ROW_SQL} AS numbers,
           CASE WHEN NOT (${IS_SMALL}) THEN history_octets END AS "largeOctets",
           CASE WHEN ${IS_SMALL} AND ${isAmong(wanted.dnsRecords)} THEN (${DNS_ENTRIES_SQL}) END AS "dnsRecords",
           CASE WHEN ${IS_SMALL} AND ${isAmong(wanted.httpHeaders)} THEN (${HEADER_ENTRIES_SQL}) END AS "httpHeaders",
           CASE WHEN ${isAmong(wanted.counts)} THEN (${HISTORY_COUNTS_SQL}) END AS counts
      FROM domain
     WHERE name IN (${namesOfBatch(keys)})`;
  const large = new Map(rows.map(({ name, largeOctets }) => [name, largeOctets]));
  const histories = new Map(rows.map((row) => [row.name, readHistory(row, wanted)]));
  return keys.map(({ name, dnsRecords, httpHeaders }) => {
    const octets = large.get(name) ?? null;
    if (octets !== null && (dnsRecords || httpHeaders)) return new LargeHistory(Number(octets));
    return histories.get(name) ?? null;
  });
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
  const small = { ...key, dnsRecords: false, httpHeaders: false };
  const { name } = key;
  for (let reading = 0; reading < MAX_READINGS; reading += 1) {
    const [read] = await loadDomainHistories(prisma, [small]);
    if (read === null || read === undefined || read instanceof LargeHistory) return null;
    const domain = read.parse();
    const dnsPages = key.dnsRecords ? await readDnsPages(prisma, name, pages) : null;
    const headerPages = key.httpHeaders ? await readHeaderPages(prisma, name, pages) : null;
    const [after] = await loadDomainRows(prisma, [small]);
    if (after?.version === domain.version) return { domain, dnsPages, headerPages };
  }
  throw new BusyError(1);
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

/** A large history in one piece. */
export async function wholeHistory(pages: HistoryPages, client?: string): Promise<DomainHistory> {
  const dnsRecords: DnsEntry[] = [];
  const httpHeaders: HeaderEntry[] = [];
  for await (const part of partsOfHistory(pages, client)) {
    for (const entry of part.dnsRecords ?? []) dnsRecords.push(entry);
    for (const entry of part.httpHeaders ?? []) httpHeaders.push(entry);
  }
  return {
    ...pages.domain,
    dnsRecords: pages.dnsPages && dnsRecords,
    httpHeaders: pages.headerPages && httpHeaders,
  };
}

function isAmong(names: ReadonlySet<string>): Prisma.Sql {
  return Prisma.sql`name = ANY (string_to_array(${[...names].join(',')}, ','))`;
}

type WantedParts = Readonly<Record<keyof HistoryParts, ReadonlySet<string>>>;

function namesWanting(part: keyof HistoryParts, keys: readonly DomainHistoryKey[]): ReadonlySet<string> {
  return new Set(keys.filter((key) => key[part]).map(({ name }) => name));
}

function readHistory(row: HistoryRow, wanted: WantedParts): ReadHistory {
  const isRead = row.largeOctets === null;
  let parsed: DomainHistory | undefined;
  return {
    characters: (row.dnsRecords?.length ?? 0) + (row.httpHeaders?.length ?? 0),
    parse: () => {
      parsed ??= {
        ...parseDomainRow(row.name, row.numbers),
        dnsRecords: isRead && wanted.dnsRecords.has(row.name) ? parseDnsEntries(row.dnsRecords) : null,
        httpHeaders: isRead && wanted.httpHeaders.has(row.name) ? parseHeaderEntries(row.httpHeaders) : null,
        counts: row.counts === null ? null : parseHistoryCounts(row.counts, Number(row.largeOctets ?? 0)),
      };
      return parsed;
    },
  };
}

/** The counts from what HISTORY_COUNTS_SQL gives. */
function parseHistoryCounts(text: string, octets: number): HistoryCounts {
  const [added = 0, removed = 0, httpHeaders = 0, headerChanges = 0] = text.split(',').map(Number);
  return { dnsRecords: added, httpHeaders, changes: added + removed + headerChanges, octets };
}
