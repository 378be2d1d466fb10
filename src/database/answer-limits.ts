import { setImmediate as nextTurn } from 'node:timers/promises';
import pg from 'pg';
import { UnavailableError } from '../model/errors.js';
import { isLostConnection } from './database-failure.js';
import { withinTime } from './within-time.js';

/** Statements that wait for a connection: with more, the database is not there for those that come. */
const MOST_WAITING = 500;

/**
 * Bounds what a pool's `query()` may take, for whoever waits for an answer: so many milliseconds from the
 * question to the answer, the wait for a connection included, and no more than 500 that wait. Beyond either,
 * it throws UnavailableError.
 *
 * A connection that is lost with a statement under way, because the database was started again, is no
 * failure yet: a SELECT is repeated once, on another connection, since reading twice changes nothing.
 */
export function limitAnswers(pool: pg.Pool, milliseconds: number): void {
  const ask = (statement: unknown[]): Promise<unknown> =>
    Promise.resolve(Reflect.apply(pg.Pool.prototype.query, pool, statement));
  const limited = (...statement: unknown[]): Promise<unknown> => {
    if (pool.waitingCount >= MOST_WAITING) return Promise.reject(new UnavailableError());
    const asked = isReading(statement[0]) ? askTwice(() => ask(statement)) : ask(statement);
    return withinTime(milliseconds, asked);
  };
  Reflect.set(pool, 'query', limited);
}

async function askTwice(ask: () => Promise<unknown>): Promise<unknown> {
  try {
    return await ask();
  } catch (error) {
    if (!isLostConnection(error)) throw error;
    // Connections that were lost together are found out together: the pool is to know of the others.
    await nextTurn();
    return ask();
  }
}

function isReading(statement: unknown): boolean {
  const config = typeof statement === 'object' && statement !== null ? statement : { text: statement };
  const text: unknown = Reflect.get(config, 'text');
  return typeof text === 'string' && /^\s*SELECT\b/i.test(text);
}
