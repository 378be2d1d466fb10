import { daysInMonth, daysSinceEpoch } from './instant.js';

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const MONTH = `(?<month>${MONTHS.join('|')})`;
const TIME = '(?<hour>\\d\\d):(?<minute>\\d\\d):(?<second>\\d\\d)';
const DAY = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)';

/** The preferred form and the two obsolete ones, which are to be understood too (RFC 9110, section 5.6.7). */
const FORMS = [
  new RegExp(`^${DAY}, (?<day>\\d\\d) ${MONTH} (?<year>\\d{4}) ${TIME} GMT$`),
  new RegExp(
    `^(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday), (?<day>\\d\\d)-${MONTH}-(?<year>\\d\\d) ${TIME} GMT$`,
  ),
  new RegExp(`^${DAY} ${MONTH} (?<day>[ \\d]\\d) ${TIME} (?<year>\\d{4})$`),
];

const SECONDS_PER_DAY = 86_400;
const MOST_YEARS_AHEAD = 50;

/**
 * The seconds since the Unix epoch that an HTTP-date names; undefined for any other text. The name of the
 * weekday is not checked.
 *
 * @param now In seconds since the Unix epoch: a year of two digits is one near to it.
 */
export function parseHttpDate(text: string, now: number): number | undefined {
  for (const form of FORMS) {
    const groups = form.exec(text)?.groups;
    if (groups !== undefined) return secondsOf(groups, now);
  }
  return undefined;
}

function secondsOf(groups: Readonly<Record<string, string>>, now: number): number | undefined {
  const number = (name: string) => Number(groups[name]);
  const month = MONTHS.indexOf(groups['month'] ?? '') + 1;
  const year = groups['year']?.length === 2 ? nearbyYear(number('year'), now) : number('year');
  const [day, hour, minute, second] = [number('day'), number('hour'), number('minute'), number('second')];
  const valid = day >= 1 && day <= daysInMonth(year, month) && hour <= 23 && minute <= 59 && second <= 60;
  if (!valid) return undefined;
  return daysSinceEpoch(year, month, day) * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second;
}

/** The latest year of these two digits that is not over 50 years ahead (RFC 9110, section 5.6.7). */
function nearbyYear(lastDigits: number, now: number): number {
  const latest = new Date(now * 1000).getUTCFullYear() + MOST_YEARS_AHEAD;
  return latest - ((latest - lastDigits) % 100);
}

/** A time in the form that is to be sent. @param seconds Whole, since the Unix epoch. */
export function formatHttpDate(seconds: number): string {
  return new Date(seconds * 1000).toUTCString();
}
