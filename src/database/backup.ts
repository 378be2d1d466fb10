import { createWriteStream } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { OperationError } from '../model/errors.js';
import type { Database } from './client.js';
import { PREFIX } from './embedded/archive-format.js';
import { writeArchive } from './embedded/write-archive.js';
import { inTransaction } from './transaction.js';

export interface BackupOptions {
  /** Absolute path of the data folder of the embedded database. */
  readonly dataDirectory: string;
  /** The new file; only its owner may read it. Where it cannot be completed, it is taken away. */
  readonly file: string;
  /** Is called after each file of the database with how many there were so far. */
  readonly onFile?: ((files: number) => void) | undefined;
  /** Ends the backup with an AbortError. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Writes a backup of the embedded database as it is at one moment, while it is in use: the database is
 * held still by a transaction, which all others wait for, its memory is written out, and its files are
 * copied.
 *
 * @returns the size of the backup, in bytes.
 * @throws OperationError where the file is there already or the database ends meanwhile; what writing throws.
 */
export async function backUpEmbedded(
  database: Database,
  { dataDirectory, file, onFile, signal }: BackupOptions,
): Promise<number> {
  const handle = await open(file, 'wx', 0o600);
  try {
    // The path again, since the stream closes what it writes to, and the handle has to last.
    const target = () => createWriteStream(file, { flags: 'r+', highWaterMark: 1024 * 1024 });
    await inTransaction(database.pool, async (client) => {
      signal?.throwIfAborted();
      await client.query('CHECKPOINT');
      await writeArchive(join(dataDirectory, PREFIX), target(), { madeAt: new Date(), onFile, signal });
      // Where the process that had it open has ended, another may have changed the files meanwhile.
      await client.query('SELECT 1');
    });
    await handle.sync();
    return (await handle.stat()).size;
  } catch (error) {
    await rm(file, { force: true });
    throw error;
  } finally {
    await handle.close();
  }
}

/** @throws OperationError for a database on a server, which has tools of its own for it. */
export function requireEmbedded(databaseUrl: string | undefined, instead: string): void {
  if (databaseUrl === undefined) return;
  throw new OperationError(
    `DATABASE_URL is set, and this is for the embedded database only: use PostgreSQL's own ${instead}.`,
  );
}
