import pg from 'pg';
import { attempt } from '../model/attempt.js';
import { messageOf, OperationError } from '../model/errors.js';
import {
  type Connections,
  closePools,
  createReadingPools,
  createWritingPool,
  type PoolOptions,
  type ReadingPools,
} from './pool.js';

/** In milliseconds, for the server to respond; and idle before the system probes whether it is still there. */
const CONNECTION_TIMEOUT = 10_000;
const KEEP_ALIVE_DELAY = 10_000;
const OLDEST_VERSION = 150_000;

/** @throws OperationError, without a password, for an address where no usable database can be connected to. */
export async function openServer(databaseUrl: string, poolOptions: PoolOptions): Promise<Connections> {
  const place = serverPlace(databaseUrl, 'DATABASE_URL');
  const pool = createWritingPool(serverConfig(databaseUrl), poolOptions.size);
  try {
    const reading = createServerReadingPools(databaseUrl, await requireUsable(pool), poolOptions);
    const close = () => closePools(pool, reading);
    return { ...reading, pool, poolOptions, place, createdNow: false, failure: () => null, close };
  } catch (error) {
    await pool.close(0);
    if (error instanceof OperationError) throw error;
    // What pg says of the time limit of a query.
    const reason = reasonOf(error).replace(/^Query read timeout$/, 'it does not respond');
    throw new OperationError(`DATABASE_URL: cannot connect to ${place}: ${reason}.`);
  }
}

/**
 * @param isPooled A pooler would reject parameters, and keep settings for its other clients.
 * @param instead See createReadingPools().
 */
export function createServerReadingPools(
  databaseUrl: string,
  isPooled: boolean,
  options: PoolOptions,
  instead?: ReadingPools,
) {
  // Without a timeout of its own, a statement that waits for a lock would keep waiting at the server after that
  // of here. To compile statements takes longer than to execute them: they read few rows, also where the
  // planner expects many. And one question is not to take all processors.
  const session: pg.PoolConfig = {
    statement_timeout: options.query,
    onConnect: (client) => client.query('SET jit = off; SET max_parallel_workers_per_gather = 0'),
  };
  const config = { ...serverConfig(databaseUrl), ...(isPooled ? {} : session) };
  const namesStatements = options.prepared === 'auto' ? !isPooled : options.prepared === 'on';
  return { ...createReadingPools(config, options, instead), namesStatements };
}

export function serverConfig(databaseUrl: string): pg.PoolConfig {
  return {
    connectionString: databaseUrl,
    fallback_application_name: 'dms',
    connectionTimeoutMillis: CONNECTION_TIMEOUT,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY,
  };
}

/** Whether a pooler is between: the server's process is not the one that the connection was told of. */
export function isBehindPooler(client: pg.ClientBase, serverProcess: number): boolean {
  // pg's types do not have it.
  return serverProcess !== Reflect.get(client, 'processID');
}

// pg's types do not have the limit.
const SERVER_QUERY: pg.QueryConfig & { readonly query_timeout: number } = {
  text: `SELECT current_setting('server_version_num')::integer AS version,
                current_setting('server_version') AS release,
                current_setting('server_encoding') AS encoding,
                pg_backend_pid() AS process`,
  query_timeout: CONNECTION_TIMEOUT,
};

/** @returns whether a pooler is between. @throws OperationError */
async function requireUsable(pool: pg.Pool): Promise<boolean> {
  const client = await pool.connect();
  try {
    const { rows } = await client.query(SERVER_QUERY);
    const { version, release, encoding, process } = rows[0] ?? {};
    if (version < OLDEST_VERSION) {
      throw new OperationError(
        `The server at DATABASE_URL is PostgreSQL ${release}. Use PostgreSQL 15 or later.`,
      );
    }
    if (encoding !== 'UTF8') {
      throw new OperationError(
        `The database at DATABASE_URL is encoded in ${encoding}. Create one with: CREATE DATABASE dms ENCODING 'UTF8' TEMPLATE template0.`,
      );
    }
    return isBehindPooler(client, process);
  } finally {
    client.release();
  }
}

export function reasonOf(error: unknown): string {
  return messageOf(error).replace(/\s+/g, ' ');
}

/** In a phrase without user and password. @throws OperationError for an address that pg cannot read. */
export function serverPlace(databaseUrl: string, setting: string): string {
  // pg takes what has no scheme for the name of a database, drops what follows a bare #, and quotes the address
  // with its password in its error.
  const isAddress = /^postgres(ql)?:\/\/[^#]*$/.test(databaseUrl);
  const client = isAddress && attempt(() => new pg.Client({ connectionString: databaseUrl }));
  if (!client) {
    throw new OperationError(
      `${setting} is not the address of a PostgreSQL database. Write it like postgresql://user:password@host:5432/database, with special characters in the password percent-encoded.`,
    );
  }
  const { database, host, port } = client;
  return `PostgreSQL ${database} at ${host.includes(':') ? `[${host}]` : host}:${port}`;
}
