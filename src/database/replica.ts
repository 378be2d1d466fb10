import type { clientFactory, Database } from './client.js';
import { createSchemaCheck } from './migrate.js';
import type { ReadingPools } from './pool.js';
import type { ClosablePool } from './query-limits.js';
import { askServer, createCheckPool, type ServerAnswer, toPrimaryServer } from './server-checks.js';
import { createServerReadingPools, type Prepared, reasonOf, serverPlace } from './server-pool.js';
import type { WalPositions } from './wal-positions.js';

export const SILENT = 'It does not respond.';

export interface DatabaseState {
  readonly place: string;
  readonly role: 'primary' | 'replica';
  /** Why it is left out; null: it is in use. */
  readonly reason: string | null;
  /** Behind the primary, in milliseconds; null: not known. */
  readonly lag: number | null;
  /** Null: it is no replica, or left out. */
  readonly pools: ReadingPools | null;
}

/** A replica as it is read from. The primary repeats what it fails, and reads what runs when it is left out. */
export type ReplicaHandle = Pick<Database, 'prisma' | 'searchPrisma' | 'readPool' | 'searchPool'>;

export interface ReplicaOptions {
  readonly url: string;
  readonly primary: Database;
  readonly prepared: Prepared;
  /** In milliseconds. */
  readonly mostBehind: number;
  readonly createClient: Awaited<ReturnType<typeof clientFactory>>;
  /** Called when it is left out, or read from again. @param cause What the driver says, for the log alone. */
  readonly onChange: (state: DatabaseState, cause: string | undefined) => void;
}

export class Replica {
  readonly #options: ReplicaOptions;
  readonly #place: string;
  readonly #checks: ClosablePool;
  readonly #hasOurSchema: ReturnType<typeof createSchemaCheck>;
  /** Null where it is left out. */
  handle: ReplicaHandle | null = null;
  /** What it told last; null where it did not respond. */
  answer: (ServerAnswer & { readonly isOurs: boolean }) | null = null;
  #failure: string | undefined;
  #lag: number | null = null;
  #reason: string | null = null;

  /** @throws OperationError for an address that pg cannot read. */
  constructor(options: ReplicaOptions) {
    this.#options = options;
    this.#place = serverPlace(options.url, 'DATABASE_READ_URLS');
    this.#checks = createCheckPool(options.url);
    this.#hasOurSchema = createSchemaCheck(this.#checks);
  }

  get state(): DatabaseState {
    return { place: this.#place, role: 'replica', reason: this.#reason, lag: this.#lag, pools: this.handle };
  }

  /** It never throws. */
  async ask(): Promise<void> {
    try {
      const hasOurSchema = await this.#hasOurSchema;
      this.answer = { ...(await askServer(this.#checks)), isOurs: await hasOurSchema() };
      this.#failure = undefined;
    } catch (error) {
      this.answer = null;
      this.#failure = reasonOf(error);
    }
  }

  judge(primary: ServerAnswer | null, positions: WalPositions): void {
    const reason = this.#reasonBy(primary, positions);
    const isChange = (this.#reason === null) !== (reason === null);
    this.#reason = reason;
    if (reason === null) this.handle ??= this.#open();
    else void this.#leave();
    if (isChange) this.#options.onChange(this.state, this.#failure);
  }

  #reasonBy(primary: ServerAnswer | null, positions: WalPositions): string | null {
    const { answer } = this;
    this.#lag = null;
    if (answer === null) return SILENT;
    if (primary === null) return 'The primary has not responded yet.';
    const reason = reasonAgainst(answer, primary);
    if (reason !== null) return reason;
    if (!answer.isOurs) return 'Its schema is not that of this version of the program.';
    if (!answer.isReplica) return null;
    const { atLeast, isKnown } = positions.lagOf(answer.position, answer.askedAt);
    if (isKnown) this.#lag = atLeast;
    if (atLeast > this.#options.mostBehind)
      return `It is ${(atLeast / 1000).toFixed(1)} s behind the primary.`;
    return isKnown ? null : 'How far it is behind the primary is not known yet.';
  }

  #open(): ReplicaHandle {
    const { url, prepared, primary, createClient } = this.#options;
    const isPooled = this.answer?.isPooled ?? true;
    const pools = createServerReadingPools(url, prepared, isPooled, primary.limits, primary);
    const { readPool, searchPool } = pools;
    // A statement keeps its name where the primary repeats it.
    const isNamed = primary.namesStatements && pools.namesStatements;
    const [prisma, searchPrisma] = [createClient(readPool, isNamed), createClient(searchPool, isNamed)];
    return { readPool, searchPool, prisma, searchPrisma };
  }

  async #leave(): Promise<void> {
    const { handle } = this;
    this.handle = null;
    await Promise.all([handle?.readPool.close(0), handle?.searchPool.close(0)]);
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
