import { setTimeout as pause } from 'node:timers/promises';
import { codesOf } from '../database/database-failure.js';

/** SQLSTATE of a deadlock and of a serialization failure, and what Prisma makes of them. */
const CONTENTION_CODES = new Set(['40P01', '40001', 'P2034', 'TransactionWriteConflict']);

/** Whether an error of pg or Prisma is due to another writer: the transaction may be tried again. */
export function isContention(error: unknown): boolean {
  return codesOf(error).some((code) => CONTENTION_CODES.has(code));
}

/**
 * Waits before another attempt, for a random time, so that two writers do not meet again.
 *
 * @param attempt 0 for the first, before which there is no wait.
 */
export async function pauseBefore(attempt: number): Promise<void> {
  if (attempt > 0) {
    const longest = Math.min(5 * 2 ** attempt, 500);
    await pause(Math.random() * longest);
  }
}

const MAX_ATTEMPTS = 10;

/**
 * Retries some work while another writer is in its way.
 *
 * @throws what the work throws; an error due to another writer only after ten attempts.
 */
export async function retryOnContention<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isContention(error) || attempt === MAX_ATTEMPTS) throw error;
      await pauseBefore(attempt);
    }
  }
}
