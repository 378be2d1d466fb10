import { createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { type Entry, extract } from 'tar-stream';
import { errorCode, messageOf, OperationError } from '../model/errors.js';
import { LAST_ENTRY } from './backup.js';
import { DATABASE_FOLDER, POSTGRESQL_MAJOR } from './embedded/data-folder.js';

/** Names of the database's folder, and of what can be in it; none leads anywhere else. */
const ENTRY_NAME = new RegExp(`^${DATABASE_FOLDER}(?:/(?!\\.{1,2}(?:/|$))[\\w.-]+)*$`);

/** What has been unpacked of an archive. */
interface Unpacked {
  entries: number;
  complete: boolean;
}

/**
 * Unpacks a backup into an empty folder, and checks that it is one, of this program's PostgreSQL, and complete. gzip's
 * own checksum shows what has been altered. Nothing is written outside of the folder. If it throws, the folder's
 * content is to be deleted.
 *
 * @param name of the source, for errors.
 * @returns the number of files and folders.
 * @throws OperationError, one line, if the archive cannot be used; what reading or writing throws.
 */
export async function unpackBackup(source: Readable, folder: string, name: string): Promise<number> {
  const archive = extract();
  const fed = pipeline(source, createGunzip(), archive);
  fed.catch(() => {});
  const done: Unpacked = { entries: 0, complete: false };
  try {
    for await (const entry of archive) await take(entry, folder, name, done);
    await fed;
    if (!done.complete) throw new Error('its end is missing');
    return done.entries;
  } catch (error) {
    source.destroy();
    await fed.catch(() => {});
    if (!isOfArchive(error)) throw error;
    // Where nothing was unpacked, it is probably something else.
    throw new OperationError(
      done.entries === 0
        ? `${name} is not a backup made by dms backup.`
        : `${name} is damaged: ${messageOf(error)}. Nothing was restored; use another copy of it.`,
    );
  }
}

/** @throws OperationError for a backup of another major version, Error for what is no backup. */
async function take(entry: Entry, folder: string, archive: string, done: Unpacked): Promise<void> {
  const { type } = entry.header;
  const name = entry.header.name.replace(/\/$/, '');
  if (done.complete) throw new Error('something follows its end');
  if (done.entries === 0) requireOwnMajor(archive, name);
  // No links, no devices, and no name that leads out of the folder.
  if ((type !== 'file' && type !== 'directory') || !ENTRY_NAME.test(name)) {
    throw new Error(`it holds ${JSON.stringify(name.slice(0, 80))} (${type}), which no backup has`);
  }
  if (type === 'directory') {
    entry.resume();
    await mkdir(join(folder, name), { mode: 0o700 });
  } else {
    await pipeline(entry, createWriteStream(join(folder, name), { flags: 'wx', mode: 0o600 }));
  }
  done.entries += 1;
  done.complete = name === LAST_ENTRY;
}

/** @param name of the first entry. */
function requireOwnMajor(archive: string, name: string): void {
  const major = /^postgresql-(\d+)$/.exec(name)?.[1];
  if (major !== undefined && major !== String(POSTGRESQL_MAJOR)) {
    throw new OperationError(
      `${archive} is of PostgreSQL ${major}, and this program has PostgreSQL ${POSTGRESQL_MAJOR}. Restore it with the version of this program that made it, and carry it over with dms export and dms import.`,
    );
  }
}

/**
 * Whether an error is about the archive and not about the system: the errors of tar-stream have no code, those of
 * zlib and of streams have their own, and paths that do not fit together are the archive's.
 */
function isOfArchive(error: unknown): boolean {
  if (error instanceof OperationError) return false;
  const code = errorCode(error);
  return ['', 'EEXIST', 'ENOENT', 'ENOTDIR'].includes(code) || /^(?:Z|ERR)_/.test(code);
}
