import { statSync } from 'node:fs';
import { mkdtemp, open, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { backUpEmbedded, requireEmbedded, restoreEmbedded } from '../../database/backup.js';
import { errorCode, OperationError } from '../../model/errors.js';
import { unreadable, unwritable } from '../../model/file-failure.js';
import { type CommandContext, stopSignal } from '../command-context.js';

export async function runBackup(context: CommandContext, file: string, { force }: { force: boolean }) {
  if (file === '-') return backUpToOutput(context);
  const signal = stopSignal(context);
  const unfinished = join(dirname(file), `.${basename(file)}.${process.pid}.unfinished`);
  try {
    requireFree(file, force);
    const size = await backUp(context, unfinished, signal);
    requireFree(file, force);
    await rename(unfinished, file);
    await context.sumUp(`Backed up to ${file} (${(size / 1_000_000).toFixed(1)} MB).\n`);
  } catch (error) {
    throw isWriteError(error, [file, unfinished]) ? unwritable(file, error) : error;
  } finally {
    // Where that fails, the error about the file itself says why.
    await rm(unfinished, { force: true }).catch(() => {});
  }
}

function isWriteError(error: unknown, paths: readonly unknown[]): boolean {
  // These two are about the connection to the database.
  if (!(error instanceof Error) || ['EPIPE', 'ECONNRESET'].includes(errorCode(error))) return false;
  return paths.includes(Reflect.get(error, 'path')) || Reflect.get(error, 'syscall') === 'write';
}

/**
 * Backs up to a temporary file first, so that a slow reader of standard output does not hold up the database's
 * other clients. The file is unlinked before it is read: nothing is left of it however the process ends.
 */
async function backUpToOutput(context: CommandContext): Promise<void> {
  const signal = stopSignal(context);
  const folder = await mkdtemp(join(tmpdir(), 'dms-backup-'));
  const path = join(folder, 'backup.tar.gz');
  const file = await backUp(context, path, signal)
    .then(() => open(path))
    .finally(() => rm(folder, { recursive: true, force: true }));
  await pipeline(file.createReadStream(), context.stdout, { end: false, signal }).catch((error) => {
    if (!signal.aborted) throw unwritable('standard output', error);
    throw new OperationError('Stopped by a signal: what was written is not a complete backup.');
  });
}

/** @returns the size in bytes. @throws OperationError if the signal ends it: nothing is left then. */
async function backUp(context: CommandContext, file: string, signal: AbortSignal): Promise<number> {
  const { databaseUrl, dataDirectory } = context.settings();
  requireEmbedded(databaseUrl, 'pg_dump to write a backup');
  return context.withConnections('fail', ({ pool }) =>
    backUpEmbedded(pool, { dataDirectory, file, signal }).catch((error) => {
      throw signal.aborted ? new OperationError('Stopped by a signal: nothing was written.') : error;
    }),
  );
}

export async function runRestore(context: CommandContext, file: string): Promise<void> {
  const { databaseUrl, dataDirectory } = context.settings();
  requireEmbedded(databaseUrl, 'pg_restore or psql to load a backup');
  const source = file === '-' ? context.stdin : await openBackup(file);
  try {
    await restoreEmbedded(dataDirectory, source, file === '-' ? 'Standard input' : file);
  } finally {
    source.destroy();
  }
  await context.sumUp(`Restored into ${dataDirectory}.\n`);
  context.note('Check it with dms verify, serve it with dms serve, and the same DATA_DIR.\n');
}

async function openBackup(file: string) {
  try {
    requireFree(file, true);
    return (await open(file)).createReadStream({ highWaterMark: 1024 * 1024 });
  } catch (error) {
    throw unreadable(file, error);
  }
}

/** @throws OperationError if it is a folder, or a file that may not be replaced; the system's error. */
function requireFree(path: string, force: boolean): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory() === true) throw new OperationError(`${path} is a folder: name a file in it.`);
  if (found !== undefined && !force)
    throw new OperationError(`${path} already exists: choose another name, or replace it with --force.`);
}
