import { readFileSync } from 'node:fs';

/** Linux counts processor time in hundredths of a second. */
const MICROSECONDS_PER_TICK = 10_000;

/**
 * @param {number | undefined} pid
 * @returns {number} microseconds that a process has computed so far; NaN where the system does not tell
 */
export function processorTime(pid) {
  return sumOf(statusOf(pid), [USER_TIME, SYSTEM_TIME]);
}

/** @returns {number} microseconds that the processes have computed which this one has started, and which have ended */
export function timeOfEndedChildren() {
  return sumOf(statusOf(process.pid), [USER_TIME_OF_CHILDREN, SYSTEM_TIME_OF_CHILDREN]);
}

/**
 * @param {number} backend the process of a connection to PostgreSQL
 * @returns {number} microseconds that the processes of its server have computed that have ended, as those of closed connections and
 *   of autovacuum have; NaN where PostgreSQL is on another machine
 */
export function timeOfEndedBackends(backend) {
  const postmaster = Number(statusOf(backend)[PARENT]);
  return sumOf(statusOf(postmaster), [USER_TIME_OF_CHILDREN, SYSTEM_TIME_OF_CHILDREN]);
}

/** Places in /proc/PID/stat, counted from the one after the process's name. */
const PARENT = 1;
const USER_TIME = 11;
const SYSTEM_TIME = 12;
const USER_TIME_OF_CHILDREN = 13;
const SYSTEM_TIME_OF_CHILDREN = 14;

/**
 * @param {number | undefined} pid
 * @returns {string[]} none where the system does not tell
 */
function statusOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return [];
  }
}

/**
 * @param {string[]} status
 * @param {number[]} places
 */
function sumOf(status, places) {
  return places.reduce((sum, place) => sum + Number(status[place]) * MICROSECONDS_PER_TICK, 0);
}

/**
 * Microseconds of a server and, by process, of PostgreSQL for a database: pools open and close connections, so that
 * sums would run backwards. NaN where PostgreSQL is on another machine.
 *
 * @typedef {{ server: number, database: Map<number, number> }} ProcessorTimes
 */

/**
 * @param {number | undefined} pid of the server
 * @param {import('pg').Client} client connected to the database; its own process does not count
 * @returns {Promise<ProcessorTimes>} so far
 */
export async function processorTimes(pid, client) {
  const { rows } = await client.query(
    'SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  );
  return {
    server: processorTime(pid),
    database: new Map(rows.map((row) => [row.pid, processorTime(row.pid)])),
  };
}

/**
 * @param {ProcessorTimes} before
 * @param {ProcessorTimes} after
 * @returns microseconds computed between the two
 */
export function spentBetween(before, after) {
  return {
    server: after.server - before.server,
    database: [...after.database].reduce(
      (sum, [pid, time]) => sum + time - (before.database.get(pid) ?? 0),
      0,
    ),
  };
}
