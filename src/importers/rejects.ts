import { once } from 'node:events';
import { constants, createWriteStream, type WriteStream } from 'node:fs';
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
      this.#file ??= this.#open();
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

  #open(): WriteStream {
    const file = createWriteStream(this.#path, { flags: 'a', highWaterMark: MOST_PENDING_BYTES });
    // It is thrown by the write that comes next, or by close().
    return file.on('error', () => {});
  }
}

function unwritableRejects(path: string, error: unknown): OperationError {
  return new OperationError(`--rejects ${unwritable(path, error).message}`, { cause: error });
}

/**
 * Checks, before anything is read or written, that a file may take rejected lines: what is imported holds something.
 *
 * @throws UsageError where the file holds something already; OperationError where it cannot be written.
 */
export async function checkRejects(path: string): Promise<void> {
  try {
    const file = await stat(path).catch((error: unknown) => {
      if (errorCode(error) === 'ENOENT') return null;
      throw error;
    });
    if (file?.isDirectory() === true) throw new UsageError(`--rejects ${path} is a folder: name a file.`);
    // A pipe or a terminal holds nothing that could be lost.
    if (file?.isFile() === true && file.size > 0) {
      throw new UsageError(`--rejects ${path} exists and is not empty: choose another name, or remove it.`);
    }
    await access(file === null ? dirname(path) : path, constants.W_OK);
  } catch (error) {
    throw error instanceof UsageError ? error : unwritableRejects(path, error);
  }
}
