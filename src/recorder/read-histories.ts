import type { Pool, PoolClient } from 'pg';
import { inTransaction } from '../database/transaction.js';
import type { RecordedResponse } from '../history/state.js';
import type { StoredHeaderChange, StoredHistory } from '../history/stored-history.js';
import { addTo } from '../model/groups.js';
import {
  EARLIER_COLUMNS,
  type EarlierRow,
  HEADER_COLUMNS,
  keptTimesOf,
  RESPONSE_COLUMNS,
  STAY_COLUMNS,
  STORED_DOMAIN_COLUMNS,
  type StayRow,
  type StoredDomain,
  stateOfRow,
  stayOfRow,
} from './rows.js';

/** Domains read at once: their histories are in memory together. */
const PAGE_DOMAINS = 100;

/** The rows of one domain, as they are stored. */
export interface StoredRows {
  readonly domain: StoredDomain;
  /** By first sight, type and position. */
  readonly stays: readonly StayRow[];
  /** By field name and time. */
  readonly headers: readonly StoredHeaderChange[];
  /** By time. */
  readonly responses: readonly RecordedResponse[];
  /** By type and name. */
  readonly earlier: readonly EarlierRow[];
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

/** Reads the rows behind readHistories, as they are: sound or not. */
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

interface PageOfDomains {
  readonly page: readonly StoredRows[];
  /** The last name of the page, also if that domain was erased meanwhile; undefined: there is none. */
  readonly last: string | undefined;
}

async function readPage(pool: Pool, condition: string, parameter: unknown): Promise<PageOfDomains> {
  const { found, present } = await inTransaction(pool, async (client) => {
    await client.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY');
    // Where tables have no statistics, as in the embedded database after an import, each page would read whole
    // tables.
    await client.query('SET LOCAL enable_seqscan = off');
    const { rows } = await client.query<StoredDomain>(
      `SELECT ${STORED_DOMAIN_COLUMNS} FROM domain WHERE ${condition} ORDER BY name LIMIT ${PAGE_DOMAINS}`,
      [parameter],
    );
    return { found: await readRows(client, rows), present: await versionsOf(client, rows) };
  });
  const page: StoredRows[] = [];
  for (const rows of found) {
    const { name, version } = rows.domain;
    // The snapshot is that of one server. The nodes of a Citus cluster have none in common: each statement
    // there has its own.
    const complete = present.get(name) === version ? rows : await readLocked(pool, name);
    if (complete !== undefined) page.push(complete);
  }
  return { page, last: found.at(-1)?.domain.name };
}

/** Reads a domain that changes while it is read; undefined if it was erased. What writes it waits meanwhile. */
function readLocked(pool: Pool, name: string): Promise<StoredRows | undefined> {
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query<StoredDomain>(
      `SELECT ${STORED_DOMAIN_COLUMNS} FROM domain WHERE name = $1 FOR SHARE`,
      [name],
    );
    const [read] = await readRows(client, rows);
    return read;
  });
}

/** The versions that domains have now. All that writes a domain gives it another one. */
async function versionsOf(
  client: PoolClient,
  domains: readonly StoredDomain[],
): Promise<ReadonlyMap<string, bigint>> {
  const { rows } = await client.query<Pick<StoredDomain, 'name' | 'version'>>(
    'SELECT name, version FROM domain WHERE name = ANY($1)',
    [domains.map(({ name }) => name)],
  );
  return new Map(rows.map(({ name, version }) => [name, version]));
}

/** Reads the rows of domains in all tables. */
async function readRows(client: PoolClient, domains: readonly StoredDomain[]): Promise<StoredRows[]> {
  const names = domains.map(({ name }) => name);
  const read = async <Row extends object>(columns: string, table: string, order: string) =>
    byDomain(
      await client.query<Row & { readonly domain: string }>(
        `SELECT ${columns} FROM ${table} WHERE domain = ANY($1) ORDER BY domain, ${order}`,
        [names],
      ),
    );
  const stays = await read<StayRow>(STAY_COLUMNS, 'dns_record', 'first_seen, type, position');
  const headers = await read<StoredHeaderChange>(HEADER_COLUMNS, 'header_change', 'name, observed_at');
  const responses = await read<RecordedResponse>(RESPONSE_COLUMNS, 'site_response', 'observed_at');
  const earlier = await read<EarlierRow>(EARLIER_COLUMNS, 'earlier_changes', 'type, name');
  return domains.map((domain) => ({
    domain,
    stays: stays.get(domain.name) ?? [],
    headers: headers.get(domain.name) ?? [],
    responses: responses.get(domain.name) ?? [],
    earlier: earlier.get(domain.name) ?? [],
  }));
}

function byDomain<Row extends { readonly domain: string }>({ rows }: { readonly rows: readonly Row[] }) {
  const groups = new Map<string, Row[]>();
  for (const row of rows) addTo(groups, row.domain, row);
  return groups;
}
