import type { Readable, Writable } from 'node:stream';
import type { Settings } from '../config/settings.js';
import type { Database } from '../database/client.js';
import type { Instant } from '../model/instant.js';
import type { OpenOptions } from './open-database.js';
import type { ProgressStream } from './progress.js';

/** What the process gives to its commands. */
export interface Process {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  /** For results. */
  readonly stdout: Writable;
  /** For everything else. */
  readonly stderr: Writable & ProgressStream;
  /** Reads and checks the settings. @throws UsageError for a bad one. */
  settings(): Settings;
  /** The code that the process ends with if the command does not fail; 0 if it is never called. */
  setExitCode(code: number): void;
  /** Settles when the process is asked to end (SIGTERM, SIGINT). */
  stopRequested(): Promise<void>;
}

/** What a command works with. */
export interface CommandContext extends Process {
  /** The wall clock. */
  now(): Instant;
  /**
   * Opens the database that the settings name, with its schema up to date.
   *
   * @throws UsageError for a bad setting, OperationError where it cannot be opened or migrated, or does not exist and
   *   may not be created.
   */
  openDatabase(options?: OpenOptions): Promise<Database>;
}

/** The context of the commands of a process. */
export function createCommandContext(parent: Process): CommandContext {
  return {
    ...parent,
    now: () => BigInt(Date.now()) * 1000n,
    async openDatabase(options = {}) {
      const settings = parent.settings();
      // Most of a command's start is loading Prisma, which a wrong use does not need.
      const { openMigrated } = await import('./open-database.js');
      return openMigrated(settings, parent.stderr, options);
    },
  };
}

/** Aborted when the process is asked to end. */
export function stopSignal(context: CommandContext): AbortSignal {
  const controller = new AbortController();
  void context.stopRequested().then(() => controller.abort());
  return controller.signal;
}
