import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import type pg from 'pg';
import { type Distribution, readDistribution } from './distribution.js';
import type { IfMissing } from './embedded/data-folder.js';
import type { PrismaClient } from './generated/client.js';
import {
  type Connections,
  closePools,
  createReadingPools,
  createWritingPool,
  type PoolOptions,
} from './pool.js';
import { PLANNED_EACH_TIME } from './query-limits.js';
import { openServer } from './server-pool.js';

export interface Database extends Connections {
  readonly prisma: PrismaClient;
  readonly searchPrisma: PrismaClient;
  /** On `pool`, for commands and for observing. */
  readonly writingPrisma: PrismaClient;
  /** How the tables of domains were stored when it was opened. */
  readonly distribution: Distribution;
}

export interface DatabaseOptions {
  /** Absent: the embedded database. */
  readonly databaseUrl?: string | undefined;
  readonly databasePrepared?: PoolOptions['prepared'] | undefined;
  /** Of the embedded database. It is made if it is missing, for its owner only. */
  readonly dataDirectory: string;
  /** With `fail`, nothing is made where the data folder has no database. */
  readonly ifMissing?: IfMissing | undefined;
  /** The most connections at a time for responses, and as many for everything else. */
  readonly poolSize?: number;
  /** How long a query of a response may take. */
  readonly queryMilliseconds?: number;
  /** How long the embedded database stays open after its last user has detached. */
  readonly graceMilliseconds?: number;
}

/** In milliseconds: longer than a connection waits for the embedded database, whose error is to be seen. */
const EMBEDDED_TIMEOUT = 30_000;

/** Its schema is left as it is. @throws OperationError, in one line that never holds a password. */
export async function openConnections(options: DatabaseOptions): Promise<Connections> {
  const { databaseUrl, databasePrepared: prepared = 'auto', dataDirectory, ifMissing = 'create' } = options;
  const { poolSize: size = 10, queryMilliseconds: query = 10_000, graceMilliseconds = 3000 } = options;
  const poolOptions = { size, query, prepared };
  if (databaseUrl !== undefined) return openServer(databaseUrl, poolOptions);
  const { openEmbedded } = await import('./embedded/embedded-database.js');
  const embedded = await openEmbedded(dataDirectory, ifMissing, graceMilliseconds);
  const config = {
    // Read by pg, not by the socket.
    host: 'localhost',
    user: 'postgres',
    database: 'postgres',
    ssl: false,
    connectionTimeoutMillis: EMBEDDED_TIMEOUT,
    stream: () => embedded.createSocket(),
  };
  const pool = createWritingPool(config, size);
  const reading = createReadingPools(config, poolOptions);
  return {
    ...reading,
    pool,
    poolOptions,
    // All clients share one session, in which named statements would clash.
    namesStatements: false,
    place: `embedded, in ${resolve(dataDirectory)}`,
    createdNow: embedded.createdNow,
    failure: () => embedded.failure,
    async close() {
      await closePools(pool, reading);
      embedded.close();
    },
  };
}

/** As openConnections(), with Prisma, which is most of what a command loads. */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const opening = openConnections(options).then(withDistribution);
  const [[connections, distribution], createClient] = await Promise.all([opening, clientFactory()]);
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

/** A server keeps each prepared statement for as long as the connection lives: at most this many. */
const MAX_STATEMENTS = 500;

/**
 * By these a server plans each of our statements once for each connection. A text that comes after 500 others has
 * none, and is planned every time, as one that begins with PLANNED_EACH_TIME.
 */
function statementNames() {
  const names = new Map<string, string>();
  return ({ sql }: { readonly sql: string }): string => {
    const known = names.get(sql);
    if (known !== undefined) return known;
    if (names.size >= MAX_STATEMENTS || sql.trimStart().startsWith(PLANNED_EACH_TIME)) return '';
    const name = `dms_${createHash('sha256').update(sql).digest('base64url').slice(0, 22)}`;
    names.set(sql, name);
    return name;
  };
}
