import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { addAbortSignal, type Duplex, pipeline, Readable } from 'node:stream';
import { ReadableStream } from 'node:stream/web';
import { createGunzip } from 'node:zlib';
import { OperationError } from '../model/errors.js';
import { unreadable } from '../model/file-failure.js';
import { peek, withHead } from './beginning.js';

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

/** Of packed data so little is read ahead that what is read tells how much is imported. */
const PACKED_BYTES = 16 * 1024;

/** What data are recoded, by how they begin. */
type Recodings = readonly (readonly [magic: Buffer, recode: (source: Bytes) => Bytes])[];

const PACKED: Recodings = [
  [Buffer.from([0x1f, 0x8b]), (source) => piped(source, createGunzip({ chunkSize: CHUNK_BYTES }))],
  [Buffer.from('\xfd7zXZ\0', 'latin1'), unpackedXz],
];

/** By its byte order mark. */
const ENCODED: Recodings = [
  [Buffer.from([0xff, 0xfe]), (source) => decoded(source, 'utf-16le')],
  [Buffer.from([0xfe, 0xff]), (source) => decoded(source, 'utf-16be')],
];

type Bytes = AsyncIterable<Buffer>;

/**
 * Opens a file to be read from its beginning; one that is packed with gzip or xz is unpacked, and UTF-16 with its byte order mark
 * becomes UTF-8.
 *
 * @param path `-` for standard input.
 * @param onBytes called with the number of bytes, before they are unpacked, of which all lines have been taken.
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
    yield* unpacked(octetsOf(stream), onBytes);
  } catch (error) {
    signal?.throwIfAborted();
    throw unreadable(name, error);
  } finally {
    // A reader that stops early leaves standard input open, which the process would wait for.
    stream.destroy();
  }
}

async function* octetsOf(stream: Readable): AsyncGenerator<Buffer> {
  for await (const chunk of stream) yield Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk));
}

/** Counts bytes when those that follow are asked for. @param most in a piece. */
async function* counted(
  source: Bytes,
  onBytes: (count: number) => void,
  most: number,
): AsyncGenerator<Buffer> {
  for await (const chunk of source) {
    for (let start = 0; start < chunk.length; start += most) {
      const piece = chunk.subarray(start, start + most);
      yield piece;
      onBytes(piece.length);
    }
  }
}

async function* unpacked(source: Bytes, onBytes: (count: number) => void): AsyncGenerator<Buffer> {
  const [unpack, all] = await recodingOf(source, PACKED);
  const octets = counted(all, onBytes, unpack === asTheyAre ? CHUNK_BYTES : PACKED_BYTES);
  const [decode, text] = await recodingOf(unpack(octets), ENCODED);
  yield* decode(text);
}

function asTheyAre(source: Bytes): Bytes {
  return source;
}

/** How data are recoded, and all of them. A line that is complete is not held back. */
async function recodingOf(
  source: Bytes,
  recodings: Recodings,
): Promise<readonly [recode: (source: Bytes) => Bytes, all: Bytes]> {
  const isEnough = (head: Buffer) =>
    !recodings.some(([magic]) => head.length < magic.length && magic.subarray(0, head.length).equals(head));
  const [head, all] = await peek(withHead(source, isEnough));
  const recoding = recodings.find(([magic]) => head?.subarray(0, magic.length).equals(magic));
  return [recoding?.[1] ?? asTheyAre, all];
}

async function* decoded(source: Bytes, encoding: string): AsyncGenerator<Buffer> {
  const decoder = new TextDecoder(encoding);
  for await (const octets of source) yield Buffer.from(decoder.decode(octets, { stream: true }));
  yield Buffer.from(decoder.decode());
}

function piped(source: Bytes, transform: Duplex): Bytes {
  return pipeline(Readable.from(source, { highWaterMark: 1 }), transform, () => {});
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
