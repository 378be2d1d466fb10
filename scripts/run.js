import { spawn } from 'node:child_process';
import { basename, delimiter, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The checkout. */
export const ROOT = fileURLToPath(new URL('..', import.meta.url));

/**
 * Runs a program to its end, in the checkout. Our own standard output is kept for results.
 *
 * @param {string} command
 * @param {string[]} args
 * @param {{ quiet: boolean }} options whether its output is shown only if it fails; otherwise it has our standard
 *   error, to draw its progress
 * @returns {Promise<void>}
 * @throws {Error} if it cannot be started or fails; the message names it
 */
export function run(command, args, { quiet }) {
  return new Promise((resolve, reject) => {
    const stdout = quiet ? 'pipe' : 'ignore';
    const stderr = quiet ? 'pipe' : 'inherit';
    const child = spawn(command, args, { cwd: ROOT, env: environment(), stdio: ['ignore', stdout, stderr] });
    /** @type {Buffer[]} */
    const printed = [];
    child.stdout?.on('data', (chunk) => printed.push(chunk));
    child.stderr?.on('data', (chunk) => printed.push(chunk));
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (code === 0) return resolve();
      process.stderr.write(Buffer.concat(printed));
      reject(new Error(`${args.map((part) => basename(part)).join(' ')} ended with ${signal ?? code}`));
    });
  });
}

/**
 * Our environment with this Node first on the PATH, and without what the npm that runs us has set for its own
 * command: `npm exec` names a package and a folder there that are not those of `npm ci`.
 *
 * @returns {NodeJS.ProcessEnv}
 */
function environment() {
  const foreign =
    /^npm_config_(local_prefix|package|call|global|location|dry_run|omit|include|workspaces?)$/i;
  const kept = Object.entries(process.env).filter(([name]) => !foreign.test(name));
  return {
    ...Object.fromEntries(kept),
    PATH: [dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter),
    NODE_ENV: 'development',
    // Keeps Prisma's command line from looking for news of itself on the network.
    CHECKPOINT_DISABLE: '1',
  };
}
