import { PrismaPg } from '@prisma/adapter-pg';
import type pg from 'pg';
import { type EmbeddedMembership, joinEmbedded } from './embedded/join.js';
import { embeddedPool } from './embedded-pool.js';
import { PrismaClient } from './generated/client.js';
import { serverPool } from './server-pool.js';
import { statementNames } from './statement-name.js';

const POOL_SIZE = 10;

/** An open database. Everything above this folder sees PostgreSQL and not where it is. */
export interface Database {
  /** Connections for SQL; `bigint` columns are read as BigInt. */
  readonly pool: pg.Pool;
  /** Prisma over the same connections. */
  readonly prisma: PrismaClient;
  readonly home: 'embedded' | 'server';
  /** Whether this opening has made a new embedded database. */
  readonly createdNow: boolean;
  /** Waits for the connections that are lent, closes all, and leaves the embedded database. */
  close(): Promise<void>;
}

export interface DatabaseOptions {
  /** Address of a PostgreSQL database; absent: the embedded database. */
  readonly databaseUrl?: string | undefined;
  /** Folder of the embedded database. It is made if it is missing, for its owner only. */
  readonly dataDirectory: string;
  /** The most connections at a time; 10 if absent. */
  readonly poolSize?: number | undefined;
  /** How long, in milliseconds, the embedded database stays open after its last user; 3000 if absent. */
  readonly graceMilliseconds?: number | undefined;
}

/**
 * Opens the database. Its schema is left as it is: see migrate().
 *
 * @throws OperationError, in one line that never holds a password, where it cannot be opened.
 */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const { databaseUrl, poolSize = POOL_SIZE } = options;
  if (databaseUrl === undefined) {
    const membership = await joinEmbedded(options);
    return assemble(embeddedPool(membership, poolSize), membership);
  }
  return assemble(await serverPool(databaseUrl, poolSize), null);
}

function assemble(pool: pg.Pool, membership: EmbeddedMembership | null): Database {
  const prisma = new PrismaClient({ adapter: prismaAdapter(pool, membership === null) });
  let closed: Promise<void> | undefined;
  return {
    pool,
    prisma,
    home: membership === null ? 'server' : 'embedded',
    createdNow: membership?.createdNow ?? false,
    close() {
      closed ??= close(pool, prisma, membership);
      return closed;
    },
  };
}

/** All clients of the embedded database share one session, in which named statements would clash. */
function prismaAdapter(pool: pg.Pool, named: boolean): PrismaPg {
  return new PrismaPg(pool, named ? { statementNameGenerator: statementNames() } : {});
}

async function close(pool: pg.Pool, prisma: PrismaClient, membership: EmbeddedMembership | null) {
  await prisma.$disconnect();
  await pool.end();
  membership?.close();
}
