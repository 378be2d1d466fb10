import { once } from 'node:events';
import { type BigIntStats, constants, createWriteStream, fstatSync, type WriteStream } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { finished } from 'node:stream/promises';
import { OperationError, UsageError } from '../model/errors.js';
import type { Line } from './lines.js';

const LINE_FEED = Buffer.from('\n');

/**
 * A file that takes the lines that are rejected, as they came, so that they can be mended and imported. It
 * is opened, and made, by the first of them; what is in it stays.
 */
export class RejectsFile {
  readonly #path: string;
  #opened: Promise<OpenFile> | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * Waits only when the disk is behind.
   *
   * @throws OperationError when the file cannot be written.
   */
  async write({ bytes }: Line): Promise<void> {
    this.#opened ??= openFile(this.#path);
    const { stream, closed } = await this.#opened;
    // Bytes of their own: those of the line are a view of a large chunk that could not be freed.
    if (!stream.write(Buffer.concat([bytes, LINE_FEED]))) {
      // A stream that has failed never drains.
      await Promise.race([once(stream, 'drain'), closed]);
    }
  }

  /**
   * Waits until all is on the disk.
   *
   * @throws OperationError when the file could not be written.
   */
  async close(): Promise<void> {
    if (this.#opened !== undefined) {
      const { stream, closed } = await this.#opened;
      stream.end();
      await closed;
    }
  }
}

interface OpenFile {
  readonly stream: WriteStream;
  /** Settles when all is on the disk, or the file has failed. */
  readonly closed: Promise<void>;
}

async function openFile(path: string): Promise<OpenFile> {
  const stream = createWriteStream(path, { flags: 'a' });
  const closed = finished(stream).catch((error: unknown) => {
    throw unwritableRejects(path, error);
  });
  closed.catch(() => undefined);
  await Promise.race([once(stream, 'open'), closed]);
  return { stream, closed };
}

/** The error for a file of rejected lines that cannot be written. */
function unwritableRejects(path: string, error: unknown): OperationError {
  const reason = error instanceof Error ? error.message : String(error);
  return new OperationError(`The file for rejected lines, ${path}, cannot be written: ${reason}`, {
    cause: error,
  });
}

/** File descriptor of standard input. */
const STANDARD_INPUT = 0;

/**
 * Checks, before anything is read or written, that a file may take rejected lines.
 *
 * @param inputs the paths of what is imported; `-` is standard input.
 * @throws UsageError where the file is one of the inputs, by whatever name, or holds something already;
 *   OperationError where it cannot be written.
 */
export async function checkRejects(path: string, inputs: readonly string[]): Promise<void> {
  const file = await statsOf(path);
  if (file?.isDirectory() === true) throw new UsageError(`--rejects ${path} is a folder: name a file.`);
  // A pipe or a terminal holds nothing that could be lost.
  if (file?.isFile() === true) await rejectLoss(path, file, inputs);
  try {
    await access(file === null ? dirname(path) : path, constants.W_OK);
  } catch (error) {
    throw unwritableRejects(path, error);
  }
}

async function rejectLoss(path: string, file: BigIntStats, inputs: readonly string[]) {
  for (const input of inputs) {
    const { dev, ino } = (await inputStats(input)) ?? {};
    if (dev === file.dev && ino === file.ino) {
      throw new UsageError(`--rejects ${path} is a file to be imported: choose another name.`);
    }
  }
  if (file.size > 0n) {
    throw new UsageError(`--rejects ${path} exists and is not empty: choose another name, or remove it.`);
  }
}

async function statsOf(path: string): Promise<BigIntStats | null> {
  try {
    return await stat(path, { bigint: true });
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw unwritableRejects(path, error);
  }
}

/** Null for an input that does not exist or cannot be examined: reading it throws the error. */
async function inputStats(input: string): Promise<BigIntStats | null> {
  try {
    return input === '-' ? fstatSync(STANDARD_INPUT, { bigint: true }) : await stat(input, { bigint: true });
  } catch {
    return null;
  }
}
