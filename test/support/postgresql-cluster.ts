import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { chownSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { freePort } from './free-port.js';
import { endChild, isSignalled } from './processes.js';

/** Where Debian and its kin keep each version's programs. */
const VERSIONS = '/usr/lib/postgresql';

const PROGRAMS = existsSync(VERSIONS)
  ? readdirSync(VERSIONS)
      .sort((one, other) => Number(other) - Number(one))
      .map((version) => join(VERSIONS, version, 'bin'))
      .find((folder) => existsSync(join(folder, 'initdb')))
  : undefined;

/** Whom servers run as, since they do not run as root; nobody named: whoever runs the tests. */
export const SERVER_USER: { readonly uid?: number; readonly gid?: number } = serverUser();

export const HAS_POSTGRESQL =
  PROGRAMS !== undefined && (process.getuid?.() !== 0 || SERVER_USER.uid !== undefined);

function serverUser() {
  if (process.getuid?.() !== 0) return {};
  const [, uid, gid] = /^postgres:[^:]*:(\d+):(\d+):/m.exec(readFileSync('/etc/passwd', 'utf8')) ?? [];
  return uid === undefined ? {} : { uid: Number(uid), gid: Number(gid) };
}

export function giveToServerUser(path: string): void {
  if (SERVER_USER.uid !== undefined) chownSync(path, SERVER_USER.uid, SERVER_USER.gid ?? SERVER_USER.uid);
}

type Settings = Readonly<Record<string, string>>;
type Row = Readonly<Record<string, unknown>>;

/** A PostgreSQL server of a test's own, which may do with it what it likes. */
export class PostgresqlCluster {
  readonly url: string;
  readonly folder: string;
  readonly #port: number;
  readonly #settings: readonly string[];
  #server: ChildProcess | null = null;

  /** Makes a new server on a free port of loopback. @param settings such as `{ max_connections: '20' }`. */
  static async start(settings: Settings = {}): Promise<PostgresqlCluster> {
    const folder = await newFolder();
    const options = ['-D', folder, '-U', 'dms', '-A', 'trust', '-E', 'UTF8', '--no-sync'];
    execFileSync(program('initdb'), options, { ...SERVER_USER, cwd: folder, stdio: 'pipe' });
    return PostgresqlCluster.startOn(folder, settings);
  }

  /** Starts a server on a data folder that its user has, such as a restored backup. */
  static async startOn(folder: string, settings: Settings = {}): Promise<PostgresqlCluster> {
    const cluster = new PostgresqlCluster(folder, await freePort(), settings);
    await cluster.start();
    return cluster;
  }

  /** Starts a new streaming replica of it. The primary needs a `wal_keep_size`. */
  async startReplica(settings: Settings = {}): Promise<PostgresqlCluster> {
    const folder = await newFolder();
    const from = ['-h', '127.0.0.1', '-p', String(this.#port), '-U', 'dms'];
    const how = ['-R', '-X', 'stream', '-c', 'fast', '--no-sync', '-D', folder];
    await promisify(execFile)(program('pg_basebackup'), [...from, ...how], { ...SERVER_USER, cwd: folder });
    return PostgresqlCluster.startOn(folder, settings);
  }

  private constructor(folder: string, port: number, settings: Settings) {
    this.folder = folder;
    this.#port = port;
    this.#settings = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    this.url = `postgresql://dms@127.0.0.1:${port}/postgres`;
  }

  /** Starts it again, and waits until it takes connections. */
  async start(): Promise<void> {
    const listening = ['-p', String(this.#port), '-k', this.folder, '-c', 'listen_addresses=127.0.0.1'];
    const options = { ...SERVER_USER, cwd: this.folder, stdio: 'ignore' } as const;
    while (this.#server === null || !(await isConnectable(this.url))) {
      // Where what a killed server has left is still in use, the next one ends at once.
      if (this.#server === null || this.#server.exitCode !== null)
        this.#server = spawn(
          program('postgres'),
          ['-D', this.folder, ...listening, ...this.#settings],
          options,
        );
      await pause(50);
    }
  }

  /** Makes it a standby of another one at its next start, without pg_rewind. */
  async follow(primary: PostgresqlCluster): Promise<void> {
    const connection = `host=127.0.0.1 port=${primary.#port} user=dms`;
    await appendFile(join(this.folder, 'postgresql.auto.conf'), `\nprimary_conninfo = '${connection}'\n`);
    const signal = join(this.folder, 'standby.signal');
    await writeFile(signal, '');
    // The server writes it to disk, and so opens it for writing.
    giveToServerUser(signal);
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
    // That of the connection that asks may be over.
    const processes = [...rows.map(({ pid }) => Number(pid)), this.#server?.pid ?? 0].filter(
      (id) => id > 0 && isSignalled(id, 'SIGSTOP'),
    );
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

  async run(...statements: readonly string[]): Promise<readonly Row[]> {
    const client = new pg.Client({ connectionString: this.url, application_name: 'administrator' });
    await client.connect();
    try {
      let rows: readonly Row[] = [];
      for (const statement of statements) rows = (await client.query(statement)).rows;
      return rows;
    } finally {
      await client.end();
    }
  }

  /** Runs a script of bash as the server's user, who finds PostgreSQL's programs. @throws Error with its stderr. */
  async shell(script: string, environment: Settings = {}): Promise<string> {
    const path = `${PROGRAMS}:${process.env['PATH']}`;
    const options = { ...SERVER_USER, cwd: this.folder, env: { ...environment, PATH: path } };
    return (await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], options)).stdout;
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const server = this.#server;
    this.#server = null;
    if (server !== null) await endChild(server, signal);
  }
}

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'dms-postgresql-'));
  giveToServerUser(folder);
  return folder;
}

export async function isConnectable(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  const isUp = await client.connect().then(
    () => true,
    () => false,
  );
  if (isUp) await client.end();
  return isUp;
}

const program = (name: string) => join(PROGRAMS ?? '', name);
