import { Command } from 'commander';
import { openDatabase } from '../../database/client.js';
import { type CommandContext, migrateShowing } from '../command-context.js';

/** `dms migrate`: brings the database up to date. */
export function migrateCommand(context: CommandContext): Command {
  return new Command('migrate')
    .summary('bring the database up to date')
    .description(
      'Brings the database up to date: its schema, and the text of stored records, which is no change in a history. The other commands do it too; this one does nothing else.',
    )
    .action(() => runMigrate(context));
}

async function runMigrate(context: CommandContext): Promise<void> {
  const database = await openDatabase(context.settings());
  try {
    const applied = await migrateShowing(context.stderr, database.pool);
    for (const name of applied) context.stdout.write(`applied ${name}\n`);
    if (applied.length === 0) context.stdout.write('The database is up to date.\n');
  } finally {
    await database.close();
  }
}
