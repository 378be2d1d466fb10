import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { OperationError } from '../../model/errors.js';
import { codeOf } from './error-code.js';

/** The major version of PostgreSQL that the installed PGlite is, and whose data folder it can open. */
export const POSTGRESQL_MAJOR = 18;

const FOLDER = /^postgresql-\d+$/;

/** Makes a new database in an empty folder, and closes it. */
export type MakeDatabase = (folder: string) => Promise<void>;

/**
 * The folder of the embedded database within the data folder. A new one is made under another name and
 * gets its own only when it is complete, so that a start that was interrupted leaves no half database.
 * Only the owner of the data folder may call it.
 *
 * @param mayCreate whether a data folder without a database gets one.
 * @throws OperationError where a database of another major version is there, or none and none may be made.
 */
export async function readyDataFolder(
  dataDirectory: string,
  mayCreate: boolean,
  make: MakeDatabase,
): Promise<{ folder: string; created: boolean }> {
  const folder = join(dataDirectory, `postgresql-${POSTGRESQL_MAJOR}`);
  const found = (await readdir(dataDirectory)).filter((name) => FOLDER.test(name));
  if (found.includes(basename(folder))) {
    await requireOwnVersion(folder);
    return { folder, created: false };
  }
  const [other] = found;
  if (other !== undefined) throw otherVersion(join(dataDirectory, other), other.replace(/\D/g, ''));
  if (!mayCreate) throw new OperationError(`The embedded database in ${folder} is gone.`);
  await create(folder, make);
  return { folder, created: true };
}

async function create(folder: string, make: MakeDatabase): Promise<void> {
  const unfinished = `${folder}.new`;
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished, { mode: 0o700 });
  await make(unfinished);
  await rename(unfinished, folder);
}

async function requireOwnVersion(folder: string): Promise<void> {
  const version = await readVersion(join(folder, 'PG_VERSION'));
  if (version === null) {
    throw new OperationError(
      `${folder} is no data folder of PostgreSQL: it has no PG_VERSION. Move it away to start with an empty database.`,
    );
  }
  if (version !== String(POSTGRESQL_MAJOR)) throw otherVersion(folder, version);
}

async function readVersion(file: string): Promise<string | null> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

function otherVersion(folder: string, version: string): OperationError {
  return new OperationError(
    `${folder} holds a database of PostgreSQL ${version}, and this program has PostgreSQL ${POSTGRESQL_MAJOR}. Dump it with the version of this program that made it, move the folder away, and load the dump with this version.`,
  );
}
