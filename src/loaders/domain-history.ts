import type { PrismaClient } from '../database/generated/client.js';
import { DNS_ENTRIES_SQL, type DnsEntry, parseDnsEntries } from './dns-entries.js';
import { DOMAIN_ROW_SQL, type DomainRow, fillBatch, parseDomainRow } from './domain-row.js';
import { HEADER_ENTRIES_SQL, type HeaderEntry, parseHeaderEntries } from './header-entries.js';
import { HISTORY_COUNTS_SQL, type HistoryCounts, parseHistoryCounts } from './history-counts.js';
import type { Requested } from './recipient.js';

/** The parts of a domain's history that cost a look into further tables. */
export interface HistoryParts {
  readonly dnsRecords: boolean;
  readonly httpHeaders: boolean;
  readonly counts: boolean;
}

/** A domain by its canonical name, the parts of its history that are needed, and who for. */
export interface DomainHistoryKey extends HistoryParts, Requested {
  readonly name: string;
}

/** What is recorded of a domain. A part that nobody asked for is null. */
export interface DomainHistory extends DomainRow {
  readonly dnsRecords: readonly DnsEntry[] | null;
  readonly httpHeaders: readonly HeaderEntry[] | null;
  readonly counts: HistoryCounts | null;
}

// Small batches let PostgreSQL work on one while this process works on another; with 64 the two wait for
// each other. One text for every batch, so that it is prepared once. Eight names, where an array would do, since
// PostgreSQL takes a plan that fits every batch only if it costs no more than one made for the batch at
// hand; an array of unknown length is taken for one of ten, and each batch would be planned anew. Rows are
// joined by the domain's name only, so that it runs where domains are spread over several servers.
const HISTORIES_SQL = `
  SELECT name,
         ${DOMAIN_ROW_SQL} AS numbers,
         CASE WHEN name = ANY (string_to_array($9, ',')) THEN (${DNS_ENTRIES_SQL}) END AS "dnsRecords",
         CASE WHEN name = ANY (string_to_array($10, ',')) THEN (${HEADER_ENTRIES_SQL}) END AS "httpHeaders",
         CASE WHEN name = ANY (string_to_array($11, ',')) THEN (${HISTORY_COUNTS_SQL}) END AS counts
    FROM domain
   WHERE name IN ($1, $2, $3, $4, $5, $6, $7, $8)`;

interface HistoryRow {
  readonly name: string;
  readonly numbers: string;
  readonly dnsRecords: string | null;
  readonly httpHeaders: string | null;
  readonly counts: string | null;
}

/**
 * Loads the histories of up to BATCH_SIZE domains by one SQL statement.
 *
 * @returns For each key in its place the history, or null where nothing is recorded of the domain. Keys
 * of one name share one history, with the parts that any of them needs.
 */
export async function loadDomainHistories(
  prisma: PrismaClient,
  keys: readonly DomainHistoryKey[],
): Promise<(DomainHistory | null)[]> {
  const wanted: WantedParts = {
    dnsRecords: namesWanting('dnsRecords', keys),
    httpHeaders: namesWanting('httpHeaders', keys),
    counts: namesWanting('counts', keys),
  };
  const rows = await prisma.$queryRawUnsafe<HistoryRow[]>(
    HISTORIES_SQL,
    ...fillBatch(keys.map(({ name }) => name)),
    [...wanted.dnsRecords].join(','),
    [...wanted.httpHeaders].join(','),
    [...wanted.counts].join(','),
  );
  const histories = new Map(rows.map((row) => [row.name, historyOf(row, wanted)]));
  return keys.map(({ name }) => histories.get(name) ?? null);
}

type WantedParts = Readonly<Record<keyof HistoryParts, ReadonlySet<string>>>;

function namesWanting(part: keyof HistoryParts, keys: readonly DomainHistoryKey[]): ReadonlySet<string> {
  return new Set(keys.filter((key) => key[part]).map(({ name }) => name));
}

function historyOf(row: HistoryRow, wanted: WantedParts): DomainHistory {
  return {
    ...parseDomainRow(row.name, row.numbers),
    dnsRecords: wanted.dnsRecords.has(row.name) ? parseDnsEntries(row.dnsRecords) : null,
    httpHeaders: wanted.httpHeaders.has(row.name) ? parseHeaderEntries(row.httpHeaders) : null,
    counts: row.counts === null ? null : parseHistoryCounts(row.counts),
  };
}
