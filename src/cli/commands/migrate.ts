import { openConnections } from '../../database/client.js';
import type { CommandContext } from '../command-context.js';
import { migrateShowing } from '../open-database.js';

/** `dms migrate`: brings the database up to date. */
export async function runMigrate(context: CommandContext): Promise<void> {
  const database = await openConnections(context.settings());
  try {
    const applied = await migrateShowing(context.stderr, database.pool);
    for (const name of applied) context.stdout.write(`applied ${name}\n`);
    if (applied.length === 0) context.stdout.write('The database is up to date.\n');
  } finally {
    await database.close();
  }
}
