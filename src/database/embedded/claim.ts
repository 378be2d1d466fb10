import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { link, readdir, unlink } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { attempt } from '../../model/attempt.js';
import { errorCode, OperationError } from '../../model/errors.js';

// Which process may open the data folder. PGlite's folder has no lock of its own, and two processes that open
// it lose each other's commits, so a process opens it only while it holds the highest claim: it is the owner.
//
// A claim is the file `owner.<N>` in the folder of sockets: a socket that the owner listens on. The kernel
// accepts connections to it even while the owner is busy, and stops when the owner is gone, however it ended.
// The claim of a dead owner is not removed but outnumbered: link() to the next number succeeds for one process
// only, and for a socket that listens already. The highest claim always stays, so that numbers only grow.

const CLAIM_OR_CANDIDATE = /^owner(?:\.\d+|-[0-9a-f]+)$/;

/** The path of the highest claim ever made in the folder of sockets; null if there is none. */
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
    const others = (await readdir(runDirectory)).filter(
      (file) => CLAIM_OR_CANDIDATE.test(file) && file !== name,
    );
    await Promise.all(others.map((file) => unlink(join(runDirectory, file)).catch(() => {})));
    return claim;
  }
}

/** Whether a process has the database open, or is about to. @throws the system's error. */
export async function hasOwner(dataDirectory: string): Promise<boolean> {
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
    const code = errorCode(error);
    if (code === 'ECONNREFUSED' || code === 'ENOENT') return false;
    // The queue of connections is full: a process listens, and is busy.
    if (code === 'EAGAIN') return true;
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
  // TMPDIR may be missing, or too long itself.
  const folder = attempt(() => temporaryFolder(tmpdir(), path)) ?? temporaryFolder('/tmp', path);
  try {
    symlinkSync(dirname(path), join(folder, 'run'));
    return use(join(folder, 'run', basename(path)));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @throws OperationError; the system's error. */
function temporaryFolder(parent: string, path: string): string {
  if (Buffer.byteLength(join(parent, 'dms-XXXXXX', 'run', basename(path))) > MAX_PATH) {
    throw new OperationError(
      `The embedded database cannot be reached: ${path} is too long for a socket: set DATA_DIR to a shorter one.`,
    );
  }
  return mkdtempSync(join(parent, 'dms-'));
}
