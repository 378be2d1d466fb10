import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { byShortPath, latestClaim } from '../../src/database/embedded/claim.js';
import { errorCode } from '../../src/model/errors.js';
import { ended, isSignalled, killAtOnce } from './processes.js';

/** A new, empty folder for an embedded database; of a run of tests, if it is to be known as such. */
export function newDataDirectory(run = 'test'): Promise<string> {
  return mkdtemp(join(tmpdir(), `dms-${run}-`));
}

/** The process that has the embedded database open; null if none has. */
export async function ownerOf(dataDirectory: string): Promise<number | null> {
  const claim = await latestClaim(join(dataDirectory, 'run'));
  if (claim === null) return null;
  const socket = byShortPath(claim, (path) => connect(path));
  const [said] = await Promise.race([
    once(socket, 'data', { signal: AbortSignal.timeout(10_000) }),
    once(socket, 'close'),
  ]).catch((error: unknown) => {
    if (['ECONNREFUSED', 'ENOENT', 'ECONNRESET'].includes(errorCode(error))) return [];
    throw error;
  });
  socket.destroy();
  return Number(/^ready (\d+)$/m.exec(String(said))?.[1]) || null;
}

export async function killOwner(dataDirectory: string): Promise<void> {
  const owner = await ownerOf(dataDirectory).catch(() => null);
  if (owner !== null) await killAtOnce(owner);
}

/** Deletes the folder once its database, which has no user any more, has closed. */
export async function removeDataDirectory(dataDirectory: string): Promise<void> {
  const owner = await ownerOf(dataDirectory).catch(() => null);
  // Without its time of grace; as long as it has a user it stays open.
  if (owner !== null && isSignalled(owner, 'SIGTERM')) await ended(owner);
  // A user that left while it started a new owner leaves a process that still writes its first files.
  await rm(dataDirectory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
}
