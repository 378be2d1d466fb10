import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Pack, pack } from 'tar-stream';
import { type ArchiveTail, entryMark, FORMAT, HEAD_NAME, PREFIX, TAIL_NAME } from './archive-format.js';
import { POSTGRESQL_MAJOR } from './data-folder.js';

/** What the process that had it open has left there, and what no other may find. */
const LEFT_OUT = new Set(['postmaster.pid', 'postmaster.opts']);

export interface WriteOptions {
  readonly madeAt: Date;
  /** Is called after each file with how many there were so far. */
  readonly onFile?: ((files: number) => void) | undefined;
  /** Ends the writing with an AbortError. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Writes the archive of a data folder that nobody changes meanwhile, file by file: its memory is that of a
 * few blocks, however large the database.
 *
 * @param target is closed at the end.
 * @throws what reading or writing throws.
 */
export async function writeArchive(
  folder: string,
  target: Writable,
  { madeAt, onFile, signal }: WriteOptions,
): Promise<ArchiveTail> {
  const archive = pack();
  const written = pipeline(archive, target, { signal });
  // Without a listener, an early failure would count as unhandled until it is awaited.
  written.catch(() => {});
  try {
    const head = { format: FORMAT, postgresql: POSTGRESQL_MAJOR, madeAt: madeAt.toISOString() };
    archive.entry({ name: HEAD_NAME }, `${JSON.stringify(head)}\n`);
    const hash = createHash('sha256');
    let files = 0;
    for await (const path of pathsIn(folder, '')) {
      if (await Promise.race([written.then(() => true), addEntry(archive, hash, folder, path)])) break;
      files += 1;
      onFile?.(files);
    }
    const tail = { files, sha256: hash.digest('hex') };
    archive.entry({ name: TAIL_NAME }, `${JSON.stringify(tail)}\n`);
    archive.finalize();
    await written;
    return tail;
  } catch (error) {
    archive.destroy();
    await written.catch(() => {});
    throw error;
  }
}

/** Every folder before what is in it, by name; without a slash at the ends. */
async function* pathsIn(folder: string, path: string): AsyncGenerator<string> {
  yield path;
  const entries = await readdir(join(folder, path), { withFileTypes: true });
  for (const entry of entries.sort((one, other) => (one.name < other.name ? -1 : 1))) {
    if (path === '' && LEFT_OUT.has(entry.name)) continue;
    const inside = path === '' ? entry.name : `${path}/${entry.name}`;
    if (entry.isDirectory()) yield* pathsIn(folder, inside);
    else yield inside;
  }
}

async function addEntry(archive: Pack, hash: Hash, folder: string, path: string): Promise<void> {
  const source = join(folder, path);
  const name = path === '' ? PREFIX : `${PREFIX}/${path}`;
  const found = await stat(source);
  if (found.isDirectory()) {
    hash.update(entryMark('directory', name, 0));
    archive.entry({ name, type: 'directory', mode: 0o700, mtime: found.mtime });
    return;
  }
  const { size, mtime } = found;
  hash.update(entryMark('file', name, size));
  const entry = archive.entry({ name, type: 'file', size, mode: 0o600, mtime });
  const content = createReadStream(source, { highWaterMark: 1024 * 1024 });
  content.on('data', (part) => hash.update(part));
  await pipeline(content, entry);
}
