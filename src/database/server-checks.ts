import type pg from 'pg';
import type { Instant } from '../model/instant.js';
import { isMissingTable } from './database-failure.js';
import { createPool } from './pool.js';
import type { ClosablePool } from './query-limits.js';
import { isBehindPooler, serverConfig } from './server-pool.js';

/** A slower server counts as away. pg's types do not have it for a statement. */
const LIMIT = { query_timeout: 2000 };

export interface ServerAnswer {
  /** When it was asked, in milliseconds of the monotonic clock. */
  readonly askedAt: number;
  /** That of a database of a primary and of all of its replicas, and of no other server or database. */
  readonly system: string;
  readonly startedAt: string;
  readonly isReplica: boolean;
  /** Of a replica, that of its last restart point, which it may have left since. */
  readonly timeline: number;
  /** What the primary wrote last into `primary_server`; null: nothing yet. */
  readonly primaryServer: string | null;
  readonly clusterName: string;
  readonly synchronousNames: string;
  /** How far it has written its log of changes (WAL), or replayed that of its primary. */
  readonly position: bigint;
  readonly isPooled: boolean;
}

export function createCheckPool(databaseUrl: string): ClosablePool {
  const config = serverConfig(databaseUrl);
  return createPool({ ...config, ...LIMIT, connectionTimeoutMillis: LIMIT.query_timeout, max: 1 });
}

const SERVER = `
  SELECT (SELECT system_identifier FROM pg_control_system()) || ' ' ||
         (SELECT oid FROM pg_database WHERE datname = current_database()) AS system,
         extract(epoch FROM pg_postmaster_start_time())::text AS "startedAt",
         pg_is_in_recovery() AS "isReplica", pg_backend_pid() AS process,
         CASE WHEN pg_is_in_recovery() THEN (SELECT timeline_id FROM pg_control_checkpoint())
              ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int END AS timeline,
         current_setting('cluster_name') AS "clusterName",
         current_setting('synchronous_standby_names') AS "synchronousNames",
         coalesce(pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
                                       ELSE pg_current_wal_lsn() END, '0/0'), 0)::bigint AS position`;

export async function askServer(pool: pg.Pool): Promise<ServerAnswer> {
  const askedAt = performance.now();
  const client = await pool.connect();
  try {
    const { rows } = await client.query<ServerAnswer & { readonly process: number }>(SERVER);
    const [row] = rows;
    if (row === undefined) throw new Error('The server tells nothing of itself.');
    const primaryServer = await readPrimaryServer(client, row);
    client.release();
    return { ...row, primaryServer, askedAt, isPooled: isBehindPooler(client, row.process) };
  } catch (error) {
    client.release(true);
    throw error;
  }
}

/** What no other start of a server as a primary has. */
export function toPrimaryServer({ system, startedAt, timeline }: ServerAnswer): string {
  return `${system} ${startedAt} ${timeline}`;
}

/** The row of `primary_server`, which a primary writes first where it is not of this start of it. */
async function readPrimaryServer(client: pg.ClientBase, server: ServerAnswer): Promise<string | null> {
  try {
    const { rows } = await client.query<{ server: string }>('SELECT server FROM primary_server');
    const found = rows[0]?.server ?? null;
    const own = toPrimaryServer(server);
    if (server.isReplica || found === own) return found;
    const text = `INSERT INTO primary_server (server) VALUES ($1)
                  ON CONFLICT (id) DO UPDATE SET server = excluded.server`;
    await client.query(text, [own]);
    return own;
  } catch (error) {
    if (isMissingTable(error)) return null;
    throw error;
  }
}

/** @throws the driver's error where nothing can be recorded: it is read-only, or the user has not the right. */
export async function requireWritable(pool: pg.Pool): Promise<void> {
  // PostgreSQL checks both before it looks for rows.
  await pool.query({ text: 'UPDATE domain SET version = version WHERE false', ...LIMIT });
}

/** In microseconds, to half of the time that asking takes. */
export async function readClockLead(pool: pg.Pool, now: () => Instant): Promise<bigint> {
  const text = 'SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS time';
  const before = now();
  const { rows } = await pool.query<{ time: bigint }>({ text, ...LIMIT });
  const own = (before + now()) / 2n;
  return (rows[0]?.time ?? own) - own;
}
