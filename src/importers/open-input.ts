import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { addAbortSignal, pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { OperationError } from '../model/errors.js';
import { unreadable } from '../model/file-failure.js';

/** A file, or standard input, to be read once. */
export interface Input {
  /** As a message names it: its path, or `standard input`. */
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
 * @param path `-` for standard input.
 * @param onBytes called with the number of bytes read, before they are unpacked.
 * @param signal ends the reading, even where it waits for more: it throws the signal's reason then.
 * @throws OperationError when it cannot be read; reading from it throws one when it is truncated or damaged.
 */
export async function openInput(
  path: string,
  stdin: Readable,
  onBytes: (count: number) => void,
  signal?: AbortSignal,
): Promise<Input> {
  const name = path === '-' ? 'standard input' : path;
  const size = path === '-' ? null : await sizeOf(path);
  const open = () => (path === '-' ? stdin : createReadStream(path, { highWaterMark: CHUNK_BYTES }));
  return { name, size, bytes: bytesOf(name, open, onBytes, signal) };
}

async function sizeOf(path: string): Promise<number | null> {
  try {
    const stats = await stat(path);
    if (stats.isDirectory()) throw new OperationError(`${path} is a folder: name the files in it.`);
    return stats.isFile() ? stats.size : null;
  } catch (error) {
    throw unreadable(path, error);
  }
}

/** Opens only when it is read: the error of a stream without a listener would end the process. */
async function* bytesOf(
  name: string,
  open: () => Readable,
  onBytes: (count: number) => void,
  signal?: AbortSignal,
): AsyncGenerator<Buffer> {
  const stream = open();
  if (signal !== undefined) addAbortSignal(signal, stream);
  try {
    yield* unpacked(counted(stream, onBytes));
  } catch (error) {
    signal?.throwIfAborted();
    throw unreadable(name, error);
  } finally {
    // A reader that stops early leaves standard input open, which the process would wait for.
    stream.destroy();
  }
}

async function* counted(stream: Readable, onBytes: (count: number) => void): AsyncGenerator<Buffer> {
  for await (const chunk of stream) {
    const bytes: Buffer = Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk));
    onBytes(bytes.length);
    yield bytes;
  }
}

async function* unpacked(source: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  let first: Buffer = Buffer.alloc(0);
  while (first.length < GZIP_MAGIC.length) {
    const next = await source.next();
    if (next.done === true) break;
    first = Buffer.concat([first, next.value]);
  }
  const all = prepended(first, source);
  if (!first.subarray(0, GZIP_MAGIC.length).equals(GZIP_MAGIC)) yield* all;
  else yield* pipeline(Readable.from(all), createGunzip({ chunkSize: CHUNK_BYTES }), () => {});
}

async function* prepended(first: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* rest;
}
