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
 * What a server and the PostgreSQL processes of a database have computed so far, by process: pools open
 * and close connections, so that sums would run backwards.
 *
 * @param {number | undefined} pid of the server
 * @param {import('pg').Client} client connected to the database; its own process does not count
 * @returns {Promise<Map<number, number>>} microseconds; NaN where PostgreSQL is on another machine
 */
export async function processorTimes(pid, client) {
  const { rows } = await client.query(
    'SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  );
  const pids = [pid ?? 0, ...rows.map((row) => row.pid)];
  return new Map(pids.map((each) => [each, processorTime(each)]));
}

/**
 * @param {Map<number, number>} before
 * @param {Map<number, number>} after
 * @returns {number} microseconds computed between the two
 */
export function spentBetween(before, after) {
  return [...after].reduce((sum, [pid, time]) => sum + time - (before.get(pid) ?? 0), 0);
}
