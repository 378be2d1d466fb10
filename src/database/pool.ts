import pg from 'pg';
import { valueTypes } from './value-types.js';

/**
 * A pool that reads `bigint` as BigInt, and that outlives its connections: one that the server ends is
 * reported as an event, which ends the process if nobody listens. Whoever uses the connection gets the
 * error by its query; of an idle one nobody needs to know.
 */
export function createPool(config: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool({ ...config, types: valueTypes() });
  pool.on('error', () => {});
  pool.on('connect', (client) => {
    client.on('error', () => {});
  });
  return pool;
}
