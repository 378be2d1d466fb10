import pg from 'pg';
import { UnavailableError } from '../model/errors.js';
import { codesOf, isDatabaseFailure } from './database-failure.js';
import { createPool, type PoolLimits, readingLimits } from './pool.js';
import { withinTime } from './query-limits.js';

/** A statement as pg's query() takes it. */
export type Statement = readonly unknown[];

interface ReplicaConnectionsOptions {
  readonly config: pg.PoolConfig;
  readonly limits: PoolLimits;
  /** Runs a statement that this replica was lost for. */
  readonly elsewhere: (statement: Statement) => Promise<unknown>;
  /** Called once, when the first statement fails because the replica is away. */
  readonly onLost: (error: unknown) => void;
}

/**
 * The connections to a replica, until it is lost. What is read by them from then on, and what was being read, is read
 * elsewhere, for good: a request that has read from the primary must not read from a replica after it. A replica that is back
 * gets new connections.
 */
export class ReplicaConnections {
  /** Its `query()` outlives the replica. */
  readonly pool: pg.Pool;
  readonly #options: ReplicaConnectionsOptions;
  readonly #close: (milliseconds: number) => Promise<void>;
  /** Of each statement that runs. */
  readonly #abandon = new Set<(error: unknown) => void>();
  #closed: Promise<void> | undefined;

  constructor(options: ReplicaConnectionsOptions) {
    this.#options = options;
    const { pool, close } = createPool({ ...options.config, ...readingLimits(options.limits) });
    this.pool = pool;
    this.#close = close;
    Reflect.set(pool, 'query', (...statement: unknown[]) => this.#query(statement));
  }

  /** Ends all connections: what runs is read elsewhere. */
  close(): Promise<void> {
    if (this.#closed === undefined) {
      this.#closed = this.#close(0);
      for (const abandon of this.#abandon) abandon(new LostReplicaError());
    }
    return this.#closed;
  }

  async #query(statement: Statement): Promise<unknown> {
    const { elsewhere, onLost } = this.#options;
    if (this.#closed !== undefined) return elsewhere(statement);
    try {
      return await this.#run(statement).catch((error: unknown) => {
        if (!isCancelled(error)) throw error;
        // What stood in the way is replayed by now.
        return this.#run(statement);
      });
    } catch (error) {
      if (!(error instanceof LostReplicaError)) {
        if (!isLost(error)) throw error;
        onLost(error);
      }
      return elsewhere(statement);
    }
  }

  #run(statement: Statement): Promise<unknown> {
    if (this.#closed !== undefined) return Promise.reject(new LostReplicaError());
    const result = Promise.resolve(Reflect.apply(pg.Pool.prototype.query, this.pool, [...statement]));
    return withinTime(this.#options.limits.query, this.#untilLost(result));
  }

  #untilLost<Result>(result: Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#abandon.add(reject);
      result.then(resolve, reject).finally(() => this.#abandon.delete(reject));
    });
  }
}

/** Of a statement that was running when its replica was lost. No client sees it. */
class LostReplicaError extends Error {}

/** Whether the replica has cancelled a statement for what it replays (class 40). */
function isCancelled(error: unknown): boolean {
  return codesOf(error).some((code) => code.startsWith('40'));
}

/**
 * Whether a statement failed because of the replica: it is away, starts or stops, or has cancelled the statement. Not by our own
 * limits, which another server would only meet again: those of time, and the wait for one of the connections.
 */
function isLost(error: unknown): boolean {
  if (error instanceof UnavailableError) return false;
  if (error instanceof Error && error.message === ALL_IN_USE) return false;
  return isCancelled(error) || (isDatabaseFailure(error) && !codesOf(error).includes('57014'));
}

/** What pg-pool says after connectionTimeoutMillis. */
const ALL_IN_USE = 'timeout exceeded when trying to connect';
