import { mkdirSync, readFileSync, renameSync, rmSync, statSync, utimes, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const HEARTBEAT_MS = 2_000;
const SILENT_FOR_TOO_LONG_MS = 30_000;
const POLL_MS = 100;

/**
 * Runs some work while no other process of this checkout runs its own. The lock is a folder, since
 * making one either succeeds or fails, in one step, on every file system. A lock whose owner is gone
 * (its process ended, or it has not touched the lock for half a minute) is taken over.
 *
 * @template T
 * @param {string} folder the lock; its parent is made where it is missing
 * @param {() => void} onWait called once if another process holds the lock
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withLock(folder, onWait, work) {
  mkdirSync(dirname(folder), { recursive: true });
  let waited = false;
  while (!tryToTake(folder)) {
    if (!waited) onWait();
    waited = true;
    if (isAbandoned(folder)) removeAbandoned(folder);
    else await delay(POLL_MS);
  }
  const heartbeat = setInterval(() => touch(folder), HEARTBEAT_MS);
  try {
    return await work();
  } finally {
    clearInterval(heartbeat);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @param {string} folder */
function tryToTake(folder) {
  try {
    mkdirSync(folder);
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
  writeFileSync(join(folder, 'owner'), `${hostname()} ${process.pid}`);
  return true;
}

/** @param {string} folder */
function touch(folder) {
  const now = new Date();
  // Without the folder (someone has removed dist/) there is nothing to hold any more.
  utimes(folder, now, now, () => {});
}

/** @param {string} folder */
function isAbandoned(folder) {
  try {
    if (Date.now() - statSync(folder).mtimeMs > SILENT_FOR_TOO_LONG_MS) return true;
    const [host, pid] = readFileSync(join(folder, 'owner'), 'utf8').split(' ');
    return host === hostname() && !isRunning(Number(pid));
  } catch (error) {
    // Between the folder's making and the owner's writing, or after its removal: ask again.
    if (codeOf(error) === 'ENOENT') return false;
    throw error;
  }
}

/** @param {number} pid */
function isRunning(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) !== 'ESRCH';
  }
}

/**
 * Moved aside before it is removed, so that of two processes that find it abandoned only one does it.
 *
 * @param {string} folder
 */
function removeAbandoned(folder) {
  const aside = `${folder}.${process.pid}`;
  try {
    renameSync(folder, aside);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return;
    throw error;
  }
  rmSync(aside, { recursive: true, force: true });
}

/** @param {unknown} error */
function codeOf(error) {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
