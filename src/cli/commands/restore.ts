import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { Command } from 'commander';
import { requireEmbedded } from '../../database/backup.js';
import { restoreEmbedded } from '../../database/restore.js';
import { UsageError } from '../../model/errors.js';
import type { CommandContext } from '../command-context.js';

/** `dms restore FILE`: puts a backup into a data folder that has no database. */
export function restoreCommand(context: CommandContext): Command {
  return new Command('restore')
    .summary('restore a backup of the embedded database')
    .description(
      'Puts what dms backup has written into a data folder (DATA_DIR) that has no database. The backup is ' +
        'checked first, and nothing is there before all is.',
    )
    .argument('<file>', 'the backup; - for standard input')
    .action((file: string) => runRestore(context, file));
}

async function runRestore(context: CommandContext, file: string): Promise<void> {
  const { databaseUrl, dataDirectory } = context.settings();
  requireEmbedded(databaseUrl, 'pg_restore or psql to load a backup');
  const source = file === '-' ? context.stdin : await readable(file);
  await restoreEmbedded(dataDirectory, source);
  context.stdout.write(
    `Restored into ${dataDirectory}. Check it with dms verify, serve it with npm start.\n`,
  );
}

async function readable(file: string): Promise<Readable> {
  try {
    return (await open(file)).createReadStream({ highWaterMark: 1024 * 1024 });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(`${file} cannot be read (${reason}).`, { cause: error });
  }
}
