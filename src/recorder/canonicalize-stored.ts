import type { Pool, PoolClient } from 'pg';
import { canonicalHistory } from '../history/canonical-history.js';
import { RDATA_FIELDS } from '../model/rdata-fields.js';
import { noneOnContention, untilNoneLeft } from './contention.js';
import { OCTETS_OF_ROWS } from './history-octets.js';
import { historyOfRows, readStoredRows, type StoredRows } from './read-histories.js';
import { isReadableTypes, leastNextVersion } from './rows.js';
import { type DomainChanges, writeDomains } from './write-changes.js';

/** The progress of a step. */
interface StepProgress {
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
    const count = { domains: 0, unreadable: 0 };
    let batch = await domainsAfter(pool, '');
    for (let last = batch.at(-1); last !== undefined; last = batch.at(-1)) {
      const differing = batch.filter(({ presentation }) => presentation === true);
      await rewrite(pool, namesOf(differing), count);
      await writeSizes(pool, namesOf(batch));
      progress.domains += batch.length;
      batch = await domainsAfter(pool, last.name);
    }
    return reportOf(count);
  } finally {
    end();
  }
}

function reportOf({ domains, unreadable }: { domains: number; unreadable: number }): string | null {
  const written = `The records of ${domains} domains were rewritten in their canonical text.`;
  if (unreadable === 0) return domains === 0 ? null : written;
  return `${written} ${unreadable} records have data that is not valid for their type, and remain unchanged: dms verify lists them.`;
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

function namesOf(domains: readonly { readonly name: string }[]): string[] {
  return domains.map(({ name }) => name);
}

/**
 * Writes the sizes that are not those of the rows. A size belongs to the version that it was read with:
 * whatever writes a domain's rows gives it another version, in the same transaction.
 */
async function writeSizes(pool: Pool, names: readonly string[]): Promise<void> {
  await untilNoneLeft(names, async (left) => {
    const { rows } = await pool.query<{ name: string; version: bigint; records: bigint; headers: bigint }>(
      `SELECT name, version, records, headers
         FROM (SELECT name, version, record_octets, header_octets, ${OCTETS_OF_ROWS}
                 FROM domain AS d WHERE name = ANY($1)) AS counted
        WHERE record_octets <> records OR header_octets <> headers`,
      [left],
    );
    if (rows.length === 0) return [];
    const written = await noneOnContention(async () => {
      const updated = await pool.query<{ name: string }>(
        `UPDATE domain AS d SET record_octets = counted.records, header_octets = counted.headers
           FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[])
                AS counted (name, version, records, headers)
          WHERE d.name = ANY ($1) AND d.name = counted.name AND d.version = counted.version
          RETURNING d.name`,
        [
          namesOf(rows),
          rows.map(({ version }) => version),
          rows.map(({ records }) => records),
          rows.map(({ headers }) => headers),
        ],
      );
      return new Set(namesOf(updated.rows));
    });
    return namesOf(rows).filter((name) => !written.has(name));
  });
}

async function rewrite(
  pool: Pool,
  names: readonly string[],
  count: { domains: number; unreadable: number },
): Promise<void> {
  await untilNoneLeft(names, async (left) => {
    const differing: Rewriting[] = [];
    const unreadable = new Map<string, number>();
    for await (const rows of readStoredRows(pool, left)) {
      const found = isReadableTypes(rows.domain.dns_types) ? rewritingOf(rows, unreadable) : null;
      if (found !== null) differing.push(found);
    }
    const written = await writeDomains(pool, differing, deleteReplaced);
    const again = namesOf(differing).filter((name) => !written.has(name));
    for (const name of again) unreadable.delete(name);
    count.domains += written.size;
    for (const records of unreadable.values()) count.unreadable += records;
    return again;
  });
}

/** Null where everything is canonical. */
function rewritingOf(rows: StoredRows, unreadable: Map<string, number>): Rewriting | null {
  const history = historyOfRows(rows);
  const { name, state: stateBefore } = history;
  const { state, stays, types, unreadable: records } = canonicalHistory(history);
  unreadable.set(name, records);
  if (types.size === 0) return null;
  const changes = { added: stays, removed: [], headers: [], responses: [] };
  // The sizes are written afterwards, with those of the other domains.
  const octets = { records: 0, headers: 0 };
  const version = leastNextVersion(rows.domain, 1);
  return { name, before: rows.domain, stateBefore, state, version, changes, octets, types };
}

/** Deletes the rows of the types that are written again. */
async function deleteReplaced(client: PoolClient, written: readonly Rewriting[]): Promise<void> {
  const replaced = written.flatMap(({ name, types }) => Array.from(types, (type) => ({ name, type })));
  await client.query(
    `DELETE FROM dns_record AS r USING unnest($1::text[], $2::text[]) AS gone (domain, type)
      WHERE r.domain = ANY ($1) AND r.domain = gone.domain AND r.type = gone.type`,
    [namesOf(replaced), replaced.map(({ type }) => type)],
  );
}
