import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.js';

const ENVIRONMENT = { PATH: `${process.env['PATH']}:/usr/sbin` };

/** Whether the machine has the Redis of Debian. */
export const HAS_REDIS = isInstalled();

function isInstalled(): boolean {
  try {
    execFileSync('redis-server', ['--version'], { env: ENVIRONMENT });
    return true;
  } catch {
    return false;
  }
}

/** A Redis on loopback that keeps nothing. */
export interface RedisServer {
  readonly port: number;
  /** Starts it, on the same port each time, and waits until it takes connections. */
  start(): Promise<void>;
  /** Ends it as a crash would. */
  kill(): Promise<void>;
  /** Lets it hang, with its connections open, and go on. */
  pause(): void;
  resume(): void;
  close(): Promise<void>;
}

/** Takes a free port and starts Redis there; `password`: what clients have to come with. */
export async function startRedis({ password }: { readonly password?: string } = {}): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), 'dms-redis-'));
  const port = await freePort();
  let child: ChildProcess | undefined;
  const kill = async (): Promise<void> => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  };
  const server: RedisServer = {
    port,
    async start() {
      child = spawn('redis-server', optionsOf(port, folder, password), { env: ENVIRONMENT });
      for await (const part of child.stdout ?? []) {
        if (String(part).includes('Ready to accept connections')) break;
      }
    },
    kill,
    pause: () => child?.kill('SIGSTOP'),
    resume: () => child?.kill('SIGCONT'),
    async close() {
      await kill();
      rmSync(folder, { recursive: true });
    },
  };
  await server.start();
  return server;
}

function optionsOf(port: number, folder: string, password: string | undefined): string[] {
  const options = [
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--dir',
    folder,
    '--save',
    '',
    '--appendonly',
    'no',
  ];
  return password === undefined ? options : [...options, '--requirepass', password];
}
