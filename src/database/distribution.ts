import type pg from 'pg';
import { errorCode, OperationError } from '../model/errors.js';
import { inTransaction, MIGRATION_LOCK } from './transaction.js';

/**
 * The tables whose rows belong to a domain, each with the column that has its name: hash partitions of one
 * number, or shards of one number, have the same domains. All other tables stay whole: what is in them belongs
 * to many domains, or to none.
 */
const TABLES = [
  ['domain', 'name'],
  ['dns_record', 'domain'],
  ['header_change', 'domain'],
  ['site_response', 'domain'],
  ['earlier_changes', 'domain'],
  ['watched_domain', 'name'],
] as const;

const NAMES = TABLES.map(([table]) => table);

/** How the tables of domains are stored; shards are over the nodes of a Citus cluster. */
export type Distribution =
  | { readonly kind: 'whole' }
  | { readonly kind: 'partitions' | 'shards'; readonly count: number };

/** Citus has what the statements of this program need from this version on. */
const OLDEST_CITUS = 12;

/** Whole where there are no tables yet. @throws OperationError if only some are distributed over a cluster. */
export async function readDistribution(database: pg.Pool | pg.PoolClient): Promise<Distribution> {
  const count = (await readCitusVersion(database)) === undefined ? undefined : await countShards(database);
  if (count !== undefined) return { kind: 'shards', count };
  const partitions = await countPartitions(database);
  return partitions > 0 ? { kind: 'partitions', count: partitions } : { kind: 'whole' };
}

async function readCitusVersion(database: pg.Pool | pg.PoolClient): Promise<string | undefined> {
  const { rows } = await database.query("SELECT extversion FROM pg_extension WHERE extname = 'citus'");
  return rows[0]?.extversion;
}

/** Undefined where the tables are not distributed. */
async function countShards(database: pg.Pool | pg.PoolClient): Promise<number | undefined> {
  const { rows } = await database.query<{ count: number }>(
    `SELECT count(*)::int FROM pg_dist_shard JOIN unnest($1::text[]) AS name ON logicalrelid = to_regclass(name)
      GROUP BY logicalrelid`,
    [NAMES],
  );
  if (rows.length === 0 || rows.length === NAMES.length) return rows[0]?.count;
  throw new OperationError(
    'Only some of the tables are distributed over the Citus cluster: dms migrate --citus was ended before it was done. Run it again.',
  );
}

async function countPartitions(database: pg.Pool | pg.PoolClient): Promise<number> {
  const { rows } = await database.query<{ count: number }>(
    "SELECT count(*)::int FROM pg_inherits WHERE inhparent = to_regclass('domain')",
  );
  return rows[0]?.count ?? 0;
}

/**
 * Distributes the tables of domains over the nodes of a Citus cluster by the domain's name, the same domains of
 * all tables on the same node. Each table is copied to the nodes; one that is distributed already is left as it
 * is. Until all are, what reads or writes several of them fails.
 *
 * @param pool of the coordinator.
 * @returns the tables that this call has distributed.
 * @throws OperationError without a Citus that is new enough, or if the tables are partitioned.
 */
export async function distributeTables(pool: pg.Pool): Promise<string[]> {
  const client = await pool.connect();
  try {
    await client.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    await requireDistributable(client);
    // Indexes use them: each node needs them before the table.
    for (const signature of ['address_of(json)', 'host_name_of(text, json)']) {
      await client.query('SELECT create_distributed_function($1::regprocedure)', [signature]);
    }
    const { rows } = await client.query('SELECT logicalrelid::text AS name FROM pg_dist_partition');
    const before = new Set(rows.map(({ name }) => name));
    const distributed = TABLES.filter(([table]) => !before.has(table));
    for (const [table, column] of distributed) {
      const text = 'SELECT create_distributed_table($1::regclass, $2, colocate_with => $3)';
      await client.query(text, [table, column, table === 'domain' ? 'none' : 'domain']);
      await client.query(`ANALYZE ${table}`);
    }
    // The rows are on the nodes; those of the coordinator's own tables would only take room.
    for (const table of NAMES) {
      await client.query('SELECT truncate_local_data_after_distributing_table($1::regclass)', [table]);
    }
    await configureCitus(client);
    return distributed.map(([table]) => table);
  } finally {
    // It ends the lock, too.
    client.release(true);
  }
}

async function requireDistributable(client: pg.PoolClient): Promise<void> {
  const version = await readCitusVersion(client);
  if (version === undefined) {
    throw new OperationError(
      'The database has no Citus. Connect DATABASE_URL to the coordinator of a Citus cluster, and run there as a superuser: CREATE EXTENSION citus.',
    );
  }
  if (Number.parseInt(version, 10) < OLDEST_CITUS) {
    throw new OperationError(`The database has Citus ${version}. Use Citus ${OLDEST_CITUS} or later.`);
  }
  if ((await countPartitions(client)) === 0) return;
  throw new OperationError(
    'The tables are hash-partitioned, which Citus cannot distribute. Restore a backup into a database without partitions, and distribute that.',
  );
}

/**
 * Makes the settings of later connections to the coordinator that the database has no other value of. By
 * itself, Citus locks all shards that a batch writes to, for other writers, until it is committed; and a
 * session uses up to 16 connections to each node.
 */
async function configureCitus(client: pg.PoolClient): Promise<void> {
  const { rows } = await client.query<{ statement: string }>(
    `SELECT format('ALTER DATABASE %I SET %s = %s', current_database(), wanted.name, value) AS statement
       FROM (VALUES ('citus.enable_deadlock_prevention', 'off'), ('citus.max_adaptive_executor_pool_size', '4'))
            AS wanted (name, value)
      WHERE NOT EXISTS (SELECT FROM pg_settings WHERE name = wanted.name AND source <> 'default')`,
  );
  const statements = rows.map(({ statement }) => statement).join('; ');
  try {
    await client.query(statements);
  } catch (error) {
    // PostgreSQL, appendix A: insufficient_privilege.
    if (errorCode(error) !== '42501') throw error;
    throw new OperationError(
      `The tables are distributed, but only the owner of the database may set what they need. Run as the owner: ${statements}.`,
    );
  }
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
    await client.query(`LOCK TABLE ${NAMES} IN ACCESS EXCLUSIVE MODE`);
    for (const [table, column] of TABLES) await partition(client, table, column, count);
    await client.query(`ANALYZE ${NAMES}`);
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
