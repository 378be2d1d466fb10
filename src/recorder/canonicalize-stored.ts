import type { Pool } from 'pg';
import type { MigrationSteps } from '../database/migrate.js';
import { inTransaction } from '../database/transaction.js';
import { canonicalHistory } from '../history/canonical-history.js';
import { RDATA_FIELDS } from '../model/rdata-fields.js';
import { isPassing, pauseBefore } from './contention.js';
import { octetsAdded } from './history-octets.js';
import { historyOfRows, readStoredRows, type StoredRows } from './read-histories.js';
import { nextVersion } from './recorder.js';
import { isReadableTypes } from './row-contradictions.js';
import { type DomainChanges, writeDomainRows, writeHistory } from './write-changes.js';

/** What the migrations do to the rows besides their SQL. */
export const DATA_STEPS: MigrationSteps = new Map([['0006_canonical_rdata', canonicalizeStored]]);

/** Domains that are read, and written in one transaction, at once. */
const BATCH = 100;

/** What there is to write of a domain, and the types whose rows it replaces. */
interface Rewriting extends DomainChanges {
  readonly types: ReadonlySet<string>;
}

/**
 * Brings the rdata of stored records to its canonical text (history/canonical-history.ts), which is no
 * change in any history: what grows is the version of the domains whose answers change. Each batch of
 * domains is one transaction; a domain that somebody else writes meanwhile is read again, so that it may be
 * killed, run again, and run beside writers.
 *
 * @returns what was done, in one line; null where there was nothing to do.
 */
export async function canonicalizeStored(pool: Pool): Promise<string | null> {
  const count = { domains: 0, unreadable: 0 };
  for (let last = ''; ; ) {
    const names = await domainsAfter(pool, last);
    const next = names.at(-1);
    if (next === undefined) return reportOf(count);
    await rewriteBatch(pool, names, count);
    last = next;
  }
}

function reportOf({ domains, unreadable }: { domains: number; unreadable: number }): string | null {
  const written = `The records of ${domains} domains were rewritten in their canonical text.`;
  if (unreadable === 0) return domains === 0 ? null : written;
  return `${written} ${unreadable} records hold what is no data of their type, and stay as they are: dms verify names them.`;
}

/** The next domains that have a type whose records hold `data`. */
async function domainsAfter(pool: Pool, last: string): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(
    `SELECT name FROM domain
      WHERE name > $1
        AND CASE jsonb_typeof(dns_types) WHEN 'object' THEN dns_types - $2::text[] <> '{}' END
      ORDER BY name LIMIT ${BATCH}`,
    [last, [...RDATA_FIELDS.keys()]],
  );
  return rows.map(({ name }) => name);
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
  const replaced = history.stays.filter(({ record }) => types.has(record.type));
  const octets = octetsAdded(changes) - octetsAdded({ added: replaced, headers: [] });
  return { name, before: rows.domain, stateBefore, state, version: 0n, changes, octets, types };
}

/** @returns the names of the domains that were written. The others were written by somebody else. */
async function write(pool: Pool, domains: readonly Rewriting[]): Promise<Set<string>> {
  try {
    return await inTransaction(pool, async (client) => {
      const { rows } = await client.query<{ now: bigint }>(
        'SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now',
      );
      const now = rows[0]?.now ?? 0n;
      const versioned = domains.map((domain) => ({ ...domain, version: nextVersion(domain.before, 1, now) }));
      const names = await writeDomainRows(client, versioned, now);
      const written = versioned.filter(({ name }) => names.has(name));
      const replaced = written.flatMap(({ name, types }) => Array.from(types, (type) => ({ name, type })));
      await client.query(
        `DELETE FROM dns_record AS r USING unnest($1::text[], $2::text[]) AS gone (domain, type)
          WHERE r.domain = gone.domain AND r.type = gone.type`,
        [replaced.map(({ name }) => name), replaced.map(({ type }) => type)],
      );
      await writeHistory(client, written);
      return names;
    });
  } catch (error) {
    if (isPassing(error)) return new Set();
    throw error;
  }
}
