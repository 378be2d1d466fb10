import { availableParallelism } from 'node:os';
import { InvalidArgumentError } from 'commander';
import { SCOPES, type Scope } from '../auth/viewer.js';
import { requireType } from '../model/dns-types.js';
import { InvalidObservationError, PublicError } from '../model/errors.js';
import { type Instant, requireReached } from '../model/instant.js';
import { durationOf, parseRequestedTime } from '../model/requested-time.js';
import { now } from './command-context.js';

// Commander puts the option's name before what an InvalidArgumentError says.

const SECOND = 1_000_000n;
const DAY = 86_400n * SECOND;

/** Durations are in microseconds. */
export function durationUpTo(maxDays: bigint): (text: string) => bigint {
  return (text) => {
    const duration = durationOf(text) ?? 0n;
    if (duration >= SECOND && duration <= maxDays * DAY) return duration;
    throw new InvalidArgumentError(`Write 10s, 30m, 12h, 90d or 2w, for example, and at most ${maxDays}d.`);
  };
}

/** A hundred years at most: longer than needed, and before the last time that can be written. */
export const parseDuration = durationUpTo(36_525n);

export function parseTime(text: string): Instant {
  return readValue(() => parseRequestedTime(text, now()));
}

export function parseReachedTime(text: string): Instant {
  return readValue(() => requireReached(parseTime(text), now()));
}

function readValue<Value>(read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    const isInvalid = error instanceof PublicError || error instanceof InvalidObservationError;
    throw isInvalid ? new InvalidArgumentError(error.message) : error;
  }
}

/** An option that is repeated adds its words. */
export function collectWords(text: string, previous: readonly string[] = []): readonly string[] {
  const words = text.match(/[^\s,]+/g);
  if (words === null) throw new InvalidArgumentError('Write one or more, separated by commas.');
  return [...previous, ...words];
}

export function collectTypes(text: string, previous: readonly string[] = []): readonly string[] {
  return readValue(() => [...previous, ...collectWords(text).map(requireType)]);
}

/** Not a choice of commander, which would take one scope only. */
export function collectScopes(text: string, previous: readonly Scope[] = []): readonly Scope[] {
  const words = collectWords(text);
  const chosen = SCOPES.filter((scope) => previous.includes(scope) || words.includes(scope));
  if (words.every((word) => chosen.some((scope) => scope === word))) return chosen;
  throw new InvalidArgumentError(`Write one or more of ${SCOPES.join(', ')}.`);
}

export function wholeNumber(least: number, most: number, other = ''): (text: string) => number {
  return (text) => {
    const number = /^\d{1,15}$/.test(text) ? Number(text) : 0;
    if (number >= least && number <= most) return number;
    throw new InvalidArgumentError(`Write a whole number from ${least} to ${most}${other}.`);
  };
}

const MAX_PROCESSES = 64;

export function parseWorkers(text: string): number {
  if (text === 'auto') return Math.min(availableParallelism(), MAX_PROCESSES);
  return wholeNumber(1, MAX_PROCESSES, ', or auto')(text);
}
