import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.js';
import { endChild, isInstalled, PATH } from './processes.js';

export const HAS_REDIS = isInstalled('redis-server');

export type RedisServer = Awaited<ReturnType<typeof startRedis>>;

/** Takes a free port and starts Redis there; `password`: what clients have to come with. */
export async function startRedis({ password }: { readonly password?: string } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'dms-redis-'));
  const port = await freePort();
  const options = `--port ${port} --bind 127.0.0.1 --dir ${folder} --appendonly no`.split(' ');
  options.push('--save', '', ...(password === undefined ? [] : ['--requirepass', password]));
  let child: ChildProcess;
  /** Starts it, on the same port each time, and waits until it takes connections. */
  const start = async () => {
    child = spawn('redis-server', options, { env: { PATH } });
    for await (const part of child.stdout ?? []) {
      if (String(part).includes('Ready to accept connections')) break;
    }
  };
  await start();
  return {
    port,
    start,
    kill: () => endChild(child, 'SIGKILL'),
    /** Lets it hang, with its connections open. */
    pause: () => child.kill('SIGSTOP'),
    resume: () => child.kill('SIGCONT'),
    async close() {
      await endChild(child, 'SIGKILL');
      rmSync(folder, { recursive: true });
    },
  };
}
