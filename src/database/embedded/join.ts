import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { OperationError } from '../../model/errors.js';
import { answers } from './answers.js';
import { enter, type Presence } from './presence.js';
import { prepareRunDirectory, unusable } from './run-directory.js';
import { type SocketDirectory, shortSocketDirectory } from './short-path.js';
import { startOwner } from './start-owner.js';

/** How long, in milliseconds, the database stays open after its last user has left. */
const GRACE = 3000;
/** How long, in milliseconds, a start may take: a first one on a slow machine takes several seconds. */
const LONGEST_START = 60_000;
/** How long, in milliseconds, a new connection waits for a database that has to be started again. */
const LONGEST_WAIT = 20_000;
/** Milliseconds between the first two and between the last attempts at starting it again. */
const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 5000;

export interface JoinOptions {
  readonly dataDirectory: string;
  /** How long, in milliseconds, the database stays open after its last user has left; 3000 if absent. */
  readonly graceMilliseconds?: number | undefined;
}

/** A process's use of the embedded database: while it lasts, there is a process that has it open. */
export interface EmbeddedMembership {
  /** Folder of the socket and port, as PostgreSQL's clients take them. */
  readonly host: string;
  readonly port: number;
  /** Whether this joining has made the database. */
  readonly createdNow: boolean;
  /** The process that has the database open now. */
  readonly processId: number;
  /**
   * Settles when the database takes connections: at once, unless its process has ended and it is being
   * started again.
   *
   * @throws Error where that takes more than 20 seconds, or after close().
   */
  whenReady(): Promise<void>;
  close(): void;
}

/**
 * Joins the embedded database in a data folder: enters where a process has it open, and starts one where
 * none has. If that process ends while the membership lasts, another is started.
 *
 * @throws OperationError where the database cannot be opened; its message says why, and what to do.
 */
export async function joinEmbedded(options: JoinOptions): Promise<EmbeddedMembership> {
  const dataDirectory = resolve(options.dataDirectory);
  const runDirectory = await prepareRunDirectory(dataDirectory);
  const sockets = await shortSocketDirectory(runDirectory);
  const membership = new Membership({
    dataDirectory,
    runDirectory,
    sockets,
    graceMilliseconds: options.graceMilliseconds ?? GRACE,
  });
  try {
    await membership.join();
  } catch (error) {
    membership.close();
    throw error;
  }
  return membership;
}

interface Place {
  readonly dataDirectory: string;
  readonly runDirectory: string;
  readonly sockets: SocketDirectory;
  readonly graceMilliseconds: number;
}

class Membership implements EmbeddedMembership {
  readonly port = 5432;
  readonly #place: Place;
  readonly #closing = new AbortController();
  #presence: Presence | null = null;
  #rejoining: Promise<void> = Promise.resolve();
  #createdNow = false;

  constructor(place: Place) {
    this.#place = place;
  }

  get host(): string {
    return this.#place.sockets.path;
  }

  get createdNow(): boolean {
    return this.#createdNow;
  }

  get processId(): number {
    return this.#presence?.processId ?? 0;
  }

  async join(): Promise<void> {
    this.#stay(await this.#attempt(true));
  }

  async whenReady(): Promise<void> {
    const limit = new AbortController();
    const late = pause(LONGEST_WAIT, undefined, { signal: limit.signal }).then(() => {
      throw new Error('The embedded database has ended and did not start again in time.');
    });
    try {
      await Promise.race([this.#connectable(), late]);
    } finally {
      late.catch(() => {});
      limit.abort();
    }
  }

  close(): void {
    this.#closing.abort(new Error('The database is closed.'));
    this.#presence?.leave();
    this.#place.sockets.remove();
  }

  async #connectable(): Promise<void> {
    const socket = join(this.host, `.s.PGSQL.${this.port}`);
    while (this.#presence === null || !(await answers(socket))) {
      // Its process has ended, and this one may be about to notice.
      await this.#presence?.ended;
      await this.#rejoining;
    }
  }

  #stay(presence: Presence): void {
    this.#presence = presence;
    void presence.ended.then(() => {
      this.#presence = null;
      this.#rejoining = this.#rejoin();
      this.#rejoining.catch(() => {});
    });
  }

  async #rejoin(): Promise<void> {
    for (let wait = FIRST_PAUSE; ; wait = Math.min(2 * wait, LONGEST_PAUSE)) {
      this.#closing.signal.throwIfAborted();
      try {
        // A data folder that has gone is no reason to go on with an empty database.
        return this.#stay(await this.#attempt(false));
      } catch {
        await pause(wait, undefined, { signal: this.#closing.signal, ref: false });
      }
    }
  }

  async #attempt(mayCreate: boolean): Promise<Presence> {
    const { dataDirectory, runDirectory, sockets } = this.#place;
    const late = AbortSignal.timeout(LONGEST_START);
    const signal = AbortSignal.any([this.#closing.signal, late]);
    try {
      for (;;) {
        const presence = await enter(runDirectory, sockets.path, signal);
        if (presence !== null) return presence;
        const created = await startOwner({ ...this.#place, mayCreate }, signal);
        if (created) this.#createdNow = true;
      }
    } catch (error) {
      if (late.aborted) throw stuck(dataDirectory);
      throw error instanceof OperationError || signal.aborted ? error : unusable(dataDirectory, error);
    }
  }
}

function stuck(dataDirectory: string): OperationError {
  return new OperationError(
    `The embedded database in ${dataDirectory} did not start within ${LONGEST_START / 1000} seconds. End the process that has it open, or set DATA_DIR to another folder.`,
  );
}
