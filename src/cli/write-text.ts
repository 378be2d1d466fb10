import type { Writable } from 'node:stream';
import { errorCode, OperationError } from '../model/errors.js';
import { unwritable } from '../model/file-failure.js';

/** Streams whose write error has been thrown to the command that waited for the write. */
const awaited = new WeakSet<Writable>();

const OUTPUT = 'standard output';

/**
 * Writes text to standard output, and waits until it is written.
 *
 * @param signal Ends the wait: the reader of a pipe may take its time.
 * @throws OperationError, caused by the system's error.
 */
export async function writeText(stream: Writable, text: string, signal?: AbortSignal): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    signal?.addEventListener('abort', () => reject(new OperationError('Stopped by a signal.')), {
      once: true,
    });
    stream.write(text, (error) => {
      if (error === null || error === undefined) return resolve();
      awaited.add(stream);
      reject(unwritable(OUTPUT, error));
    });
  });
}

/** A line of JSON Lines. */
export function jsonLine(value: object): string {
  return `${JSON.stringify(value)}\n`;
}

/**
 * Ends the process when standard output cannot be written, unless a command waits for what it writes, and so ends by
 * itself. It is no failure if the reader of a pipe closes it early.
 */
export function endWithoutOutput(stdout: Writable, stderr: Writable): void {
  stdout.on('error', (error) => {
    if (awaited.has(stdout)) return;
    if (isClosedPipe(error)) process.exit();
    stderr.write(`dms: ${unwritable(OUTPUT, error).message}\n`);
    process.exit(1);
  });
  // What is lost is no result, and there is nowhere to say so.
  stderr.on('error', () => {});
}

/** Whether the reader of a pipe has closed it. */
export function isClosedPipe(error: unknown): boolean {
  return errorCode(error) === 'EPIPE';
}
