import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from './free-port.js';
import { giveToServerUser, HAS_POSTGRESQL, isConnectable, SERVER_USER } from './postgresql-cluster.js';
import { endChild, isInstalled, PATH } from './processes.js';

export const HAS_PGBOUNCER = HAS_POSTGRESQL && isInstalled('pgbouncer');

/** What docs/operating.md lets it run on each of its connections to the server. */
export const CONNECT_QUERY =
  'SET jit = off; SET max_parallel_workers_per_gather = 0; SET client_connection_check_interval = 1000';

export type Pgbouncer = Awaited<ReturnType<typeof startPgbouncer>>;

/** Starts it on a free port, before all databases of a server. @param server Its user needs no password. */
export async function startPgbouncer(server: string, connectQuery?: string) {
  const folder = await mkdtemp(join(tmpdir(), 'dms-pgbouncer-'));
  const url = new URL(server);
  const port = await freePort();
  await writeFile(join(folder, 'users'), `"${url.username}" ""\n`);
  await writeFile(join(folder, 'pgbouncer.ini'), settingsFor(url, folder, port, connectQuery));
  giveToServerUser(folder);
  const options = { ...SERVER_USER, cwd: folder, env: { PATH }, stdio: 'ignore' } as const;
  const child = spawn('pgbouncer', [join(folder, 'pgbouncer.ini')], options);
  url.port = String(port);
  while (!(await isConnectable(url.href))) {
    if (child.exitCode !== null) throw new Error('pgbouncer has ended.');
    await pause(20);
  }
  return {
    url: url.href,
    async close() {
      await endChild(child, 'SIGKILL');
      await rm(folder, { recursive: true });
    },
  };
}

function settingsFor({ hostname, port: serverPort }: URL, folder: string, port: number, connectQuery = '') {
  const onConnect = connectQuery === '' ? '' : ` connect_query='${connectQuery}'`;
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
