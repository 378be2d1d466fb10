import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { addAbortSignal, pipeline, Readable } from 'node:stream';
import { ReadableStream } from 'node:stream/web';
import { createGunzip } from 'node:zlib';
import { errorCode, OperationError } from '../model/errors.js';
import { unreadable } from '../model/file-failure.js';

export interface Input {
  readonly name: string;
  /** In bytes on the disk; null: it is not known beforehand. */
  readonly size: number | null;
  readonly bytes: AsyncIterable<Buffer>;
}

const CHUNK_BYTES = 1024 * 1024;

/** Of packed data: little is read ahead, so that what is read tells how much is imported. */
const PACKED_BYTES = 16 * 1024;

type Bytes = AsyncIterable<Buffer>;
type Recode = (source: Bytes) => Bytes;
type Recodings = readonly (readonly [magic: string, recode: Recode])[];

const PACKED: Recodings = [
  ['\x1f\x8b', ungzip],
  ['\xfd7zXZ\0', unxz],
];
/** By the byte order mark. */
const ENCODED: Recodings = [
  ['\xff\xfe', (source) => decode(source, 'utf-16le')],
  ['\xfe\xff', (source) => decode(source, 'utf-16be')],
];
const MAX_MAGIC = 6;

const STDIN = 'standard input';

/**
 * What is packed with gzip or xz is unpacked, and UTF-16 with its byte order mark becomes UTF-8.
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
  if (path === '-') return { name: STDIN, size: null, bytes: read(STDIN, () => stdin, onBytes, signal) };
  const stats = await stat(path).catch((error: unknown) => {
    throw unreadable(path, error);
  });
  if (stats.isDirectory()) throw new OperationError(`${path} is a folder: name the files in it.`);
  const open = () => createReadStream(path, { highWaterMark: CHUNK_BYTES });
  return { name: path, size: stats.isFile() ? stats.size : null, bytes: read(path, open, onBytes, signal) };
}

/** Opens only when it is read: the error of a stream without a listener would end the process. */
async function* read(
  name: string,
  open: () => Readable,
  onBytes: (count: number) => void,
  signal?: AbortSignal,
): AsyncGenerator<Buffer> {
  const stream = open();
  if (signal !== undefined) addAbortSignal(signal, stream);
  try {
    const [unpack, packed] = await recodingOf(stream, PACKED);
    const octets = count(packed, onBytes, unpack === null ? CHUNK_BYTES : PACKED_BYTES);
    const [recode, text] = await recodingOf(unpack?.(octets) ?? octets, ENCODED);
    yield* recode?.(text) ?? text;
  } catch (error) {
    signal?.throwIfAborted();
    throw unreadable(name, error);
  } finally {
    // A reader that stops early leaves standard input open, which the process would wait for.
    stream.destroy();
  }
}

/** Null: they are not recoded. Nothing shorter than a magic is a whole line. */
async function recodingOf(source: Bytes, recodings: Recodings): Promise<[recode: Recode | null, all: Bytes]> {
  const [first, all] = await peek(source, (chunks) => Buffer.concat(chunks).length >= MAX_MAGIC);
  const head = Buffer.concat(first).toString('latin1', 0, MAX_MAGIC);
  return [recodings.find(([magic]) => head.startsWith(magic))?.[1] ?? null, all];
}

/** The first items, as many as are enough or all there are, and all items. */
export async function peek<Item>(
  source: AsyncIterable<Item>,
  isEnough: (first: readonly Item[]) => boolean,
): Promise<[first: readonly Item[], all: AsyncGenerator<Item, void>]> {
  const rest = source[Symbol.asyncIterator]();
  const first: Item[] = [];
  while (!isEnough(first)) {
    const next = await rest.next();
    if (next.done === true) break;
    first.push(next.value);
  }
  const all = async function* () {
    try {
      yield* first;
      yield* { [Symbol.asyncIterator]: () => rest };
    } finally {
      await rest.return?.();
    }
  };
  return [first, all()];
}

/** Counts bytes when those that follow are asked for. @param most in a piece. */
async function* count(source: Bytes, onBytes: (count: number) => void, most: number): AsyncGenerator<Buffer> {
  for await (const chunk of source) {
    for (let start = 0; start < chunk.length; start += most) {
      const piece = chunk.subarray(start, start + most);
      yield piece;
      onBytes(piece.length);
    }
  }
}

function ungzip(source: Bytes): Bytes {
  const gunzip = createGunzip({ chunkSize: CHUNK_BYTES });
  return pipeline(Readable.from(source, { highWaterMark: 1 }), gunzip, () => {});
}

/** @throws an error with the code XZ_DATA_ERROR for data that are damaged; what the source throws. */
async function* unxz(source: Bytes): AsyncGenerator<Buffer> {
  const { default: xz } = await import('xz-decompress');
  try {
    const octets: AsyncIterable<Uint8Array> = new xz.XzReadableStream(ReadableStream.from(source));
    for await (const { buffer, byteOffset, length } of octets) yield Buffer.from(buffer, byteOffset, length);
  } catch (error) {
    if (errorCode(error) !== '') throw error;
    throw Object.assign(new Error('damaged', { cause: error }), { code: 'XZ_DATA_ERROR' });
  }
}

async function* decode(source: Bytes, encoding: string): AsyncGenerator<Buffer> {
  const decoder = new TextDecoder(encoding);
  for await (const octets of source) yield Buffer.from(decoder.decode(octets, { stream: true }));
  yield Buffer.from(decoder.decode());
}
