import { type DnsRecord, parseDnsRecord } from '../model/dns-record.js';
import { requireType } from '../model/dns-types.js';
import { InvalidObservationError } from '../model/errors.js';
import { readAt } from '../model/json-values.js';
import { parseRdataText } from '../model/rdata-text.js';
import { quoted } from '../model/text.js';

/** A string in double quotes; an escape; a comment; a parenthesis; other text; what has no end. */
const PIECE = /"(?:[^"\\]|\\.)*"|\\.|(;.*)|([()])|[^"\\;()]+|(.)/gs;

/** RFC 1035, section 5.1; of BIND, also with units, as 1h30m. */
const TTL = String.raw`(?:\d[\dsmhdw]*\s+)?`;
/** Owner, TTL and class, which may be missing and in either order, type, and rdata. */
const ENTRY = new RegExp(
  String.raw`^((?:[^\s\\]|\\.)*)\s+${TTL}(?:(IN|CH|HS|CLASS\d+)\s+)?${TTL}([a-z][\w-]*)(?:\s+(.*))?$`,
  'is',
);

/**
 * The records of a master file (RFC 1035, section 5, and RFC 2308, section 4). TTLs are dropped.
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
      throw new InvalidObservationError(
        `${quoted(directive)} is not read: write the records that it stands for.`,
      );
    return [];
  };
  return [...entriesOf(text)].flatMap(({ line, entry }) => readAt(`line ${line}`, () => read(entry)));
}

function recordOf(entry: string, known: { owner?: string }, absolute: (name: string) => string): DnsRecord {
  const [, owner = '', recordClass = 'IN', typeText, data = ''] = ENTRY.exec(entry) ?? [];
  if (typeText === undefined)
    throw new InvalidObservationError(
      `${quoted(entry)} is no record: write owner, TTL, class, type and data.`,
    );
  const host = owner === '' ? known.owner : absolute(owner);
  if (host === undefined) throw new InvalidObservationError('the first record has no owner name.');
  known.owner = host;
  const type = requireType(typeText);
  return parseDnsRecord({ host, class: recordClass, type, ...parseRdataText(type, data, absolute) });
}

function absoluteTo(origin: string | undefined, name: string): string {
  // A final dot counts after an even number of backslashes: others escape it.
  if (/(?<!\\)(?:\\\\)*\.$/.test(name)) return name;
  if (origin !== undefined) return name === '@' ? origin : `${name}.${origin === '.' ? '' : origin}`;
  throw new InvalidObservationError(
    `${quoted(name)} is relative, and there is no origin: write $ORIGIN and the zone before it, or --origin.`,
  );
}

/** Entries in one line each, without comments, and parentheses, which join lines. */
function* entriesOf(text: string): Generator<{ readonly line: number; readonly entry: string }> {
  let open = { line: 0, depth: 0, entry: '' };
  const lines = text.replace(/^\ufeff/, '').split(/\r?\n/);
  for (const [at, content] of lines.entries()) {
    const line = open.depth > 0 ? open.line : at + 1;
    const { depth, kept } = readAt(`line ${at + 1}`, () => piecesOf(content, open.depth));
    const entry = open.entry + kept;
    open = { line, depth, entry: depth > 0 ? `${entry} ` : '' };
    if (depth === 0 && entry.trim() !== '') yield { line, entry: entry.trimEnd() };
  }
  if (open.depth > 0) throw new InvalidObservationError(`line ${open.line}: a parenthesis is not closed.`);
}

/** @param depth Of the parentheses before. */
function piecesOf(content: string, depth: number): { readonly depth: number; readonly kept: string } {
  let [after, kept] = [depth, ''];
  for (const [piece, comment, parenthesis, other] of content.matchAll(PIECE)) {
    if (parenthesis !== undefined) after += parenthesis === '(' ? 1 : -1;
    if (other !== undefined || after < 0)
      throw new InvalidObservationError(`${quoted(piece)} has no counterpart.`);
    if (comment === undefined) kept += parenthesis === undefined ? piece : ' ';
  }
  return { depth: after, kept };
}
