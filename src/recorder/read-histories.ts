import type { Pool } from 'pg';
import { inTransaction } from '../database/transaction.js';
import type { RecordedResponse } from '../history/state.js';
import type { StoredHeaderChange, StoredHistory } from '../history/stored-history.js';
import type { Instant } from '../model/instant.js';
import {
  type DomainRow,
  keptTimesOf,
  STAY_COLUMNS,
  type StayRow,
  type StoredKeptTimes,
  stateOfRow,
  stayOfRow,
} from './rows.js';

/** Domains read at once: their histories are in memory together. */
const PAGE_DOMAINS = 100;

/** The rows of one domain, as they are stored. */
export interface StoredRows {
  readonly domain: DomainRow & {
    readonly recorded_at: Instant;
    readonly record_octets: bigint;
    readonly header_octets: bigint;
    readonly kept_times: StoredKeptTimes | null;
  };
  /** By first sight, type and position. */
  readonly stays: readonly StayRow[];
  /** By field name and time. */
  readonly headers: readonly StoredHeaderChange[];
  /** By time. */
  readonly responses: readonly RecordedResponse[];
}

/**
 * Reads everything that is recorded, domain by domain in the order of their names. Each domain's
 * history is read at one instant; domains are read at different ones.
 *
 * @param names canonical names of the domains to read; all when it is absent. Unknown ones are left out.
 */
export async function* readHistories(pool: Pool, names?: readonly string[]): AsyncGenerator<StoredHistory> {
  for await (const rows of readStoredRows(pool, names)) yield historyOfRows(rows);
}

/** How many domains readHistories reads without names: others may be recorded meanwhile. */
export async function countDomains(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ total: number }>('SELECT count(*)::int AS total FROM domain');
  return rows[0]?.total ?? 0;
}

/** Reads the rows behind readHistories, as they are: sound or not. */
export async function* readStoredRows(pool: Pool, names?: readonly string[]): AsyncGenerator<StoredRows> {
  if (names !== undefined) {
    for (let first = 0; first < names.length; first += PAGE_DOMAINS) {
      yield* await readPage(pool, 'name = ANY($1)', names.slice(first, first + PAGE_DOMAINS));
    }
    return;
  }
  let page = await readPage(pool, 'name >= $1', '');
  for (let last = page.at(-1); last !== undefined; last = page.at(-1)) {
    yield* page;
    page = await readPage(pool, 'name > $1', last.domain.name);
  }
}

/** Translates a domain's rows to what the rules know. @throws Error where column `dns_types` cannot be read. */
export function historyOfRows({ domain, stays, headers, responses }: StoredRows): StoredHistory {
  return {
    name: domain.name,
    version: domain.version,
    recordedAt: domain.recorded_at,
    state: stateOfRow(domain),
    stays: stays.map(stayOfRow),
    headers,
    responses,
    ...(domain.kept_times && { keptTimes: keptTimesOf(domain.kept_times) }),
  };
}

async function readPage(pool: Pool, condition: string, parameter: unknown): Promise<StoredRows[]> {
  return inTransaction(pool, async (client) => {
    await client.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY');
    // Where tables have no statistics, as in the embedded database after an import, each page would read whole tables.
    await client.query('SET LOCAL enable_seqscan = off');
    const { rows } = await client.query<StoredRows['domain']>(
      `SELECT * FROM domain WHERE ${condition} ORDER BY name LIMIT ${PAGE_DOMAINS}`,
      [parameter],
    );
    const names = rows.map(({ name }) => name);
    const read = async <Row extends object>(columns: string, table: string, order: string) =>
      byDomain(
        await client.query<Row & { readonly domain: string }>(
          `SELECT ${columns} FROM ${table} WHERE domain = ANY($1) ORDER BY domain, ${order}`,
          [names],
        ),
      );
    const stays = await read<StayRow>(STAY_COLUMNS, 'dns_record', 'first_seen, type, position');
    const headers = await read<StoredHeaderChange>(
      'domain, name, observed_at AS "observedAt", value, last_seen AS "lastSeen", source',
      'header_change',
      'name, observed_at',
    );
    const responses = await read<RecordedResponse>(
      'domain, observed_at AS "observedAt", scheme, status, address',
      'site_response',
      'observed_at',
    );
    return rows.map((domain) => ({
      domain,
      stays: stays.get(domain.name) ?? [],
      headers: headers.get(domain.name) ?? [],
      responses: responses.get(domain.name) ?? [],
    }));
  });
}

function byDomain<Row extends { readonly domain: string }>({ rows }: { readonly rows: readonly Row[] }) {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const group = groups.get(row.domain);
    if (group === undefined) groups.set(row.domain, [row]);
    else group.push(row);
  }
  return groups;
}
