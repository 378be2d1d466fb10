import type { Pool, PoolClient } from 'pg';
import { inTransaction } from '../database/transaction.js';
import type { RecordStay } from '../history/state.js';
import type { StoredHistory } from '../history/stored-history.js';
import { addTo } from '../model/groups.js';
import { namesOf } from './bulk-write.js';
import { keptTimesOf, STORED_SELECTED, type StoredDomain, stateOfRow } from './domain-rows.js';
import {
  EARLIER,
  HEADERS,
  type HistoryItems,
  RESPONSES,
  STAYS,
  type StayRow,
  selected,
  stayOfRow,
  type Table,
} from './history-tables.js';

/** Domains read at once: their histories are in memory together. */
const PAGE_DOMAINS = 100;

/** The rows of one domain, as they are stored: as in StoredHistory, and in its orders. */
export interface StoredRows extends Omit<HistoryItems, 'stays'> {
  readonly domain: StoredDomain;
  readonly stays: readonly StayRow[];
}

/**
 * Reads everything that is recorded, domain by domain in the order of their names. Each domain's
 * history is that of one instant; different domains have different ones.
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

/** As readHistories(), the rows as they are: sound or not. */
export async function* readStoredRows(pool: Pool, names?: readonly string[]): AsyncGenerator<StoredRows> {
  if (names !== undefined) {
    for (let first = 0; first < names.length; first += PAGE_DOMAINS) {
      const { page } = await readPage(pool, 'name = ANY($1)', names.slice(first, first + PAGE_DOMAINS));
      yield* page;
    }
    return;
  }
  let { page, last } = await readPage(pool, 'name >= $1', '');
  while (last !== undefined) {
    yield* page;
    ({ page, last } = await readPage(pool, 'name > $1', last));
  }
}

/** Translates a domain's rows to what the rules know. @throws Error where column `dns_types` cannot be read. */
export function historyOfRows({ domain, stays, headers, responses, earlier }: StoredRows): StoredHistory {
  return {
    name: domain.name,
    version: domain.version,
    recordedAt: domain.recordedAt,
    state: stateOfRow(domain),
    stays: stays.map(stayOfRow),
    headers,
    responses,
    earlier,
    ...(domain.keptTimes && { keptTimes: keptTimesOf(domain.keptTimes) }),
  };
}

/** @returns last is the last name of the page, also if that domain was erased meanwhile; undefined: it is empty. */
async function readPage(pool: Pool, condition: string, parameter: unknown): Promise<Page> {
  const { found, present } = await inTransaction(pool, async (client) => {
    await client.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY');
    // Where tables have no statistics, as in the embedded database after an import, each page would read whole
    // tables.
    await client.query('SET LOCAL enable_seqscan = off');
    const { rows } = await client.query<StoredDomain>(
      `SELECT ${STORED_SELECTED} FROM domain WHERE ${condition} ORDER BY name LIMIT ${PAGE_DOMAINS}`,
      [parameter],
    );
    const found = await readRows(client, rows);
    // All that writes a domain gives it another version.
    const versions = await client.query<Pick<StoredDomain, 'name' | 'version'>>(
      'SELECT name, version FROM domain WHERE name = ANY($1)',
      [rows.map(({ name }) => name)],
    );
    return { found, present: new Map(versions.rows.map(({ name, version }) => [name, version])) };
  });
  const page: StoredRows[] = [];
  for (const rows of found) {
    const { name, version } = rows.domain;
    // The snapshot is that of one server. The nodes of a Citus cluster have none in common: each statement
    // there has its own.
    const complete = present.get(name) === version ? [rows] : (await readPage(pool, 'name = $1', name)).page;
    for (const each of complete) page.push(each);
  }
  return { page, last: found.at(-1)?.domain.name };
}

interface Page {
  readonly page: readonly StoredRows[];
  readonly last: string | undefined;
}

async function readRows(client: PoolClient, domains: readonly StoredDomain[]): Promise<StoredRows[]> {
  const names = domains.map(({ name }) => name);
  const read = async <Item, Row = Item>({ name, key, columns }: Table<Item>) => {
    const { rows } = await client.query<Row & { readonly domain: string }>(
      `SELECT ${selected(namesOf(columns))} FROM ${name} WHERE domain = ANY($1) ORDER BY ${namesOf(key)}`,
      [names],
    );
    const groups = new Map<string, Row[]>();
    for (const row of rows) addTo(groups, row.domain, row);
    return groups;
  };
  const stays = await read<RecordStay, StayRow>(STAYS);
  const headers = await read(HEADERS);
  const responses = await read(RESPONSES);
  const earlier = await read(EARLIER);
  return domains.map((domain) => ({
    domain,
    stays: stays.get(domain.name) ?? [],
    headers: headers.get(domain.name) ?? [],
    responses: responses.get(domain.name) ?? [],
    earlier: earlier.get(domain.name) ?? [],
  }));
}
