import { type DnsRecord, parseDnsRecord } from '../model/dns-record.js';
import { requireType } from '../model/dns-types.js';
import { invalidValue } from '../model/errors.js';
import { readAt } from '../model/json-values.js';
import { parseRdataText } from '../model/rdata-text.js';
import { quoted } from '../model/text.js';

/** A string in double quotes; an escape; a parenthesis, line end or comment; other text; what has no end. */
const PIECE = /"(?:[^"\\\n]|\\[^\n])*"|\\[^\n]|([()\n]|;[^\n]*)|[^"\\;()\n]+|(.)/gs;

/** RFC 1035, section 5.1; of BIND, also with units, as 1h30m. */
const TTL = String.raw`(?:\d[\dsmhdw]*\s+)?`;
/** TTL and class may be missing, and in either order. */
const ENTRY = new RegExp(
  String.raw`^((?:[^\s\\]|\\.)*)\s+${TTL}(?:(IN|CH|HS|CLASS\d+)\s+)?${TTL}([a-z][\w-]*)(?:\s+(.*))?$`,
  'is',
);

/**
 * The records of a master file (RFC 1035, section 5, and RFC 2308, section 4).
 *
 * @param origin What relative names are relative to until `$ORIGIN` says it; undefined: they are errors.
 * @throws InvalidObservationError that begins with the line of what cannot be read.
 */
export function parseZone(text: string, origin?: string): DnsRecord[] {
  const known: { origin: string | undefined; owner?: string } = { origin };
  const absolute = (name: string) => absoluteTo(known.origin, name);
  const read = (entry: string): readonly DnsRecord[] => {
    const [directive = '', argument = ''] = entry.split(/\s+/);
    if (!directive.startsWith('$')) return [recordOf(entry, known, absolute)];
    if (directive.toUpperCase() === '$ORIGIN') known.origin = absolute(argument);
    else if (directive.toUpperCase() !== '$TTL')
      throw invalidValue(`${quoted(directive)} is not read: write the records that it stands for.`);
    return [];
  };
  return [...entriesOf(text)].flatMap(({ line, entry }) => readAt(`line ${line}`, () => read(entry)));
}

function recordOf(entry: string, known: { owner?: string }, absolute: (name: string) => string): DnsRecord {
  const [, owner = '', recordClass = 'IN', typeText, data = ''] = ENTRY.exec(entry) ?? [];
  if (typeText === undefined)
    throw invalidValue(`${quoted(entry)} is no record: write owner, TTL, class, type and data.`);
  const host = owner === '' ? known.owner : absolute(owner);
  if (host === undefined) throw invalidValue('the first record has no owner name.');
  known.owner = host;
  const type = requireType(typeText);
  return parseDnsRecord({ host, class: recordClass, type, ...parseRdataText(type, data, absolute) });
}

function absoluteTo(origin: string | undefined, name: string): string {
  // A final dot counts after an even number of backslashes: others escape it.
  if (/(?<!\\)(?:\\\\)*\.$/.test(name)) return name;
  if (origin !== undefined) return name === '@' ? origin : `${name}.${origin === '.' ? '' : origin}`;
  throw invalidValue(
    `${quoted(name)} is relative, and there is no origin: write $ORIGIN and the zone before it, or --origin.`,
  );
}

/** Entries in one line each, without comments, and parentheses, which join lines. */
function* entriesOf(text: string): Generator<{ readonly line: number; readonly entry: string }> {
  let [lines, first, depth, entry] = [1, 1, 0, ''];
  const pieces = `${text.replace(/^\ufeff/, '').replaceAll('\r\n', '\n')}\n`.matchAll(PIECE);
  for (const [piece, mark, other] of pieces) {
    depth += Number(mark === '(') - Number(mark === ')');
    if (other !== undefined || depth < 0)
      throw invalidValue(`line ${lines}: ${quoted(piece)} has no counterpart.`);
    entry += mark === undefined ? piece : ' ';
    if (mark !== '\n') continue;
    lines += 1;
    if (depth > 0) continue;
    if (entry.trim() !== '') yield { line: first, entry: entry.trimEnd() };
    [first, entry] = [lines, ''];
  }
  if (depth > 0) throw invalidValue(`line ${first}: a parenthesis is not closed.`);
}
