import pg from 'pg';
import { limitAnswers } from './answer-limits.js';
import { valueTypes } from './value-types.js';

/** The two pools of a database, so that answers have a time limit and what is written has none. */
export interface Pools {
  /** For the recorder and all other SQL of ours. */
  readonly writing: pg.Pool;
  /** For answers: a query that takes too long ends, and its connection with it. */
  readonly answering: pg.Pool;
}

export interface PoolLimits {
  /** The most connections of each pool. */
  readonly size: number;
  /** How long a query of an answer may take in all, in milliseconds, the wait for a connection included. */
  readonly answer: number;
}

/** How long, in milliseconds, the pool of what is written waits at its end for a query that is under way. */
const LAST_QUERY = 5000;

/**
 * How much longer, in milliseconds, than the server itself a client waits for a statement to end: one that
 * the server ends costs no connection.
 */
const SERVER_FIRST = 1000;

/**
 * Makes the two pools. They connect when they are first used.
 *
 * @param answering what only the connections for answers have.
 */
export function createPools(
  config: pg.PoolConfig,
  { size, answer }: PoolLimits,
  answering: pg.PoolConfig = {},
): Pools {
  const limits = { query_timeout: answer + SERVER_FIRST, connectionTimeoutMillis: answer };
  const pools = {
    writing: createPool({ ...config, max: size }),
    answering: createPool({ ...config, ...answering, ...limits, max: size }),
  };
  limitAnswers(pools.answering, answer);
  return pools;
}

/** The connected clients of each pool. */
const clientsOf = new WeakMap<pg.Pool, Set<pg.ClientBase>>();

/**
 * A pool that reads `bigint` as BigInt, and that outlives its connections: one that the server ends is
 * reported as an event, which ends the process if nobody listens. Whoever uses the connection gets the
 * error by its query; of an idle one nobody needs to know.
 */
function createPool(config: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool({ ...config, types: valueTypes() });
  const clients = new Set<pg.ClientBase>();
  clientsOf.set(pool, clients);
  pool.on('error', () => {});
  pool.on('connect', (client) => {
    clients.add(client);
    client.on('error', () => {});
  });
  pool.on('remove', (client) => clients.delete(client));
  return pool;
}

/** Closes both pools. An answer that is under way is nobody's any more: whoever asked has it, or has gone. */
export async function closePools({ writing, answering }: Pools): Promise<void> {
  await Promise.all([closePool(writing, LAST_QUERY), closePool(answering, 0)]);
}

/** A query that a silent server never answers must not keep the process from ending. */
async function closePool(pool: pg.Pool, milliseconds: number): Promise<void> {
  const limit = setTimeout(() => {
    for (const client of clientsOf.get(pool) ?? []) if (client instanceof pg.Client) void client.end();
  }, milliseconds);
  await pool.end();
  clearTimeout(limit);
}
