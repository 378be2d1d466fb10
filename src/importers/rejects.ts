import { accessSync, appendFileSync, closeSync, constants, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { OperationError, UsageError } from '../model/errors.js';
import { unwritable } from '../model/file-failure.js';
import type { Line } from './lines.js';

const LINE_FEED = Buffer.from('\n');

/**
 * A file that takes the lines that are rejected, as they came, so that they can be corrected and imported. The
 * first of them creates it; what is in it stays.
 */
export class RejectsFile {
  readonly #path: string;
  #file: number | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** @throws OperationError when the file cannot be written. */
  write({ bytes }: Line): void {
    try {
      this.#file ??= openSync(this.#path, 'a');
      appendFileSync(this.#file, Buffer.concat([bytes, LINE_FEED]));
    } catch (error) {
      throw unwritableRejects(this.#path, error);
    }
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
  }
}

function unwritableRejects(path: string, error: unknown): OperationError {
  return new OperationError(`--rejects ${unwritable(path, error).message}`, { cause: error });
}

/**
 * Checks, before anything is read or written, that a file may take rejected lines: what is imported holds
 * something.
 *
 * @throws UsageError where the file holds something already; OperationError where it cannot be written.
 */
export function checkRejects(path: string): void {
  try {
    const file = statSync(path, { throwIfNoEntry: false });
    if (file?.isDirectory() === true) throw new UsageError(`--rejects ${path} is a folder: name a file.`);
    // A pipe or a terminal holds nothing that could be lost.
    if (file?.isFile() === true && file.size > 0) {
      throw new UsageError(`--rejects ${path} exists and is not empty: choose another name, or remove it.`);
    }
    accessSync(file === undefined ? dirname(path) : path, constants.W_OK);
  } catch (error) {
    throw error instanceof UsageError ? error : unwritableRejects(path, error);
  }
}
