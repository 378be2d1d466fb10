import { open } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { Command } from 'commander';
import { requireEmbedded } from '../../database/backup.js';
import { restoreEmbedded } from '../../database/restore.js';
import type { CommandContext } from '../command-context.js';
import { refuseFolder, unreadable } from '../file-failure.js';

/** `dms restore FILE`: puts a backup into a data folder that has no database. */
export function restoreCommand(context: CommandContext): Command {
  return new Command('restore')
    .summary('restore a backup of the embedded database')
    .description(
      'Puts a backup made by dms backup into a data folder (DATA_DIR) that has no database. The database ' +
        'appears there only once the whole backup has been unpacked and checked.',
    )
    .argument('<file>', 'the backup; - for standard input')
    .action((file: string) => runRestore(context, file));
}

async function runRestore(context: CommandContext, file: string): Promise<void> {
  const { databaseUrl, dataDirectory } = context.settings();
  requireEmbedded(databaseUrl, 'pg_restore or psql to load a backup');
  const source = file === '-' ? context.stdin : await readable(file);
  try {
    await restoreEmbedded(dataDirectory, source, file === '-' ? 'Standard input' : file);
  } finally {
    source.destroy();
  }
  const at = isDefault(dataDirectory) ? '' : `DATA_DIR=${quoted(dataDirectory)} `;
  context.stdout.write(
    `Restored into ${dataDirectory}. Check it with ${at}dms verify, serve it with ${at}npm start.\n`,
  );
}

async function readable(file: string): Promise<Readable> {
  try {
    refuseFolder(file, 'name the backup');
    return (await open(file)).createReadStream({ highWaterMark: 1024 * 1024 });
  } catch (error) {
    throw unreadable(file, error);
  }
}

/** Whether it is the data folder that is used without DATA_DIR. */
function isDefault(dataDirectory: string): boolean {
  return dataDirectory === resolve('data');
}

/** The path as a shell argument. */
function quoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
