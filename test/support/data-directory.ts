import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { attach } from '../../src/database/embedded/attachment.js';
import { shortSocketDirectory } from '../../src/database/embedded/socket-directory.js';
import { endedByRequest } from './processes.js';

/** A new, empty folder for an embedded database; of a run of tests, if it is to be known as such. */
export function newDataDirectory(run = 'test'): Promise<string> {
  return mkdtemp(join(tmpdir(), `dms-${run}-`));
}

/** The process that has the embedded database open; null if none has. */
export async function ownerOf(dataDirectory: string): Promise<number | null> {
  const runDirectory = join(dataDirectory, 'run');
  const sockets = await shortSocketDirectory(runDirectory);
  try {
    const attachment = await attach(runDirectory, sockets.path, AbortSignal.timeout(10_000));
    attachment?.detach();
    return attachment?.processId ?? null;
  } finally {
    sockets.remove();
  }
}

/** Deletes the folder once its database, which has no user any more, has closed. */
export async function removeDataDirectory(dataDirectory: string): Promise<void> {
  const owner = await ownerOf(dataDirectory).catch(() => null);
  if (owner !== null) {
    // Without its time of grace; as long as it has a user it stays open.
    await endedByRequest(owner);
  }
  // A user that left while it started a new owner leaves a process that still writes its first files.
  await rm(dataDirectory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
}
