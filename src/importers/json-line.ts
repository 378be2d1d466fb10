import { invalidValue } from '../model/errors.js';
import { CLOCK_TOLERANCE, formatInstant, type Instant, parseInstant } from '../model/instant.js';
import { isJsonObject, type Json, readAt, requireText } from '../model/json-values.js';
import type { ParsedLine } from './lines.js';

export type { Json } from '../model/json-values.js';

/**
 * Parses the lines of one input in one format. What some lines show of the others is used from then on.
 *
 * @throws InvalidObservationError for an invalid line.
 */
export type FormatParser = (text: string, now: Instant) => ParsedLine;

export function parseJsonLine(line: string): Json {
  let [value, place]: [unknown, string] = [undefined, ''];
  try {
    value = JSON.parse(line);
  } catch (error) {
    // The rest of the message may quote the text, which may be long.
    const position = /at position (\d+)/.exec(String(error))?.[1];
    if (position !== undefined) place = ` (character ${Number(position) + 1})`;
  }
  if (!isJsonObject(value))
    throw invalidValue(`it is no JSON object${place}: each line must be one whole JSON object.`);
  requireUniqueKeys(line, value);
  return value;
}

/** @param value As RFC 3339 writes it, at most five minutes ahead of the present. */
export function parseObservedAt(key: string, value: unknown, now: Instant): Instant {
  return readAt(key, () => {
    const observedAt = parseInstant(requireText(value));
    if (observedAt <= now + CLOCK_TOLERANCE) return observedAt;
    throw invalidValue(`${formatInstant(observedAt)} is more than five minutes in the future.`);
  });
}

/** The tools did not exist before: Go writes a time that is not set as that of year 1, others as 1970. */
export const EARLIEST_OF_TOOLS = parseInstant('1990-01-01T00:00:00Z');

/** A quote that no backslash escapes before a colon: one for each key, and more where texts have such. */
const KEY_END = /(?<!\\)(?:\\\\)*"\s*:/g;
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"(?:\s*:)?/g;

/**
 * JSON.parse keeps the last value of a key and says nothing (RFC 8259, section 4: the meaning of an object
 * that has a key twice is unpredictable). @param value What it makes of `text`.
 */
export function requireUniqueKeys(text: string, value: object): void {
  const keys = countKeys(value);
  // Nearly always the two are equal. Counting takes a small part of the time that parsing takes.
  if (text.match(KEY_END)?.length === keys) return;
  if ((text.match(STRING)?.filter((string) => string.endsWith(':')).length ?? 0) === keys) return;
  throw invalidValue('a key occurs twice in one object: write it once.');
}

/** Without recursion, since JSON may be nested as deep as it is long. */
function countKeys(value: object): number {
  let keys = 0;
  const open: object[] = [value];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const members: unknown[] = Array.isArray(next) ? next : Object.values(next);
    if (members !== next) keys += members.length;
    for (const member of members) if (typeof member === 'object' && member !== null) open.push(member);
  }
  return keys;
}
