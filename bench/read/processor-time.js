import { readFileSync } from 'node:fs';

/** Linux counts processor time in hundredths of a second. */
const MICROSECONDS_PER_TICK = 10_000;

/**
 * @param {number | undefined} pid
 * @returns {number} microseconds that a process has computed so far; NaN where the system does not tell
 */
export function processorTime(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) * MICROSECONDS_PER_TICK;
  } catch {
    return Number.NaN;
  }
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
