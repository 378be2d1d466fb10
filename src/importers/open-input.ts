import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { OperationError } from '../model/errors.js';

/** A file, or standard input, to be read once. */
export interface Input {
  /** As the user named it. */
  readonly name: string;
  /** Size in bytes as it lies on the disk; null when it is not known beforehand. */
  readonly size: number | null;
  /** The bytes, unpacked. */
  readonly bytes: AsyncIterable<Buffer>;
}

const CHUNK_BYTES = 1024 * 1024;
const GZIP_MAGIC = Buffer.from([0x1f, 0x8b]);

/**
 * Opens a file to be read from its beginning; one that is packed with gzip is unpacked.
 *
 * @param name a path, or `-` for standard input.
 * @param onBytes told how many bytes of it have been read, packed as they are.
 * @throws OperationError when there is no such file, or it cannot be read; reading from it throws one
 *   when it is cut or broken.
 */
export async function openInput(
  name: string,
  stdin: Readable,
  onBytes: (count: number) => void,
): Promise<Input> {
  const size = name === '-' ? null : await sizeOf(name);
  const source = name === '-' ? stdin : createReadStream(name, { highWaterMark: CHUNK_BYTES });
  return { name, size, bytes: readable(name, unpacked(counted(source, onBytes))) };
}

async function sizeOf(name: string): Promise<number | null> {
  try {
    const stats = await stat(name);
    if (stats.isDirectory()) {
      throw new OperationError(`${name} is a folder; name the files in it.`);
    }
    return stats.isFile() ? stats.size : null;
  } catch (error) {
    throw unreadable(name, error);
  }
}

async function* counted(source: Readable, onBytes: (count: number) => void): AsyncGenerator<Buffer> {
  for await (const chunk of source) {
    const bytes: Buffer = Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk));
    onBytes(bytes.length);
    yield bytes;
  }
}

async function* unpacked(source: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  const first = await source.next();
  if (first.done === true) {
    return;
  }
  const whole = prepended(first.value, source);
  if (!first.value.subarray(0, GZIP_MAGIC.length).equals(GZIP_MAGIC)) {
    yield* whole;
    return;
  }
  const gunzip = createGunzip({ chunkSize: CHUNK_BYTES });
  const packed = Readable.from(whole);
  packed.on('error', (error) => gunzip.destroy(error));
  yield* packed.pipe(gunzip);
}

async function* prepended(first: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* rest;
}

async function* readable(name: string, source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* source;
  } catch (error) {
    throw unreadable(name, error);
  }
}

function unreadable(name: string, error: unknown): OperationError {
  if (error instanceof OperationError) {
    return error;
  }
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return new OperationError(`${name} ${REASONS[code] ?? `cannot be read (${code || String(error)})`}`, {
    cause: error,
  });
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist; check the path.',
  EACCES: 'may not be read by you; check its permissions.',
  Z_BUF_ERROR: 'ends in the middle: the gzip file is cut. What came before is recorded.',
  Z_DATA_ERROR: 'is broken: the gzip data is damaged. What came before is recorded.',
};
