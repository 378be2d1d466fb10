import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { UnavailableError } from '../model/errors.js';
import { isPassing } from './database-failure.js';

/**
 * Begins a statement whose plan depends on its values, such as the ends of an interval. PostgreSQL would plan
 * it for unknown ones from the sixth execution on: changes in an interval took 500 ms of a large history, not
 * 10.
 */
export const PLANNED_EACH_TIME = '/* planned each time */';

/**
 * Limits the time of a pool's `query()`, from the call to the result, the wait for a connection included.
 * Beyond it, it throws UnavailableError.
 *
 * A connection that is lost while a statement runs, because the database was restarted, is not a failure yet,
 * nor is a deadlock: a SELECT is repeated, twice at most, since reading again changes nothing.
 */
export function limitQueries(pool: pg.Pool, milliseconds: number): void {
  const limited = async (...statement: unknown[]): Promise<unknown> => {
    const query = async (): Promise<unknown> => Reflect.apply(pg.Pool.prototype.query, pool, statement);
    return withinTime(milliseconds, isSelect(statement[0]) ? retried(query) : query());
  };
  Reflect.set(pool, 'query', limited);
}

/**
 * In milliseconds, before each repetition: connections that are lost together fail in the same turn, and the
 * pool is to know of the others first; a process that is killed may still accept a connection afterwards.
 */
const PAUSES = [0, 100];

async function retried(query: () => Promise<unknown>): Promise<unknown> {
  for (const milliseconds of PAUSES) {
    try {
      return await query();
    } catch (error) {
      if (!isPassing(error)) throw error;
      await pause(milliseconds);
    }
  }
  return query();
}

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
