import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { errorCode, messageOf, NoDatabaseError } from '../../model/errors.js';
import { attachOrStart, type Place } from './attach-or-start.js';
import type { Attachment } from './attachment.js';
import { hasOwner, isListening } from './claim.js';
import {
  hasDatabase,
  type IfMissing,
  isUnseeded,
  markSeeded,
  prepareRunDirectory,
  unusable,
} from './data-folder.js';
import { type SocketDirectory, shortSocketDirectory } from './socket-directory.js';

/** How long, in milliseconds, the database stays open after its last user has detached. */
const GRACE = 3000;
/** How long, in milliseconds, a new connection waits for a database that has to be started again. */
const LONGEST_WAIT = 20_000;
/** In milliseconds: how often a new connection checks whether the database's socket is back. */
const CHECK_EVERY = 100;
/** Milliseconds between the first two and between the last attempts to start it again. */
const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 5000;
/** By PostgreSQL's convention, part of the socket's name. */
const PORT = 5432;

interface EmbeddedOptions {
  readonly dataDirectory: string;
  readonly ifMissing: IfMissing;
  /** How long, in milliseconds, the database stays open after its last user has detached; 3000 if absent. */
  readonly graceMilliseconds?: number | undefined;
}

/**
 * Opens the embedded database in a data folder: attaches to the process that has it open, and starts one if there
 * is none. If that process ends before close(), another is started.
 *
 * @throws OperationError if the database cannot be opened; its message says why, and what to do.
 */
export async function openEmbedded(options: EmbeddedOptions): Promise<EmbeddedDatabase> {
  const dataDirectory = resolve(options.dataDirectory);
  if (options.ifMissing === 'fail') await requireDatabase(dataDirectory);
  const runDirectory = await prepareRunDirectory(dataDirectory);
  const sockets = await shortSocketDirectory(runDirectory);
  const graceMilliseconds = options.graceMilliseconds ?? GRACE;
  const place = { dataDirectory, runDirectory, graceMilliseconds, socketDirectory: sockets.path };
  const database = new EmbeddedDatabase(place, sockets);
  try {
    await database.open(options.ifMissing);
  } catch (error) {
    database.close();
    throw error;
  }
  return database;
}

/** @throws NoDatabaseError if there is neither a database nor an owner; OperationError if this user may not look. */
async function requireDatabase(dataDirectory: string): Promise<void> {
  try {
    if ((await hasDatabase(dataDirectory)) || (await hasOwner(dataDirectory))) return;
  } catch (error) {
    if (!['ENOENT', 'ENOTDIR'].includes(errorCode(error))) throw unusable(dataDirectory, error);
  }
  throw new NoDatabaseError(
    `There is no database in ${dataDirectory}: run the command in the folder of the service's data, or set DATA_DIR.`,
  );
}

/** A process's use of the embedded database: until close(), there is an owner that has it open. */
export class EmbeddedDatabase {
  /** Folder of the socket, and port, as PostgreSQL's clients take them. */
  readonly host: string;
  readonly port = PORT;
  readonly #place: Omit<Place, 'ifMissing'>;
  readonly #sockets: SocketDirectory;
  readonly #closing = new AbortController();
  /** Whether open() has made the database. */
  createdNow = false;
  /** Why the owner, which has ended, could not be started again so far; null: it runs, or is being started. */
  failure: string | null = null;
  #attachment: Attachment | null = null;

  constructor(place: Omit<Place, 'ifMissing'>, sockets: SocketDirectory) {
    this.host = sockets.path;
    this.#place = place;
    this.#sockets = sockets;
  }

  /** Whether the database was made to be seeded, and markSeeded() was not called since. */
  get unseeded(): boolean {
    return isUnseeded(this.#place.dataDirectory);
  }

  markSeeded(): Promise<void> {
    return markSeeded(this.#place.dataDirectory);
  }

  /** @throws OperationError if the database cannot be opened. */
  async open(ifMissing: IfMissing): Promise<void> {
    const { attachment, created } = await attachOrStart({ ...this.#place, ifMissing }, this.#closing.signal);
    this.createdNow = created;
    this.#use(attachment);
  }

  /**
   * Settles when the database takes connections: at once, unless its owner has ended and is being started again.
   *
   * @throws Error if that takes more than 20 seconds, or after close().
   */
  async whenReady(): Promise<void> {
    const end = performance.now() + LONGEST_WAIT;
    const socket = join(this.host, `.s.PGSQL.${PORT}`);
    this.#sockets.ensure();
    while (this.#attachment === null || !(await isListening(socket))) {
      this.#closing.signal.throwIfAborted();
      if (performance.now() > end) {
        const reason = this.failure === null ? '.' : `: ${this.failure}`;
        throw new Error(`The embedded database has ended and did not start again in time${reason}`);
      }
      // The owner has ended, or is about to since its socket is gone.
      await pause(CHECK_EVERY);
    }
  }

  close(): void {
    this.#closing.abort(new Error('The database is closed.'));
    this.#attachment?.detach();
    this.#sockets.remove();
  }

  #use(attachment: Attachment): void {
    this.#attachment = attachment;
    this.failure = null;
    if (this.#closing.signal.aborted) attachment.detach();
    void attachment.ended.then(() => {
      this.#attachment = null;
      // It fails only once the database is closed.
      this.#restart().catch(() => {});
    });
  }

  async #restart(): Promise<void> {
    for (let wait = FIRST_PAUSE; ; wait = Math.min(2 * wait, LONGEST_PAUSE)) {
      this.#closing.signal.throwIfAborted();
      try {
        this.#sockets.ensure();
        // If the data folder is gone, an empty database must not take its place.
        const place = { ...this.#place, ifMissing: 'fail' } as const;
        const { attachment } = await attachOrStart(place, this.#closing.signal);
        return this.#use(attachment);
      } catch (error) {
        this.failure = messageOf(error);
        await pause(wait, undefined, { signal: this.#closing.signal, ref: false });
      }
    }
  }
}
