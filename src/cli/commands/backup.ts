import { createReadStream, existsSync } from 'node:fs';
import { link, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Command } from 'commander';
import { backUpEmbedded, requireEmbedded } from '../../database/backup.js';
import { OperationError } from '../../model/errors.js';
import type { CommandContext } from '../command-context.js';
import { showProgress } from '../progress.js';

/** `dms backup FILE`: a copy of the embedded database as it is at one moment. */
export function backupCommand(context: CommandContext): Command {
  return new Command('backup')
    .summary('write a backup of the embedded database')
    .description(
      'Writes everything that is in the embedded database, tokens too, to a file, as it is at one moment. The ' +
        'service goes on meanwhile: requests and imports wait until the files are copied.',
    )
    .argument('<file>', 'the file to write, a tar archive; - for standard output')
    .option('--force', 'replace the file if there is one', false)
    .action((file: string, options: { force: boolean }) =>
      file === '-' ? backUpToOutput(context) : backUpToFile(context, file, options.force),
    );
}

async function backUpToFile(context: CommandContext, file: string, force: boolean): Promise<void> {
  if (!force && existsSync(file)) throw taken(file);
  const unfinished = join(dirname(file), `.${basename(file)}.${process.pid}.unfinished`);
  try {
    const size = await backUp(context, unfinished);
    await putInPlace(unfinished, file, force);
    context.stdout.write(`Backed up to ${file} (${megabytes(size)} MB).\n`);
  } finally {
    await rm(unfinished, { force: true });
  }
}

/** By way of a file: a reader that is slow must not keep everybody from the database. */
async function backUpToOutput(context: CommandContext): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'dms-backup-'));
  try {
    const file = join(folder, 'backup.tar');
    await backUp(context, file);
    await pipeline(createReadStream(file), context.stdout, { end: false });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** @returns the size in bytes. */
async function backUp(context: CommandContext, file: string): Promise<number> {
  const { databaseUrl, dataDirectory } = context.settings();
  requireEmbedded(databaseUrl, 'pg_dump to write a backup');
  const database = await context.openDatabase({ mayCreate: false });
  let files = 0;
  const hideProgress = showProgress(context.stderr, 'files', () => ({ done: 0, total: null, items: files }));
  const onFile = (count: number) => {
    files = count;
  };
  try {
    return await backUpEmbedded(database, { dataDirectory, file, onFile });
  } finally {
    hideProgress();
    await database.close();
  }
}

async function putInPlace(unfinished: string, file: string, force: boolean): Promise<void> {
  if (force) return rename(unfinished, file);
  try {
    // Unlike a renamed file, a link never takes another's place.
    await link(unfinished, file);
  } catch {
    if (existsSync(file)) throw taken(file);
    // A file system without hard links.
    await rename(unfinished, file);
  }
}

function taken(file: string): OperationError {
  return new OperationError(`There is a file ${file}: choose another name, or replace it with --force.`);
}

function megabytes(bytes: number): string {
  return (bytes / 1_000_000).toFixed(1);
}
