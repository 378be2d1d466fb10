import type { Readable, Writable } from 'node:stream';
import type { Settings } from '../config/settings.js';
import type { Connections, Database } from '../database/client.js';
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
  /** The same for commands that do without Prisma, which takes longer to load than all else. */
  openConnections(options?: OpenOptions): Promise<Connections>;
}

/** The context of the commands of a process. */
export function createCommandContext(parent: Process): CommandContext {
  return {
    ...parent,
    now: () => BigInt(Date.now()) * 1000n,
    async openDatabase(options = {}) {
      const settings = parent.settings();
      const { client, openMigrated } = await loadOpening();
      return openMigrated(client.openDatabase, settings, parent.stderr, options);
    },
    async openConnections(options = {}) {
      const settings = parent.settings();
      const { client, openMigrated } = await loadOpening();
      return openMigrated(client.openConnections, settings, parent.stderr, options);
    },
  };
}

/** What a wrong use does not need. */
async function loadOpening() {
  const { openMigrated } = await import('./open-database.js');
  return { client: await import('../database/client.js'), openMigrated };
}

/** Aborted when the process is asked to end. */
export function stopSignal(context: CommandContext): AbortSignal {
  const controller = new AbortController();
  void context.stopRequested().then(() => controller.abort());
  return controller.signal;
}
