import { Command } from 'commander';
import { openDatabase } from '../../database/client.js';
import { migrate } from '../../database/migrate.js';
import { DATA_STEPS } from '../../recorder/canonicalize-stored.js';
import type { CommandContext } from '../command-context.js';

/** `dms migrate`: brings the database's schema up to date. */
export function migrateCommand(context: CommandContext): Command {
  return new Command('migrate')
    .summary("bring the database's schema up to date")
    .description(
      "Brings the database's schema up to date. The other commands do it too; this one does nothing else.",
    )
    .action(() => runMigrate(context));
}

async function runMigrate(context: CommandContext): Promise<void> {
  const database = await openDatabase(context.settings());
  try {
    const { applied, reports } = await migrate(database.pool, DATA_STEPS);
    for (const name of applied) context.stdout.write(`applied ${name}\n`);
    for (const report of reports) context.stdout.write(`${report}\n`);
    if (applied.length === 0) context.stdout.write('The schema is up to date.\n');
  } finally {
    await database.close();
  }
}
