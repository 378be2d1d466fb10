import { once } from 'node:events';
import { createWriteStream, type WriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import { OperationError } from '../model/errors.js';
import type { Line } from './lines.js';

const LINE_FEED = Buffer.from('\n');

/** A file that takes the lines that are refused, as they came, so that they can be mended and imported. */
export interface RejectsFile {
  /** Waits only when the disk is behind. */
  write(line: Line): Promise<void>;
  /** Waits until all is on the disk. */
  close(): Promise<void>;
}

/**
 * Opens a file for refused lines; one that exists is emptied.
 *
 * @throws OperationError when it cannot be written.
 */
export async function openRejects(path: string): Promise<RejectsFile> {
  const file = createWriteStream(path);
  try {
    await once(file, 'open');
  } catch (error) {
    throw unwritable(path, error);
  }
  const closed = finished(file).catch((error: unknown) => {
    throw unwritable(path, error);
  });
  closed.catch(() => undefined);
  return {
    write: ({ bytes }) => writeLine(file, bytes),
    close: () => {
      file.end();
      return closed;
    },
  };
}

async function writeLine(file: WriteStream, bytes: Buffer): Promise<void> {
  // Bytes of their own: those of the line are a view of a large chunk that could not be freed.
  if (!file.write(Buffer.concat([bytes, LINE_FEED]))) {
    await once(file, 'drain');
  }
}

function unwritable(path: string, error: unknown): OperationError {
  const reason = error instanceof Error ? error.message : String(error);
  return new OperationError(`The file for refused lines, ${path}, cannot be written: ${reason}`, {
    cause: error,
  });
}
