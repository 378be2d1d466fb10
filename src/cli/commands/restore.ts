import { open } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { requireEmbedded, restoreEmbedded } from '../../database/backup.js';
import { unreadable } from '../../model/file-failure.js';
import { asArgument } from '../called-as.js';
import type { CommandContext } from '../command-context.js';
import { rejectFolder } from '../option-values.js';

export async function runRestore(context: CommandContext, file: string): Promise<void> {
  const { databaseUrl, dataDirectory } = context.settings();
  requireEmbedded(databaseUrl, 'pg_restore or psql to load a backup');
  const source = file === '-' ? context.stdin : await readable(file);
  try {
    await restoreEmbedded(dataDirectory, source, file === '-' ? 'Standard input' : file);
  } finally {
    source.destroy();
  }
  const isDefault = dataDirectory === resolve('data');
  const at = isDefault ? '' : `DATA_DIR=${asArgument(dataDirectory)} `;
  await context.sumUp(`Restored into ${dataDirectory}.\n`);
  context.notes.write(`Check it with ${at}dms verify, serve it with ${at}dms serve.\n`);
}

async function readable(file: string): Promise<Readable> {
  try {
    rejectFolder(file, 'name the backup');
    return (await open(file)).createReadStream({ highWaterMark: 1024 * 1024 });
  } catch (error) {
    throw unreadable(file, error);
  }
}
