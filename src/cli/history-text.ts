import { printable } from '../model/text.js';
import type { RestChange } from '../notify/changes.js';

/** A record as REST has it: `host`, `class` and `type`, and then the type's own fields. */
export type RecordData = NonNullable<RestChange['data']>;

/** What is shown of a change as REST has it. */
export type ChangeData = Pick<RestChange, 'kind' | 'date'> & Partial<RestChange>;

/** A time of REST in UTC, to the second. */
export function shortTime(timestamp: string): string {
  return `${timestamp.slice(0, 19)}Z`;
}

/** The fields in their order; of TXT only its strings, since its text is these joined. */
export function rdataText({ host: _host, class: _class, type: _type, ...fields }: RecordData): string {
  const { entries } = fields;
  if (Array.isArray(entries)) return entries.map((entry) => JSON.stringify(entry)).join(' ');
  return Object.values(fields).join(' ');
}

/** @param width Of the type. */
export function recordText(data: RecordData, domain: string, width = 6): string {
  const owner = data.host === domain ? '' : ` (of ${data.host})`;
  return `${data.type.padEnd(width)} ${rdataText(data)}${owner}`;
}

type Colour = 'bold' | 'dim' | 'red' | 'green' | 'yellow';

/** Codes of ECMA-48, section 8.3.117 (SGR). */
const CODES: Readonly<Record<Colour, number>> = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33 };

export type Paint = (colour: Colour, text: string) => string;

export type ColourOption = 'auto' | 'always' | 'never';

/** @param stream `auto`: colours where it is a terminal that has them. */
export function painter(option: ColourOption, stream: { hasColors?(): boolean }): Paint {
  const isColoured = option === 'always' || (option === 'auto' && stream.hasColors?.() === true);
  return isColoured ? (colour, text) => `\u001b[${CODES[colour]}m${text}\u001b[0m` : (_colour, text) => text;
}

/** A change in one line, without its time and domain. */
export function changeText(change: ChangeData, domain: string, paint: Paint): string {
  const { kind, date, lastSeen } = change;
  const text = whatChanged(change, domain, paint);
  if (lastSeen === undefined || shortTime(lastSeen) === shortTime(date)) return text;
  const seen = kind === 'HEADER_UPDATED' ? 'the old value last seen' : 'last seen';
  return `${text} ${paint('dim', `(${seen} ${shortTime(lastSeen)})`)}`;
}

function whatChanged(change: ChangeData, domain: string, paint: Paint): string {
  // What the first observation showed did not change.
  if (change.routine === 'INITIAL')
    return paint(
      'dim',
      `${whatChanged({ ...change, routine: null }, domain, (_, text) => text)} (first observation)`,
    );
  const { kind, data, name, old, new: value, earliest, oldStatus, newStatus } = change;
  if (newStatus !== undefined) return paint('yellow', `~ status: ${newStatus} (was: ${oldStatus})`);
  if (earliest !== undefined)
    return paint('yellow', `history extended, different from ${shortTime(earliest)} on`);
  if (data !== undefined) {
    const isAdded = kind === 'DNS_RECORD_ADDED';
    return paint(isAdded ? 'green' : 'red', printable(`${isAdded ? '+' : '-'} ${recordText(data, domain)}`));
  }
  if (kind === 'HEADER_UPDATED') return paint('yellow', printable(`~ ${name}: ${value} (was: ${old})`));
  if (kind === 'HEADER_GONE') return paint('red', printable(`- ${name}: ${old}`));
  return paint('green', printable(`+ ${name}: ${value}`));
}
