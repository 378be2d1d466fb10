import type pg from 'pg';
import { errorCode, OperationError } from '../model/errors.js';
import { countPartitions, DOMAIN_TABLES, TABLE_NAMES, type Tables } from './domain-tables.js';
import { Prisma } from './generated/client.js';
import { FEED_LOCK, MIGRATION_LOCK } from './transaction.js';

/** Citus has what the statements of this program need from this version on. */
const OLDEST_CITUS = 12;

/** Undefined where the tables are not distributed. @throws OperationError if only some are. */
export async function countShards(database: pg.Pool | pg.PoolClient): Promise<number | undefined> {
  const { rows } = await database.query<{ count: number }>(
    `SELECT count(*)::int FROM pg_dist_shard JOIN unnest($1::text[]) AS name ON logicalrelid = to_regclass(name)
      GROUP BY logicalrelid`,
    [TABLE_NAMES],
  );
  if (rows.length === 0 || rows.length === TABLE_NAMES.length) return rows[0]?.count;
  throw new OperationError(
    'Only some of the tables are distributed over the Citus cluster: dms migrate --citus was ended before it was done. Run it again.',
  );
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
    const distributed = DOMAIN_TABLES.filter(([table]) => !before.has(table));
    for (const [table, column] of distributed) {
      const text = 'SELECT create_distributed_table($1::regclass, $2, colocate_with => $3)';
      await client.query(text, [table, column, table === 'domain' ? 'none' : 'domain']);
      await client.query(`ANALYZE ${table}`);
    }
    // The rows are on the nodes; those of the coordinator's own tables would only take room.
    for (const table of TABLE_NAMES) {
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
  const { rows } = await client.query("SELECT extversion FROM pg_extension WHERE extname = 'citus'");
  const version: string | undefined = rows[0]?.extversion;
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
 * Makes settings of later connections, unless the database has others. By itself, Citus locks all shards that a
 * batch writes to, for other writers, until it is committed; and a session uses up to 16 connections to each node.
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

/** In the transaction of migrations: SET LOCAL is for all nodes, and definitions may follow writes. */
export async function prepareMigration(client: pg.PoolClient): Promise<void> {
  await client.query("SET LOCAL citus.propagate_set_commands = 'local'");
  await client.query("SET LOCAL citus.multi_shard_modify_mode = 'sequential'");
}

/** Stand in a query until it is a command: the name of a shard, and the values that it is given. */
const SHARD = '<shard>';
const GIVEN = Symbol('given');
/** Begins the outcome of a part that was not read; the reason follows. */
export const FAILED = 'failed: ';

/** Tables over the nodes of a cluster: of several domains, each is read by a query and snapshots of its own. */
export const ON_SHARDS: Tables = {
  maxDomains: 1,
  replaced(queries) {
    const replacing = Object.entries(queries).map(
      ([table, query]) => Prisma.sql`${Prisma.raw(table)} AS MATERIALIZED (${query}),`,
    );
    return Prisma.join([Prisma.empty, ...replacing], ' ');
  },
  // The feed is on the coordinator, which commits a transaction before the nodes do. So a row may be there
  // whose changes are not: its writer holds the lock until they are.
  awaitWriters: (prisma) => prisma.$executeRaw`SELECT pg_advisory_xact_lock_shared(${FEED_LOCK})`,
  // Citus itself looks up no values one by one on its nodes (a lateral join with a limit).
  eachPart({ table, columns, given, query }) {
    const type = Prisma.raw(given?.type ?? 'text[]');
    const list = Prisma.sql`unnest(${GIVEN}::${type}) AS given (value)`;
    const { strings, values } = query(Prisma.raw(SHARD), list);
    const distinct = [...new Set(values)];
    // Filled in twice: here with the values, and by Citus with the name of each shard.
    const text = strings
      .map((part) => part.replaceAll('%', '%%%%').replaceAll(SHARD, '%%1$s'))
      .reduce((before, part, at) => `${before}%${distinct.indexOf(values[at - 1]) + 1}$L${part}`);
    const command = `SELECT coalesce(json_agg(answer), '[]') FROM (${text}) AS answer`;
    const filled = distinct
      .map((value) => (value === GIVEN ? Prisma.sql`given.list` : Prisma.sql`${value}::text`))
      .map((value) => Prisma.sql`replace(${value}, '%', '%%')`);
    return Prisma.sql`
      given AS MATERIALIZED (
        SELECT array_agg(value)::text AS list FROM (${given?.query ?? Prisma.sql`SELECT NULL AS value`}) AS given),
      answer AS MATERIALIZED (
        SELECT answer.*
          FROM given
         CROSS JOIN run_command_on_shards(${table}::regclass, format(${Prisma.join([command, ...filled])})) AS part
         CROSS JOIN json_to_recordset(
                CASE WHEN success THEN result::json ELSE json_build_array(json_build_object('outcome', ${FAILED} || result)) END)
                AS answer (${Prisma.raw(columns)}, outcome text))`;
  },
};
