import type { Pool, PoolClient } from 'pg';
import { inTransaction } from '../database/transaction.js';
import type { RecordedResponse } from '../history/state.js';
import type { StoredHeaderChange, StoredHistory } from '../history/stored-history.js';
import type { Instant } from '../model/instant.js';
import { type DomainRow, STAY_COLUMNS, type StayRow, stateOfRow, stayOfRow } from './rows.js';

/** Domains read at once: their histories are in memory together. */
const PAGE_DOMAINS = 100;

/** The rows of one domain, as they are stored. */
export interface StoredRows {
  readonly domain: DomainRow & { readonly recorded_at: Instant; readonly history_octets: bigint };
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
  for await (const rows of readStoredRows(pool, names)) {
    yield historyOfRows(rows);
  }
}

/** Reads the rows behind readHistories, as they are: sound or not. */
export async function* readStoredRows(pool: Pool, names?: readonly string[]): AsyncGenerator<StoredRows> {
  if (names !== undefined) {
    for (let first = 0; first < names.length; first += PAGE_DOMAINS) {
      yield* await readPage(pool, 'name = ANY($1)', names.slice(first, first + PAGE_DOMAINS));
    }
    return;
  }
  for (let last = '', after = 'name >= $1'; ; after = 'name > $1') {
    const page = await readPage(pool, after, last);
    yield* page;
    const next = page.at(-1)?.domain.name;
    if (next === undefined) {
      return;
    }
    last = next;
  }
}

/**
 * Translates a domain's rows to what the rules of history know.
 *
 * @throws Error where column `dns_types` cannot be read.
 */
export function historyOfRows({ domain, stays, headers, responses }: StoredRows): StoredHistory {
  return {
    name: domain.name,
    version: domain.version,
    recordedAt: domain.recorded_at,
    state: stateOfRow(domain),
    stays: stays.map(stayOfRow),
    headers,
    responses,
  };
}

async function readPage(pool: Pool, condition: string, parameter: unknown): Promise<StoredRows[]> {
  return inTransaction(pool, async (client) => {
    await client.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const { rows } = await client.query<StoredRows['domain']>(
      `SELECT * FROM domain WHERE ${condition} ORDER BY name LIMIT ${PAGE_DOMAINS}`,
      [parameter],
    );
    const names = rows.map(({ name }) => name);
    const stays = await readStays(client, names);
    const headers = await readHeaders(client, names);
    const responses = await readResponses(client, names);
    return rows.map((domain) => ({
      domain,
      stays: stays.get(domain.name) ?? [],
      headers: headers.get(domain.name) ?? [],
      responses: responses.get(domain.name) ?? [],
    }));
  });
}

async function readStays(client: PoolClient, names: readonly string[]): Promise<Map<string, StayRow[]>> {
  const { rows } = await client.query<StayRow>(
    `SELECT ${STAY_COLUMNS}
       FROM dns_record WHERE domain = ANY($1) ORDER BY domain, first_seen, type, position`,
    [names],
  );
  return grouped(rows, (row) => row);
}

interface HeaderRow extends Omit<StoredHeaderChange, 'observedAt'> {
  readonly domain: string;
  readonly observed_at: Instant;
}

async function readHeaders(
  client: PoolClient,
  names: readonly string[],
): Promise<Map<string, StoredHeaderChange[]>> {
  const { rows } = await client.query<HeaderRow>(
    `SELECT domain, name, observed_at, present, value, source
       FROM header_change WHERE domain = ANY($1) ORDER BY domain, name, observed_at`,
    [names],
  );
  return grouped(rows, ({ name, observed_at: observedAt, present, value, source }) => ({
    name,
    observedAt,
    present,
    value,
    source,
  }));
}

async function readResponses(
  client: PoolClient,
  names: readonly string[],
): Promise<Map<string, RecordedResponse[]>> {
  const { rows } = await client.query<RecordedResponse & { readonly domain: string }>(
    `SELECT domain, observed_at AS "observedAt", scheme, status, address
       FROM site_response WHERE domain = ANY($1) ORDER BY domain, observed_at`,
    [names],
  );
  return grouped(rows, ({ domain: _, ...response }) => response);
}

function grouped<Row extends { readonly domain: string }, Item>(
  rows: readonly Row[],
  itemOf: (row: Row) => Item,
): Map<string, Item[]> {
  const groups = new Map<string, Item[]>();
  for (const row of rows) {
    const group = groups.get(row.domain);
    if (group === undefined) {
      groups.set(row.domain, [itemOf(row)]);
    } else {
      group.push(itemOf(row));
    }
  }
  return groups;
}
