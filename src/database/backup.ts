import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import { mkdir, mkdtemp, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createGunzip, createGzip } from 'node:zlib';
import type pg from 'pg';
import { type Entry, extract, type Headers, type Pack, pack } from 'tar-stream';
import { attempt } from '../model/attempt.js';
import { errorCode, messageOf, OperationError } from '../model/errors.js';
import { isInUse } from './embedded/claim.js';
import { DATABASE_FOLDER, POSTGRESQL_MAJOR, unusable } from './embedded/data-folder.js';
import { inTransaction } from './transaction.js';

/** Of a backup, as of pg_basebackup's: an archive without it is not complete. */
const LAST_ENTRY = `${DATABASE_FOLDER}/global/pg_control`;

/** Of the process that has the database open. */
const LEFT_OUT = new Set(['postmaster.pid', 'postmaster.opts']);

/** In bytes. */
const BLOCK = 1024 * 1024;

interface BackupOptions {
  readonly dataDirectory: string;
  /** Only its owner may read it. It is removed if the backup cannot be completed. */
  readonly file: string;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Writes a backup of the embedded database while it is in use: its folder as it is at one moment, as .tar.gz.
 * A transaction, which all other clients wait for, keeps the database still while a checkpoint writes its
 * memory to disk and its files are copied.
 *
 * @returns the size of the backup, in bytes.
 * @throws the database's error if it ends meanwhile; the system's if the file exists or cannot be written.
 */
export async function backUpEmbedded(
  pool: pg.Pool,
  { dataDirectory, file, signal }: BackupOptions,
): Promise<number> {
  const handle = await open(file, 'wx', 0o600);
  try {
    await inTransaction(pool, async (client) => {
      signal?.throwIfAborted();
      await client.query('CHECKPOINT');
      // The fastest level: all clients wait for the copy, and slower levels save little.
      const gzip = createGzip({ level: constants.Z_BEST_SPEED, chunkSize: BLOCK });
      // By its path: a stream closes the handle that it is given, which is still to be synced.
      const target = createWriteStream(file, { flags: 'r+', highWaterMark: BLOCK });
      await pipeline(archive(dataDirectory), gzip, target, { signal });
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

function archive(dataDirectory: string): Pack {
  const entries = pack();
  const addAll = async () => {
    for (const name of await namesIn(dataDirectory)) await addEntry(entries, join(dataDirectory, name), name);
    entries.finalize();
  };
  addAll().catch((error) => entries.destroy(error));
  return entries;
}

async function addEntry(entries: Pack, path: string, name: string): Promise<void> {
  const found = await stat(path);
  const { size, mtime } = found;
  if (found.isDirectory()) return void entries.entry({ name, type: 'directory', mode: 0o700, mtime });
  const header: Headers = { name, type: 'file', size, mode: 0o600, mtime };
  if (size > BLOCK) return pipeline(createReadStream(path, { highWaterMark: BLOCK }), entries.entry(header));
  // Most of the thousand files are small: a stream for each would take longer than to compress it.
  const content = await readFile(path);
  await new Promise<void>((resolve, reject) => {
    entries.entry(header, content, (error) => (error ? reject(error) : resolve()));
  });
}

/** Each folder before what is in it, and LAST_ENTRY last. */
async function namesIn(dataDirectory: string): Promise<string[]> {
  const paths = await readdir(join(dataDirectory, DATABASE_FOLDER), { recursive: true });
  const names = paths.filter((path) => !LEFT_OUT.has(path)).map((path) => `${DATABASE_FOLDER}/${path}`);
  return [DATABASE_FOLDER, ...names.filter((name) => name !== LAST_ENTRY).sort(), LAST_ENTRY];
}

/** @throws OperationError for a database on a server, which has its own tools for it. */
export function requireEmbedded(databaseUrl: string | undefined, instead: string): void {
  if (databaseUrl === undefined) return;
  const reason = 'DATABASE_URL is set, and this is for the embedded database only';
  throw new OperationError(`${reason}: use PostgreSQL's own ${instead}.`);
}

/** The folder that a process, whose id it names, unpacks into. */
const UNFINISHED = /^restoring-(\d+)-/;

/** The codes of errors of the archive: tar-stream's have none, and paths in it may not fit together. */
const DAMAGE = /^(?:Z_.+|ERR_.+|EEXIST|ENOENT|ENOTDIR|)$/;

/**
 * Puts a backup into a data folder without a database. It is renamed to its place once all of it is unpacked
 * and checked: a restore that fails, or is killed, leaves no database; one that fails leaves the folder empty.
 *
 * @param name of the source, for errors.
 * @throws OperationError if there is a database, or the backup cannot be used.
 */
export async function restoreEmbedded(dataDirectory: string, source: Readable, name: string): Promise<void> {
  await mkdir(dataDirectory, { recursive: true, mode: 0o700 }).catch((error) => {
    throw unusable(dataDirectory, error);
  });
  // An owner opens files by their paths, even of a database that was moved away.
  if (await isInUse(dataDirectory)) throw occupied(dataDirectory);
  await removeUnfinished(dataDirectory);
  const unfinished = await mkdtemp(join(dataDirectory, `restoring-${process.pid}-`));
  try {
    await unpackBackup(source, unfinished).catch((error) => {
      source.destroy();
      const isDamaged = !(error instanceof OperationError) && DAMAGE.test(errorCode(error));
      const outcome = isDamaged ? 'Nothing was restored; use another copy of it' : 'Nothing was restored';
      throw new OperationError(`${name} cannot be restored: ${messageOf(error)}. ${outcome}.`);
    });
    await rename(join(unfinished, DATABASE_FOLDER), join(dataDirectory, DATABASE_FOLDER)).catch((error) => {
      // Another process has made a database meanwhile: rename() replaces no folder that is not empty.
      throw ['ENOTEMPTY', 'EEXIST'].includes(errorCode(error)) ? occupied(dataDirectory) : error;
    });
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

/** Of restores that were killed: of processes that have ended, or had this one's id. */
async function removeUnfinished(dataDirectory: string): Promise<void> {
  for (const name of await readdir(dataDirectory)) {
    const [, id] = UNFINISHED.exec(name) ?? [];
    const isRunning = Number(id) !== process.pid && attempt(() => process.kill(Number(id), 0)) === true;
    if (id !== undefined && !isRunning) await rm(join(dataDirectory, name), { recursive: true, force: true });
  }
}

function occupied(dataDirectory: string): OperationError {
  return new OperationError(
    `${dataDirectory} already has a database, which is never overwritten: set DATA_DIR to a new folder, or stop the service and move ${join(dataDirectory, DATABASE_FOLDER)} away.`,
  );
}

/** None leads out of the database's folder. */
const ENTRY_NAME = new RegExp(`^${DATABASE_FOLDER}(?:/(?!\\.{1,2}(?:/|$))[\\w.-]+)*$`);

/**
 * Checks that the archive is a backup, of this program's PostgreSQL, and complete. gzip's own checksum shows
 * what has been altered. Nothing is written outside of the folder.
 */
async function unpackBackup(source: Readable, folder: string): Promise<void> {
  const archive = extract();
  const fed = pipeline(source, createGunzip(), archive);
  fed.catch(() => {});
  let last = '';
  for await (const entry of archive) {
    if (last === LAST_ENTRY) throw new Error('something follows its end');
    last = entry.header.name.replace(/\/$/, '');
    await unpackEntry(entry, last, folder);
  }
  await fed;
  if (last !== LAST_ENTRY) throw new Error('its end is missing, or it is no backup made by dms backup');
  if (!existsSync(join(folder, DATABASE_FOLDER, 'PG_VERSION')))
    throw new Error('it does not contain a database');
}

async function unpackEntry(entry: Entry, name: string, folder: string): Promise<void> {
  const { type } = entry.header;
  const [, major] = /^postgresql-(\d+)$/.exec(name) ?? [];
  if (major !== undefined && name !== DATABASE_FOLDER) {
    throw new OperationError(
      `it is of PostgreSQL ${major}, and this program has PostgreSQL ${POSTGRESQL_MAJOR}; restore it with the version of this program that made it, and carry it over with dms export and dms import`,
    );
  }
  if (ENTRY_NAME.test(name) && type === 'file') {
    await pipeline(entry, createWriteStream(join(folder, name), { flags: 'wx', mode: 0o600 }));
  } else if (ENTRY_NAME.test(name) && type === 'directory') {
    entry.resume();
    await mkdir(join(folder, name), { mode: 0o700 });
  } else throw new Error(`it holds a ${type} ${JSON.stringify(name.slice(0, 80))}, which no backup has`);
}
