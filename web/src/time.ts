/** Microseconds since the epoch: JavaScript's numbers have them exactly until the year 2255. */
export type Microseconds = number;

/** Reads a Timestamp of the API, or any other form of RFC 3339 with up to six digits; NaN for what is none. */
export function microsecondsOf(text: string): Microseconds {
  const [, seconds = '', fraction = '', zone = ''] =
    /^(\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)$/.exec(text) ?? [];
  const milliseconds = Date.parse(`${seconds.replace(' ', 'T')}${zone.toUpperCase()}`);
  // In UTC, a time of the year 1 or 9999 may be in another.
  if (milliseconds < Date.parse('0001-01-01T00:00:00Z') || milliseconds > LAST_OF_ALL) return Number.NaN;
  return milliseconds * 1000 + Number(fraction.slice(0, 6).padEnd(6, '0'));
}

const LAST_OF_ALL = Date.parse('9999-12-31T23:59:59Z');

/** Times that numbers have exactly, in microseconds. Others, of wrong clocks, can be shown, and not be chosen. */
const FIRST_EXACT = Date.parse('1700-01-01T00:00:00Z') * 1000;
const LAST_EXACT = Date.parse('2254-12-31T23:59:59Z') * 1000;

/** As the API writes it. */
export function timestampOf(time: Microseconds): string {
  const seconds = Math.floor(time / 1_000_000);
  // Of times that are not exact, it may be rounded to the next second.
  const fraction = String(Math.min(999_999, Math.max(0, time - seconds * 1_000_000))).padStart(6, '0');
  return `${new Date(seconds * 1000).toISOString().slice(0, 19)}.${fraction}Z`;
}

/** The last microsecond of what a person has written, such as `2024-03`, `2024-03-01` or `2024-03-01 10:20`; NaN for what is no time. In UTC without a zone. */
export function readTime(text: string): Microseconds {
  const time = lastOf(text);
  return time >= FIRST_EXACT && time <= LAST_EXACT ? time : Number.NaN;
}

function lastOf(text: string): Microseconds {
  const trimmed = text.trim();
  const exact = microsecondsOf(trimmed);
  if (!Number.isNaN(exact)) return exact;
  const [, year, month, day, hour, minute, second, fraction = ''] =
    /^(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?)?)?)?(?: ?UTC)?$/.exec(
      trimmed,
    ) ?? [];
  if (year === undefined) return Number.NaN;
  const given = [month, day, hour, minute, second];
  const [m = '01', d = '01', h = '00', min = '00', s = '00'] = given;
  const start = microsecondsOf(`${year}-${m}-${d}T${h}:${min}:${s}.${fraction || '0'}Z`);
  if (Number.isNaN(start) || timestampOf(start).slice(0, 10) !== `${year}-${m}-${d}`) return Number.NaN;
  if (fraction !== '' || second !== undefined) return start;
  return endOf(start, month, day, hour) - 1;
}

/** When a year, month, day or minute is over. */
function endOf(start: Microseconds, month?: string, day?: string, hour?: string): Microseconds {
  if (hour !== undefined) return start + 60_000_000;
  if (day !== undefined) return start + 86_400_000_000;
  const date = new Date(start / 1000);
  if (month === undefined) date.setUTCFullYear(date.getUTCFullYear() + 1);
  else date.setUTCMonth(date.getUTCMonth() + 1);
  return date.getTime() * 1000;
}

/** How times are shown. */
export type Zone = 'UTC' | 'local';

/** Date and time to the second; further digits where they matter are in the element's title. */
export function formatTime(time: Microseconds, zone: Zone): string {
  const date = new Date(time / 1000);
  if (zone === 'UTC') return date.toISOString().slice(0, 19).replace('T', ' ');
  const two = (number: number) => String(number).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

const UNITS = [
  ['year', 365.25 * 86_400],
  ['month', 30.44 * 86_400],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const;

/** A duration in its largest unit, such as `3 months`. */
export function formatDuration(duration: Microseconds): string {
  const seconds = Math.max(0, duration / 1_000_000);
  const [unit, length] = UNITS.find(([, each]) => seconds >= each) ?? ['second', 1];
  const count = Math.round(seconds / length);
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}
