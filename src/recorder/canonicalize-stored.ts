import type { Pool } from 'pg';
import { inTransaction } from '../database/transaction.js';
import { canonicalHistory } from '../history/canonical-history.js';
import { RDATA_FIELDS } from '../model/rdata-fields.js';
import { isContention, pauseBefore } from './contention.js';
import { OCTETS_OF_ROWS } from './history-octets.js';
import { historyOfRows, readStoredRows, type StoredRows } from './read-histories.js';
import { isReadableTypes, leastNextVersion } from './rows.js';
import { type DomainChanges, writeDomainRows, writeHistory } from './write-changes.js';

/** The progress of a step. */
export interface StepProgress {
  readonly domains: number;
  /** The number of domains when it began. */
  readonly total: number;
}

/** Shows how far a step is for as long as it runs. @returns a function that ends the show. */
export type ShowStep = (progress: StepProgress) => () => void;

/** Domains that are read, and written in one transaction, at once. */
const BATCH = 100;

/** What there is to write of a domain, and the types whose rows it replaces. */
interface Rewriting extends DomainChanges {
  readonly types: ReadonlySet<string>;
}

/**
 * Brings the rdata of stored records to its canonical text (history/canonical-history.ts), which is no
 * change in any history: what grows is the version of the domains whose answers change. Then writes the
 * sizes of histories (history-octets.ts) that are not those of their rows. Each batch of domains is a
 * transaction for either; a domain that another process writes meanwhile is read again, so that it may be
 * killed, run again, and run beside writers.
 *
 * @returns what was done to records, in one line; null where there was nothing to do.
 */
export async function canonicalizeStored(
  pool: Pool,
  show: ShowStep = () => () => {},
): Promise<string | null> {
  const { rows } = await pool.query<{ total: number }>('SELECT count(*)::int AS total FROM domain');
  const progress = { domains: 0, total: rows[0]?.total ?? 0 };
  if (progress.total === 0) return null;
  const end = show(progress);
  try {
    return await canonicalizeAll(pool, progress);
  } finally {
    end();
  }
}

async function canonicalizeAll(pool: Pool, progress: { domains: number }): Promise<string | null> {
  const count = { domains: 0, unreadable: 0 };
  for (let last = ''; ; ) {
    const batch = await domainsAfter(pool, last);
    const next = batch.at(-1);
    if (next === undefined) return reportOf(count);
    await rewriteBatch(
      pool,
      batch.filter(({ presentation }) => presentation === true).map(({ name }) => name),
      count,
    );
    await writeSizes(
      pool,
      batch.map(({ name }) => name),
    );
    progress.domains += batch.length;
    last = next.name;
  }
}

function reportOf({ domains, unreadable }: { domains: number; unreadable: number }): string | null {
  const written = `The records of ${domains} domains were rewritten in their canonical text.`;
  if (unreadable === 0) return domains === 0 ? null : written;
  return `${written} ${unreadable} records hold what is no data of their type, and stay as they are: dms verify names them.`;
}

interface BatchDomain {
  readonly name: string;
  /** Whether it has a record with its rdata as text; null where column `dns_types` cannot be read. */
  readonly presentation: boolean | null;
}

async function domainsAfter(pool: Pool, last: string): Promise<BatchDomain[]> {
  const { rows } = await pool.query<BatchDomain>(
    `SELECT name, CASE jsonb_typeof(dns_types) WHEN 'object' THEN dns_types - $2::text[] <> '{}'
              OR EXISTS (SELECT FROM dns_record AS r WHERE r.domain = d.name AND r.rdata::text LIKE '{"data":%')
            END AS presentation
       FROM domain AS d WHERE name > $1 ORDER BY name LIMIT ${BATCH}`,
    [last, [...RDATA_FIELDS.keys()]],
  );
  return rows;
}

/**
 * Writes the sizes that are not those of the rows. A size belongs to the version that it was read with:
 * whatever writes a domain's rows gives it another version, in the same transaction.
 */
async function writeSizes(pool: Pool, names: readonly string[]): Promise<void> {
  for (let pending = names, attempt = 0; pending.length > 0; attempt += 1) {
    await pauseBefore(attempt);
    const { rows } = await pool.query<{ name: string; version: bigint; octets: bigint }>(
      `SELECT name, version, octets
         FROM (SELECT name, version, history_octets, ${OCTETS_OF_ROWS} AS octets
                 FROM domain AS d WHERE name = ANY($1)) AS counted
        WHERE history_octets <> octets`,
      [pending],
    );
    if (rows.length === 0) return;
    const written = await onContention(new Set<string>(), () => updateSizes(pool, rows));
    pending = rows.map(({ name }) => name).filter((name) => !written.has(name));
  }
}

async function updateSizes(
  pool: Pool,
  sizes: readonly { name: string; version: bigint; octets: bigint }[],
): Promise<Set<string>> {
  const { rows } = await pool.query<{ name: string }>(
    `UPDATE domain AS d SET history_octets = counted.octets
       FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS counted (name, version, octets)
      WHERE d.name = counted.name AND d.version = counted.version
      RETURNING d.name`,
    [sizes.map(({ name }) => name), sizes.map(({ version }) => version), sizes.map(({ octets }) => octets)],
  );
  return new Set(rows.map(({ name }) => name));
}

async function rewriteBatch(
  pool: Pool,
  names: readonly string[],
  count: { domains: number; unreadable: number },
): Promise<void> {
  for (let pending = names, attempt = 0; pending.length > 0; attempt += 1) {
    await pauseBefore(attempt);
    const differing: Rewriting[] = [];
    const unreadable = new Map<string, number>();
    for await (const rows of readStoredRows(pool, pending)) {
      const found = isReadableTypes(rows.domain.dns_types) ? rewritingOf(rows, unreadable) : null;
      if (found !== null) differing.push(found);
    }
    const written = differing.length === 0 ? new Set() : await write(pool, differing);
    pending = differing.map(({ name }) => name).filter((name) => !written.has(name));
    for (const name of pending) unreadable.delete(name);
    count.domains += written.size;
    for (const records of unreadable.values()) count.unreadable += records;
  }
}

/** Null where everything is canonical. */
function rewritingOf(rows: StoredRows, unreadable: Map<string, number>): Rewriting | null {
  const history = historyOfRows(rows);
  const { name, state: stateBefore } = history;
  const { state, stays, types, unreadable: records } = canonicalHistory(history);
  unreadable.set(name, records);
  if (types.size === 0) return null;
  const changes = { added: stays, removed: [], headers: [], responses: [] };
  // The size is written afterwards, with those of the other domains.
  const version = leastNextVersion(rows.domain, 1);
  return { name, before: rows.domain, stateBefore, state, version, changes, octets: 0, types };
}

/** @returns the names of the domains that were written. The others were written by another process. */
function write(pool: Pool, domains: readonly Rewriting[]): Promise<Set<string>> {
  return onContention(new Set<string>(), () =>
    inTransaction(pool, async (client) => {
      const names = await writeDomainRows(client, domains);
      const written = domains.filter(({ name }) => names.has(name));
      const replaced = written.flatMap(({ name, types }) => Array.from(types, (type) => ({ name, type })));
      await client.query(
        `DELETE FROM dns_record AS r USING unnest($1::text[], $2::text[]) AS gone (domain, type)
          WHERE r.domain = gone.domain AND r.type = gone.type`,
        [replaced.map(({ name }) => name), replaced.map(({ type }) => type)],
      );
      await writeHistory(client, written);
      return names;
    }),
  );
}

/** The result of `work`, or `otherwise` when another writer was in its way. */
async function onContention<Result>(otherwise: Result, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (isContention(error)) return otherwise;
    throw error;
  }
}
