import { lstatSync, mkdirSync, rmdirSync, symlinkSync, unlinkSync } from 'node:fs';
import { mkdtemp, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OperationError } from '../../model/errors.js';

/** The longest path of a Unix socket, in bytes, that every system takes (sun_path: 104 with its NUL). */
const LONGEST_PATH = 103;
/** The longest name that a socket of ours has. */
const LONGEST_NAME = 'owner-0123456789abcdef';

/** A folder of sockets under a path that is short enough to bind and to connect to. */
export interface SocketDirectory {
  readonly path: string;
  /**
   * Makes the short path again where it is gone: folders for temporary files are cleaned.
   *
   * @throws Error where it cannot be made, or is another user's by now; its message is one of those that
   *   isDatabaseFailure() knows.
   */
  ensure(): void;
  /** Takes the short path away; the folder itself stays. */
  remove(): void;
}

/**
 * The folder itself, or, where its path is too long for a Unix socket, a symbolic link to it in a new
 * folder for temporary files that only its owner may enter. The link goes away with the process.
 *
 * @throws OperationError where no folder for temporary files is short enough or can be written.
 */
export async function shortSocketDirectory(directory: string): Promise<SocketDirectory> {
  if (fits(directory)) return { path: directory, ensure: () => {}, remove: () => {} };
  for (const temporary of [tmpdir(), '/tmp']) {
    if (!fits(join(temporary, 'dms-XXXXXX', 'run'))) continue;
    const made = await linkTo(directory, temporary);
    if (made !== null) return made;
  }
  throw new OperationError(
    `The path ${directory} is too long for a socket, and no folder for temporary files can be used instead. Set DATA_DIR to a shorter path, or TMPDIR to a folder that can be written.`,
  );
}

function fits(directory: string): boolean {
  return Buffer.byteLength(join(directory, LONGEST_NAME)) <= LONGEST_PATH;
}

async function linkTo(directory: string, temporary: string): Promise<SocketDirectory | null> {
  const holder = await mkdtemp(join(temporary, 'dms-')).catch(() => null);
  if (holder === null) return null;
  const path = join(holder, 'run');
  try {
    symlinkSync(directory, path);
  } catch {
    await rmdir(holder);
    return null;
  }
  return linked(directory, path, holder);
}

function linked(directory: string, path: string, holder: string): SocketDirectory {
  const remove = () => {
    process.off('exit', remove);
    try {
      unlinkSync(path);
      rmdirSync(holder);
    } catch {
      // Whoever cleans the folder for temporary files was first.
    }
  };
  process.on('exit', remove);
  const ensure = () => {
    try {
      restore(directory, path, holder);
    } catch (cause) {
      throw new Error(`The embedded database cannot be reached by ${path}.`, { cause });
    }
  };
  return { path, ensure, remove };
}

function restore(directory: string, path: string, holder: string): void {
  const found = lstatSync(holder, { throwIfNoEntry: false });
  if (found === undefined) mkdirSync(holder, { mode: 0o700 });
  else if (found.uid !== process.getuid?.()) throw new Error(`${holder} belongs to another user.`);
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) symlinkSync(directory, path);
}
