import { openConnections } from '../../database/client.js';
import { distributeTables, partitionTables } from '../../database/distribution.js';
import { migrate } from '../../database/migrate.js';
import { OperationError } from '../../model/errors.js';
import { judgeAnew } from '../../recorder/judge-anew.js';
import type { CommandContext } from '../command-context.js';

interface MigrateOptions {
  readonly partitions?: number;
  readonly citus: boolean;
}

export async function runMigrate(context: CommandContext, options: MigrateOptions): Promise<void> {
  const settings = context.settings();
  const divides = options.citus || options.partitions !== undefined;
  if (divides && settings.databaseUrl === undefined) throw new OperationError(EMBEDDED);
  const database = await openConnections(settings);
  try {
    const applied = await migrate(database.pool);
    const lines = applied.map((name) => `applied ${name}`);
    if (divides) context.notes.write('If the tables have to be divided, nothing can use them meanwhile.\n');
    if (options.partitions !== undefined && (await partitionTables(database.pool, options.partitions))) {
      lines.push(`divided the tables of domains into ${options.partitions} partitions each`);
    }
    if (options.citus) {
      lines.push(...(await distributeTables(database.pool)).map((table) => `distributed ${table}`));
    }
    const judging = () => context.notes.write('The changes are judged anew, by the rules of this version.\n');
    const judged = await judgeAnew(database.pool, judging);
    if (judged > 0) lines.push(`judged the changes of ${judged} domains anew`);
    const done = lines.map((line) => `${line}\n`).join('');
    await context.sumUp(done === '' ? 'The database is up to date.\n' : done);
  } finally {
    await database.close();
  }
}

const EMBEDDED =
  'The embedded database cannot be divided. Set DATABASE_URL to a PostgreSQL server, and run this again.';
