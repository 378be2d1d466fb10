import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/** @typedef {import('node:child_process').ChildProcess} ChildProcess */

/**
 * Runs a program to its end.
 *
 * @param {string} command
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} [environment] added to our own
 * @returns {Promise<{ code: number | null, stdout: string, stderr: string }>}
 */
export async function run(command, args, environment = {}) {
  const child = spawn(command, args, { env: { ...process.env, ...environment } });
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (part) => {
    output.stdout += part;
  });
  child.stderr.setEncoding('utf8').on('data', (part) => {
    output.stderr += part;
  });
  const [code] = await once(child, 'close');
  return { code, ...output };
}

/**
 * @param {string} command
 * @returns {Promise<boolean>} whether the machine has it
 */
export async function isInstalled(command) {
  return (await run('sh', ['-c', `command -v ${command}`])).code === 0;
}

/** @typedef {{ url: string, child: ChildProcess, stop: () => Promise<void> }} RunningServer */

/**
 * Starts a server in a process of its own, by a script of Node that listens on PORT, and waits until it
 * answers.
 *
 * @param {string[]} command the script and its arguments
 * @param {NodeJS.ProcessEnv} environment added to our own
 * @param {string} logFile what it prints goes there
 * @param {string} [node] the Node that runs it; ours if absent
 * @returns {Promise<RunningServer>}
 * @throws {Error} with what it printed, if it ends instead
 */
export async function startServer(command, environment, logFile, node = process.execPath) {
  const port = await freePort();
  const log = openSync(logFile, 'w');
  const child = spawn(node, command, {
    env: { ...process.env, ...environment, HOST: '127.0.0.1', PORT: String(port) },
    stdio: ['ignore', log, log],
  });
  const closed = once(child, 'close');
  const url = `http://127.0.0.1:${port}`;
  while (!(await answers(url))) {
    if (child.exitCode !== null) throw new Error(`${command.join(' ')}: ${readFileSync(logFile, 'utf8')}`);
    await pause(50);
  }
  return {
    url,
    child,
    async stop() {
      child.kill('SIGTERM');
      await closed;
    },
  };
}

/** @returns {Promise<number>} */
export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** @param {string} url */
async function answers(url) {
  return fetch(url).then(
    () => true,
    () => false,
  );
}

/**
 * @param {ChildProcess} child
 * @returns {number} the most memory that the process has had so far, in MB; 0 where the system does not tell
 */
export function peakMemory({ pid }) {
  return megabytes(pid, /VmHWM:\s*(\d+) kB/);
}

/**
 * @param {ChildProcess} child
 * @returns {number} the memory that the process has now, in MB; 0 where the system does not tell
 */
export function memoryNow({ pid }) {
  return megabytes(pid, /VmRSS:\s*(\d+) kB/);
}

/**
 * @param {number | undefined} pid
 * @param {RegExp} line of the process's status
 */
function megabytes(pid, line) {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Math.round(Number(line.exec(status)?.[1] ?? 0) / 1024);
  } catch {
    return 0;
  }
}
