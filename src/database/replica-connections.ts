import type pg from 'pg';
import { UnavailableError } from '../model/errors.js';
import { codesOf, isDatabaseFailure } from './database-failure.js';
import type { ClosablePool } from './pool.js';

interface Fallback {
  /** The primary's, for statements that the replica fails. */
  readonly primary: pg.Pool;
  /** Whether statements may have names there. */
  readonly namesOnPrimary: boolean;
  /** Called when a statement fails because the replica is away. */
  readonly onLost: (error: unknown) => void;
}

/** A pool of connections to a replica: what that fails, or is closed under, is read on the primary. */
export function withFallback({ pool, close }: ClosablePool, fallback: Fallback): ClosablePool {
  const { primary, namesOnPrimary, onLost } = fallback;
  const { query } = pool;
  let closed: Promise<void> | undefined;
  /** Of each statement that runs. */
  const abandon = new Set<(error: unknown) => void>();
  const run = (statement: readonly unknown[]) =>
    new Promise<unknown>((resolve, reject) => {
      abandon.add(reject);
      Promise.resolve(Reflect.apply(query, pool, [...statement]))
        .then(resolve, reject)
        .finally(() => abandon.delete(reject));
    });
  const runOnPrimary = ([config, ...rest]: readonly unknown[]) => {
    const isNamed = typeof config === 'object' && config !== null && 'name' in config;
    const statement = isNamed && !namesOnPrimary ? { ...config, name: undefined } : config;
    return Reflect.apply(primary.query, primary, [statement, ...rest]);
  };
  const ask = async (...statement: readonly unknown[]): Promise<unknown> => {
    if (closed !== undefined) return runOnPrimary(statement);
    try {
      return await run(statement);
    } catch (error) {
      if (isAway(error)) onLost(error);
      else if (!isCancelled(error)) throw error;
      return runOnPrimary(statement);
    }
  };
  Reflect.set(pool, 'query', ask);
  return {
    pool,
    close(milliseconds) {
      closed ??= close(milliseconds);
      for (const reject of abandon) reject(new LostReplicaError());
      return closed;
    },
  };
}

/** Of a statement that was running when its replica was lost. No client sees it. */
class LostReplicaError extends Error {}

/** PostgreSQL, appendix A: query_canceled, by our own limit of time, which another server would only meet again. */
const TIMED_OUT = '57014';
/** What pg-pool says after connectionTimeoutMillis. */
const ALL_IN_USE = 'timeout exceeded when trying to connect';

/** Whether the replica has cancelled a statement for what it replays (class 40). */
function isCancelled(error: unknown): boolean {
  return codesOf(error).some((code) => code.startsWith('40'));
}

/** Whether a statement failed because the replica is away, starts or stops. */
function isAway(error: unknown): boolean {
  if (error instanceof LostReplicaError) return true;
  if (error instanceof UnavailableError) return false;
  if (error instanceof Error && error.message === ALL_IN_USE) return false;
  return isDatabaseFailure(error) && !isCancelled(error) && !codesOf(error).includes(TIMED_OUT);
}
