import { PrismaPg } from '@prisma/adapter-pg';
import type pg from 'pg';
import type { Making } from './embedded/data-folder.js';
import { type EmbeddedMembership, joinEmbedded } from './embedded/join.js';
import { embeddedPools } from './embedded-pool.js';
import { PrismaClient } from './generated/client.js';
import { embeddedPlace, serverPlace } from './place.js';
import { closePools, type PoolLimits, type Pools } from './pool.js';
import { serverPools } from './server-pool.js';
import { statementNames } from './statement-name.js';

const POOL_SIZE = 10;
/** In milliseconds: an answer that takes longer is reported as unavailable. */
const ANSWER_LIMIT = 10_000;

/** An open database. Everything above this folder sees PostgreSQL and not where it is. */
export interface Database {
  /** Connections for SQL; `bigint` columns are read as BigInt. */
  readonly pool: pg.Pool;
  /** The connections that answers have to themselves, which Prisma uses: a query that takes too long fails. */
  readonly answeringPool: pg.Pool;
  /** Prisma, for answers: a query that takes too long fails. */
  readonly prisma: PrismaClient;
  /** Prisma on the connections of `pool`, without a time limit: for commands and for observing. */
  readonly writingPrisma: PrismaClient;
  readonly home: 'embedded' | 'server';
  /** Where it is, for people: one phrase, without user and password. */
  readonly place: string;
  /** Whether this opening has made a new embedded database. */
  readonly createdNow: boolean;
  /** Whether it is embedded, was made by an opening with `unfilled`, and nobody has said that it is filled. */
  readonly unfilled: boolean;
  /** Why the embedded database, which has ended, could not be started again so far; null: nothing is known. */
  failure(): string | null;
  /** How many statements for answers are under way at most; more wait for their turn. */
  readonly answersAtOnce: number;
  /** How long an answer may take, in milliseconds. */
  readonly answerMilliseconds: number;
  /** Says that it is filled, for good. */
  markFilled(): Promise<void>;
  /** Waits for the connections of `pool` that are lent, closes all, and leaves the embedded database. */
  close(): Promise<void>;
}

export interface DatabaseOptions {
  /** Address of a PostgreSQL database; absent: the embedded database. */
  readonly databaseUrl?: string | undefined;
  /** Folder of the embedded database. It is made if it is missing, for its owner only. */
  readonly dataDirectory: string;
  /**
   * What becomes of a data folder without a database: `empty`, or absent: it gets an empty one;
   * `unfilled`: the same, and the database is known as unfilled until markFilled(); `none`: that is an
   * error, and nothing is made.
   */
  readonly making?: Making | undefined;
  /** The most connections at a time for answers, and as many for everything else; 10 if absent. */
  readonly poolSize?: number | undefined;
  /** How long a query of an answer may take, in milliseconds; 10,000 if absent. */
  readonly answerMilliseconds?: number | undefined;
  /** How long, in milliseconds, the embedded database stays open after its last user; 3000 if absent. */
  readonly graceMilliseconds?: number | undefined;
}

/**
 * Opens the database. Its schema is left as it is: see migrate().
 *
 * @throws OperationError, in one line that never holds a password, where it cannot be opened.
 */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const { databaseUrl } = options;
  const limits = { size: options.poolSize ?? POOL_SIZE, answer: options.answerMilliseconds ?? ANSWER_LIMIT };
  if (databaseUrl === undefined) {
    const membership = await joinEmbedded({ ...options, making: options.making ?? 'empty' });
    return assemble(
      embeddedPools(membership, limits),
      membership,
      embeddedPlace(options.dataDirectory),
      limits,
    );
  }
  return assemble(await serverPools(databaseUrl, limits), null, serverPlace(databaseUrl), limits);
}

function assemble(
  pools: Pools,
  membership: EmbeddedMembership | null,
  place: string,
  { size, answer }: PoolLimits,
): Database {
  const named = membership === null;
  const prisma = new PrismaClient({ adapter: prismaAdapter(pools.answering, named) });
  const writingPrisma = new PrismaClient({
    adapter: prismaAdapter(pools.writing, named),
    transactionOptions: TRANSACTIONS,
  });
  let closed: Promise<void> | undefined;
  return {
    pool: pools.writing,
    answeringPool: pools.answering,
    prisma,
    writingPrisma,
    home: membership === null ? 'server' : 'embedded',
    place,
    createdNow: membership?.createdNow ?? false,
    unfilled: membership?.unfilled ?? false,
    failure: () => membership?.failure ?? null,
    answersAtOnce: size,
    answerMilliseconds: answer,
    async markFilled() {
      await membership?.markFilled();
    },
    close() {
      closed ??= close(pools, [prisma, writingPrisma], membership);
      return closed;
    },
  };
}

/** In milliseconds. Prisma would wait two seconds for a connection, and roll back after five. */
const TRANSACTIONS = { maxWait: 60_000, timeout: 86_400_000 };

/** All clients of the embedded database share one session, in which named statements would clash. */
function prismaAdapter(pool: pg.Pool, named: boolean): PrismaPg {
  return new PrismaPg(pool, named ? { statementNameGenerator: statementNames() } : {});
}

async function close(
  pools: Pools,
  clients: readonly PrismaClient[],
  membership: EmbeddedMembership | null,
): Promise<void> {
  await Promise.all(clients.map((client) => client.$disconnect()));
  await closePools(pools);
  membership?.close();
}
