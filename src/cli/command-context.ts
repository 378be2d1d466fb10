import type { Readable, Writable } from 'node:stream';
import type { Settings } from '../config/settings.js';
import type { Database } from '../database/client.js';
import type { Connections } from '../database/pool.js';
import type { Instant } from '../model/instant.js';
import { writeText } from './output.js';

export interface Process {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  /** For results. `hasColors` is false where `NO_COLOR` is set. */
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number; hasColors?(): boolean };
  readonly stderr: Writable & { readonly isTTY?: boolean };
  /** @throws UsageError for a bad one. */
  settings(): Settings;
  /** The code that the process ends with if the command does not fail; 0 if it is never called. */
  setExitCode(code: number): void;
  stopRequested(): Promise<StopSignal>;
}

export type StopSignal = 'SIGINT' | 'SIGTERM';

/** Exit codes, as shells have them: 128 and the number of the signal (POSIX, signal.h). */
const STOPPED: Readonly<Record<StopSignal, number>> = { SIGINT: 130, SIGTERM: 143 };

export interface CommandContext extends Process {
  /** Progress and advice, on standard error; nothing with `--quiet`. */
  note(text: string): void;
  /** On standard error, also with `--quiet`. */
  warn(sentence: string): void;
  /** On standard output, with writeText(); nothing with `--quiet`. */
  sumUp(text: string): Promise<void>;
  /** The exit code of a command that fails, or that a signal has cut short. */
  readonly failure: { code: number };
  /** Its schema is up to date. @throws UsageError for a bad setting, OperationError where that is not to be had. */
  readonly withDatabase: WithOpened<Database>;
  /** The same without Prisma, which takes longer to load than everything else. */
  readonly withConnections: WithOpened<Connections>;
}

type WithOpened<Opened> = <Result>(
  ifMissing: 'create' | 'fail',
  work: (database: Opened) => Promise<Result>,
) => Promise<Result>;

export function now(): Instant {
  return BigInt(Date.now()) * 1000n;
}

export function createCommandContext(parent: Process, isQuiet: () => boolean): CommandContext {
  return {
    ...parent,
    note: (text) => isQuiet() || parent.stderr.write(text),
    warn: (sentence) => parent.stderr.write(`dms: ${sentence}\n`),
    sumUp: async (text) => {
      if (!isQuiet()) await writeText(parent.stdout, text);
    },
    failure: { code: 1 },
    // Imported lazily: usage errors need no database.
    async withDatabase(ifMissing, work) {
      const options = { ...parent.settings(), ifMissing };
      const { openDatabase } = await import('../database/client.js');
      return withMigrated(await openDatabase(options), work);
    },
    async withConnections(ifMissing, work) {
      const options = { ...parent.settings(), ifMissing };
      const { openConnections, withDistribution } = await import('../database/client.js');
      const [connections] = await openConnections(options).then(withDistribution);
      return withMigrated(connections, work);
    },
  };
}

async function withMigrated<Opened extends Connections, Result>(
  database: Opened,
  work: (database: Opened) => Promise<Result>,
): Promise<Result> {
  try {
    const { migrate } = await import('../database/migrate.js');
    await migrate(database.pool);
    return await work(database);
  } finally {
    await database.close();
  }
}

/** Aborted by a signal that cuts the command short; the exit code of a failure is then that of the signal. */
export function stopSignal(context: CommandContext): AbortSignal {
  const controller = new AbortController();
  void context.stopRequested().then((signal) => {
    context.failure.code = STOPPED[signal];
    controller.abort();
  });
  return controller.signal;
}
