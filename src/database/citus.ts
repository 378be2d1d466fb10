import type pg from 'pg';
import { errorCode, OperationError } from '../model/errors.js';
import { MIGRATION_LOCK } from './transaction.js';

/** Citus has what the statements of this program need from this version on. */
const OLDEST_CITUS = 12;

/**
 * Of how many shards each of the tables is; undefined where they are not distributed.
 *
 * @throws OperationError if only some of them are.
 */
export async function readShards(
  database: pg.Pool | pg.PoolClient,
  tables: readonly string[],
): Promise<number | undefined> {
  if ((await readVersion(database)) === undefined) return undefined;
  const { rows } = await database.query<{ count: number }>(
    `SELECT count(*)::int FROM pg_dist_shard JOIN unnest($1::text[]) AS name ON logicalrelid = to_regclass(name)
      GROUP BY logicalrelid`,
    [tables],
  );
  if (rows.length === 0 || rows.length === tables.length) return rows[0]?.count;
  throw new OperationError(
    'Only some of the tables are distributed over the Citus cluster: dms migrate --citus was ended before it was done. Run it again.',
  );
}

async function readVersion(database: pg.Pool | pg.PoolClient): Promise<string | undefined> {
  const { rows } = await database.query<{ version: string }>(
    "SELECT extversion AS version FROM pg_extension WHERE extname = 'citus'",
  );
  return rows[0]?.version;
}

/**
 * Distributes tables over the nodes of a Citus cluster by the domain's name, the same domains of all tables on
 * the same node. `pool` is connected to the coordinator. Each table is copied to the nodes; one that is
 * distributed already is left as it is. Until all are, what reads or writes several of them fails.
 *
 * @param tables with the columns of the name; the others are colocated with the first.
 * @returns the tables that this call has distributed.
 * @throws OperationError if the database has no Citus, or one that is too old, or if the tables are
 *   partitioned.
 */
export async function distribute(
  pool: pg.Pool,
  tables: readonly (readonly [table: string, column: string])[],
): Promise<string[]> {
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
    const distributed = tables.filter(([table]) => !before.has(table));
    const [first] = tables;
    for (const [table, column] of distributed) {
      const together = table === first?.[0] ? 'none' : first?.[0];
      const text = 'SELECT create_distributed_table($1::regclass, $2, colocate_with => $3)';
      await client.query(text, [table, column, together]);
      await client.query(`ANALYZE ${table}`);
    }
    // The rows are on the nodes; those of the coordinator's own tables would only take room.
    for (const [table] of tables) {
      await client.query('SELECT truncate_local_data_after_distributing_table($1::regclass)', [table]);
    }
    await configure(client);
    return distributed.map(([table]) => table);
  } finally {
    // It ends the lock, too.
    client.release(true);
  }
}

async function requireDistributable(client: pg.PoolClient): Promise<void> {
  const version = await readVersion(client);
  if (version === undefined) {
    throw new OperationError(
      'The database has no Citus. Connect DATABASE_URL to the coordinator of a Citus cluster, and run there as a superuser: CREATE EXTENSION citus.',
    );
  }
  if (Number.parseInt(version, 10) < OLDEST_CITUS) {
    throw new OperationError(`The database has Citus ${version}. Use Citus ${OLDEST_CITUS} or later.`);
  }
  const { rows } = await client.query("SELECT FROM pg_inherits WHERE inhparent = to_regclass('domain')");
  if (rows.length === 0) return;
  throw new OperationError(
    'The tables are hash-partitioned, which Citus cannot distribute. Restore a backup into a database without partitions, and distribute that.',
  );
}

/**
 * Makes the settings of later connections to the coordinator that the database has no other value of. By
 * itself, Citus locks all shards that a batch writes to, for other writers, until it is committed; and a
 * session uses up to 16 connections to each node.
 */
async function configure(client: pg.PoolClient): Promise<void> {
  const { rows } = await client.query<{ statement: string }>(
    `SELECT format('ALTER DATABASE %I SET %s = %s', current_database(), wanted.name, value) AS statement
       FROM (VALUES ('citus.enable_deadlock_prevention', 'off'), ('citus.max_adaptive_executor_pool_size', '4'))
            AS wanted (name, value)
      WHERE NOT EXISTS (SELECT FROM pg_settings WHERE name = wanted.name AND source <> 'default')`,
  );
  const statements = rows.map(({ statement }) => statement);
  try {
    for (const statement of statements) await client.query(statement);
  } catch (error) {
    // PostgreSQL, appendix A: insufficient_privilege.
    if (errorCode(error) !== '42501') throw error;
    throw new OperationError(
      `The tables are distributed, but only the owner of the database may set what they need. Run as the owner: ${statements.join('; ')}.`,
    );
  }
}
