import type { Pool } from 'pg';
import type { Connections } from '../database/client.js';
import { migrate } from '../database/migrate.js';
import { dataSteps } from '../recorder/data-steps.js';
import { type ProgressStream, showProgress } from './progress.js';

/** Migrates an open database, works on it, and closes it. @param stream shows how far a migration is. */
export async function withMigrated<Opened extends Connections, Result>(
  database: Opened,
  stream: ProgressStream,
  work: (database: Opened) => Promise<Result>,
): Promise<Result> {
  try {
    await migrateShowing(stream, database.pool);
    return await work(database);
  } finally {
    await database.close();
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
    const { total } = progress;
    stream.write(`Migrating ${total.toLocaleString('en')} domains. It may be stopped and run again.\n`);
    return showProgress(stream, 'domains', () => ({
      done: progress.domains,
      total,
      items: progress.domains,
    }));
  });
  const { applied, reports } = await migrate(pool, steps);
  for (const report of reports) stream.write(`${report}\n`);
  return applied;
}
