import type pg from 'pg';
import { UnavailableError } from '../model/errors.js';
import { type clientFactory, type Database, statementNames } from './client.js';
import { codesOf, isDatabaseFailure } from './database-failure.js';
import { createReadinessCheck } from './migrate.js';
import type { ClosablePool } from './pool.js';
import { askServer, createCheckPool, type ServerAnswer, toPrimaryServer } from './server-checks.js';
import { createServerReadingPools, type Prepared, reasonOf, serverPlace } from './server-pool.js';
import type { WalPositions } from './wal-positions.js';

/** The reason of a server that does not respond in time, or with an error. */
export const SILENT = 'It does not respond.';

export interface DatabaseState {
  /** One phrase, without user and password. */
  readonly place: string;
  readonly role: 'primary' | 'replica';
  /** Why it is left out; null: it is in use. */
  readonly reason: string | null;
  /** How far it is behind the primary, in milliseconds; null: not known. */
  readonly lag: number | null;
  /** The connections of a replica; null: it has none now. */
  readonly pools: Readonly<Record<'readPool' | 'searchPool', pg.Pool>> | null;
}

/** A replica as it is read from, until it is left out: from then on, the primary is read from in its place. */
export interface ReplicaHandle extends Pick<Database, 'prisma' | 'searchPrisma' | 'readPool' | 'searchPool'> {
  /** Ends the statements that run, which are then read on the primary. */
  close(): Promise<unknown>;
}

export interface ReplicaOptions {
  readonly url: string;
  readonly primary: Database;
  readonly prepared: Prepared;
  /** In milliseconds: a replica that is further behind is left out. */
  readonly mostBehind: number;
  readonly createClient: Awaited<ReturnType<typeof clientFactory>>;
  /** Called when it is left out, or read from again. @param cause What the driver says, for the log alone. */
  readonly onChange: (state: DatabaseState, cause: string | undefined) => void;
}

export class Replica {
  readonly #options: ReplicaOptions;
  readonly #place: string;
  readonly #checks: ClosablePool;
  readonly #readiness: ReturnType<typeof createReadinessCheck>;
  /** Null where it is left out. */
  handle: ReplicaHandle | null = null;
  /** What it told last; null where it did not respond. */
  answer: ServerAnswer | null = null;
  #hasOurSchema = false;
  #failure: string | undefined;
  #lag: number | null = null;
  #reason: string | null = null;

  /** @throws OperationError for an address that pg cannot read. */
  constructor(options: ReplicaOptions) {
    this.#options = options;
    this.#place = serverPlace(options.url, 'DATABASE_READ_URLS');
    this.#checks = createCheckPool(options.url);
    this.#readiness = createReadinessCheck(this.#checks);
  }

  get state(): DatabaseState {
    return { place: this.#place, role: 'replica', reason: this.#reason, lag: this.#lag, pools: this.handle };
  }

  /** It never throws. */
  async ask(): Promise<void> {
    try {
      const answer = await askServer(this.#checks);
      const readiness = await (await this.#readiness)();
      this.#hasOurSchema = readiness === 'ready';
      this.answer = readiness === 'silent' ? null : answer;
      this.#failure = undefined;
    } catch (error) {
      this.answer = null;
      this.#failure = reasonOf(error);
    }
  }

  judge(primary: ServerAnswer | null, positions: WalPositions): void {
    this.#setReason(this.#reasonBy(primary, positions), this.#failure);
  }

  #reasonBy(primary: ServerAnswer | null, positions: WalPositions): string | null {
    const { answer } = this;
    this.#lag = null;
    if (answer === null) return SILENT;
    if (primary === null) return 'The primary has not responded yet.';
    const reason = reasonAgainst(answer, primary);
    if (reason !== null) return reason;
    if (!this.#hasOurSchema) return 'Its schema is not that of this version of the program.';
    if (!answer.isReplica) return null;
    const { atLeast, isKnown } = positions.lagOf(answer.position, answer.askedAt);
    if (isKnown) this.#lag = atLeast;
    const behind = `It is ${(atLeast / 1000).toFixed(1)} s behind the primary.`;
    if (atLeast > this.#options.mostBehind) return behind;
    return isKnown ? null : 'How far it is behind the primary is not known yet.';
  }

  #setReason(reason: string | null, cause: string | undefined): void {
    const isChange = (this.#reason === null) !== (reason === null);
    this.#reason = reason;
    if (reason === null) this.handle ??= this.#open();
    else void this.#leave();
    if (isChange) this.#options.onChange(this.state, cause);
  }

  #open(): ReplicaHandle {
    const { url, prepared, primary, createClient } = this.#options;
    const isPooled = this.answer?.isPooled ?? true;
    const pools = createServerReadingPools(url, prepared, isPooled, primary.limits);
    const { readPool, searchPool } = pools;
    const onLost = (error: unknown) => {
      if (this.handle === handle) this.#setReason(SILENT, reasonOf(error));
    };
    const abandonReading = readOnPrimary(readPool, primary.readPool, onLost);
    const abandonSearching = readOnPrimary(searchPool, primary.searchPool, onLost);
    // A statement keeps its name where it is read on the primary.
    const names = primary.namesStatements && pools.namesStatements ? statementNames() : undefined;
    const handle = {
      readPool,
      searchPool,
      prisma: createClient(readPool, names),
      searchPrisma: createClient(searchPool, names),
      close() {
        abandonReading();
        abandonSearching();
        return Promise.all([readPool.close(0), searchPool.close(0)]);
      },
    };
    return handle;
  }

  async #leave(): Promise<void> {
    const { handle } = this;
    this.handle = null;
    await handle?.close();
  }

  close(): Promise<unknown> {
    return Promise.all([this.#checks.close(0), this.#leave()]);
  }
}

/**
 * Why a server is no replica of the primary; null: it is one, or the primary itself.
 *
 * Positions in the log do not tell: a server with another past, such as a former primary that was started as a
 * standby without pg_rewind, may have any. What the primary has written since it started tells: who has
 * replayed it has replayed all before it.
 */
function reasonAgainst(answer: ServerAnswer, primary: ServerAnswer): string | null {
  if (answer.system !== primary.system) return 'It is no replica of the database at DATABASE_URL.';
  if (!answer.isReplica) {
    if (answer.startedAt === primary.startedAt) return null;
    return 'It is no replica any more: it takes writes itself.';
  }
  const hasOurPast = answer.timeline <= primary.timeline && answer.primaryServer === toPrimaryServer(primary);
  if (hasOurPast) return null;
  return 'It has not replayed what the primary wrote when it started: it is behind, or has another past (pg_rewind makes it a replica again).';
}

/**
 * Has statements read on the primary that a replica fails, or that run there when it is left.
 *
 * @returns what leaves it.
 */
function readOnPrimary(pool: ClosablePool, primary: pg.Pool, onLost: (error: unknown) => void): () => void {
  const { query } = pool;
  let isLeft = false;
  const running = new Set<(error: unknown) => void>();
  const run = (statement: unknown[]) =>
    new Promise<unknown>((resolve, reject) => {
      running.add(reject);
      const result: Promise<unknown> = Reflect.apply(query, pool, statement);
      result.then(resolve, reject).finally(() => running.delete(reject));
    });
  const ask = async (...statement: unknown[]): Promise<unknown> => {
    try {
      if (!isLeft) return await run(statement);
    } catch (error) {
      if (isAway(error)) onLost(error);
      else if (!isCancelled(error)) throw error;
    }
    return Reflect.apply(primary.query, primary, statement);
  };
  Reflect.set(pool, 'query', ask);
  return () => {
    isLeft = true;
    for (const reject of running) reject(new Error('Connection terminated'));
  };
}

/** PostgreSQL, appendix A: query_canceled, by our limit of time, which another server would meet again. */
const TIMED_OUT = '57014';
const ALL_IN_USE = 'timeout exceeded when trying to connect';

function isAway(error: unknown): boolean {
  if (error instanceof UnavailableError || codesOf(error).includes(TIMED_OUT)) return false;
  return isDatabaseFailure(error) && !(error instanceof Error && error.message === ALL_IN_USE);
}

/** For what the replica replays (class 40). */
function isCancelled(error: unknown): boolean {
  return codesOf(error).some((code) => code.startsWith('40'));
}
