import { createHash, type Hash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Entry, extract, type Headers } from 'tar-stream';
import { OperationError } from '../../model/errors.js';
import { entryMark, FORMAT, HEAD_NAME, isDataPath, TAIL_NAME } from './archive-format.js';
import { POSTGRESQL_MAJOR } from './data-folder.js';
import { codeOf } from './error-code.js';

/** Beyond what either of the two JSON objects can be. */
const LONGEST_TEXT = 10_000;

/**
 * Unpacks a backup into a new folder, and checks that it is one, of this program's PostgreSQL, and whole.
 * Nothing is written outside of the folder. Where it throws, what is in the folder is worth nothing.
 *
 * @param source The archive.
 * @param target Of an empty folder; the database is in `PREFIX` below it afterwards.
 * @param name Of the source, for errors.
 * @returns how many files and folders it holds.
 * @throws OperationError, one line, where the archive is not to be used; what reading or writing throws.
 */
export async function unpackArchive(source: Readable, target: string, name: string): Promise<number> {
  const archive = extract();
  const fed = pipeline(source, requireBeginning, archive);
  fed.catch(() => {});
  try {
    const files = await unpackEntries(archive, target);
    await fed;
    return files;
  } catch (error) {
    source.destroy();
    await fed.catch(() => {});
    const refusal = isOfArchive(error) ? notWhole(error) : error;
    throw refusal instanceof Refusal ? new OperationError(`${name} ${refusal.message}`) : error;
  }
}

/** Why an archive is not to be used: what follows its name in the line about it. */
class Refusal extends Error {}

const GZIP_MAGIC = Buffer.from([0x1f, 0x8b]);

/** A tar archive begins with its first entry's name. The parser takes anything for one that is only damaged. */
async function* requireBeginning(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let first: Buffer | null = Buffer.alloc(0);
  for await (const chunk of chunks) {
    if (first === null) {
      yield chunk;
      continue;
    }
    first = Buffer.concat([first, chunk]);
    if (first.length < HEAD_NAME.length) continue;
    checkBeginning(first);
    yield first;
    first = null;
  }
  if (first !== null) throw noBackup();
}

function checkBeginning(bytes: Buffer): void {
  if (bytes.subarray(0, GZIP_MAGIC.length).equals(GZIP_MAGIC)) {
    throw new Refusal('is packed by gzip: unpack it first (gunzip), and restore what comes out.');
  }
  if (bytes.toString('latin1', 0, HEAD_NAME.length) !== HEAD_NAME) throw noBackup();
}

async function unpackEntries(archive: AsyncIterable<Entry>, target: string): Promise<number> {
  const hash = createHash('sha256');
  let place: 'start' | 'inside' | 'end' = 'start';
  let files = 0;
  for await (const entry of archive) {
    const { header } = entry;
    if (place === 'end') throw notWhole('something follows its end');
    if (place === 'start') {
      checkHead(header.name === HEAD_NAME ? await textOf(entry) : '');
      place = 'inside';
    } else if (header.name === TAIL_NAME) {
      checkTail(await textOf(entry), files, hash);
      place = 'end';
    } else {
      await unpack(entry, target, hash);
      files += 1;
    }
  }
  if (place === 'start') throw noBackup();
  if (place !== 'end') throw notWhole('its end is missing');
  return files;
}

function checkHead(text: string): void {
  const head = objectOf(text);
  if (head === null || typeof head['format'] !== 'number') throw noBackup();
  if (head['format'] !== FORMAT) {
    throw new Refusal('was made by a newer version of this program: restore it with that version.');
  }
  if (head['postgresql'] !== POSTGRESQL_MAJOR) {
    throw new Refusal(
      `is of PostgreSQL ${head['postgresql']}, and this program has PostgreSQL ${POSTGRESQL_MAJOR}. Restore it with the version of this program that made it, and carry it over with dms export and dms import.`,
    );
  }
}

function checkTail(text: string, files: number, hash: Hash): void {
  const tail = objectOf(text);
  if (tail?.['files'] !== files) throw notWhole('files are missing, or there are too many');
  if (tail['sha256'] !== hash.digest('hex')) throw notWhole('its checksum is wrong');
}

async function unpack(entry: Entry, target: string, hash: Hash): Promise<void> {
  const { type, name, size } = plainHeader(entry.header);
  const path = join(target, name);
  hash.update(entryMark(type, name, size));
  if (type === 'directory') {
    entry.resume();
    await mkdir(path, { mode: 0o700 });
    return;
  }
  const digesting = new Transform({
    transform(part, _encoding, done) {
      hash.update(part);
      done(null, part);
    },
  });
  await pipeline(entry, digesting, createWriteStream(path, { flags: 'wx', mode: 0o600 }));
}

/** No links, no devices, and no name that leads out of the folder. */
function plainHeader({ type, name, size = 0 }: Headers): {
  type: 'file' | 'directory';
  name: string;
  size: number;
} {
  const plainName = name.replace(/\/$/, '');
  if ((type === 'file' || type === 'directory') && isDataPath(plainName)) {
    return { type, name: plainName, size: type === 'file' ? size : 0 };
  }
  throw notWhole(`it holds ${JSON.stringify(name.slice(0, 80))} (${type}), which no backup has`);
}

async function textOf(entry: Entry): Promise<string> {
  let text = '';
  for await (const part of entry) {
    text += String(part);
    if (text.length > LONGEST_TEXT) throw noBackup();
  }
  return text;
}

function objectOf(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : null;
  } catch {
    return null;
  }
}

/** What a damaged archive brings: the parser's errors, which have no code, and paths that do not fit together. */
function isOfArchive(error: unknown): boolean {
  if (error instanceof Refusal) return false;
  return ['undefined', 'EEXIST', 'ENOENT', 'ENOTDIR', 'ERR_STREAM_PREMATURE_CLOSE'].includes(
    String(codeOf(error)),
  );
}

function noBackup(): Refusal {
  return new Refusal('is no backup that dms backup has made.');
}

function notWhole(reason: unknown): Refusal {
  const text = reason instanceof Error ? reason.message : String(reason);
  return new Refusal(`is damaged: ${text}. Nothing was restored; use another copy of it.`);
}
