import { type ChildProcess, spawn } from 'node:child_process';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { OperationError } from '../../model/errors.js';
import { isOwnerReport, type OwnerReport } from './report.js';
import { prepareRunDirectory } from './run-directory.js';

/** The compiled program, from src/ as well: Node.js 20 runs no TypeScript. */
const PROGRAM = fileURLToPath(new URL('../../../dist/database/embedded-process.js', import.meta.url));

export interface StartOptions {
  /** Absolute path. */
  readonly dataDirectory: string;
  /** How long, in milliseconds, the database stays open without users. */
  readonly graceMilliseconds: number;
  /** Whether a data folder without a database gets one. */
  readonly mayCreate: boolean;
}

/**
 * Starts a process of its own that opens the embedded database, and waits until it is open, or until it
 * turns out that another process has it.
 *
 * @returns whether that process has made the database.
 * @throws OperationError where it cannot be opened, with the reason; the signal's reason when it aborts.
 */
export async function startOwner(options: StartOptions, signal: AbortSignal): Promise<boolean> {
  const runDirectory = await prepareRunDirectory(options.dataDirectory);
  const logFile = join(runDirectory, 'owner.log');
  const child = await launch(options, logFile);
  try {
    const report = await firstReport(child, signal);
    if (report.state === 'failed') throw new OperationError(report.message);
    return report.state === 'ready' && report.created;
  } catch (error) {
    if (error instanceof OperationError || signal.aborted) throw error;
    throw new OperationError(`The embedded database did not start; ${logFile} says why.`, { cause: error });
  } finally {
    child.unref();
    if (child.connected) child.disconnect();
  }
}

async function launch(options: StartOptions, logFile: string): Promise<ChildProcess> {
  const { dataDirectory, graceMilliseconds, mayCreate } = options;
  const log = await open(logFile, 'a', 0o600);
  try {
    return spawn(process.execPath, [PROGRAM, dataDirectory, String(graceMilliseconds), String(mayCreate)], {
      // A session of its own: it outlives this process, and Ctrl-C in a terminal does not reach it.
      detached: true,
      cwd: '/',
      stdio: ['ignore', log.fd, log.fd, 'ipc'],
    });
  } finally {
    await log.close();
  }
}

function firstReport(child: ChildProcess, signal: AbortSignal): Promise<OwnerReport> {
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.once('message', (message) => {
      if (isOwnerReport(message)) resolve(message);
      else reject(new Error('The process sent something else than a report.'));
    });
    child.once('disconnect', () => reject(new Error('The process ended without a report.')));
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
