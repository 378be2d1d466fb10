import { EARLIEST_INSTANT, formatInstant, type Instant, LATEST_INSTANT } from '../model/instant.js';
import type { RecordStay } from './state.js';

/** Whether a time can be written: responses have years from 0000 to 9999 only. */
export function isWritable(time: Instant): boolean {
  return time >= EARLIEST_INSTANT && time <= LATEST_INSTANT;
}

/** A time as a violation names it. */
export function timeText(time: Instant | null): string {
  if (time === null) {
    return 'none';
  }
  return isWritable(time) ? formatInstant(time) : `${time} µs, no time of the years 0000 to 9999`;
}

/** A record and its first sight, as a violation names them. */
export function stayText({ record, firstSeen }: RecordStay): string {
  return `${record.host} ${record.class} ${record.type} ${record.rdata} of ${timeText(firstSeen)}`;
}

/** The result of `parse`; null when it throws. */
export function canonicalOrNull<Value>(parse: () => Value): Value | null {
  try {
    return parse();
  } catch {
    return null;
  }
}
