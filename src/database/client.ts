import { createHash } from 'node:crypto';
import type pg from 'pg';
import type { IfMissing } from './embedded/data-folder.js';
import { openEmbedded } from './embedded/embedded-database.js';
import { embeddedPlace, embeddedPools } from './embedded-pool.js';
import type { PrismaClient } from './generated/client.js';
import { closePools, type PoolLimits, type Pools } from './pool.js';
import { serverPlace, serverPools } from './server-pool.js';

const POOL_SIZE = 10;
/** In milliseconds: a query of a response that takes longer is reported as unavailable. */
const ANSWER_LIMIT = 10_000;
/** A server keeps each prepared statement for as long as the connection lives: this many, and no more. */
const MOST_STATEMENTS = 500;

/** An open database. Everything above this folder sees PostgreSQL, and not where it runs. */
export interface Database {
  /** Connections for SQL; `bigint` columns are read as BigInt. */
  readonly pool: pg.Pool;
  /** Connections for the queries of responses only, which Prisma uses: a query that takes too long fails. */
  readonly answeringPool: pg.Pool;
  /** Prisma, for the queries of responses: one that takes too long fails. */
  readonly prisma: PrismaClient;
  /** Prisma on the connections of `pool`, without a time limit: for commands and for observing. */
  readonly writingPrisma: PrismaClient;
  readonly home: 'embedded' | 'server';
  /** Where it is, for messages: one phrase, without user and password. */
  readonly place: string;
  /** Whether this opening has made a new embedded database. */
  readonly createdNow: boolean;
  /** Whether it is embedded, was made to be seeded (`create-unseeded`), and markSeeded() was not called since. */
  readonly unseeded: boolean;
  /** Why the embedded database, whose process has ended, could not be started again so far; null: not known. */
  failure(): string | null;
  /** How many queries of responses are under way at most; more wait for their turn. */
  readonly answersAtOnce: number;
  /** How long a query of a response may take, in milliseconds. */
  readonly answerMilliseconds: number;
  /** Records that the database is seeded, for good. */
  markSeeded(): Promise<void>;
  /** Waits for the connections of `pool` that are in use, closes all, and detaches from the embedded database. */
  close(): Promise<void>;
}

export interface DatabaseOptions {
  /** Address of a PostgreSQL database; absent: the embedded database. */
  readonly databaseUrl?: string | undefined;
  /** Folder of the embedded database. It is made if it is missing, for its owner only. */
  readonly dataDirectory: string;
  /** What happens if the data folder has no database; `create` if absent. With `fail`, nothing is made. */
  readonly ifMissing?: IfMissing | undefined;
  /** The most connections at a time for responses, and as many for everything else; 10 if absent. */
  readonly poolSize?: number | undefined;
  /** How long a query of a response may take, in milliseconds; 10,000 if absent. */
  readonly answerMilliseconds?: number | undefined;
  /** How long, in milliseconds, the embedded database stays open after its last user; 3000 if absent. */
  readonly graceMilliseconds?: number | undefined;
}

/**
 * Opens the database. Its schema is left as it is: see migrate().
 *
 * @throws OperationError, in one line that never holds a password, if it cannot be opened.
 */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const limits = { size: options.poolSize ?? POOL_SIZE, answer: options.answerMilliseconds ?? ANSWER_LIMIT };
  const open =
    options.databaseUrl === undefined ? openOwn(options, limits) : openServer(options.databaseUrl, limits);
  // Prisma takes longer to load than all else that most commands need: it loads while the database is connected to.
  const [opened, { PrismaClient }, { PrismaPg }] = await Promise.all([
    open,
    import('./generated/client.js'),
    import('@prisma/adapter-pg'),
  ]);
  const { pools, embedded, place } = opened;
  // All clients of the embedded database share one session, in which named statements would clash.
  const naming = embedded === null ? { statementNameGenerator: statementNames() } : {};
  const prisma = new PrismaClient({ adapter: new PrismaPg(pools.answering, naming) });
  const writingPrisma = new PrismaClient({
    adapter: new PrismaPg(pools.writing, naming),
    transactionOptions: TRANSACTIONS,
  });
  const close = async () => {
    await Promise.all([prisma.$disconnect(), writingPrisma.$disconnect()]);
    await closePools(pools);
    embedded?.close();
  };
  let closed: Promise<void> | undefined;
  return {
    pool: pools.writing,
    answeringPool: pools.answering,
    prisma,
    writingPrisma,
    home: embedded === null ? 'server' : 'embedded',
    place,
    createdNow: embedded?.createdNow ?? false,
    unseeded: embedded?.unseeded ?? false,
    failure: () => embedded?.failure ?? null,
    answersAtOnce: limits.size,
    answerMilliseconds: limits.answer,
    markSeeded: async () => embedded?.markSeeded(),
    close() {
      closed ??= close();
      return closed;
    },
  };
}

/** In milliseconds. Prisma would wait two seconds for a connection, and roll back after five. */
const TRANSACTIONS = { maxWait: 60_000, timeout: 86_400_000 };

async function openOwn({ ifMissing = 'create', ...options }: DatabaseOptions, limits: PoolLimits) {
  const embedded = await openEmbedded({ ...options, ifMissing });
  return { pools: embeddedPools(embedded, limits), embedded, place: embeddedPlace(options.dataDirectory) };
}

async function openServer(databaseUrl: string, limits: PoolLimits) {
  const pools: Pools = await serverPools(databaseUrl, limits);
  return { pools, embedded: null, place: serverPlace(databaseUrl) };
}

/**
 * Names for prepared statements, so that a server plans each of our statements once for each connection: the same
 * SQL text always has the same name, of 26 characters. A text that comes after 500 others has no name (the empty
 * string), and is planned every time.
 */
function statementNames(): (query: { readonly sql: string }) => string {
  const names = new Map<string, string>();
  return ({ sql }) => {
    const known = names.get(sql);
    if (known !== undefined) return known;
    if (names.size >= MOST_STATEMENTS) return '';
    const name = `dms_${createHash('sha256').update(sql).digest('base64url').slice(0, 22)}`;
    names.set(sql, name);
    return name;
  };
}
