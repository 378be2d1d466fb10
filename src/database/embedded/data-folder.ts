import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { OperationError } from '../../model/errors.js';

/** The major version of PostgreSQL that the installed PGlite is, and whose data folder it can open. */
export const POSTGRESQL_MAJOR = 18;

/** The name of the embedded database's folder within the data folder. */
export const DATABASE_FOLDER = `postgresql-${POSTGRESQL_MAJOR}`;

const FOLDER = /^postgresql-\d+$/;

/** The file that marks a new database as one that is still to be filled. */
const UNFILLED = 'unfilled';

/**
 * What becomes of a data folder without a database: `none`, it is refused; `empty`, it gets one;
 * `unfilled`, it gets one that is marked until somebody has filled it.
 */
export const MAKINGS = ['none', 'empty', 'unfilled'] as const;

export type Making = (typeof MAKINGS)[number];

/** Makes a new database in an empty folder, and closes it. */
export type MakeDatabase = (folder: string) => Promise<void>;

/**
 * The folder of the embedded database within the data folder. A new one is made under another name and
 * gets its own only when it is complete, so that a start that was interrupted leaves no half database.
 * Only the owner of the data folder may call it.
 *
 * @throws OperationError where a database of another major version is there, or none and none may be made.
 */
export async function readyDataFolder(
  dataDirectory: string,
  making: Making,
  make: MakeDatabase,
): Promise<{ folder: string; created: boolean }> {
  const folder = join(dataDirectory, DATABASE_FOLDER);
  const found = (await readdir(dataDirectory)).filter((name) => FOLDER.test(name));
  if (found.includes(basename(folder))) {
    await requireOwnVersion(folder);
    return { folder, created: false };
  }
  const [other] = found;
  if (other !== undefined) throw otherVersion(join(dataDirectory, other), other.replace(/\D/g, ''));
  if (making === 'none') throw new OperationError(`The embedded database in ${folder} is gone.`);
  // Before the database has its name: a process that is killed in between leaves a mark without a
  // database, which the next one who makes one decides anew.
  if (making === 'unfilled') await writeFile(join(dataDirectory, UNFILLED), '', { mode: 0o600 });
  else await markFilled(dataDirectory);
  await create(folder, make);
  return { folder, created: true };
}

/** Whether the database was made to be filled, and nobody has said that it is. */
export function isUnfilled(dataDirectory: string): boolean {
  return existsSync(join(dataDirectory, UNFILLED));
}

/** Takes the mark of an unfilled database away. */
export async function markFilled(dataDirectory: string): Promise<void> {
  await rm(join(dataDirectory, UNFILLED), { force: true });
}

/** Whether there is a database in the data folder, of whatever version. Nothing is made. */
export async function hasDatabase(dataDirectory: string): Promise<boolean> {
  return (await readdir(dataDirectory)).some((name) => FOLDER.test(name));
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

/** The code of an error of Node.js, such as `ENOENT`; undefined for anything else. */
export function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
