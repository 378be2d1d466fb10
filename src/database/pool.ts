import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import pg from 'pg';
import { type ClosablePool, limitQueries } from './query-limits.js';

/** Connections to an open database. Code outside this folder does not know where PostgreSQL runs. */
export interface Connections {
  /** One phrase, without user and password. */
  readonly place: string;
  /** Whether this opening has made a new embedded database. */
  readonly createdNow: boolean;
  /** Why the embedded database, whose process has ended, could not be started again so far; null: not known. */
  failure(): string | null;
  /** Without a time limit. */
  readonly pool: ClosablePool;
  /** For responses only: a query that takes too long fails. */
  readonly readPool: ClosablePool;
  /** As `readPool`, for searches: no other response waits for them. */
  readonly searchPool: ClosablePool;
  /** Whether a connection keeps the statements that are prepared on it, so that they may have names. */
  readonly namesStatements: boolean;
  readonly poolOptions: PoolOptions;
  /** Waits for what is being written. Running queries of responses are aborted: their clients have gone. */
  close(): Promise<void>;
}

export interface PoolOptions {
  readonly size: number;
  /** How long a query of a response may take, in milliseconds, the wait for a connection included. */
  readonly query: number;
  /**
   * Whether statements have names, so that a server plans each once for each connection: `auto` is yes, unless a
   * pooler such as PgBouncer is between, whose next transaction may be on another connection.
   */
  readonly prepared: 'auto' | 'on' | 'off';
}

/** In milliseconds. */
const LAST_WRITES = 5000;
const LAST_CLOSING = 1000;
/** In milliseconds, how much longer a client waits than the server: what that ends costs no connection. */
const SERVER_FIRST = 1000;
/** Of the connections for responses: 4 of 10. */
const SEARCHES = 0.4;

/** Statements that a transaction sends together do not wait for each other's results. */
export function createWritingPool(config: pg.PoolConfig, max: number): ClosablePool {
  return createPool({ ...config, max, pipeline: true });
}

export type ReadingPools = Pick<Connections, 'readPool' | 'searchPool'>;

/** @param instead Of a replica: the pools of the primary, which repeat what fails, or runs when they are closed. */
export function createReadingPools(
  config: pg.PoolConfig,
  { size, query }: PoolOptions,
  instead?: ReadingPools,
): ReadingPools {
  const limited = { ...config, query_timeout: query + SERVER_FIRST, connectionTimeoutMillis: query };
  const searches = Math.max(1, Math.floor(size * SEARCHES));
  const readPool = createPool({ ...limited, max: Math.max(1, size - searches) });
  const searchPool = createPool({ ...limited, max: searches });
  limitQueries(readPool, query, instead?.readPool);
  limitQueries(searchPool, query, instead?.searchPool);
  return { readPool, searchPool };
}

export async function closePools(pool: ClosablePool, { readPool, searchPool }: ReadingPools): Promise<void> {
  await Promise.all([pool.close(LAST_WRITES), readPool.close(0), searchPool.close(0)]);
}

/** It outlives its connections, the end of one of which is an event that ends the process if nothing listens. */
export function createPool(config: pg.PoolConfig): ClosablePool {
  // The pool forgets a client before its socket is closed, which a silent server keeps open.
  const sockets = new Set<Duplex>();
  const stream = () => {
    const socket = config.stream?.() ?? new Socket();
    sockets.add(socket);
    return socket.on('close', () => sockets.delete(socket));
  };
  const pool = new pg.Pool({ ...config, stream, types: valueTypes() });
  pool.on('error', () => {});
  pool.on('connect', (client) => void client.on('error', () => {}));
  const destroy = () => {
    for (const socket of sockets) socket.destroy();
  };
  // A silent server must not keep the process alive: end() waits for running queries, even those that are never
  // answered, but not for connections to close.
  const end = async (milliseconds: number) => {
    const limit = setTimeout(destroy, milliseconds);
    await pool.end();
    clearTimeout(limit);
    setTimeout(destroy, LAST_CLOSING).unref();
  };
  let ended: Promise<void> | undefined;
  return Object.assign(pool, { close: (milliseconds: number) => (ended ??= end(milliseconds)) });
}

/** The type's object identifier in PostgreSQL's catalogue, which pg does not name. */
const INT8_ARRAY = 1016;

/** `bigint` (int8) and `bigint[]` are read as BigInt, since a number is not exact beyond 2^53. */
function valueTypes(): pg.CustomTypesConfig {
  const types = new pg.TypeOverrides();
  const parseTexts = types.getTypeParser(INT8_ARRAY);
  types.setTypeParser(pg.types.builtins.INT8, BigInt);
  // pg's types say that a parser takes a number; it takes the text.
  types.setTypeParser(INT8_ARRAY, (text) => toBigInt(Reflect.apply(parseTexts, undefined, [text])));
  return types;
}

function toBigInt(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toBigInt);
  return typeof value === 'string' ? BigInt(value) : value;
}
