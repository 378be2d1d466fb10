import { openConnections } from '../../database/client.js';
import { partitionTables } from '../../database/distribution.js';
import { migrate } from '../../database/migrate.js';
import { OperationError } from '../../model/errors.js';
import { judgeAnew } from '../../recorder/judge-anew.js';
import type { CommandContext } from '../command-context.js';

export async function runMigrate(context: CommandContext, options: { partitions?: number; citus: boolean }) {
  const { partitions, citus } = options;
  const settings = context.settings();
  const divides = citus || partitions !== undefined;
  if (divides && settings.databaseUrl === undefined) {
    throw new OperationError(
      'The embedded database cannot be divided. Set DATABASE_URL to a PostgreSQL server, and run this again.',
    );
  }
  const database = await openConnections(settings);
  try {
    const applied = await migrate(database.pool);
    const lines = applied.map((name) => `applied ${name}`);
    if (divides) context.note('If the tables have to be divided, nothing can use them meanwhile.\n');
    if (partitions !== undefined && (await partitionTables(database.pool, partitions))) {
      lines.push(`divided the tables of domains into ${partitions} partitions each`);
    }
    if (citus) {
      const { distributeTables } = await import('../../database/citus.js');
      lines.push(...(await distributeTables(database.pool)).map((table) => `distributed ${table}`));
    }
    const judging = () => context.note('The changes are judged anew, by the rules of this version.\n');
    const judged = await judgeAnew(database.pool, judging);
    if (judged > 0) lines.push(`judged the changes of ${judged} domains anew`);
    await context.sumUp(`${lines.join('\n') || 'The database is up to date.'}\n`);
  } finally {
    await database.close();
  }
}
