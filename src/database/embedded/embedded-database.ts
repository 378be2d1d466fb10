import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { connect, Socket } from 'node:net';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { errorCode, messageOf, NoDatabaseError, OperationError } from '../../model/errors.js';
import { byShortPath, isInUse, isListening, latestClaim } from './claim.js';
import { freeRoom, type IfMissing, prepareRunDirectory, unusable } from './data-folder.js';

/** The compiled program, from src/ as well: Node.js 20 runs no TypeScript. */
const OWNER = fileURLToPath(new URL('../../../dist/database/embedded/owner.js', import.meta.url));
/** How long, in milliseconds, a start may take: a first one on a slow machine takes several seconds. */
const MAX_START = 60_000;
/** How many owners may end without a report: one may have been killed. */
const MAX_DEATHS = 3;
/** How long, in milliseconds, a new connection waits for a database that has to be started again. */
const MAX_WAIT = 20_000;
/** In milliseconds: how often a new connection checks whether the database's socket is back. */
const CHECK_EVERY = 100;
/** In milliseconds, between two attempts to start it again. */
const RESTART_EVERY = 1000;
/** In bytes: a segment of PostgreSQL's write-ahead log, which is made whole (`wal_segment_size`). */
const MIN_ROOM = 16 * 1024 * 1024;

/** Sent once, to who started the owner; neither: another process has the database open. */
export interface OwnerReport {
  /** It has the database open; true: it has made it. */
  readonly created?: boolean;
  /** Why it cannot open the database: one line for the user. */
  readonly failure?: string;
  /** It ended before it could report. */
  readonly isDead?: boolean;
}

/**
 * Attaches to the process that has the database open, and starts one if there is none, or if it ends before
 * close().
 *
 * @param graceMilliseconds How long it stays open after its last user has detached.
 * @throws OperationError, whose message says why it cannot be opened, and what to do.
 */
export async function openEmbedded(
  folder: string,
  ifMissing: IfMissing,
  graceMilliseconds: number,
): Promise<EmbeddedDatabase> {
  const dataDirectory = resolve(folder);
  if (ifMissing === 'fail') await requireDatabase(dataDirectory);
  await prepareRunDirectory(dataDirectory);
  const database = new EmbeddedDatabase(dataDirectory, graceMilliseconds);
  await database.open(ifMissing);
  return database;
}

/** @throws NoDatabaseError without a database and an owner; OperationError if this user may not look. */
async function requireDatabase(dataDirectory: string): Promise<void> {
  try {
    if (await isInUse(dataDirectory)) return;
  } catch (error) {
    if (!['ENOENT', 'ENOTDIR'].includes(errorCode(error))) throw unusable(dataDirectory, error);
  }
  throw new NoDatabaseError(
    `There is no database in ${dataDirectory}: run the command in the folder of the service's data, or set DATA_DIR.`,
  );
}

/** A process's use of the embedded database: until close(), there is an owner that has it open. */
class EmbeddedDatabase {
  readonly #dataDirectory: string;
  readonly #grace: string;
  readonly #closing = new AbortController();
  /** The connection to the owner, open for as long as both use the database; null: it is started again. */
  #attachment: Socket | null = null;
  createdNow = false;
  /** Why the owner, which has ended, could not be started again so far; null: it runs, or is being started. */
  failure: string | null = null;

  constructor(dataDirectory: string, graceMilliseconds: number) {
    this.#dataDirectory = dataDirectory;
    this.#grace = String(graceMilliseconds);
  }

  async open(ifMissing: IfMissing): Promise<void> {
    const closing = this.#closing.signal;
    const late = AbortSignal.timeout(MAX_START);
    try {
      this.#use(await this.#attachOrStart(ifMissing, AbortSignal.any([closing, late])));
    } catch (error) {
      if (error instanceof OperationError || closing.aborted) throw error;
      if (!late.aborted) throw unusable(this.#dataDirectory, error);
      throw new OperationError(
        `The embedded database in ${this.#dataDirectory} did not start within ${MAX_START / 1000} seconds. End the process that has it open, or set DATA_DIR to another folder.`,
      );
    }
  }

  /** It connects to the database wherever it is told to: at once or, if that has ended, once it is back. */
  createSocket(): Socket {
    const path = join(this.#dataDirectory, 'run', '.s.PGSQL.5432');
    const socket = new Socket();
    const connectNow = (short: string) => socket.destroyed || Socket.prototype.connect.call(socket, short);
    socket.connect = () => {
      this.#whenListening(path)
        .then(() => byShortPath(path, connectNow))
        .catch((error) => socket.destroy(error));
      return socket;
    };
    return socket;
  }

  async #whenListening(path: string): Promise<void> {
    const end = performance.now() + MAX_WAIT;
    while (this.#attachment === null || !(await isListening(path))) {
      this.#closing.signal.throwIfAborted();
      if (performance.now() > end) {
        const reason = this.failure === null ? '.' : `: ${this.failure}`;
        throw new Error(`The embedded database has ended and did not start again in time${reason}`);
      }
      await pause(CHECK_EVERY);
    }
  }

  close(): void {
    this.#closing.abort(new Error('The database is closed.'));
    this.#attachment?.destroy();
  }

  #use(attachment: Socket): void {
    this.#attachment = attachment;
    this.failure = null;
    const restart = () => {
      this.#attachment = null;
      // It fails only once the database is closed.
      this.#restart().catch(() => {});
    };
    if (attachment.closed) restart();
    else attachment.once('close', restart);
    if (this.#closing.signal.aborted) attachment.destroy();
  }

  async #restart(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        // If the data folder is gone, an empty database must not take its place.
        return await this.open('fail');
      } catch (error) {
        this.failure = messageOf(error);
        await pause(RESTART_EVERY, undefined, { signal, ref: false });
      }
    }
  }

  async #attachOrStart(ifMissing: IfMissing, signal: AbortSignal): Promise<Socket> {
    for (let deaths = 0; ; ) {
      const attachment = await attach(join(this.#dataDirectory, 'run'), signal);
      if (attachment !== null) return attachment;
      const { created = false, failure, isDead = false } = await this.#startOwner(ifMissing, signal);
      if (isDead) deaths += 1;
      if (failure !== undefined && !(isDead && deaths < MAX_DEATHS)) throw new OperationError(failure);
      this.createdNow ||= created;
    }
  }

  /** Starts an owner (owner.ts), and waits for its report. */
  async #startOwner(ifMissing: IfMissing, signal: AbortSignal): Promise<OwnerReport> {
    // Again: the folder may have been deleted since the last start.
    const logFile = join(await prepareRunDirectory(this.#dataDirectory), 'owner.log');
    const log = await open(logFile, 'a', 0o600);
    const owner = spawn(process.execPath, [OWNER, this.#dataDirectory, this.#grace, ifMissing], {
      // A session of its own: it outlives this process, and Ctrl-C in a terminal does not reach it.
      detached: true,
      cwd: '/',
      stdio: ['ignore', log.fd, log.fd, 'ipc'],
    });
    try {
      const [report] = await Promise.race([once(owner, 'message', { signal }), once(owner, 'disconnect')]);
      if (report !== undefined) return report;
      if ((await freeRoom(this.#dataDirectory)) < MIN_ROOM) {
        throw unusable(this.#dataDirectory, 'its disk is full, less than 16 MB of it are free');
      }
      return { isDead: true, failure: `The embedded database did not start; ${logFile} may say why.` };
    } finally {
      owner.unref();
      if (owner.connected) owner.disconnect();
      await log.close();
    }
  }
}

/** The codes of a socket whose process is gone, or about to go. */
const GONE: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ENOENT', 'ECONNRESET', 'EPIPE']);

/**
 * Waits until the database takes connections. The owner stops when the last attachment has closed.
 *
 * @returns null if there is no owner, or if it was about to stop; then it has stopped.
 * @throws AbortError; an error of the socket if the folder belongs to another user.
 */
async function attach(runDirectory: string, signal: AbortSignal): Promise<Socket | null> {
  const claim = await latestClaim(runDirectory);
  if (claim === null) return null;
  const socket = byShortPath(claim, (path) => connect(path));
  try {
    const [said] = await Promise.race([once(socket, 'data', { signal }), once(socket, 'close')]);
    return Buffer.isBuffer(said) ? socket.unref() : null;
  } catch (error) {
    socket.destroy();
    if (GONE.has(errorCode(error))) return null;
    throw error;
  }
}
