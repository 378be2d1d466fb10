import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import pg from 'pg';
import { limitQueries } from './query-limits.js';

/** The pools of a database: queries of responses have a time limit, and what is written has none. */
export interface Pools {
  /** Connections for SQL; `bigint` columns are read as BigInt. */
  readonly pool: ClosablePool;
  /** Connections for the queries of responses only: a query that takes too long fails. */
  readonly readPool: ClosablePool;
  /** As `readPool`, for searches: no other response waits for them. */
  readonly searchPool: ClosablePool;
  /** Whether a connection keeps the statements that are prepared on it, so that they may have names. */
  readonly namesStatements: boolean;
}

export interface PoolLimits {
  readonly size: number;
  /** How long a query of a response may take, in milliseconds, the wait for a connection included. */
  readonly query: number;
}

/** How long, in milliseconds, closing the pool of what is written waits for a running query. */
const LAST_QUERY = 5000;
const LAST_CLOSING = 1000;
/**
 * How much longer, in milliseconds, than the server itself a client waits for a statement to end: one that the
 * server ends costs no connection.
 */
const SERVER_FIRST = 1000;
/** Of the connections for responses, those of searches: 4 of 10. */
const SEARCHES = 0.4;

export interface ClosablePool extends pg.Pool {
  /** Waits for running queries for so many milliseconds, and closes all connections. */
  close(milliseconds: number): Promise<void>;
}

/** Statements that a transaction sends together do not wait for each other's results. */
export function createWritingPool(config: pg.PoolConfig, { size }: PoolLimits): ClosablePool {
  return createPool({ ...config, max: size, pipeline: true });
}

/** The pools of responses, each with at least one connection. */
export function createReadingPools(config: pg.PoolConfig, { size, query }: PoolLimits) {
  const limits = { query_timeout: query + SERVER_FIRST, connectionTimeoutMillis: query };
  const searches = Math.max(1, Math.floor(size * SEARCHES));
  const readPool = createPool({ ...config, ...limits, max: Math.max(1, size - searches) });
  const searchPool = createPool({ ...config, ...limits, max: searches });
  for (const pool of [readPool, searchPool]) limitQueries(pool, query);
  return { readPool, searchPool };
}

/** Running queries of responses are aborted: their clients have a response, or have disconnected. */
export async function closePools({ pool, readPool, searchPool }: Pools): Promise<void> {
  await Promise.all([pool.close(LAST_QUERY), readPool.close(0), searchPool.close(0)]);
}

/**
 * A pool that reads `bigint` as BigInt, and that outlives its connections: the end of one by the server is an
 * event, which ends the process if nothing listens. A query that uses the connection fails with the error; the
 * end of an idle connection has no effect. It connects when it is first used.
 */
export function createPool(config: pg.PoolConfig): ClosablePool {
  // The pool forgets a client before its socket is closed, which a silent server keeps open.
  const sockets = new Set<Duplex>();
  const stream = () => {
    const socket = config.stream?.() ?? new Socket();
    const keep = () => sockets.add(socket);
    keep();
    // One that was destroyed before it was connected may still be.
    return socket.on('connect', keep).on('close', () => sockets.delete(socket));
  };
  const pool = new pg.Pool({ ...config, stream, types: valueTypes() });
  pool.on('error', () => {});
  pool.on('connect', (client) => {
    client.on('error', () => {});
  });
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
  return Object.assign(pool, {
    close(milliseconds: number) {
      ended ??= end(milliseconds);
      return ended;
    },
  });
}

const INT8 = pg.types.builtins.INT8;
/** The type's object identifier in PostgreSQL's catalogue, which pg does not name. */
const INT8_ARRAY = 1016;

/** `bigint` (int8) and `bigint[]` are read as BigInt, since a number is not exact beyond 2^53. */
function valueTypes(): pg.CustomTypesConfig {
  const types = new pg.TypeOverrides();
  const parseTexts = types.getTypeParser(INT8_ARRAY);
  types.setTypeParser(INT8, BigInt);
  // pg's types say that a parser takes a number; it takes the text.
  types.setTypeParser(INT8_ARRAY, (text) => toBigInt(Reflect.apply(parseTexts, undefined, [text])));
  return types;
}

function toBigInt(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toBigInt);
  return typeof value === 'string' ? BigInt(value) : value;
}
