import { EARLIEST_INSTANT, formatInstant, type Instant, LATEST_INSTANT } from '../model/instant.js';
import { parseSourceName } from '../model/text.js';
import type { PartTimes, RecordStay } from './state.js';

/** Whether a time can be written: responses have years from 0000 to 9999 only. */
export function isWritable(time: Instant): boolean {
  return time >= EARLIEST_INSTANT && time <= LATEST_INSTANT;
}

/** Whether a time is between a part's first and latest observation. */
export function isWithin(times: PartTimes | null, time: Instant): boolean {
  return times !== null && times.first <= time && time <= times.latest;
}

/** Whether a source is the name of an observer, or absent. */
export function isSourceOrNull(source: string | null): boolean {
  return source === null || isCanonical(source, parseSourceName);
}

/** A time as a violation names it. */
export function timeText(time: Instant | null): string {
  if (time === null) return 'none';
  return isWritable(time) ? formatInstant(time) : `${time} µs, outside the years 0000 to 9999`;
}

/** A record and its first sight, as a violation names them. */
export function stayText({ record, firstSeen }: RecordStay): string {
  return `${record.host} ${record.class} ${record.type} ${record.rdata} of ${timeText(firstSeen)}`;
}

/** Whether a text is in its canonical form. */
export function isCanonical(text: string, parse: (text: string) => string): boolean {
  return canonicalOrNull(() => parse(text)) === text;
}

/** The result of `parse`; null when it throws. */
export function canonicalOrNull<Value>(parse: () => Value): Value | null {
  try {
    return parse();
  } catch {
    return null;
  }
}
