import { chmod, mkdir, readdir, readFile, rename, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf, OperationError } from '../../model/errors.js';

/** The major version of PostgreSQL that the installed PGlite is, and whose files it can open. */
export const POSTGRESQL_MAJOR = 18;

export const DATABASE_FOLDER = `postgresql-${POSTGRESQL_MAJOR}`;

/** What happens if a data folder has no database. */
export type IfMissing = 'fail' | 'create';

/** Makes `run`, for sockets, which only its owner may enter. @returns its path. @throws OperationError */
export async function prepareRunDirectory(dataDirectory: string): Promise<string> {
  const runDirectory = join(dataDirectory, 'run');
  try {
    await mkdir(runDirectory, { recursive: true, mode: 0o700 });
    // Of a service that runs, the folder may be read-only here.
    if (((await stat(runDirectory)).mode & 0o077) !== 0) await chmod(runDirectory, 0o700);
  } catch (error) {
    throw unusable(dataDirectory, error);
  }
  return runDirectory;
}

export function unusable(dataDirectory: string, cause: unknown): OperationError {
  return new OperationError(
    `The data folder ${dataDirectory} cannot be used: ${messageOf(cause)}. Set DATA_DIR to a folder that this user owns, on a disk with room.`,
    { cause },
  );
}

/** In bytes, for this user. @throws the system's error. */
export async function freeRoom(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

/**
 * The database's folder within the data folder. A new one is made under another name and renamed when it is
 * complete, so that an interrupted start leaves no incomplete database. Only the owner of the data folder
 * (claim.ts) may call it.
 *
 * @param initialize makes a new database in an empty folder, and closes it.
 * @throws OperationError if there is a database of another major version, or none and none may be made.
 */
export async function prepareDatabaseFolder(
  dataDirectory: string,
  ifMissing: IfMissing,
  initialize: (folder: string) => Promise<void>,
): Promise<{ folder: string; created: boolean }> {
  const folder = join(dataDirectory, DATABASE_FOLDER);
  const found = await findDatabases(dataDirectory);
  const present = found.includes(DATABASE_FOLDER) ? DATABASE_FOLDER : found[0];
  if (present !== undefined) {
    const place = join(dataDirectory, present);
    const version = (await readFile(join(place, 'PG_VERSION'), 'utf8').catch(() => '')).trim();
    if (place === folder && version === String(POSTGRESQL_MAJOR)) return { folder, created: false };
    if (version === '')
      throw new OperationError(
        `${place} is no database: its PG_VERSION cannot be read. Restore the folder, or move it away.`,
      );
    throw new OperationError(
      `${place} holds a database of PostgreSQL ${version}, and this program has PostgreSQL ${POSTGRESQL_MAJOR}. Dump it with the version of this program that made it, move the folder away, and load the dump with this version.`,
    );
  }
  if (ifMissing === 'fail') throw new OperationError(`The embedded database in ${folder} is gone.`);
  const unfinished = `${folder}.new`;
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished, { mode: 0o700 });
  await initialize(unfinished);
  await rename(unfinished, folder);
  return { folder, created: true };
}

/** Of any major version. */
export async function findDatabases(dataDirectory: string): Promise<string[]> {
  return (await readdir(dataDirectory)).filter((name) => /^postgresql-\d+$/.test(name));
}
