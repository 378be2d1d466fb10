import { once } from 'node:events';
import { type BigIntStats, constants, createWriteStream, fstatSync, type WriteStream } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { finished } from 'node:stream/promises';
import { errorCode, OperationError, UsageError } from '../model/errors.js';
import { unwritable } from '../model/file-failure.js';
import type { Line } from './lines.js';

const LINE_FEED = Buffer.from('\n');

/** Gathered while the disk is behind. */
const MOST_PENDING_BYTES = 64 * 1024;

/**
 * A file that takes the lines that are rejected, as they came, so that they can be corrected and imported. The first
 * of them creates it; what is in it stays.
 */
export class RejectsFile {
  readonly #path: string;
  #file: WriteStream | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** Waits only when the disk is behind. @throws OperationError when the file cannot be written. */
  async write({ bytes }: Line): Promise<void> {
    try {
      this.#file ??= await this.#open();
      // Bytes of their own: those of the line are a view of a large chunk that could not be freed.
      const isBehind = !this.#file.write(Buffer.concat([bytes, LINE_FEED]));
      if (this.#file.errored !== null) throw this.#file.errored;
      if (isBehind) await once(this.#file, 'drain');
    } catch (error) {
      throw unwritableRejects(this.#path, error);
    }
  }

  /** Waits until all is written. @throws OperationError when the file could not be written. */
  async close(): Promise<void> {
    try {
      if (this.#file !== undefined) await finished(this.#file.end());
    } catch (error) {
      throw unwritableRejects(this.#path, error);
    }
  }

  async #open(): Promise<WriteStream> {
    const file = createWriteStream(this.#path, { flags: 'a', highWaterMark: MOST_PENDING_BYTES });
    // It is thrown by the write that comes next, or by close().
    file.on('error', () => {});
    await once(file, 'open');
    return file;
  }
}

function unwritableRejects(path: string, error: unknown): OperationError {
  return new OperationError(`--rejects ${unwritable(path, error).message}`, { cause: error });
}

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
    if (errorCode(error) === 'ENOENT') return null;
    throw unwritableRejects(path, error);
  }
}

/** Null for an input that does not exist or cannot be examined: reading it throws the error. */
async function inputStats(input: string): Promise<BigIntStats | null> {
  try {
    // 0 is the file descriptor of standard input.
    return input === '-' ? fstatSync(0, { bigint: true }) : await stat(input, { bigint: true });
  } catch {
    return null;
  }
}
