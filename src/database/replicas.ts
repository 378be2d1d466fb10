import type pg from 'pg';
import { clientFactory, type Database, statementNames } from './client.js';
import type { PrismaClient } from './generated/client.js';
import { type ClosablePool, divided, type PoolLimits } from './pool.js';
import { type PrimaryState, Replica, SILENT } from './replica.js';
import { createReplicaPool } from './replica-connections.js';
import { askServer, createCheckPool, type ServerAnswer } from './server-checks.js';
import { namesStatements, type Prepared, reasonOf, serverConfig, sessionOptions } from './server-pool.js';
import { WalPositions } from './wal-positions.js';

/** A replica as it is read from, until it is left out: from then on, the primary is read from in its place. */
export interface ReplicaHandle {
  readonly prisma: PrismaClient;
  readonly searchPrisma: PrismaClient;
}

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

interface OpenHandle extends ReplicaHandle {
  readonly reading: ClosablePool;
  readonly searching: ClosablePool;
}

/**
 * The replicas of a database, for responses. Each is checked every second: one that is away, is too far behind, or is no replica
 * of this database is left out until a check finds it good again.
 */
export class Replicas {
  readonly #database: Database;
  readonly #options: ReplicasOptions;
  readonly #createClient: ClientFactory;
  readonly #replicas: readonly Replica[];
  /** Of those that are not left out. */
  readonly #handles = new Map<Replica, OpenHandle>();
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
    const usable = [...this.#handles.values()];
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
    const handles = [...this.#handles.values()];
    this.#handles.clear();
    await Promise.all([
      this.#checking,
      this.#primaryPool.close(0),
      ...this.#replicas.map((replica) => replica.close()),
      ...handles.map(close),
    ]);
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
    const primary: PrimaryState = { answer: this.#primary, positions: this.#positions };
    for (const replica of this.#replicas) {
      const { reason, cause } = replica.judge(primary, this.#options.mostBehind);
      if (reason === null && !this.#handles.has(replica)) this.#handles.set(replica, this.#open(replica));
      this.#setReason(replica, reason, cause);
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

  #open(replica: Replica): OpenHandle {
    const { url, answer } = replica;
    const isPooled = answer?.isPooled ?? true;
    const { queriesAtOnce: size, queryMilliseconds: query, ...database } = this.#database;
    const limits = divided({ size, query });
    const names = namesStatements(this.#options.prepared, isPooled) ? statementNames() : undefined;
    const open = (share: PoolLimits, primary: pg.Pool) =>
      createReplicaPool({
        config: { ...serverConfig(url), ...sessionOptions(isPooled, share) },
        limits: share,
        primary,
        namesOnPrimary: database.namesStatements,
        onLost: (error) => {
          if (this.#handles.get(replica) === handle) this.#setReason(replica, SILENT, reasonOf(error));
        },
      });
    const reading = open(limits.reading, database.readPool);
    const searching = open(limits.searching, database.searchPool);
    const handle: OpenHandle = {
      ...{ reading, searching },
      prisma: this.#createClient(reading.pool, names),
      searchPrisma: this.#createClient(searching.pool, names),
    };
    return handle;
  }

  #setReason(replica: Replica, reason: string | null, cause?: string): void {
    const isChange = (replica.reason === null) !== (reason === null);
    replica.reason = reason;
    if (reason !== null) {
      const handle = this.#handles.get(replica);
      this.#handles.delete(replica);
      if (handle !== undefined) void close(handle);
    }
    if (isChange) this.#options.onChange(this.#stateOf(replica), cause);
  }

  #stateOf(replica: Replica): DatabaseState {
    const { place, lag, reason } = replica;
    const handle = this.#handles.get(replica);
    return {
      ...{ place, role: 'replica', reason },
      lag: lag === null || lag.freshAt === null ? null : lag.atLeast,
      pools: handle === undefined ? null : { reading: handle.reading.pool, searching: handle.searching.pool },
    };
  }
}

/** What runs there is read on the primary. */
async function close({ reading, searching }: OpenHandle): Promise<void> {
  await Promise.all([reading.close(0), searching.close(0)]);
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
