import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { addAbortSignal, pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { OperationError } from '../model/errors.js';

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
 * @param onBytes told how many bytes of it have been read, packed as they are.
 * @param signal ends the reading, even where it waits for more: it throws the signal's reason then.
 * @throws OperationError when there is no such file, or it cannot be read; reading from it throws one
 *   when it is cut or broken.
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
  return { name, size, bytes: readable(name, new Source(open, onBytes, signal), signal) };
}

async function sizeOf(path: string): Promise<number | null> {
  try {
    const stats = await stat(path);
    if (stats.isDirectory()) {
      throw new OperationError(`${path} is a folder: name the files in it.`);
    }
    return stats.isFile() ? stats.size : null;
  } catch (error) {
    throw unreadable(path, error);
  }
}

/** Where the bytes come from, packed as they are. */
class Source {
  readonly #open: () => Readable;
  readonly #onBytes: (count: number) => void;
  readonly #signal: AbortSignal | undefined;
  #stream: Readable | undefined;

  constructor(open: () => Readable, onBytes: (count: number) => void, signal: AbortSignal | undefined) {
    this.#open = open;
    this.#onBytes = onBytes;
    this.#signal = signal;
  }

  /** Opens only now: the error of a stream without a listener would end the process. */
  async *chunks(): AsyncGenerator<Buffer> {
    this.#stream = this.#open();
    if (this.#signal !== undefined) addAbortSignal(this.#signal, this.#stream);
    for await (const chunk of this.#stream) {
      const bytes: Buffer = Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk));
      this.#onBytes(bytes.length);
      yield bytes;
    }
  }

  /** Ends a read that waits, too. */
  close(): void {
    this.#stream?.destroy();
  }
}

async function* unpacked(source: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  const first = await readFirst(source, GZIP_MAGIC.length);
  const whole = prepended(first, source);
  if (first.subarray(0, GZIP_MAGIC.length).equals(GZIP_MAGIC)) {
    yield* pipeline(Readable.from(whole), createGunzip({ chunkSize: CHUNK_BYTES }), () => {});
  } else {
    yield* whole;
  }
}

/** The first chunks in one: at least so many bytes, or all that there are. */
async function readFirst(source: AsyncGenerator<Buffer>, bytes: number): Promise<Buffer> {
  let first: Buffer = Buffer.alloc(0);
  while (first.length < bytes) {
    const next = await source.next();
    if (next.done === true) break;
    first = Buffer.concat([first, next.value]);
  }
  return first;
}

async function* prepended(first: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* rest;
}

async function* readable(name: string, source: Source, signal?: AbortSignal): AsyncGenerator<Buffer> {
  try {
    yield* unpacked(source.chunks());
  } catch (error) {
    signal?.throwIfAborted();
    throw unreadable(name, error);
  } finally {
    // A reader that stops early leaves standard input open, which the process would wait for.
    source.close();
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
  ENOENT: 'does not exist: check the path.',
  EACCES: 'may not be read by you: check its permissions.',
  Z_BUF_ERROR:
    'ends in the middle of its gzip data: copy or download the whole file again, and repeat the command.',
  Z_DATA_ERROR:
    'has damaged gzip data, or something else behind it: check it with gzip -t, and copy or download it again.',
};
