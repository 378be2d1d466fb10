import { setTimeout as pause } from 'node:timers/promises';

/** SQLSTATE of a deadlock and of a serialization failure: the transaction may be tried again. */
const PASSING = new Set(['40P01', '40001']);

/** Whether an error of the database is due to another writer, and gone at the next attempt. */
export function isPassing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && PASSING.has(String(error.code));
}

/**
 * Waits before another attempt, for a time drawn by chance, so that two writers do not meet again.
 *
 * @param attempt 0 for the first, before which there is no wait.
 */
export async function pauseBefore(attempt: number): Promise<void> {
  if (attempt > 0) {
    const longest = Math.min(5 * 2 ** attempt, 500);
    await pause(Math.random() * longest);
  }
}

/** So many attempts are made: who meets another writer each time has something else wrong. */
const MOST_ATTEMPTS = 10;

/**
 * Does some work again for as long as another writer is in its way.
 *
 * @throws what the work throws; what another writer caused only after ten attempts.
 */
export async function despiteContention<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isPassing(error) || attempt === MOST_ATTEMPTS) throw error;
      await pauseBefore(attempt);
    }
  }
}
