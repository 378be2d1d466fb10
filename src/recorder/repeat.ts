import { setTimeout as pause } from 'node:timers/promises';

/** In milliseconds. */
export const HOUR = 3_600_000;

/**
 * Repeats work until it is stopped.
 *
 * @param wait In milliseconds, before the first time.
 * @param work returns how long to wait before the next time. If it is long, it ends early at the signal.
 * @param failed Called with why it could not be done; it is tried again after an hour.
 * @returns a function that ends it, after what is in progress.
 */
export function startRepeating(
  wait: number,
  work: (signal: AbortSignal) => Promise<number>,
  failed: (error: unknown) => void,
): () => Promise<void> {
  const stopping = new AbortController();
  const { signal } = stopping;
  const run = async () => {
    let next = wait;
    while (true) {
      await pause(next, undefined, { signal, ref: false }).catch(() => {});
      if (signal.aborted) return;
      next = await work(signal).catch((error) => {
        failed(error);
        return HOUR;
      });
    }
  };
  const running = run();
  return () => {
    stopping.abort();
    return running;
  };
}
