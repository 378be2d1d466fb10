import { styleText } from 'node:util';
import { printable } from '../model/text.js';
import type { RestChange } from '../notify/changes.js';

/** `host`, `class` and `type`, and then the type's own fields. */
export type RecordData = NonNullable<RestChange['data']>;

export type ChangeData = Pick<RestChange, 'kind' | 'date'> & Partial<RestChange>;

/** In UTC, to the second. */
export function shortTime(timestamp: string): string {
  return `${timestamp.slice(0, 19)}Z`;
}

/** Of TXT only its strings: its text is these joined. */
export function rdataText({ host: _host, class: _class, type: _type, ...fields }: RecordData): string {
  const { entries } = fields;
  if (Array.isArray(entries)) return entries.map((entry) => JSON.stringify(entry)).join(' ');
  return Object.values(fields).join(' ');
}

export function recordText(data: RecordData, domain: string, typeWidth = 6): string {
  const owner = data.host === domain ? '' : ` (of ${data.host})`;
  return `${data.type.padEnd(typeWidth)} ${rdataText(data)}${owner}`;
}

type Colour = 'bold' | 'dim' | 'red' | 'green' | 'yellow';

export type Paint = (colour: Colour, text: string) => string;

export interface ColourOptions {
  /** `auto`: where the stream is a terminal that has colours. */
  readonly color: 'auto' | 'always' | 'never';
}

export function painter({ color }: ColourOptions, stream: { hasColors?(): boolean }): Paint {
  const isColoured = color === 'always' || (color === 'auto' && stream.hasColors?.() === true);
  return (colour, text) => (isColoured ? styleText(colour, text, { validateStream: false }) : text);
}

/** A line without its time and domain. */
export function changeText(change: ChangeData, domain: string, paint: Paint): string {
  const { kind, date, lastSeen, routine } = change;
  const [colour, what] = whatChanged(change, domain);
  const text = printable(what);
  // What the first observation showed did not change.
  const shown = routine === 'INITIAL' ? paint('dim', `${text} (first observation)`) : paint(colour, text);
  if (lastSeen === undefined || shortTime(lastSeen) === shortTime(date)) return shown;
  const seen = kind === 'HEADER_UPDATED' ? 'the old value last seen' : 'last seen';
  return `${shown} ${paint('dim', `(${seen} ${shortTime(lastSeen)})`)}`;
}

function whatChanged(change: ChangeData, domain: string): readonly [Colour, string] {
  const { kind, data, name, old, new: value, earliest, oldStatus, newStatus } = change;
  if (newStatus !== undefined) return ['yellow', `~ status: ${newStatus} (was: ${oldStatus})`];
  if (earliest !== undefined) return ['yellow', `history extended, different from ${shortTime(earliest)} on`];
  if (kind === 'DNS_RECORD_ADDED' && data !== undefined) return ['green', `+ ${recordText(data, domain)}`];
  if (data !== undefined) return ['red', `- ${recordText(data, domain)}`];
  if (kind === 'HEADER_UPDATED') return ['yellow', `~ ${name}: ${value} (was: ${old})`];
  return kind === 'HEADER_GONE' ? ['red', `- ${name}: ${old}`] : ['green', `+ ${name}: ${value}`];
}
