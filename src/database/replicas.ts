import { clientFactory, type Database, statementNames } from './client.js';
import { type ClosablePool, createReadingPools } from './pool.js';
import { Replica, type ReplicaHandle, SILENT } from './replica.js';
import { withFallback } from './replica-connections.js';
import { askServer, createCheckPool, type ServerAnswer } from './server-checks.js';
import { namesStatements, type Prepared, reasonOf, serverConfig, sessionOptions } from './server-pool.js';
import { WalPositions } from './wal-positions.js';

export interface DatabaseState {
  /** One phrase, without user and password. */
  readonly place: string;
  readonly role: 'primary' | 'replica';
  /** Why it is left out; null: it is in use. */
  readonly reason: string | null;
  /** How far it is behind the primary, in milliseconds; null: not known. */
  readonly lag: number | null;
  /** The connections of a replica; null: it has none now. */
  readonly pools: Readonly<Record<'reading' | 'searching', ConnectionCounts>> | null;
}

interface ConnectionCounts {
  readonly totalCount: number;
  readonly idleCount: number;
  readonly waitingCount: number;
}

interface ReplicasOptions {
  readonly databaseUrl: string;
  readonly urls: readonly string[];
  readonly prepared: Prepared;
  /** In milliseconds: a replica that is further behind is left out. */
  readonly mostBehind: number;
  /** Called when a replica is left out, or read from again. @param cause What the driver says, for the log alone. */
  readonly onChange: (state: DatabaseState, cause: string | undefined) => void;
}

type ClientFactory = Awaited<ReturnType<typeof clientFactory>>;

/** In milliseconds, between two checks. */
const CHECK_EVERY = 1000;

/**
 * The replicas of a database, for responses. Each is checked every second: one that is away, is too far behind, or is no replica
 * of this database is left out until a check finds it good again.
 */
export class Replicas {
  readonly #database: Database;
  readonly #options: ReplicasOptions;
  readonly #createClient: ClientFactory;
  readonly #replicas: readonly Replica[];
  readonly #primaryPool: ClosablePool;
  readonly #positions = new WalPositions();
  #primary: ServerAnswer | null = null;
  /** Why the primary did not respond to the last check; null: it did. */
  #primaryFailure: string | null = null;
  #timer: NodeJS.Timeout | undefined;
  #checking: Promise<void> = Promise.resolve();
  #isClosed = false;

  /**
   * Opens them, and checks each once. One that cannot be reached is left out.
   *
   * @param database The primary.
   * @throws OperationError for an address that pg cannot read.
   */
  static async open(database: Database, options: ReplicasOptions): Promise<Replicas> {
    const replicas = new Replicas(database, options, await clientFactory());
    // The first check asks replicas for what the primary has written by now.
    await replicas.#askPrimary();
    await replicas.#checkOn();
    return replicas;
  }

  private constructor(database: Database, options: ReplicasOptions, createClient: ClientFactory) {
    this.#database = database;
    this.#options = options;
    this.#createClient = createClient;
    this.#replicas = options.urls.map((url) => new Replica(url));
    this.#primaryPool = createCheckPool(options.databaseUrl);
  }

  /** One of those that can be used, by chance; undefined where none can. */
  any(): ReplicaHandle | undefined {
    const usable = this.#replicas.flatMap(({ handle }) => handle ?? []);
    return usable[Math.floor(Math.random() * usable.length)];
  }

  /** Of the primary and all replicas. */
  states(): DatabaseState[] {
    const { place } = this.#database;
    return [
      { place, role: 'primary', reason: this.#primaryFailure, lag: 0, pools: null },
      ...this.#replicas.map((replica) => this.#stateOf(replica)),
    ];
  }

  /**
   * The replicas that may show a commit before the primary does, each as one phrase: those that a primary with synchronous
   * standbys does not name, as far as `cluster_name` tells.
   */
  aheadOfPrimary(): string[] {
    const names = standbyNames(this.#primary?.synchronousNames ?? '');
    if (names.size === 0 || names.has('*')) return [];
    return this.#replicas.flatMap(({ answer, place }) =>
      answer?.isReplica === true && !names.has(answer.clusterName.toLowerCase()) ? place : [],
    );
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const closing = this.#replicas.map((replica) => replica.close());
    await Promise.all([this.#checking, this.#primaryPool.close(0), ...closing]);
  }

  #checkOn(): Promise<void> {
    this.#checking = this.#check().then(() => {
      if (this.#isClosed) return;
      this.#timer = setTimeout(() => this.#checkOn(), CHECK_EVERY).unref();
    });
    return this.#checking;
  }

  async #check(): Promise<void> {
    await Promise.all([this.#askPrimary(), ...this.#replicas.map((replica) => replica.ask())]);
    if (this.#isClosed) return;
    for (const replica of this.#replicas) {
      const reason = replica.judge(this.#primary, this.#positions, this.#options.mostBehind);
      this.#setReason(replica, reason, replica.failure);
    }
  }

  async #askPrimary(): Promise<void> {
    try {
      this.#primary = await askServer(this.#primaryPool);
      const { askedAt, position, system, startedAt } = this.#primary;
      this.#positions.add(askedAt, position, `${system} ${startedAt}`);
      this.#primaryFailure = null;
    } catch {
      this.#primaryFailure = SILENT;
    }
  }

  #open(replica: Replica): NonNullable<Replica['handle']> {
    const { url, answer } = replica;
    const isPooled = answer?.isPooled ?? true;
    const { queriesAtOnce: size, queryMilliseconds: query, ...primary } = this.#database;
    const config = { ...serverConfig(url), ...sessionOptions(isPooled, query) };
    const pools = createReadingPools(config, { size, query });
    const onLost = (error: unknown) => {
      if (replica.handle === handle) this.#setReason(replica, SILENT, reasonOf(error));
    };
    const reading = withFallback(pools.reading, primary.readPool, onLost);
    const searching = withFallback(pools.searching, primary.searchPool, onLost);
    // A statement keeps its name where it is read on the primary.
    const hasNames = primary.namesStatements && namesStatements(this.#options.prepared, isPooled);
    const names = hasNames ? statementNames() : undefined;
    const prisma = this.#createClient(reading.pool, names);
    const searchPrisma = this.#createClient(searching.pool, names);
    const handle = { reading, searching, prisma, searchPrisma };
    return handle;
  }

  #setReason(replica: Replica, reason: string | null, cause?: string): void {
    const isChange = (replica.reason === null) !== (reason === null);
    replica.reason = reason;
    if (reason === null) replica.handle ??= this.#open(replica);
    else void replica.leave();
    if (isChange) this.#options.onChange(this.#stateOf(replica), cause);
  }

  #stateOf({ place, lag, reason, handle }: Replica): DatabaseState {
    const pools = handle && { reading: handle.reading.pool, searching: handle.searching.pool };
    return { place, role: 'replica', reason, lag, pools };
  }
}

/** The standbys that `synchronous_standby_names` names, such as `ANY 1 (one, "two")`, in lower case: they are compared without it. */
function standbyNames(setting: string): Set<string> {
  const list = /\((.*)\)/s.exec(setting)?.[1] ?? setting;
  return new Set(
    list
      .split(',')
      .map((name) => name.trim().replaceAll('"', '').toLowerCase())
      .filter(Boolean),
  );
}
