import { type ClosablePool, createPool } from './pool.js';
import { isBehindPooler, serverConfig } from './server-pool.js';

/** In milliseconds: a server that does not respond within that time counts as away. */
const RESPONSE_LIMIT = 2000;

/** What a server tells of itself. */
export interface ServerAnswer {
  /** When it was asked, in milliseconds of the monotonic clock. */
  readonly askedAt: number;
  /** The same for a database of a primary and of all of its replicas, and for no other server or database. */
  readonly system: string;
  readonly startedAt: string;
  readonly isReplica: boolean;
  /** How far it has written its log of changes (WAL), or replayed that of its primary. */
  readonly position: bigint;
  /** Whether a pooler is between. */
  readonly isPooled: boolean;
}

/** The one connection by which a server is checked. */
export function createCheckPool(databaseUrl: string): ClosablePool {
  const limits = { connectionTimeoutMillis: RESPONSE_LIMIT, query_timeout: RESPONSE_LIMIT, max: 1 };
  return createPool({ ...serverConfig(databaseUrl), ...limits });
}

/** Asks a server what it is, and how far it is. @throws the driver's error where it does not respond. */
export async function askServer({ pool }: ClosablePool): Promise<ServerAnswer> {
  const askedAt = performance.now();
  const client = await pool.connect();
  try {
    const { rows } = await client.query<Omit<ServerAnswer, 'askedAt' | 'isPooled'> & { process: number }>(
      `SELECT (SELECT system_identifier FROM pg_control_system()) || ' ' ||
              (SELECT oid FROM pg_database WHERE datname = current_database()) AS system,
              extract(epoch FROM pg_postmaster_start_time())::text AS "startedAt",
              pg_is_in_recovery() AS "isReplica", pg_backend_pid() AS process,
              coalesce(pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
                                            ELSE pg_current_wal_lsn() END, '0/0'), 0)::bigint AS position`,
    );
    const [row] = rows;
    if (row === undefined) throw new Error('The server tells nothing of itself.');
    client.release();
    return { ...row, askedAt, isPooled: isBehindPooler(client, row.process) };
  } catch (error) {
    client.release(true);
    throw error;
  }
}
