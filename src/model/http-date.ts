const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const MONTH = `(?<month>${MONTHS.join('|')})`;
const TIME = '(?<time>\\d\\d:\\d\\d:\\d\\d)';
const DAY = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)';
const LONG_DAY = '(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day';

/** The preferred form and the two obsolete ones, which are to be understood too (RFC 9110, section 5.6.7). */
const FORMS = [
  new RegExp(`^${DAY}, (?<day>\\d\\d) ${MONTH} (?<year>\\d{4}) ${TIME} GMT$`),
  new RegExp(`^${LONG_DAY}, (?<day>\\d\\d)-${MONTH}-(?<year>\\d\\d) ${TIME} GMT$`),
  new RegExp(`^${DAY} ${MONTH} (?<day>[ \\d]\\d) ${TIME} (?<year>\\d{4})$`),
];

/** Both times in seconds since the Unix epoch. @param now A year of two digits is one near to it. */
export function parseHttpDate(text: string, now: number): number | undefined {
  const groups = FORMS.map((form) => form.exec(text)?.groups).find((found) => found !== undefined);
  const { day = '', month = '', year = '', time } = groups ?? {};
  const fullYear = year.length === 2 ? nearbyYear(Number(year), now) : year;
  const number = String(MONTHS.indexOf(month) + 1).padStart(2, '0');
  // A leap second is taken for the one before it: Date has none.
  const date = `${fullYear}-${number}-${day.replace(' ', '0')}T${time?.replace(/60$/, '59')}`;
  const milliseconds = Date.parse(`${date}Z`);
  // Date.parse takes 30 February for a day in March.
  const isDate = !Number.isNaN(milliseconds) && new Date(milliseconds).toISOString().startsWith(date);
  return isDate ? milliseconds / 1000 : undefined;
}

/** The latest year of these two digits that is not over 50 years ahead (RFC 9110, section 5.6.7). */
function nearbyYear(lastDigits: number, now: number): number {
  const latest = new Date(now * 1000).getUTCFullYear() + 50;
  return latest - ((latest - lastDigits) % 100);
}

/** @param seconds Whole, since the Unix epoch. */
export function formatHttpDate(seconds: number): string {
  return new Date(seconds * 1000).toUTCString();
}
