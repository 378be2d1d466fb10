import { setTimeout as pause } from 'node:timers/promises';
import { clientFactory, type Database } from './client.js';
import { type DatabaseState, Replica, type ReplicaHandle, type ReplicaOptions, SILENT } from './replica.js';
import { askServer, createCheckPool, type ServerAnswer } from './server-checks.js';
import { WalPositions } from './wal-positions.js';

interface ReplicasOptions extends Pick<ReplicaOptions, 'prepared' | 'mostBehind' | 'onChange'> {
  readonly databaseUrl: string;
  readonly urls: readonly string[];
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
    const replicas = options.urls.map((url) => new Replica({ ...options, url, primary, createClient }));
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
