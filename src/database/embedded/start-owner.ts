import { type ChildProcess, spawn } from 'node:child_process';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { OperationError } from '../../model/errors.js';
import type { Making } from './data-folder.js';
import { isOwnerReport, type OwnerReport } from './report.js';
import { prepareRunDirectory } from './run-directory.js';

/** The compiled program, from src/ as well: Node.js 20 runs no TypeScript. */
const PROGRAM = fileURLToPath(new URL('../../../dist/database/embedded-process.js', import.meta.url));

export interface StartOptions {
  /** Absolute path. */
  readonly dataDirectory: string;
  /** How long, in milliseconds, the database stays open without users. */
  readonly graceMilliseconds: number;
  /** What becomes of a data folder without a database. */
  readonly making: Making;
}

/**
 * Starts a process of its own that opens the embedded database, and waits until it is open, or until it
 * turns out that it cannot be opened or that another process has it.
 *
 * @returns what the process says; null if it ended without a word, for which its log may have the reason.
 * @throws OperationError where it cannot be started; the signal's reason when it aborts.
 */
export async function startOwner(options: StartOptions, signal: AbortSignal): Promise<OwnerReport | null> {
  const runDirectory = await prepareRunDirectory(options.dataDirectory);
  const child = await launch(options, logFile(runDirectory));
  try {
    return await firstReport(child, signal);
  } finally {
    child.unref();
    if (child.connected) child.disconnect();
  }
}

/** Where the processes that have the database open say why they ended. */
export function logFile(runDirectory: string): string {
  return join(runDirectory, 'owner.log');
}

async function launch(options: StartOptions, logPath: string): Promise<ChildProcess> {
  const { dataDirectory, graceMilliseconds, making } = options;
  const log = await open(logPath, 'a', 0o600);
  try {
    return spawn(process.execPath, [PROGRAM, dataDirectory, String(graceMilliseconds), making], {
      // A session of its own: it outlives this process, and Ctrl-C in a terminal does not reach it.
      detached: true,
      cwd: '/',
      stdio: ['ignore', log.fd, log.fd, 'ipc'],
    });
  } finally {
    await log.close();
  }
}

function firstReport(child: ChildProcess, signal: AbortSignal): Promise<OwnerReport | null> {
  return new Promise((resolve, reject) => {
    child.on('error', (error) => reject(unstartable(error)));
    child.once('message', (message) => resolve(isOwnerReport(message) ? message : null));
    child.once('disconnect', () => resolve(null));
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

function unstartable(error: Error): OperationError {
  return new OperationError(`The process of the embedded database cannot be started: ${error.message}.`, {
    cause: error,
  });
}
