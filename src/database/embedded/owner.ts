import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
import { OperationError } from '../../model/errors.js';
import type { OwnerReport } from './attach-or-start.js';
import { Attachments } from './attachment.js';
import { claimOwnership, sameFile } from './claim.js';
import {
  IF_MISSING,
  type IfMissing,
  prepareDatabaseFolder,
  prepareRunDirectory,
  unusable,
} from './data-folder.js';
import { Engine } from './engine.js';
import { shortSocketDirectory } from './socket-directory.js';

// The program of the process that owns the embedded database. Its arguments are the data folder, the time of grace
// in milliseconds, and what happens if there is no database. attach-or-start.ts starts it.

/** More than the pools of ten processes have connections. */
const MOST_CONNECTIONS = 100;
/** Name of the socket, by PostgreSQL's convention for port 5432. */
const WIRE_SOCKET = '.s.PGSQL.5432';
/** How often, in milliseconds, the owner checks that its claim and its socket are still there. */
const CHECK_EVERY = 1000;

const attachments = new Attachments();

/**
 * Claims the data folder, serves the database, and settles when its last user has detached and it is closed, or at
 * once if another process has the claim. The process must end then: until it does, its claim is valid, which keeps the
 * next owner out until the folder is free.
 *
 * @throws OperationError if the data folder cannot be used.
 */
async function own(dataDirectory: string, graceMilliseconds: number, ifMissing: IfMissing): Promise<void> {
  const runDirectory = await prepareRunDirectory(dataDirectory);
  const sockets = await shortSocketDirectory(runDirectory);
  const isHeld = await listenAndClaim(runDirectory, sockets.path).catch((error) => {
    throw unusable(dataDirectory, error);
  });
  if (isHeld === null) {
    await report({});
  } else {
    // PGlite opens files by their path: in a folder that was replaced it would write into another's.
    const requireClaim = () => {
      if (!isHeld()) abandon('The data folder was moved or deleted.');
    };
    setInterval(requireClaim, CHECK_EVERY);
    const { folder, created } = await prepareDatabaseFolder(dataDirectory, ifMissing, async (empty) => {
      await (await Engine.open(empty, abandon)).close();
    });
    const engine = await Engine.open(folder, abandon);
    const server = await serve(engine, join(sockets.path, WIRE_SOCKET));
    const socketCheck = requireSocket(join(runDirectory, WIRE_SOCKET));
    attachments.setReady();
    await report({ created });

    await attachments.allDetached(graceMilliseconds);
    attachments.setStopping();
    requireClaim();
    clearInterval(socketCheck);
    await server.stop();
    await engine.close();
  }
  sockets.remove();
}

async function listenAndClaim(
  runDirectory: string,
  socketDirectory: string,
): Promise<(() => boolean) | null> {
  const candidate = `owner-${randomBytes(8).toString('hex')}`;
  // Listening before claiming: at no moment does the claim look like that of a dead process.
  await attachments.listen(join(socketDirectory, candidate));
  return claimOwnership(runDirectory, socketDirectory, candidate);
}

async function serve(engine: Engine, path: string): Promise<PGLiteSocketServer> {
  await rm(path, { force: true });
  const server = new PGLiteSocketServer({ db: engine, path, maxConnections: MOST_CONNECTIONS });
  await server.start();
  return server;
}

/** No client can connect to a socket whose file is gone: they start another owner, which listens again. */
function requireSocket(path: string): NodeJS.Timeout {
  const isThere = sameFile(path);
  return setInterval(() => {
    if (!isThere()) abandon(`${path} was moved or deleted.`);
  }, CHECK_EVERY);
}

/** Exits without closing anything, so that nothing more is written to the data folder. */
function abandon(reason: unknown): never {
  process.stderr.write(`${new Date().toISOString()} ${inspect(reason)}\n`);
  process.exit(1);
}

/** Reports to the process that started this one, which may be gone by now, and disconnects from it. */
function report(message: OwnerReport): Promise<void> {
  return new Promise((resolve) => {
    const settle = () => {
      if (process.connected) process.disconnect();
      resolve();
    };
    if (process.connected && process.send) process.send(message, undefined, undefined, settle);
    else settle();
  });
}

try {
  // The users of the database get the same signal if a process group is stopped, and need it to finish.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(signal, () => attachments.skipGrace());
  }
  const [dataDirectory = '', grace = '', wanted = ''] = process.argv.slice(2);
  await own(dataDirectory, Number(grace), IF_MISSING.find((value) => value === wanted) ?? 'fail');
  process.exit(0);
} catch (error) {
  // What the user can fix is shown by the process that started this one; the rest goes to the log.
  if (!(error instanceof OperationError)) abandon(error);
  await report({ failure: error.message });
  process.exit(1);
}
