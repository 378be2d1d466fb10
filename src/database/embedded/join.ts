import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { answers } from './answers.js';
import { isUnfilled, type Making, markFilled } from './data-folder.js';
import { enterOrStart, type Place } from './enter-or-start.js';
import type { Presence } from './presence.js';
import { requireDatabase } from './require-database.js';
import { prepareRunDirectory } from './run-directory.js';
import { type SocketDirectory, shortSocketDirectory } from './short-path.js';

/** How long, in milliseconds, the database stays open after its last user has left. */
const GRACE = 3000;
/** How long, in milliseconds, a new connection waits for a database that has to be started again. */
const LONGEST_WAIT = 20_000;
/** In milliseconds: how often a new connection looks whether its way to the database is back. */
const LOOK_AGAIN = 100;
/** Milliseconds between the first two and between the last attempts at starting it again. */
const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 5000;

export interface JoinOptions {
  readonly dataDirectory: string;
  /** What becomes of a data folder without a database. */
  readonly making: Making;
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
  /** Whether the database was made to be filled, and nobody has said that it is. */
  readonly unfilled: boolean;
  /** Why its process, which has ended, could not be started again so far; null: it runs, or is being started. */
  readonly failure: string | null;
  /** Says that it is filled, for good. */
  markFilled(): Promise<void>;
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
  if (options.making === 'none') await requireDatabase(dataDirectory);
  const runDirectory = await prepareRunDirectory(dataDirectory);
  const sockets = await shortSocketDirectory(runDirectory);
  const graceMilliseconds = options.graceMilliseconds ?? GRACE;
  const place = { dataDirectory, runDirectory, graceMilliseconds, socketDirectory: sockets.path };
  const membership = new Membership(place, sockets);
  try {
    await membership.join(options.making);
  } catch (error) {
    membership.close();
    throw error;
  }
  return membership;
}

class Membership implements EmbeddedMembership {
  readonly port = 5432;
  readonly #place: Omit<Place, 'making'>;
  readonly #sockets: SocketDirectory;
  readonly #closing = new AbortController();
  #presence: Presence | null = null;
  #rejoining: Promise<void> = Promise.resolve();
  #createdNow = false;
  #failure: string | null = null;

  constructor(place: Omit<Place, 'making'>, sockets: SocketDirectory) {
    this.#place = place;
    this.#sockets = sockets;
  }

  get host(): string {
    return this.#sockets.path;
  }

  get createdNow(): boolean {
    return this.#createdNow;
  }

  get unfilled(): boolean {
    return isUnfilled(this.#place.dataDirectory);
  }

  get failure(): string | null {
    return this.#failure;
  }

  markFilled(): Promise<void> {
    return markFilled(this.#place.dataDirectory);
  }

  async join(making: Making): Promise<void> {
    const { presence, created } = await enterOrStart({ ...this.#place, making }, this.#closing.signal);
    this.#createdNow = created;
    this.#stay(presence);
  }

  async whenReady(): Promise<void> {
    const limit = new AbortController();
    const late = pause(LONGEST_WAIT, undefined, { signal: limit.signal }).then(() => {
      const reason = this.#failure === null ? '.' : `: ${this.#failure}`;
      throw new Error(`The embedded database has ended and did not start again in time${reason}`);
    });
    try {
      await Promise.race([this.#connectable(limit.signal), late]);
    } finally {
      late.catch(() => {});
      limit.abort();
    }
  }

  close(): void {
    this.#closing.abort(new Error('The database is closed.'));
    this.#presence?.leave();
    this.#sockets.remove();
  }

  async #connectable(signal: AbortSignal): Promise<void> {
    const socket = join(this.host, `.s.PGSQL.${this.port}`);
    this.#sockets.ensure();
    while (this.#presence === null || !(await answers(socket))) {
      // Its process has ended, or is about to since its socket is gone.
      await pause(LOOK_AGAIN, undefined, { signal });
      await this.#rejoining;
    }
  }

  #stay(presence: Presence): void {
    this.#presence = presence;
    this.#failure = null;
    if (this.#closing.signal.aborted) presence.leave();
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
        this.#sockets.ensure();
        // A data folder that has gone is no reason to go on with an empty database.
        const place = { ...this.#place, making: 'none' } as const;
        const { presence } = await enterOrStart(place, this.#closing.signal);
        return this.#stay(presence);
      } catch (error) {
        this.#failure = error instanceof Error ? error.message : String(error);
        await pause(wait, undefined, { signal: this.#closing.signal, ref: false });
      }
    }
  }
}
