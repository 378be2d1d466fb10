import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { UnavailableError } from '../model/errors.js';
import { isAway, isPassing } from './database-failure.js';

/**
 * Begins a statement whose plan depends on its values, such as the ends of an interval. PostgreSQL would plan
 * it for unknown ones from the sixth execution on: changes in an interval took 500 ms of a large history, not
 * 10.
 */
export const PLANNED_EACH_TIME = '/* planned each time */';

export interface ClosablePool extends pg.Pool {
  /** Waits for running queries for so many milliseconds, and closes all connections. */
  close(milliseconds: number): Promise<void>;
}

/**
 * Limits the time of a pool's `query()`, from the call to the result, the wait for a connection included.
 * Beyond it, it throws UnavailableError.
 *
 * A SELECT whose connection is lost, or that is the victim of a deadlock, is repeated, twice at most, since
 * reading again changes nothing: a restart of the database is not a failure yet.
 *
 * @param instead Of a replica: the primary's pool, which repeats what fails there, or runs when it is closed.
 */
export function limitQueries(pool: ClosablePool, milliseconds: number, instead: pg.Pool = pool): void {
  const running = new Set<(error: Error) => void>();
  const query = (on: pg.Pool, statement: unknown[]) =>
    new Promise<unknown>((resolve, reject) => {
      running.add(reject);
      const result: Promise<unknown> = Reflect.apply(pg.Pool.prototype.query, on, statement);
      result.then(resolve, reject).finally(() => running.delete(reject));
    });
  const mayRepeat = (on: pg.Pool, error: unknown) => (on === instead ? isPassing(error) : isAway(error));
  const repeated = async (statement: unknown[]) => {
    let on: pg.Pool = pool;
    for (const wait of isSelect(statement[0]) ? PAUSES : []) {
      try {
        return await query(on, statement);
      } catch (error) {
        if (!mayRepeat(on, error)) throw error;
        on = instead;
        await pause(wait);
      }
    }
    return query(on, statement);
  };
  const { close } = pool;
  Object.assign(pool, {
    query: (...statement: unknown[]) => withinTime(milliseconds, repeated(statement)),
    // What waits for a connection would wait on.
    close(wait: number) {
      for (const reject of running) reject(new Error('Connection terminated'));
      return close(wait);
    },
  });
}

/**
 * In milliseconds, before each repetition: connections that are lost together fail in the same turn, and the
 * pool is to know of the others first; a process that is killed may still accept a connection afterwards.
 */
const PAUSES = [0, 100];

/** What follows WITH may write. */
const SELECT = /^\s*(?:\/\*[^*]*\*\/\s*)?(?:SELECT\b|WITH\b(?!.*\b(?:INSERT|UPDATE|DELETE|MERGE)\b))/is;

function isSelect(statement: unknown): boolean {
  const config = typeof statement === 'object' && statement !== null ? statement : { text: statement };
  const text: unknown = Reflect.get(config, 'text');
  return typeof text === 'string' && SELECT.test(text);
}

/** The result of the work, if it ends in time. @throws UnavailableError if not; what the work throws. */
export function withinTime<Result>(milliseconds: number, work: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const limit = setTimeout(() => reject(new UnavailableError()), milliseconds);
    work.then(resolve, reject).finally(() => clearTimeout(limit));
  });
}
