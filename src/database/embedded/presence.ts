import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { claimName, highestClaim } from './claim.js';
import { codeOf } from './data-folder.js';

/**
 * A process's stay with the embedded database: one connection to the owner's socket, open for as long
 * as the process uses the database. The owner stops when the last one has closed.
 */
export interface Presence {
  /** The process that has the database open. */
  readonly processId: number;
  /** Settles when the connection is closed, by either side. */
  readonly ended: Promise<void>;
  leave(): void;
}

/**
 * Enters at the owner that lives now, and waits until its database takes connections.
 *
 * @param runDirectory the folder of sockets; `socketDirectory` the same under a short path.
 * @param signal ends the wait.
 * @returns null if there is no owner, or if it was about to stop; then it has stopped.
 * @throws the signal's reason; an error of the socket where the folder belongs to another user.
 */
export async function enter(
  runDirectory: string,
  socketDirectory: string,
  signal: AbortSignal,
): Promise<Presence | null> {
  const latest = await highestClaim(runDirectory);
  if (latest === 0) return null;
  const socket = connect(join(socketDirectory, claimName(latest)));
  const processId = await readReady(socket, signal);
  if (processId === null) return null;
  socket.unref();
  const ended = new Promise<void>((resolve) => {
    if (socket.closed) resolve();
    else socket.once('close', () => resolve());
  });
  return { processId, ended, leave: () => socket.destroy() };
}

/** The line that an owner writes to each user, once its database takes connections. */
export function readyLine(processId: number): string {
  return `ready ${processId}\n`;
}

const READY = /^ready (\d+)\n/;

/** The process identifier that the owner gives; null if the socket closes first or nobody answers. */
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
    socket.on('error', (error) => (isAbsence(error) ? settle(null) : reject(error)));
    socket.once('close', () => settle(null));
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
  });
}

/** What connecting to the socket of a process that is gone, or goes, brings. */
function isAbsence(error: Error): boolean {
  return ['ECONNREFUSED', 'ENOENT', 'ECONNRESET', 'EPIPE'].includes(String(codeOf(error)));
}
