import type { Readable, Writable } from 'node:stream';
import type { Settings } from '../config/settings.js';
import type { Connections, Database } from '../database/client.js';
import type { Instant } from '../model/instant.js';
import type { ProgressStream } from './progress.js';

/** What the process provides to its commands. */
export interface Process {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  /** For results. A terminal has a width, in columns, and colours unless `NO_COLOR` is set. */
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number; hasColors?(): boolean };
  /** For everything else. */
  readonly stderr: Writable & ProgressStream;
  /** Reads and checks the settings. @throws UsageError for a bad one. */
  settings(): Settings;
  /** The code that the process ends with if the command does not fail; 0 if it is never called. */
  setExitCode(code: number): void;
  /** Settles when the process receives SIGTERM or SIGINT. */
  stopRequested(): Promise<void>;
}

/** What a command does if the data folder has no database. */
type IfMissing = 'create' | 'fail';

/** What a command works with. */
export interface CommandContext extends Process {
  /** The wall clock. */
  now(): Instant;
  /**
   * Works on the database that the settings name, with its schema up to date, and closes it.
   *
   * @throws UsageError for a bad setting, OperationError where it cannot be opened or migrated; what the work throws.
   */
  withDatabase<Result>(ifMissing: IfMissing, work: (database: Database) => Promise<Result>): Promise<Result>;
  /** The same without Prisma, which takes longer to load than everything else. */
  withConnections<Result>(
    ifMissing: IfMissing,
    work: (database: Connections) => Promise<Result>,
  ): Promise<Result>;
}

/** The context of the commands of a process. */
export function createCommandContext(parent: Process): CommandContext {
  // Imported lazily: usage errors need no database.
  return {
    ...parent,
    now: () => BigInt(Date.now()) * 1000n,
    async withDatabase(ifMissing, work) {
      const options = { ...parent.settings(), ifMissing };
      const { withMigrated } = await import('./open-database.js');
      const { openDatabase } = await import('../database/client.js');
      return withMigrated(await openDatabase(options), parent.stderr, work);
    },
    async withConnections(ifMissing, work) {
      const options = { ...parent.settings(), ifMissing };
      const { withMigrated } = await import('./open-database.js');
      const { openConnections } = await import('../database/client.js');
      return withMigrated(await openConnections(options), parent.stderr, work);
    },
  };
}

/** Aborted on SIGTERM or SIGINT. */
export function stopSignal(context: CommandContext): AbortSignal {
  const controller = new AbortController();
  void context.stopRequested().then(() => controller.abort());
  return controller.signal;
}
