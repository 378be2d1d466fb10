import type { Pool } from 'pg';
import type { Settings } from '../config/settings.js';
import type { Connections, DatabaseOptions } from '../database/client.js';
import { migrate } from '../database/migrate.js';
import { dataSteps } from '../recorder/data-steps.js';
import { type ProgressStream, showProgress } from './progress.js';

/** How a command opens the database. */
export interface OpenOptions {
  /** Whether a data folder without a database gets a new one; true if absent. */
  readonly mayCreate?: boolean;
}

/** Opens the database that the settings name, and migrates it. @param stream shows how far a migration is. */
export async function openMigrated<Opened extends Connections>(
  open: (options: DatabaseOptions) => Promise<Opened>,
  settings: Settings,
  stream: ProgressStream,
  { mayCreate = true }: OpenOptions,
): Promise<Opened> {
  const database = await open({ ...settings, ifMissing: mayCreate ? 'create' : 'fail' });
  try {
    await migrateShowing(stream, database.pool);
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

/**
 * Brings the database up to date, and shows the progress and the result of a step that rewrites rows.
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
      done: progress.domains,
      total: progress.total,
      items: progress.domains,
    }));
  });
  const { applied, reports } = await migrate(pool, steps);
  for (const report of reports) stream.write(`${report}\n`);
  return applied;
}
