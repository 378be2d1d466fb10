import { spawn } from 'node:child_process';
import { basename, delimiter, dirname } from 'node:path';

/**
 * @typedef {object} RunOptions
 * @property {string} cwd
 * @property {boolean} quiet whether its output is shown only if it fails; if not, its standard error is
 *   ours, where it may draw its progress, and its standard output is dropped
 */

/**
 * Runs a program to its end. Our own standard output stays for results.
 *
 * @param {string} command
 * @param {string[]} args
 * @param {RunOptions} options
 * @returns {Promise<void>}
 * @throws {Error} where it cannot be started or fails; the message names it
 */
export function run(command, args, { cwd, quiet }) {
  return new Promise((resolve, reject) => {
    const stdout = quiet ? 'pipe' : 'ignore';
    const stderr = quiet ? 'pipe' : 'inherit';
    const child = spawn(command, args, { cwd, env: environment(), stdio: ['ignore', stdout, stderr] });
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
 * Our environment with this Node first on the PATH, and without what the npm that runs us has set for
 * its own command: `npm exec` names a package and a folder there that are not those of `npm ci`.
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
    // Prisma's command line looks for news of itself on the network otherwise.
    CHECKPOINT_DISABLE: '1',
  };
}
