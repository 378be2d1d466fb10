import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { addAbortSignal, type Duplex, pipeline, Readable } from 'node:stream';
import { ReadableStream } from 'node:stream/web';
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

/** How packed data begin, and what unpacks them. */
const PACKED: readonly (readonly [magic: Buffer, unpack: Unpack])[] = [
  [Buffer.from([0x1f, 0x8b]), (source) => piped(source, createGunzip({ chunkSize: CHUNK_BYTES }))],
  [Buffer.from('\xfd7zXZ\0', 'latin1'), unpackedXz],
];

type Bytes = AsyncIterable<Buffer>;
type Unpack = (source: Bytes) => Bytes;

/**
 * Opens a file to be read from its beginning; one that is packed with gzip or xz is unpacked.
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
  while (PACKED.some(([magic]) => isBeginning(first, magic))) {
    const next = await source.next();
    if (next.done === true) break;
    first = Buffer.concat([first, next.value]);
  }
  const all = prepended(first, source);
  const unpack = PACKED.find(([magic]) => first.subarray(0, magic.length).equals(magic))?.[1];
  yield* unpack === undefined ? all : unpack(all);
}

/** Whether data that begin so may go on as the magic does: a line that is complete is not held back. */
function isBeginning(first: Buffer, magic: Buffer): boolean {
  return first.length < magic.length && magic.subarray(0, first.length).equals(first);
}

function piped(source: Bytes, transform: Duplex): Bytes {
  return pipeline(Readable.from(source), transform, () => {});
}

/** @throws OperationError for data that are damaged; what the source throws. */
async function* unpackedXz(source: Bytes): AsyncGenerator<Buffer> {
  const { default: xz } = await import('xz-decompress');
  let failure: unknown;
  const watched = async function* () {
    try {
      yield* source;
    } catch (error) {
      failure = error;
      throw error;
    }
  };
  try {
    const octets: AsyncIterable<Uint8Array> = new xz.XzReadableStream(ReadableStream.from(watched()));
    for await (const { buffer, byteOffset, length } of octets) yield Buffer.from(buffer, byteOffset, length);
  } catch (error) {
    throw failure ?? Object.assign(new Error('damaged', { cause: error }), { code: 'XZ_DATA_ERROR' });
  }
}

async function* prepended(first: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* rest;
}
