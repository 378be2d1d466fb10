import { statSync } from 'node:fs';
import { link, readdir, unlink } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { errorCode } from '../../model/errors.js';
import { shortSocketDirectory } from './socket-directory.js';

// Which process may open the data folder. PGlite's folder has no lock of its own, and two processes that open it
// lose each other's commits, so a process opens it only while it holds the highest claim: it is the owner.
//
// A claim is the file `owner.<N>` in the folder of sockets: a socket that the owner listens on. The kernel accepts
// connections to it even while the owner is busy, and stops when the owner is gone, however it ended. The claim of
// a dead owner is not removed but outnumbered: link() to the next number succeeds for one process only, and for a
// socket that listens already. The highest claim always stays, so that numbers only grow.

const CLAIM = /^owner\.(\d+)$/;
const CANDIDATE = /^owner-[0-9a-f]+$/;

/** The highest claim ever made in the folder of sockets, as a file name; null if there is none. */
export async function latestClaim(runDirectory: string): Promise<string | null> {
  const latest = await highestGeneration(runDirectory);
  return latest === 0 ? null : `owner.${latest}`;
}

/** Whether a process owns a data folder, which exists. It may still be making its database. */
export async function hasOwner(dataDirectory: string): Promise<boolean> {
  const runDirectory = join(dataDirectory, 'run');
  if (!(await readdir(dataDirectory)).includes('run')) return false;
  const claim = await latestClaim(runDirectory);
  if (claim === null) return false;
  const sockets = await shortSocketDirectory(runDirectory);
  return isListening(join(sockets.path, claim)).finally(sockets.remove);
}

/**
 * Claims the data folder for the process that listens on the socket `candidate`.
 *
 * @param runDirectory the folder of sockets; `socketDirectory` is the same under a path short enough to connect to.
 * @returns whether it is still held: the folder may be moved or deleted. Null if another process was faster.
 */
export async function claimOwnership(
  runDirectory: string,
  socketDirectory: string,
  candidate: string,
): Promise<(() => boolean) | null> {
  for (;;) {
    const latest = await highestGeneration(runDirectory);
    if (latest > 0 && (await isListening(join(socketDirectory, `owner.${latest}`)))) return null;
    const generation = latest + 1;
    const path = join(runDirectory, `owner.${generation}`);
    try {
      await link(join(runDirectory, candidate), path);
    } catch (error) {
      if (errorCode(error) === 'EEXIST') continue;
      // The candidate is gone: the folder of sockets is being deleted.
      if (errorCode(error) === 'ENOENT') return null;
      throw error;
    }
    // The number was free again if whole generations came and went since we looked.
    if ((await highestGeneration(runDirectory)) !== generation) return null;
    await unlink(join(runDirectory, candidate)).catch(() => {});
    await cleanUp(runDirectory, socketDirectory, generation);
    return sameFile(path);
  }
}

/** Removes what dead processes have left: lower claims, and candidates that no process listens on. */
async function cleanUp(runDirectory: string, socketDirectory: string, generation: number): Promise<void> {
  for (const name of await readdir(runDirectory)) {
    const claimed = CLAIM.exec(name)?.[1];
    const stale =
      claimed === undefined
        ? CANDIDATE.test(name) && !(await isListening(join(socketDirectory, name)))
        : Number(claimed) < generation;
    if (stale) await unlink(join(runDirectory, name)).catch(() => {});
  }
}

async function highestGeneration(runDirectory: string): Promise<number> {
  const names = await readdir(runDirectory);
  return names.reduce((highest, name) => Math.max(highest, Number(CLAIM.exec(name)?.[1] ?? 0)), 0);
}

/** @returns a function that checks whether the file at `path` is still the same. */
export function sameFile(path: string): () => boolean {
  const { ino, dev } = statSync(path, { bigint: true });
  return () => {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false });
    return found?.ino === ino && found.dev === dev;
  };
}

/** Whether a process listens on a Unix socket. @throws the socket's error if this user may not connect. */
export function isListening(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', (error) => {
      const code = errorCode(error);
      if (code === 'ECONNREFUSED' || code === 'ENOENT') resolve(false);
      // The queue of connections is full: a process listens, and is busy.
      else if (code === 'EAGAIN') resolve(true);
      else reject(error);
    });
  });
}
