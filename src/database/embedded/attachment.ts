import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { errorCode } from '../../model/errors.js';
import { latestClaim } from './claim.js';

/**
 * A process's attachment to the owner of the embedded database: a connection to the owner's socket that is open for
 * as long as the process uses the database. The owner stops when the last one has closed. It writes one line to
 * each, `ready <process id>`, once the database takes connections.
 */
export interface Attachment {
  /** The owner's process. */
  readonly processId: number;
  /** Settles when the connection is closed, by either side. */
  readonly ended: Promise<void>;
  detach(): void;
}

const READY = /^ready (\d+)\n/;

/**
 * Attaches this process to the present owner, and waits until the database takes connections.
 *
 * @param socketDirectory the folder of sockets, under a path that is short enough to connect to.
 * @returns null if there is no owner, or if it was about to stop; then it has stopped.
 * @throws the signal's reason; an error of the socket if the folder belongs to another user.
 */
export async function attach(
  runDirectory: string,
  socketDirectory: string,
  signal: AbortSignal,
): Promise<Attachment | null> {
  const claim = await latestClaim(runDirectory);
  if (claim === null) return null;
  const socket = connect(join(socketDirectory, claim));
  const processId = await readReady(socket, signal);
  if (processId === null) return null;
  socket.unref();
  const ended = new Promise<void>((resolve) => {
    if (socket.closed) resolve();
    else socket.once('close', () => resolve());
  });
  return { processId, ended, detach: () => socket.destroy() };
}

/** The owner's process id; null if the socket closes first or no process listens. */
function readReady(socket: Socket, signal: AbortSignal): Promise<number | null> {
  return new Promise((resolve, reject) => {
    let text = '';
    const abort = () => socket.destroy(signal.reason);
    const settle = (processId: number | null) => {
      signal.removeEventListener('abort', abort);
      resolve(processId);
    };
    socket.setEncoding('utf8');
    socket.on('data', (chunk) => {
      text += chunk;
      const processId = READY.exec(text)?.[1];
      if (processId !== undefined) settle(Number(processId));
    });
    socket.on('error', (error) => (GONE.has(errorCode(error)) ? settle(null) : reject(error)));
    socket.once('close', () => settle(null));
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
  });
}

/** The codes of a socket whose process is gone, or about to go. */
const GONE: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ENOENT', 'ECONNRESET', 'EPIPE']);

/** How long, in milliseconds, the process that started the owner may take to attach. */
const FIRST_ATTACHMENT = 5000;

/** The owner's side: counts the attached processes. */
export class Attachments {
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer((socket) => this.#add(socket));
  #ready = false;
  #hadAny = false;
  #skipsGrace = false;
  /** Set once the owner waits for the last process to detach. */
  #waiting: { readonly grace: number; readonly settle: () => void } | null = null;
  #timer: NodeJS.Timeout | undefined;

  /** @param path of the socket, short enough to bind. @throws if the file system does not support sockets. */
  listen(path: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(path, () => resolve());
    });
  }

  /** Notifies all attached processes, and each that attaches later, that the database takes connections. */
  setReady(): void {
    this.#ready = true;
    for (const socket of this.#sockets) socket.write(`ready ${process.pid}\n`);
  }

  /** A process that attaches from now on waits until this one has ended, and then looks for the next owner. */
  setStopping(): void {
    this.#ready = false;
  }

  /** Settles once no process has been attached for `grace` milliseconds, or at once after skipGrace(). */
  allDetached(grace: number): Promise<void> {
    return new Promise((settle) => {
      this.#waiting = { grace, settle };
      this.#restartTimer();
    });
  }

  skipGrace(): void {
    this.#skipsGrace = true;
    this.#restartTimer();
  }

  #add(socket: Socket): void {
    this.#hadAny = true;
    this.#sockets.add(socket);
    this.#restartTimer();
    socket.on('error', () => socket.destroy());
    socket.once('close', () => {
      this.#sockets.delete(socket);
      this.#restartTimer();
    });
    // Only a socket that is read notices that the other side has closed.
    socket.resume();
    if (this.#ready) socket.write(`ready ${process.pid}\n`);
  }

  #restartTimer(): void {
    clearTimeout(this.#timer);
    if (this.#waiting === null || this.#sockets.size > 0) return;
    const { grace, settle } = this.#waiting;
    const usual = this.#hadAny ? grace : Math.max(grace, FIRST_ATTACHMENT);
    this.#timer = setTimeout(settle, this.#skipsGrace ? 0 : usual);
  }
}
