import type pg from 'pg';
import { errorCode, OperationError } from '../model/errors.js';
import { MIGRATION_LOCK } from './locks.js';
import { inTransaction } from './transaction.js';

/**
 * The tables whose rows belong to a domain, each with the column that has its name: hash partitions of one number, or shards
 * of one number, have the same domains. All other tables stay whole: what is in them belongs to many domains, or to none.
 */
const TABLES = [
  ['domain', 'name'],
  ['dns_record', 'domain'],
  ['header_change', 'domain'],
  ['site_response', 'domain'],
  ['earlier_changes', 'domain'],
  ['watched_domain', 'name'],
] as const;

/** How the tables of domains are stored. */
export type Distribution =
  | { readonly kind: 'whole' }
  | { readonly kind: 'partitions'; readonly count: number }
  /** Over the nodes of a Citus cluster. */
  | { readonly kind: 'shards'; readonly count: number };

/**
 * Reads how the tables of domains are stored; whole where there are none yet.
 *
 * @throws OperationError if only some of them are distributed over a cluster.
 */
export async function readDistribution(database: pg.Pool | pg.PoolClient): Promise<Distribution> {
  const { rows } = await database.query("SELECT FROM pg_extension WHERE extname = 'citus'");
  const shards = rows.length > 0 ? await countShards(database) : 0;
  if (shards < 0) throw new OperationError(INCOMPLETE);
  if (shards > 0) return { kind: 'shards', count: shards };
  const partitions = await countPartitions(database);
  return partitions > 0 ? { kind: 'partitions', count: partitions } : { kind: 'whole' };
}

async function countPartitions(database: pg.Pool | pg.PoolClient): Promise<number> {
  const { rows } = await database.query<{ count: number }>(
    "SELECT count(*)::int AS count FROM pg_inherits WHERE inhparent = to_regclass('domain')",
  );
  return rows[0]?.count ?? 0;
}

/** How many shards each table has; 0: none is distributed. A negative number: only some are. */
async function countShards(database: pg.Pool | pg.PoolClient): Promise<number> {
  const { rows } = await database.query<{ tables: number; shards: number }>(
    `SELECT count(DISTINCT logicalrelid)::int AS tables,
            count(*) FILTER (WHERE logicalrelid = to_regclass('domain'))::int AS shards
       FROM pg_dist_shard WHERE logicalrelid IN (SELECT to_regclass(name) FROM unnest($1::text[]) AS name)`,
    [TABLES.map(([table]) => table)],
  );
  const [{ tables, shards } = { tables: 0, shards: 0 }] = rows;
  return tables === 0 || tables === TABLES.length ? shards : -1;
}

const INCOMPLETE =
  'Only some of the tables are distributed over the Citus cluster: dms migrate --citus was ended before it was done. Run it again.';

/**
 * Divides the tables of domains into hash partitions by the domain's name, in one transaction: nothing can use them until it
 * is committed. Tables that are divided are divided anew.
 *
 * @param count of the partitions of each table.
 * @returns whether it had to be done.
 * @throws OperationError if they are distributed over a cluster.
 */
export function partitionTables(pool: pg.Pool, count: number): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    await client.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
    const found = await readDistribution(client);
    if (found.kind === 'shards') throw new OperationError(DISTRIBUTED);
    if (found.kind === 'partitions' && found.count === count) return false;
    for (const [table] of TABLES) await client.query(`LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
    for (const [table, column] of TABLES) await partition(client, table, column, count);
    await client.query(`ANALYZE ${TABLES.map(([table]) => table)}`);
    return true;
  });
}

const DISTRIBUTED =
  'The tables are distributed over a Citus cluster, which divides them already: --partitions is for a database on one server.';

async function partition(client: pg.PoolClient, table: string, column: string, count: number): Promise<void> {
  const { options, indexes } = await describe(client, table);
  const before = `${table}_before`;
  await client.query(`ALTER TABLE ${table} RENAME TO ${before}`);
  // The partitions have these names, too, where the table was divided before.
  const { rows: parts } = await client.query<{ name: string }>(
    'SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = $1::regclass',
    [before],
  );
  for (const { name } of parts) await client.query(`ALTER TABLE ${name} RENAME TO "before_${name}"`);
  const like = `LIKE ${before} INCLUDING ALL EXCLUDING INDEXES`;
  await client.query(`CREATE TABLE ${table} (${like}) PARTITION BY HASH (${column})`);
  for (let remainder = 0; remainder < count; remainder += 1) {
    await client.query(
      `CREATE TABLE ${table}_p${remainder} PARTITION OF ${table}
         FOR VALUES WITH (MODULUS ${count}, REMAINDER ${remainder}) ${options}`,
    );
  }
  await client.query(`INSERT INTO ${table} SELECT * FROM ${before}`);
  await client.query(`DROP TABLE ${before}`);
  // After the rows: an index is built faster than it is kept.
  for (const index of indexes) await client.query(index);
}

/** What `CREATE TABLE … LIKE` does not copy to partitions: storage parameters, and statements that make the indexes. */
async function describe(
  client: pg.PoolClient,
  table: string,
): Promise<{ options: string; indexes: string[] }> {
  const found = await client.query<{ options: string | null }>(
    `SELECT array_to_string(reloptions, ', ') AS options FROM pg_class
      WHERE oid = coalesce((SELECT min(inhrelid) FROM pg_inherits WHERE inhparent = $1::regclass), $1::regclass)`,
    [table],
  );
  const indexes = await client.query<{ statement: string }>(
    `SELECT CASE WHEN indisprimary
                 THEN format('ALTER TABLE %s ADD CONSTRAINT %I %s', $1::text, conname, pg_get_constraintdef(constraint_of.oid))
                 ELSE replace(pg_get_indexdef(indexrelid), ' ON ONLY ', ' ON ') END AS statement
       FROM pg_index LEFT JOIN pg_constraint AS constraint_of ON conindid = indexrelid AND contype = 'p'
      WHERE indrelid = $1::regclass ORDER BY indexrelid`,
    [table],
  );
  const options = found.rows[0]?.options;
  return {
    options: options == null ? '' : `WITH (${options})`,
    indexes: indexes.rows.map(({ statement }) => statement),
  };
}

/** Citus has what the statements of this program need from this version on. */
const OLDEST_CITUS = 12;

/**
 * Distributes the tables of domains over the nodes of a Citus cluster by the domain's name, the same domains of all tables on the
 * same node. `pool` is connected to the coordinator. Each table is copied to the nodes; one that is distributed already is left as
 * it is. Until all are, what reads or writes several of them fails.
 *
 * @returns the tables that this call has distributed.
 * @throws OperationError if the database has no Citus, or one that is too old, or if the tables are partitioned.
 */
export async function distributeTables(pool: pg.Pool): Promise<string[]> {
  await requireCitus(pool);
  const client = await pool.connect();
  try {
    await client.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    return await distribute(client);
  } finally {
    // It ends the lock, too.
    client.release(true);
  }
}

async function distribute(client: pg.PoolClient): Promise<string[]> {
  if ((await countPartitions(client)) > 0) throw new OperationError(PARTITIONED);
  // Indexes use them: each node needs them before the table.
  for (const signature of ['address_of(json)', 'host_name_of(text, json)']) {
    await client.query('SELECT create_distributed_function($1::regprocedure)', [signature]);
  }
  const distributed: string[] = [];
  for (const [table, column] of TABLES) {
    const { rows } = await client.query('SELECT FROM pg_dist_partition WHERE logicalrelid = $1::regclass', [
      table,
    ]);
    if (rows.length === 0) {
      const colocated = table === 'domain' ? 'none' : 'domain';
      await client.query('SELECT create_distributed_table($1::regclass, $2, colocate_with => $3)', [
        table,
        column,
        colocated,
      ]);
      await client.query(`ANALYZE ${table}`);
      distributed.push(table);
    }
    // The rows are on the nodes; those of the coordinator's own table would only take room.
    await client.query('SELECT truncate_local_data_after_distributing_table($1::regclass)', [table]);
  }
  await configure(client);
  return distributed;
}

/**
 * Settings of later connections to the coordinator. By itself, Citus locks all shards that a batch writes to, for other writers, until
 * it is committed; and a session uses up to 16 connections to each node.
 */
const SETTINGS = [
  ['citus.enable_deadlock_prevention', 'off'],
  ['citus.max_adaptive_executor_pool_size', '4'],
] as const;

/** PostgreSQL, appendix A: insufficient_privilege. */
const NOT_ALLOWED = '42501';

/** Makes the settings of the database that it has no other value of. */
async function configure(client: pg.PoolClient): Promise<void> {
  const { rows } = await client.query<{ statement: string }>(
    `SELECT format('ALTER DATABASE %I SET %s = %s', current_database(), wanted.name, value) AS statement
       FROM unnest($1::text[], $2::text[]) AS wanted (name, value)
      WHERE NOT EXISTS (SELECT FROM pg_settings WHERE name = wanted.name AND source <> 'default')`,
    [SETTINGS.map(([name]) => name), SETTINGS.map(([, value]) => value)],
  );
  const statements = rows.map(({ statement }) => statement);
  try {
    for (const statement of statements) await client.query(statement);
  } catch (error) {
    if (errorCode(error) !== NOT_ALLOWED) throw error;
    throw new OperationError(
      `The tables are distributed, but only the owner of the database may set what they need. Run as the owner: ${statements.join('; ')}.`,
    );
  }
}

const PARTITIONED =
  'The tables are hash-partitioned, which Citus cannot distribute. Restore a backup into a database without partitions, and distribute that.';

async function requireCitus(pool: pg.Pool): Promise<void> {
  const { rows } = await pool.query<{ version: string | null }>(
    "SELECT extversion AS version FROM pg_extension WHERE extname = 'citus'",
  );
  const version = rows[0]?.version;
  if (version == null) {
    throw new OperationError(
      'The database has no Citus. Connect DATABASE_URL to the coordinator of a Citus cluster, and run there as a superuser: CREATE EXTENSION citus.',
    );
  }
  if (Number.parseInt(version, 10) < OLDEST_CITUS) {
    throw new OperationError(`The database has Citus ${version}. Use Citus ${OLDEST_CITUS} or later.`);
  }
}
