import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import type pg from 'pg';
import { type Distribution, readDistribution } from './distribution.js';
import type { IfMissing } from './embedded/data-folder.js';
import type { PrismaClient } from './generated/client.js';
import { type Connections, closePools, createReadingPools, createWritingPool } from './pool.js';
import { PLANNED_EACH_TIME } from './query-limits.js';
import { openServer, type Prepared } from './server-pool.js';

export interface Database extends Connections {
  /** On `readPool`: a query that takes too long fails. */
  readonly prisma: PrismaClient;
  /** On `searchPool`. */
  readonly searchPrisma: PrismaClient;
  /** On `pool`, without a time limit: for commands and for observing. */
  readonly writingPrisma: PrismaClient;
  /** How the tables of domains were stored when it was opened. */
  readonly distribution: Distribution;
}

export interface DatabaseOptions {
  /** Address of a PostgreSQL database; absent: the embedded database. */
  readonly databaseUrl?: string | undefined;
  /** Whether statements at that address are prepared under names; `auto` if absent. */
  readonly databasePrepared?: Prepared | undefined;
  /** Folder of the embedded database. It is made if it is missing, for its owner only. */
  readonly dataDirectory: string;
  /** What happens if the data folder has no database; `create` if absent. With `fail`, nothing is made. */
  readonly ifMissing?: IfMissing | undefined;
  /** The most connections at a time for responses, and as many for everything else; 10 if absent. */
  readonly poolSize?: number | undefined;
  /** How long a query of a response may take, in milliseconds; 10,000 if absent. */
  readonly queryMilliseconds?: number | undefined;
  /** How long, in milliseconds, the embedded database stays open after its last user; 3000 if absent. */
  readonly graceMilliseconds?: number | undefined;
}

/** In milliseconds: longer than a connection waits for the embedded database, whose error is to be seen. */
const EMBEDDED_TIMEOUT = 30_000;

/** Its schema is left as it is. @throws OperationError, in one line that never holds a password. */
export async function openConnections(options: DatabaseOptions): Promise<Connections> {
  const { databaseUrl, databasePrepared = 'auto', dataDirectory } = options;
  const limits = { size: options.poolSize ?? 10, query: options.queryMilliseconds ?? 10_000 };
  if (databaseUrl !== undefined) return openServer(databaseUrl, databasePrepared, limits);
  const { openEmbedded } = await import('./embedded/embedded-database.js');
  const embedded = await openEmbedded(dataDirectory, options.ifMissing, options.graceMilliseconds);
  const config = {
    // Read by pg, not by the socket.
    host: 'localhost',
    user: 'postgres',
    database: 'postgres',
    ssl: false,
    connectionTimeoutMillis: EMBEDDED_TIMEOUT,
    stream: () => embedded.createSocket(),
  };
  const pools = { pool: createWritingPool(config, limits), ...createReadingPools(config, limits) };
  return {
    ...pools,
    limits,
    // All clients share one session, in which named statements would clash.
    namesStatements: false,
    place: `embedded, in ${resolve(dataDirectory)}`,
    createdNow: embedded.createdNow,
    failure: () => embedded.failure,
    async close() {
      await closePools(pools);
      embedded.close();
    },
  };
}

/** Opens the database as openConnections() does, with Prisma, which is most of what a command loads. */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const [[connections, distribution], createClient] = await Promise.all([
    openConnections(options).then(withDistribution),
    clientFactory(),
  ]);
  const { readPool, searchPool, pool, namesStatements } = connections;
  const prisma = createClient(readPool, namesStatements);
  const searchPrisma = createClient(searchPool, namesStatements);
  const writingPrisma = createClient(pool, namesStatements, TRANSACTIONS);
  return {
    ...connections,
    prisma,
    searchPrisma,
    writingPrisma,
    distribution,
    async close() {
      await Promise.all([prisma, searchPrisma, writingPrisma].map((client) => client.$disconnect()));
      await connections.close();
    },
  };
}

/** @throws OperationError as readDistribution(): they are closed then. */
export async function withDistribution(
  connections: Connections,
): Promise<readonly [Connections, Distribution]> {
  try {
    return [connections, await readDistribution(connections.pool)];
  } catch (error) {
    await connections.close();
    throw error;
  }
}

export async function clientFactory() {
  const [{ PrismaClient }, { PrismaPg }] = await Promise.all([
    import('./generated/client.js'),
    import('@prisma/adapter-pg'),
  ]);
  return (pool: pg.Pool, namesStatements: boolean, transactionOptions = {}): PrismaClient => {
    const options = namesStatements ? { statementNameGenerator: statementNames() } : {};
    return new PrismaClient({ adapter: new PrismaPg(pool, options), transactionOptions });
  };
}

/** In milliseconds. Prisma would wait two seconds for a connection, and roll back after five. */
const TRANSACTIONS = { maxWait: 60_000, timeout: 86_400_000 };

type StatementNames = (query: { readonly sql: string }) => string;

/** A server keeps each prepared statement for as long as the connection lives: at most this many. */
const MAX_STATEMENTS = 500;

/**
 * Names for prepared statements, so that a server plans each of our statements once for each connection. A text
 * that comes after 500 others has none, and is planned every time, as one that begins with PLANNED_EACH_TIME.
 */
function statementNames(): StatementNames {
  const names = new Map<string, string>();
  return ({ sql }) => {
    const known = names.get(sql);
    if (known !== undefined) return known;
    if (names.size >= MAX_STATEMENTS || sql.trimStart().startsWith(PLANNED_EACH_TIME)) return '';
    const name = `dms_${createHash('sha256').update(sql).digest('base64url').slice(0, 22)}`;
    names.set(sql, name);
    return name;
  };
}
