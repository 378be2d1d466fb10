import { once } from 'node:events';
import type { Writable } from 'node:stream';

/** Writes text, and waits while the reader at the other end is behind. */
export async function writeText(stream: Writable, text: string): Promise<void> {
  if (text !== '' && !stream.write(text)) {
    await once(stream, 'drain');
  }
}
