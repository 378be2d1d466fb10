import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { link, readdir, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { errorCode } from '../../model/errors.js';
import { findDatabases } from './data-folder.js';

// Which process may open the data folder. PGlite's folder has no lock of its own, and two processes that open
// it lose each other's commits, so a process opens it only while it holds the highest claim: it is the owner.
//
// A claim is the file `owner.<N>` in the folder of sockets: a socket that the owner listens on. The kernel
// accepts connections to it even while the owner is busy, and stops when the owner is gone, however it ended.
// The claim of a dead owner is not removed but outnumbered: link() to the next number succeeds for one process
// only, and for a socket that listens already. The highest claim always stays, so that numbers only grow.

const CLAIM_OR_CANDIDATE = /^owner(?:\.\d+|-[0-9a-f]+)$/;

/** The path of the highest claim ever made; null if there is none. */
export async function latestClaim(runDirectory: string): Promise<string | null> {
  const latest = Math.max(0, ...(await readdir(runDirectory)).map(toNumber));
  return latest === 0 ? null : join(runDirectory, `owner.${latest}`);
}

function toNumber(path: string): number {
  return Number(/^owner\.(\d+)$/.exec(basename(path))?.[1] ?? 0);
}

/**
 * Claims the data folder for this process, which listens on the socket `candidate` in the folder of sockets: at
 * no moment does its claim look like that of a dead process.
 *
 * @returns the path of the claim; null if another process was faster.
 */
export async function claimOwnership(runDirectory: string, candidate: string): Promise<string | null> {
  for (;;) {
    const latest = await latestClaim(runDirectory);
    if (latest !== null && (await isListening(latest))) return null;
    const name = `owner.${toNumber(latest ?? '') + 1}`;
    const claim = join(runDirectory, name);
    try {
      await link(join(runDirectory, candidate), claim);
    } catch (error) {
      if (errorCode(error) === 'EEXIST') continue;
      // The candidate is gone: there is an owner, or the folder of sockets is being deleted.
      if (errorCode(error) === 'ENOENT') return null;
      throw error;
    }
    // The number was free again if whole generations came and went since we looked.
    if ((await latestClaim(runDirectory)) !== claim) return null;
    // Of dead processes, and of those that were slower.
    const claims = (await readdir(runDirectory)).filter((file) => CLAIM_OR_CANDIDATE.test(file));
    const others = claims.filter((file) => file !== name).map((file) => join(runDirectory, file));
    await Promise.all(others.map((path) => rm(path, { force: true })));
    return claim;
  }
}

/** Whether there is a database, or a process that makes it, or has one open that was moved away. */
export async function isInUse(dataDirectory: string): Promise<boolean> {
  if ((await findDatabases(dataDirectory)).length > 0) return true;
  const runDirectory = join(dataDirectory, 'run');
  const claim = existsSync(runDirectory) ? await latestClaim(runDirectory) : null;
  return claim !== null && (await isListening(claim));
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
export async function isListening(path: string): Promise<boolean> {
  const socket = byShortPath(path, (short) => connect(short));
  try {
    await once(socket, 'connect');
    return true;
  } catch (error) {
    if (['ECONNREFUSED', 'ENOENT'].includes(errorCode(error))) return false;
    // The queue of connections is full: a process listens, and is busy.
    if (errorCode(error) === 'EAGAIN') return true;
    throw error;
  } finally {
    socket.destroy();
  }
}

/** The longest path of a Unix socket, in bytes, that every system takes (sun_path: 104 with its NUL). */
const MAX_PATH = 103;

/**
 * Gives `use` the path of a Unix socket or, if that is too long for one, a path by a symbolic link in a
 * temporary folder that only its owner may enter. It leads there until `use` returns: the system has followed
 * the path of a socket by then.
 */
export function byShortPath<Result>(path: string, use: (short: string) => Result): Result {
  if (Buffer.byteLength(path) <= MAX_PATH) return use(path);
  // Not in TMPDIR, whose path may be too long itself.
  const folder = mkdtempSync('/tmp/dms-');
  try {
    symlinkSync(dirname(path), join(folder, 'run'));
    return use(join(folder, 'run', basename(path)));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
