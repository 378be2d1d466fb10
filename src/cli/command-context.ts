import type { Readable, Writable } from 'node:stream';
import type { Pool } from 'pg';
import type { Settings } from '../config/settings.js';
import { type Database, openDatabase } from '../database/client.js';
import { migrate } from '../database/migrate.js';
import { PublicError, UsageError } from '../model/errors.js';
import type { Instant } from '../model/instant.js';
import { dataSteps } from '../recorder/canonicalize-stored.js';
import { type ProgressStream, showProgress } from './progress.js';

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
  /** Settles when somebody asks the process to end (SIGTERM, SIGINT). */
  stopRequested(): Promise<void>;
}

/** How a command opens the database. */
export interface OpenOptions {
  /** Whether a data folder without a database gets a new one; true if absent. */
  readonly mayCreate?: boolean;
}

/** What a command works with. */
export interface CommandContext extends Process {
  /** The wall clock. */
  now(): Instant;
  /**
   * Opens the database that the settings name, with its schema up to date.
   *
   * @throws UsageError for a bad setting, OperationError where it cannot be opened or migrated, or is not
   *   there and may not be made.
   */
  openDatabase(options?: OpenOptions): Promise<Database>;
}

/** The context of the commands of a process. */
export function createCommandContext(parent: Process): CommandContext {
  return {
    ...parent,
    now: () => BigInt(Date.now()) * 1000n,
    async openDatabase(options = {}) {
      const ifMissing = options.mayCreate === false ? 'fail' : 'create';
      const database = await openDatabase({ ...parent.settings(), ifMissing });
      try {
        await migrateShowing(parent.stderr, database.pool);
        return database;
      } catch (error) {
        await database.close();
        throw error;
      }
    },
  };
}

/**
 * Brings the database up to date. How far a step that rewrites rows is, and what it has done, is shown.
 *
 * @returns the names of the migrations that were applied.
 * @throws OperationError as migrate() does.
 */
export async function migrateShowing(stream: ProgressStream, pool: Pool): Promise<string[]> {
  const steps = dataSteps((progress) => {
    stream.write(
      `Migrating ${progress.total.toLocaleString('en')} domains. It may be stopped and run again.\n`,
    );
    return showProgress(stream, 'domains', () => ({
      ...{ done: progress.domains, total: progress.total },
      items: progress.domains,
    }));
  });
  const { applied, reports } = await migrate(pool, steps);
  for (const report of reports) stream.write(`${report}\n`);
  return applied;
}

/**
 * Reads a command's arguments: what is wrong with them is a wrong use of the program.
 *
 * @throws UsageError in the place of every error whose message is written for the caller.
 */
export function asUsageError<Value>(read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    if (error instanceof PublicError) throw new UsageError(error.message, { cause: error });
    throw error;
  }
}
