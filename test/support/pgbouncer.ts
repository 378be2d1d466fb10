import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { isInstalled, PATH } from './debian-servers.js';
import { freePort } from './free-port.js';
import { HAS_POSTGRESQL, serverUser } from './postgresql-cluster.js';

export const HAS_PGBOUNCER = HAS_POSTGRESQL && isInstalled('pgbouncer');

/** What docs/operating.md lets it run on each of its connections to the server. */
export const CONNECT_QUERY =
  'SET jit = off; SET max_parallel_workers_per_gather = 0; SET client_connection_check_interval = 1000';

export interface Pgbouncer {
  /** Of the database, through it. */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Starts it on a free port, before all databases of a server.
 *
 * @param server The address of a database, whose user needs no password.
 * @param connectQuery Absent: nothing is run on its connections.
 */
export async function startPgbouncer(server: string, connectQuery?: string): Promise<Pgbouncer> {
  const folder = await mkdtemp(join(tmpdir(), 'dms-pgbouncer-'));
  const url = new URL(server);
  const port = await freePort();
  await writeFile(join(folder, 'users'), `"${url.username}" ""\n`);
  await writeFile(join(folder, 'pgbouncer.ini'), settingsFor(url, folder, port, connectQuery));
  const user = serverUser();
  if (user.uid !== undefined) chownSync(folder, user.uid, user.gid ?? user.uid);
  const child = spawn('pgbouncer', [join(folder, 'pgbouncer.ini')], {
    ...user,
    cwd: folder,
    env: { PATH },
    stdio: 'ignore',
  });
  const exit = once(child, 'exit');
  url.port = String(port);
  await untilItResponds(child, url.href);
  return {
    url: url.href,
    async close() {
      child.kill('SIGKILL');
      await exit;
      await rm(folder, { recursive: true });
    },
  };
}

function settingsFor(
  { hostname, port: serverPort }: URL,
  folder: string,
  port: number,
  connectQuery?: string,
): string {
  const onConnect = connectQuery === undefined ? '' : ` connect_query='${connectQuery}'`;
  return `[databases]
* = host=${hostname} port=${serverPort || 5432}${onConnect}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${folder}/users
pool_mode = transaction
max_client_conn = 500
default_pool_size = 12
; Each test file has a database of its own, and the server a limit for all of them.
server_idle_timeout = 1
server_login_retry = 1
`;
}

async function untilItResponds(child: ChildProcess, url: string): Promise<void> {
  for (;;) {
    if (child.exitCode !== null) throw new Error('pgbouncer has ended.');
    const client = new pg.Client({ connectionString: url });
    client.on('error', () => {});
    const isUp = await client.connect().then(
      () => true,
      () => false,
    );
    if (isUp) return client.end();
    await pause(20);
  }
}
