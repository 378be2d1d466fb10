import { accessSync, appendFileSync, closeSync, constants, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { OperationError, UsageError } from '../model/errors.js';
import { unwritable } from '../model/file-failure.js';
import type { Line } from './lines.js';

export class RejectsFile {
  readonly #path: string;
  #file: number | undefined;

  /**
   * The first line that is rejected creates the file.
   *
   * @throws UsageError where the file holds something already, OperationError where it cannot be written.
   */
  constructor(path: string) {
    this.#path = path;
    const file = this.#attempt(() => statSync(path, { throwIfNoEntry: false }));
    if (file?.isDirectory() === true) throw new UsageError(`--rejects ${path} is a folder: name a file.`);
    // A pipe or a terminal holds nothing that could be lost.
    if (file?.isFile() === true && file.size > 0)
      throw new UsageError(`--rejects ${path} exists and is not empty: choose another name, or remove it.`);
    this.#attempt(() => accessSync(file === undefined ? dirname(path) : path, constants.W_OK));
  }

  write({ bytes }: Line): void {
    this.#attempt(() => {
      this.#file ??= openSync(this.#path, 'a');
      appendFileSync(this.#file, Buffer.concat([bytes, Buffer.from('\n')]));
    });
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
  }

  #attempt<Result>(act: () => Result): Result {
    try {
      return act();
    } catch (error) {
      throw new OperationError(`--rejects ${unwritable(this.#path, error).message}`, { cause: error });
    }
  }
}
