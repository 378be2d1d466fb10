import { setTimeout as pause } from 'node:timers/promises';
import { clientFactory, type Database } from './client.js';
import { createSchemaCheck } from './migrate.js';
import type { ReadingPools } from './pool.js';
import type { ClosablePool } from './query-limits.js';
import { askServer, createCheckPool, type ServerAnswer, toPrimaryServer } from './server-checks.js';
import { createServerReadingPools, reasonOf, serverPlace } from './server-pool.js';
import { WalPositions } from './wal-positions.js';

const SILENT = 'It does not respond.';

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

interface ReplicasOptions {
  readonly databaseUrl: string;
  readonly urls: readonly string[];
  /** In milliseconds. */
  readonly mostBehind: number;
  /** Called when one is left out, or read from again. @param cause What the driver says, for the log alone. */
  readonly onChange: (state: DatabaseState, cause: string | undefined) => void;
}

interface ReplicaOptions extends ReplicasOptions {
  readonly primary: Database;
  readonly createClient: Awaited<ReturnType<typeof clientFactory>>;
}

const CHECK_EVERY = 1000;

/**
 * Each is checked every second: one that is away, is too far behind, or is no replica of this database is left out
 * until a check finds it good again.
 */
export class Replicas {
  readonly #place: string;
  readonly #replicas: readonly Replica[];
  readonly #primaryPool;
  readonly #positions = new WalPositions();
  readonly #closing = new AbortController();
  #primary: ServerAnswer | null = null;
  #isPrimaryAway = false;
  #checking: Promise<void> = Promise.resolve();

  /**
   * @param primary stays open when they are closed.
   * @throws OperationError for an address that pg cannot read. A replica that cannot be reached is left out.
   */
  static async open(primary: Database, options: ReplicasOptions): Promise<Replicas> {
    const createClient = await clientFactory();
    const replicas = options.urls.map((url) => new Replica(url, { ...options, primary, createClient }));
    const opened = new Replicas(primary.place, options.databaseUrl, replicas);
    // The first check asks replicas for what the primary has written by now.
    await opened.#askPrimary();
    await opened.#check();
    opened.#checking = opened.#checkOn();
    return opened;
  }

  private constructor(place: string, databaseUrl: string, replicas: readonly Replica[]) {
    this.#place = place;
    this.#replicas = replicas;
    this.#primaryPool = createCheckPool(databaseUrl);
  }

  /** By chance; undefined where none can be used. */
  any(): ReplicaHandle | undefined {
    const usable = this.#replicas.flatMap(({ handle }) => handle ?? []);
    return usable[Math.floor(Math.random() * usable.length)];
  }

  states(): DatabaseState[] {
    const reason = this.#isPrimaryAway ? SILENT : null;
    const primary = { place: this.#place, role: 'primary', reason, lag: 0, pools: null } as const;
    return [primary, ...this.#replicas.map(({ state }) => state)];
  }

  /**
   * The replicas that may show a commit before the primary does, each as one phrase: those that a primary with
   * synchronous standbys does not name in `synchronous_standby_names`, as far as `cluster_name` tells.
   */
  aheadOfPrimary(): string[] {
    // Such as `ANY 1 (one, "two")`. Names are compared without case.
    const setting = this.#primary?.synchronousNames.toLowerCase().replaceAll('"', '') ?? '';
    const names = (/\((.*)\)/s.exec(setting)?.[1] ?? setting).split(',').map((name) => name.trim());
    if (setting === '' || names.includes('*')) return [];
    return this.#replicas.flatMap(({ answer, state: { place } }) =>
      answer?.isReplica === true && !names.includes(answer.clusterName.toLowerCase()) ? place : [],
    );
  }

  async close(): Promise<void> {
    this.#closing.abort();
    const closing = this.#replicas.map((replica) => replica.close());
    await Promise.all([this.#checking, this.#primaryPool.close(0), ...closing]);
  }

  async #checkOn(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await pause(CHECK_EVERY, undefined, { signal, ref: false }).catch(() => {});
      await this.#check();
    }
  }

  async #check(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    await Promise.all([this.#askPrimary(), ...this.#replicas.map((replica) => replica.ask())]);
    if (this.#closing.signal.aborted) return;
    for (const replica of this.#replicas) replica.judge(this.#primary, this.#positions);
  }

  async #askPrimary(): Promise<void> {
    const answer = await askServer(this.#primaryPool).catch(() => null);
    this.#isPrimaryAway = answer === null;
    if (answer === null) return;
    this.#primary = answer;
    this.#positions.add(answer.askedAt, answer.position, `${answer.system} ${answer.startedAt}`);
  }
}

class Replica {
  readonly #url: string;
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
  constructor(url: string, options: ReplicaOptions) {
    this.#url = url;
    this.#options = options;
    this.#place = serverPlace(url, 'DATABASE_READ_URLS');
    this.#checks = createCheckPool(url);
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
    const { primary, createClient } = this.#options;
    const isPooled = this.answer?.isPooled ?? true;
    const pools = createServerReadingPools(this.#url, isPooled, primary.poolOptions, primary);
    // A statement keeps its name where the primary repeats it.
    const isNamed = primary.namesStatements && pools.namesStatements;
    const searchPrisma = createClient(pools.searchPool, isNamed);
    return { ...pools, prisma: createClient(pools.readPool, isNamed), searchPrisma };
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
