import { openConnections } from '../../database/client.js';
import type { CommandContext } from '../command-context.js';
import { migrateShowing } from '../open-database.js';

/** `dms migrate`: brings the database up to date. */
export async function runMigrate(context: CommandContext): Promise<void> {
  const database = await openConnections(context.settings());
  try {
    const applied = await migrateShowing(context.notes, database.pool);
    const lines = applied.map((name) => `applied ${name}\n`).join('');
    await context.sumUp(lines === '' ? 'The database is up to date.\n' : lines);
  } finally {
    await database.close();
  }
}
