import { once } from 'node:events';
import { createWriteStream, type WriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import { OperationError } from '../model/errors.js';
import type { Line } from './lines.js';

const LINE_FEED = Buffer.from('\n');

/**
 * A file that takes the lines that are refused, as they came, so that they can be mended and imported. It
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

/** What to throw where the file for refused lines cannot be written. */
export function unwritableRejects(path: string, error: unknown): OperationError {
  const reason = error instanceof Error ? error.message : String(error);
  return new OperationError(`The file for refused lines, ${path}, cannot be written: ${reason}`, {
    cause: error,
  });
}
