import { setTimeout as pause } from 'node:timers/promises';
import { codesOf } from '../database/database-failure.js';

/** SQLSTATE of a deadlock and of a serialization failure, and what Prisma makes of them. */
const CONTENTION_CODES = new Set(['40P01', '40001', 'P2034', 'TransactionWriteConflict']);

/** Whether an error of pg or Prisma is due to another writer: the transaction may be tried again. */
export function isContention(error: unknown): boolean {
  return codesOf(error).some((code) => CONTENTION_CODES.has(code));
}

/** Waits for a random time, so that two writers do not meet again. */
export async function pauseAfter(attempt: number): Promise<void> {
  await pause(Math.random() * Math.min(5 * 2 ** attempt, 500));
}

const MAX_ATTEMPTS = 10;

/** Retries work while it conflicts with another writer. @throws the error due to it only after ten attempts. */
export async function retryOnContention<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isContention(error) || attempt === MAX_ATTEMPTS) throw error;
      await pauseAfter(attempt);
    }
  }
}
