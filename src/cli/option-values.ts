import { statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { SCOPES, type Scope } from '../auth/viewer.js';
import { durationOf } from '../model/duration.js';
import { InvalidObservationError, OperationError, PublicError, UsageError } from '../model/errors.js';
import type { Instant } from '../model/instant.js';
import { parseRequestedTime } from '../model/requested-time.js';

const SECOND = 1_000_000n;
/** A hundred years: longer than needed, and before the last time that can be written. */
const LONGEST_DAYS = 36_525n;
const LONGEST = LONGEST_DAYS * 86_400n * SECOND;
/** More digits than durationOf() reads. */
const TOO_MANY_DIGITS = /^[1-9]\d{12,}(ms|s|m|h|d|w)$/;

/** In microseconds. */
export function parseDuration(text: string): bigint {
  const duration = durationOf(text) ?? (TOO_MANY_DIGITS.test(text) ? LONGEST + 1n : 0n);
  if (duration >= SECOND && duration <= LONGEST) return duration;
  const problem =
    duration > LONGEST
      ? `too long: write at most ${LONGEST_DAYS}d, a hundred years`
      : 'not a duration: write seconds, minutes, hours, days or weeks, such as 10s, 30m, 12h, 90d or 2w';
  throw new UsageError(`${JSON.stringify(text)} is ${problem}.`);
}

/** @throws UsageError for what is no time. */
export function requestedTime(flag: string, text: string, now: Instant): Instant {
  return readOption(flag, () => parseRequestedTime(text, now));
}

/** @throws UsageError, which names the option, for a value that is not valid. */
export function readOption<Result>(flag: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    const isInvalid = error instanceof PublicError || error instanceof InvalidObservationError;
    throw isInvalid ? new UsageError(`${flag}: ${error.message}`) : error;
  }
}

/** Adds words, separated by commas, to those of the option before. */
export function collectWords(text: string, previous: readonly string[] = []): readonly string[] {
  const words = text.match(/[^\s,]+/g);
  if (words === null)
    throw new UsageError(`${JSON.stringify(text)} is empty: write one or more, separated by commas.`);
  return [...previous, ...words];
}

/** @param what The number in words, and what to write. */
function wholeNumbers(least: number, most: number, what: string): (text: string) => number {
  return (text) => {
    const number = /^\d{1,15}$/.test(text) ? Number(text) : 0;
    if (number >= least && number <= most) return number;
    throw new UsageError(`${JSON.stringify(text)} is not a number of ${what}.`);
  };
}

/** With more partitions, planning a statement that reads all of them takes longer than they save. */
const MOST_PARTITIONS = 256;
const MOST_PROCESSES = 64;

export const parseLimit = wholeNumbers(1, Number.MAX_SAFE_INTEGER, 'matches: write 1 or more');
export const parsePartitions = wholeNumbers(2, MOST_PARTITIONS, 'partitions: write one from 2 to 256');
export const parseFailures = wholeNumbers(1, 9_999, 'failures: write 1 to 9999, such as 3');
const parseProcesses = wholeNumbers(1, MOST_PROCESSES, 'processes: write 1 to 64, or auto');

/** `auto`: one for each processor that this process may use. */
export function parseWorkers(text: string): number {
  return text === 'auto' ? Math.min(availableParallelism(), MOST_PROCESSES) : parseProcesses(text);
}

/** Adds scopes, separated by commas, to those of the option before: commander would take one value of a choice. */
export function collectScopes(text: string, previous: readonly Scope[] = []): readonly Scope[] {
  const words = text.match(/[^\s,]+/g) ?? [text];
  const chosen = SCOPES.filter((scope) => previous.includes(scope) || words.includes(scope));
  const other = words.find((word) => !chosen.some((scope) => scope === word));
  if (other === undefined) return chosen;
  throw new UsageError(`${JSON.stringify(other)} is not a scope: write one or more of ${SCOPES.join(', ')}.`);
}

/** @throws OperationError if the path is a folder; the system's error if it cannot be examined. */
export function rejectFolder(path: string, advice: string): void {
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  if (isFolder) throw new OperationError(`${path} is a folder: ${advice}.`);
}
