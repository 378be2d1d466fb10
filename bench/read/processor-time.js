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
 * What the processes of a PostgreSQL server on this machine have computed for a database so far. They
 * are looked for each time, since pools open connections when they need them.
 *
 * @param {import('pg').Client} client connected to that database; its own process does not count
 * @returns {Promise<number>} microseconds; NaN where the server is on another machine
 */
export async function databaseTime(client) {
  const { rows } = await client.query(
    'SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  );
  return rows.reduce((sum, { pid }) => sum + processorTime(pid), 0);
}
