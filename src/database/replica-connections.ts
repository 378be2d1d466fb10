import type pg from 'pg';
import { UnavailableError } from '../model/errors.js';
import { codesOf, isDatabaseFailure } from './database-failure.js';
import type { ClosablePool } from './pool.js';

/**
 * A pool of connections to a replica: what that fails, or is closed under, is read on the primary.
 *
 * @param primary The pool of the primary.
 * @param onLost Called when a statement fails because the replica is away.
 */
export function withFallback(
  { pool, close }: ClosablePool,
  primary: pg.Pool,
  onLost: (error: unknown) => void,
): ClosablePool {
  const { query } = pool;
  let closed: Promise<void> | undefined;
  /** Of each statement that runs. */
  const abandon = new Set<(error: unknown) => void>();
  const run = (statement: unknown[]) =>
    new Promise<unknown>((resolve, reject) => {
      abandon.add(reject);
      Promise.resolve(Reflect.apply(query, pool, statement))
        .then(resolve, reject)
        .finally(() => abandon.delete(reject));
    });
  const ask = async (...statement: unknown[]): Promise<unknown> => {
    try {
      if (closed === undefined) return await run(statement);
    } catch (error) {
      if (isAway(error)) onLost(error);
      else if (!isCancelled(error)) throw error;
    }
    return Reflect.apply(primary.query, primary, statement);
  };
  Reflect.set(pool, 'query', ask);
  return {
    pool,
    close(milliseconds) {
      closed ??= close(milliseconds);
      for (const reject of abandon) reject(new Error('Connection terminated'));
      return closed;
    },
  };
}

/** PostgreSQL, appendix A: query_canceled, by our own limit of time, which another server would only meet again. */
const TIMED_OUT = '57014';
/** What pg-pool says after connectionTimeoutMillis. */
const ALL_IN_USE = 'timeout exceeded when trying to connect';

/** Whether a statement failed because the replica is away, starts or stops. */
function isAway(error: unknown): boolean {
  if (error instanceof UnavailableError || codesOf(error).includes(TIMED_OUT)) return false;
  return isDatabaseFailure(error) && !(error instanceof Error && error.message === ALL_IN_USE);
}

/** Whether the replica has cancelled a statement for what it replays (class 40). */
function isCancelled(error: unknown): boolean {
  return codesOf(error).some((code) => code.startsWith('40'));
}
