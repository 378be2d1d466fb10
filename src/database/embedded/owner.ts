import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
import { OperationError } from '../../model/errors.js';
import { claimOwnership, sameFile } from './claim.js';
import { type IfMissing, prepareDatabaseFolder, prepareRunDirectory, unusable } from './data-folder.js';
import type { OwnerReport } from './embedded-database.js';
import { Engine } from './engine.js';

// The program of the process that owns the embedded database. Its arguments are the data folder, the time of
// grace in milliseconds, and what happens if there is no database. embedded-database.ts starts it.

/** More than the pools of ten processes have connections. */
const MAX_CONNECTIONS = 100;
/** Name of the socket, by PostgreSQL's convention for port 5432. */
const WIRE_SOCKET = '.s.PGSQL.5432';
/** How often, in milliseconds, the owner checks that its claim and its socket are still there. */
const CHECK_EVERY = 1000;

/** The database takes connections, and which process has it open. */
const READY = `ready ${process.pid}\n`;

const [dataDirectory = '', graceMilliseconds = '', wanted = ''] = process.argv.slice(2);

/** Each process that uses the database keeps a connection to the claim open. */
const users = new Set<Socket>();
let grace = Number(graceMilliseconds);
/** How long it stays open without users: at first, until the process that started this one has attached. */
let patience = Math.max(grace, 5000);
let isReady = false;
let timer: NodeJS.Timeout | undefined;
/** Set once the owner waits for the last user to detach. */
let stop = () => {};

function awaitUsers(): void {
  clearTimeout(timer);
  if (users.size === 0) timer = setTimeout(() => stop(), patience);
}

function skipGrace(): void {
  grace = 0;
  patience = 0;
  awaitUsers();
}

const claimSocket = createServer((socket) => {
  patience = grace;
  users.add(socket);
  clearTimeout(timer);
  socket.on('error', () => socket.destroy());
  socket.once('close', () => {
    users.delete(socket);
    awaitUsers();
  });
  // Only a socket that is read notices that the other side has closed.
  socket.resume();
  // Who attaches while the owner stops is told nothing, and looks for the next owner once it has ended.
  if (isReady) socket.write(READY);
});

/**
 * Claims the data folder, serves the database, and settles when its last user has detached and it is closed, or
 * at once if another process has the claim. The process must end then: until it does, its claim is valid, which
 * keeps the next owner out until the folder is free.
 *
 * @throws OperationError if the data folder cannot be used.
 */
async function own(ifMissing: IfMissing): Promise<void> {
  const runDirectory = await prepareRunDirectory(dataDirectory);
  // Its path may be too long to listen by.
  process.chdir(runDirectory);
  const candidate = `owner-${randomBytes(8).toString('hex')}`;
  const claim = await once(claimSocket.listen(candidate), 'listening')
    .then(() => claimOwnership(runDirectory, candidate))
    .catch((error) => Promise.reject(unusable(dataDirectory, error)));
  if (claim === null) return report({});
  // PGlite opens files by their path: in a folder that was replaced it would write into another's.
  // And no client can connect to a socket whose file is gone: they start another owner, which listens again.
  const isThere = [sameFile(claim)];
  const requireFiles = () => {
    if (!isThere.every((check) => check())) abandon('The data folder was moved or deleted.');
  };
  setInterval(requireFiles, CHECK_EVERY);
  const { folder, created } = await prepareDatabaseFolder(dataDirectory, ifMissing, async (empty) => {
    await (await Engine.open(empty, abandon)).close();
  });
  const engine = await Engine.open(folder, abandon);
  await rm(WIRE_SOCKET, { force: true });
  const server = new PGLiteSocketServer({ db: engine, path: WIRE_SOCKET, maxConnections: MAX_CONNECTIONS });
  await server.start();
  isThere.push(sameFile(join(runDirectory, WIRE_SOCKET)));
  isReady = true;
  for (const user of users) user.write(READY);
  await report({ created });

  await new Promise<void>((resolve) => {
    stop = resolve;
    awaitUsers();
  });
  isReady = false;
  requireFiles();
  // The server removes its socket itself.
  isThere.pop();
  await server.stop();
  await engine.close();
}

/** Exits without closing anything, so that nothing more is written to the data folder. */
function abandon(reason: unknown): never {
  process.stderr.write(`${new Date().toISOString()} ${inspect(reason)}\n`);
  process.exit(1);
}

/** Reports to the process that started this one, which may be gone by now, and disconnects from it. */
async function report(message: OwnerReport): Promise<void> {
  if (!process.connected) return;
  await new Promise((resolve) => process.send?.(message, undefined, undefined, resolve));
  if (process.connected) process.disconnect();
}

try {
  // The users of the database get the same signal if a process group is stopped, and need it to finish.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, skipGrace);
  await own(wanted === 'create' ? 'create' : 'fail');
  process.exit(0);
} catch (error) {
  // What the user can fix is shown by the process that started this one; the rest goes to the log.
  if (!(error instanceof OperationError)) abandon(error);
  await report({ failure: error.message });
  process.exit(1);
}
