import { mkdirSync, readFileSync, rmSync, statSync, utimes, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const HEARTBEAT_MS = 2_000;
const LONGEST_SILENCE_MS = 30_000;
const POLL_MS = 100;

/**
 * Runs some work while no other process of this checkout runs its own. The lock is a file that names its owner. If
 * the owner has ended, or has not touched the file for half a minute (it may be on another host), the next one
 * takes over.
 *
 * @template T
 * @param {string} file the lock; its folder is made if it is missing
 * @param {() => void} onWait called once if another process holds the lock
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withLock(file, onWait, work) {
  mkdirSync(dirname(file), { recursive: true });
  for (let waited = false; !tryToTake(file); waited = true) {
    if (!waited) onWait();
    if (isAbandoned(file)) rmSync(file, { force: true });
    else await delay(POLL_MS);
  }
  // If the file is gone (someone has removed dist/), there is nothing to hold any more.
  const heartbeat = setInterval(() => utimes(file, new Date(), new Date(), () => {}), HEARTBEAT_MS);
  try {
    return await work();
  } finally {
    clearInterval(heartbeat);
    rmSync(file, { force: true });
  }
}

/** @param {string} file */
function tryToTake(file) {
  try {
    writeFileSync(file, `${hostname()} ${process.pid}`, { flag: 'wx' });
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/** @param {string} file */
function isAbandoned(file) {
  try {
    if (Date.now() - statSync(file).mtimeMs > LONGEST_SILENCE_MS) return true;
    // Empty between the file's making and its writing.
    const [host, pid] = readFileSync(file, 'utf8').split(' ');
    return host === hostname() && !isRunning(Number(pid));
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false;
    throw error;
  }
}

/** @param {number} pid */
function isRunning(pid) {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) !== 'ESRCH';
  }
}

/** @param {unknown} error */
function codeOf(error) {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
