import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isInstalled, PATH } from './debian-servers.js';
import { freePort } from './free-port.js';

export const HAS_REDIS = isInstalled('redis-server');

export interface RedisServer {
  readonly port: number;
  /** Starts it, on the same port each time, and waits until it takes connections. */
  start(): Promise<void>;
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
  const options = `--port ${port} --bind 127.0.0.1 --dir ${folder} --appendonly no`.split(' ');
  options.push('--save', '', ...(password === undefined ? [] : ['--requirepass', password]));
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
      child = spawn('redis-server', options, { env: { PATH } });
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
