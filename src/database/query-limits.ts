import { setImmediate as nextTurn } from 'node:timers/promises';
import pg from 'pg';
import { UnavailableError } from '../model/errors.js';
import { isLostConnection } from './database-failure.js';

/** With more statements waiting for a connection, the database counts as unavailable for new ones. */
const MOST_WAITING = 500;

/**
 * Limits a pool's `query()`, for the queries of responses: a time limit from the call to the result, the
 * wait for a connection included, and at most 500 that wait. Beyond either, it throws UnavailableError.
 *
 * A connection that is lost while a statement is running, because the database was restarted, is not a failure yet: a
 * SELECT is repeated once, on another connection, since reading twice changes nothing.
 */
export function limitQueries(pool: pg.Pool, milliseconds: number): void {
  const query = (statement: unknown[]): Promise<unknown> =>
    Promise.resolve(Reflect.apply(pg.Pool.prototype.query, pool, statement));
  const limited = (...statement: unknown[]): Promise<unknown> => {
    if (pool.waitingCount >= MOST_WAITING) return Promise.reject(new UnavailableError());
    const result = isSelect(statement[0]) ? retryOnce(() => query(statement)) : query(statement);
    return withinTime(milliseconds, result);
  };
  Reflect.set(pool, 'query', limited);
}

async function retryOnce(query: () => Promise<unknown>): Promise<unknown> {
  try {
    return await query();
  } catch (error) {
    if (!isLostConnection(error)) throw error;
    // Connections that are lost together fail in the same turn: the pool is to know of the others first.
    await nextTurn();
    return query();
  }
}

function isSelect(statement: unknown): boolean {
  const config = typeof statement === 'object' && statement !== null ? statement : { text: statement };
  const text: unknown = Reflect.get(config, 'text');
  return typeof text === 'string' && /^\s*SELECT\b/i.test(text);
}

/** The result of the work, if it ends in time. @throws UnavailableError if it does not; else what the work throws. */
export function withinTime<Result>(milliseconds: number, work: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const limit = setTimeout(() => reject(new UnavailableError()), milliseconds);
    work.then(resolve, reject).finally(() => clearTimeout(limit));
  });
}
