import { createReadStream, createWriteStream } from 'node:fs';
import { open, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { constants, createGzip } from 'node:zlib';
import type pg from 'pg';
import { type Headers, type Pack, pack } from 'tar-stream';
import { OperationError } from '../model/errors.js';
import { DATABASE_FOLDER } from './embedded/data-folder.js';
import { inTransaction } from './transaction.js';

/** The last entry of a backup, as of pg_basebackup's: an archive without it is not complete. */
export const LAST_ENTRY = `${DATABASE_FOLDER}/global/pg_control`;

/** Files of the process that has the database open. */
const LEFT_OUT = new Set(['postmaster.pid', 'postmaster.opts']);

/** In bytes: what is read and written at once. */
const BLOCK = 1024 * 1024;

interface BackupOptions {
  readonly dataDirectory: string;
  /** The new file; only its owner may read it. It is removed if the backup cannot be completed. */
  readonly file: string;
  /** Called after each file of the database. */
  readonly onFile?: (() => void) | undefined;
  /** Ends the backup with an AbortError. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Writes a backup of the embedded database while it is in use: a tar archive, compressed by gzip, of the
 * database's folder as it is at one moment. A transaction, which all other clients wait for, keeps the database
 * still while a checkpoint writes its memory to disk and its files are copied.
 *
 * @returns the size of the backup, in bytes.
 * @throws OperationError if the database ends meanwhile; the system's error if the file exists or cannot be written.
 */
export async function backUpEmbedded(pool: pg.Pool, options: BackupOptions): Promise<number> {
  const { file, signal } = options;
  const handle = await open(file, 'wx', 0o600);
  try {
    await inTransaction(pool, async (client) => {
      signal?.throwIfAborted();
      await client.query('CHECKPOINT');
      await writeArchive(options);
      // If the process that had the database open has ended, another may have changed the files meanwhile.
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

async function writeArchive({ dataDirectory, file, onFile, signal }: BackupOptions): Promise<void> {
  const archive = pack();
  addEntries(archive, dataDirectory, onFile).catch((error) => archive.destroy(error));
  // The fastest level: all clients wait for the copy, and slower levels save little.
  const gzip = createGzip({ level: constants.Z_BEST_SPEED, chunkSize: BLOCK });
  // By its path: a stream closes the handle that it is given, and that of the caller is still to be synced.
  const target = createWriteStream(file, { flags: 'r+', highWaterMark: BLOCK });
  await pipeline(archive, gzip, target, { signal });
}

async function addEntries(archive: Pack, dataDirectory: string, onFile: BackupOptions['onFile']) {
  for (const name of await namesOf(dataDirectory)) {
    await addEntry(archive, join(dataDirectory, name), name);
    onFile?.();
  }
  archive.finalize();
}

async function addEntry(archive: Pack, path: string, name: string): Promise<void> {
  const found = await stat(path);
  const { size, mtime } = found;
  if (found.isDirectory()) {
    archive.entry({ name, type: 'directory', mode: 0o700, mtime });
    return;
  }
  const header: Headers = { name, type: 'file', size, mode: 0o600, mtime };
  if (size > BLOCK) return pipeline(createReadStream(path, { highWaterMark: BLOCK }), archive.entry(header));
  // Most of the thousand files are small: a stream for each would take longer than to compress it.
  const content = await readFile(path);
  await new Promise<void>((resolve, reject) => {
    archive.entry(header, content, (error) => (error ? reject(error) : resolve()));
  });
}

/** The names of all entries: each folder before what is in it, and LAST_ENTRY last. */
async function namesOf(dataDirectory: string): Promise<string[]> {
  const paths = await readdir(join(dataDirectory, DATABASE_FOLDER), { recursive: true });
  const names = paths.filter((path) => !LEFT_OUT.has(path)).map((path) => `${DATABASE_FOLDER}/${path}`);
  return [DATABASE_FOLDER, ...names.filter((name) => name !== LAST_ENTRY).sort(), LAST_ENTRY];
}

/** @throws OperationError for a database on a server, which has its own tools for it. */
export function requireEmbedded(databaseUrl: string | undefined, instead: string): void {
  if (databaseUrl === undefined) return;
  throw new OperationError(
    `DATABASE_URL is set, and this is for the embedded database only: use PostgreSQL's own ${instead}.`,
  );
}
