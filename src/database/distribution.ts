import type pg from 'pg';
import { OperationError } from '../model/errors.js';
import { countPartitions, DOMAIN_TABLES, TABLE_NAMES } from './domain-tables.js';
import { inTransaction, MIGRATION_LOCK } from './transaction.js';

/** How the tables of domains are stored; shards are over the nodes of a Citus cluster. */
export type Distribution =
  | { readonly kind: 'whole' }
  | { readonly kind: 'partitions' | 'shards'; readonly count: number };

/** Whole where there are no tables yet. @throws OperationError if only some are distributed over a cluster. */
export async function readDistribution(database: pg.Pool | pg.PoolClient): Promise<Distribution> {
  if (await hasCitus(database)) {
    // It makes statements by Prisma, which a command that needs none does not load.
    const { countShards } = await import('./citus.js');
    const count = await countShards(database);
    if (count !== undefined) return { kind: 'shards', count };
  }
  const partitions = await countPartitions(database);
  return partitions > 0 ? { kind: 'partitions', count: partitions } : { kind: 'whole' };
}

export async function hasCitus(database: pg.Pool | pg.PoolClient): Promise<boolean> {
  const { rows } = await database.query("SELECT FROM pg_extension WHERE extname = 'citus'");
  return rows.length > 0;
}

/**
 * Divides the tables of domains into hash partitions by the domain's name, in one transaction: nothing can use
 * them until it is committed. Tables that are divided are divided anew.
 *
 * @param count of the partitions of each table.
 * @returns whether it had to be done.
 * @throws OperationError if they are distributed over a cluster.
 */
export function partitionTables(pool: pg.Pool, count: number): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    await client.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
    const found = await readDistribution(client);
    if (found.kind === 'shards') {
      throw new OperationError(
        'The tables are distributed over a Citus cluster, which divides them already: --partitions is for a database on one server.',
      );
    }
    if (found.kind === 'partitions' && found.count === count) return false;
    await client.query(`LOCK TABLE ${TABLE_NAMES} IN ACCESS EXCLUSIVE MODE`);
    for (const [table, column] of DOMAIN_TABLES) await partition(client, table, column, count);
    await client.query(`ANALYZE ${TABLE_NAMES}`);
    return true;
  });
}

async function partition(client: pg.PoolClient, table: string, column: string, count: number): Promise<void> {
  // What LIKE does not copy to partitions: storage parameters, and the indexes by their names.
  const { rows } = await client.query<{ options: string | null; indexes: string[] }>(
    `SELECT ' WITH (' || array_to_string(reloptions, ', ') || ')' AS options,
            array(SELECT CASE WHEN indisprimary
                              THEN format('ALTER TABLE %s ADD CONSTRAINT %I %s', $1::text, conname, pg_get_constraintdef(key.oid))
                              ELSE replace(pg_get_indexdef(indexrelid), ' ON ONLY ', ' ON ') END
                    FROM pg_index LEFT JOIN pg_constraint AS key ON conindid = indexrelid AND contype = 'p'
                   WHERE indrelid = $1::regclass ORDER BY indexrelid) AS indexes
       FROM pg_class
      WHERE oid = coalesce((SELECT min(inhrelid) FROM pg_inherits WHERE inhparent = $1::regclass), $1::regclass)`,
    [table],
  );
  const [{ options, indexes } = { options: null, indexes: [] }] = rows;
  const divided = `${table}_divided`;
  const like = `LIKE ${table} INCLUDING ALL EXCLUDING INDEXES`;
  await client.query(`CREATE TABLE ${divided} (${like}) PARTITION BY HASH (${column})`);
  for (let remainder = 0; remainder < count; remainder += 1) {
    await client.query(
      `CREATE TABLE ${divided}_p${remainder} PARTITION OF ${divided}
         FOR VALUES WITH (MODULUS ${count}, REMAINDER ${remainder})${options ?? ''}`,
    );
  }
  await client.query(`INSERT INTO ${divided} SELECT * FROM ${table}`);
  await client.query(`DROP TABLE ${table}`);
  await client.query(`ALTER TABLE ${divided} RENAME TO ${table}`);
  for (let remainder = 0; remainder < count; remainder += 1) {
    await client.query(`ALTER TABLE ${divided}_p${remainder} RENAME TO ${table}_p${remainder}`);
  }
  // After the rows: an index is built faster than it is kept.
  for (const index of indexes) await client.query(index);
}
