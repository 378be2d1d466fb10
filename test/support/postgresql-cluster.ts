import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, readdirSync } from 'node:fs';
import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { freePort } from './free-port.js';

/** Where Debian and its kin keep each version's programs. */
const VERSIONS = '/usr/lib/postgresql';

const PROGRAMS = existsSync(VERSIONS)
  ? readdirSync(VERSIONS)
      .sort((one, other) => Number(other) - Number(one))
      .map((version) => join(VERSIONS, version, 'bin'))
      .find((folder) => existsSync(join(folder, 'initdb')))
  : undefined;

/** Whether the machine has the programs of a PostgreSQL server, and a user that may run them. */
export const HAS_POSTGRESQL = PROGRAMS !== undefined && (process.getuid?.() !== 0 || hasPostgresUser());

function hasPostgresUser(): boolean {
  try {
    return postgresUser().uid > 0;
  } catch {
    return false;
  }
}

/** PostgreSQL does not run as root. */
function postgresUser(): { uid: number; gid: number } {
  const id = (option: string) =>
    Number(execFileSync('id', [option, 'postgres'], { stdio: 'pipe' }).toString());
  return { uid: id('-u'), gid: id('-g') };
}

/** Whom the server runs as; nobody named: whoever runs the tests. */
interface UserIds {
  readonly uid?: number;
  readonly gid?: number;
}

/** Whom servers run as: they do not run as root. */
export function serverUser(): UserIds {
  return process.getuid?.() === 0 ? postgresUser() : {};
}

/** A PostgreSQL server of a test's own, which may do with it what it likes. */
export class PostgresqlCluster {
  readonly url: string;
  readonly folder: string;
  readonly #port: number;
  readonly #user: UserIds;
  readonly #settings: readonly string[];
  #server: ChildProcess | null = null;

  /**
   * Makes a new server on a free port of loopback, and starts it.
   *
   * @param settings of PostgreSQL, such as `{ max_connections: '20' }`.
   */
  static async start(settings: Readonly<Record<string, string>> = {}): Promise<PostgresqlCluster> {
    const user = serverUser();
    const folder = await newFolder(user);
    execFileSync(program('initdb'), ['-D', folder, '-U', 'dms', '-A', 'trust', '-E', 'UTF8', '--no-sync'], {
      ...user,
      cwd: folder,
      stdio: 'pipe',
    });
    const cluster = new PostgresqlCluster(folder, await freePort(), user, settings);
    await cluster.start();
    return cluster;
  }

  /** Starts a server on a data folder that its user has, such as a restored backup. */
  static async startOn(folder: string, settings: Readonly<Record<string, string>> = {}) {
    const cluster = new PostgresqlCluster(folder, await freePort(), serverUser(), settings);
    await cluster.start();
    return cluster;
  }

  /** Makes a streaming replica of it on another free port, and starts it. The primary needs a `wal_keep_size`. */
  async startReplica(settings: Readonly<Record<string, string>> = {}): Promise<PostgresqlCluster> {
    const user = this.#user;
    const folder = await newFolder(user);
    const from = ['-h', '127.0.0.1', '-p', String(this.#port), '-U', 'dms'];
    const how = ['-R', '-X', 'stream', '-c', 'fast', '--no-sync'];
    await promisify(execFile)(program('pg_basebackup'), [...from, ...how, '-D', folder], {
      ...user,
      cwd: folder,
    });
    const replica = new PostgresqlCluster(folder, await freePort(), user, settings);
    await replica.start();
    return replica;
  }

  private constructor(
    folder: string,
    port: number,
    user: UserIds,
    settings: Readonly<Record<string, string>>,
  ) {
    this.folder = folder;
    this.#port = port;
    this.#user = user;
    this.#settings = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    this.url = `postgresql://dms@127.0.0.1:${port}/postgres`;
  }

  /** Starts it again, and waits until it takes connections. */
  async start(): Promise<void> {
    while (!(await this.#answers())) {
      // Where what a killed server has left is still in use, the next one ends at once.
      if (this.#server === null || this.#server.exitCode !== null) this.#server = this.#launch();
      await pause(50);
    }
  }

  /** Makes it a standby of another one at its next start, without pg_rewind. */
  async follow(primary: PostgresqlCluster): Promise<void> {
    const connection = `host=127.0.0.1 port=${primary.#port} user=dms`;
    const settings = join(this.folder, 'postgresql.auto.conf');
    await appendFile(settings, `\nprimary_conninfo = '${connection}'\n`);
    const signal = join(this.folder, 'standby.signal');
    await writeFile(signal, '');
    // The server writes it to disk, and so opens it for writing.
    if (this.#user.uid !== undefined) chownSync(signal, this.#user.uid, this.#user.gid ?? this.#user.uid);
  }

  /** Ends it as pg_ctl's immediate stop does: connections are broken off, nothing is finished. */
  stop(): Promise<void> {
    return this.#end('SIGQUIT');
  }

  /** Ends it in order: all that was committed is in its files, so that it may start as a standby. */
  shutDown(): Promise<void> {
    return this.#end('SIGINT');
  }

  /** Ends its main process as a crash would; the others notice it by themselves. */
  kill(): Promise<void> {
    return this.#end('SIGKILL');
  }

  /** Stops all of its processes until the work is done: connections stay open, and nothing is answered. */
  async whileFrozen(work: () => Promise<void>): Promise<void> {
    const rows = await this.run('SELECT pid FROM pg_stat_activity');
    const found = rows.map(({ pid }) => Number(pid));
    const processes = [...found, this.#server?.pid ?? 0].filter((id) => id > 0 && isSignalled(id, 'SIGSTOP'));
    try {
      await work();
    } finally {
      for (const id of processes) isSignalled(id, 'SIGCONT');
    }
  }

  async remove(): Promise<void> {
    await this.#end('SIGQUIT');
    await rm(this.folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  }

  /** Of a replica: replays nothing more while the work is done. What it has got, it replays afterwards. */
  async whilePaused(work: () => Promise<void>): Promise<void> {
    await this.run('SELECT pg_wal_replay_pause()');
    try {
      await work();
    } finally {
      await this.run('SELECT pg_wal_replay_resume()');
    }
  }

  /** Of a replica: waits until it has replayed all that the primary has written by now. */
  async caughtUp(primary: PostgresqlCluster): Promise<void> {
    const [row] = await primary.run('SELECT pg_current_wal_lsn()::text AS position');
    const isThere = `SELECT pg_last_wal_replay_lsn() >= '${row?.['position']}' AS done`;
    while ((await this.run(isThere))[0]?.['done'] !== true) await pause(10);
  }

  /** Runs statements on a connection of its own. */
  async run(...statements: readonly string[]): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const client = new pg.Client({ connectionString: this.url, application_name: 'administrator' });
    await client.connect();
    try {
      let rows: readonly Readonly<Record<string, unknown>>[] = [];
      for (const statement of statements) rows = (await client.query(statement)).rows;
      return rows;
    } finally {
      await client.end();
    }
  }

  /** Runs a script of bash as the server's user, who finds PostgreSQL's programs. @throws Error with what it says on standard error. */
  async shell(script: string, environment: Readonly<Record<string, string>> = {}): Promise<string> {
    const path = `${PROGRAMS}:${process.env['PATH']}`;
    const options = { ...this.#user, cwd: this.folder, env: { ...environment, PATH: path } };
    return (await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], options)).stdout;
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const server = this.#server;
    this.#server = null;
    if (server === null || server.exitCode !== null || server.signalCode !== null) return;
    const exit = once(server, 'exit');
    server.kill(signal);
    await exit;
  }

  #launch(): ChildProcess {
    const listening = ['-p', String(this.#port), '-k', this.folder, '-c', 'listen_addresses=127.0.0.1'];
    const options = { ...this.#user, cwd: this.folder, stdio: 'ignore' } as const;
    return spawn(program('postgres'), ['-D', this.folder, ...listening, ...this.#settings], options);
  }

  async #answers(): Promise<boolean> {
    if (this.#server === null) return false;
    return this.run('SELECT 1').then(
      () => true,
      () => false,
    );
  }
}

async function newFolder({ uid, gid = uid }: UserIds): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'dms-postgresql-'));
  if (uid !== undefined) chownSync(folder, uid, gid ?? uid);
  return folder;
}

/** Sends a signal. @returns false where the process is over, as that of the connection that asked for them may be. */
function isSignalled(id: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(id, signal);
  } catch {
    return false;
  }
}

function program(name: string): string {
  if (PROGRAMS === undefined) throw new Error('There is no PostgreSQL server on this machine.');
  return join(PROGRAMS, name);
}
