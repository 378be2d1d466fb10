import { attempt } from './attempt.js';
import { InvalidObservationError, invalidValue } from './errors.js';
import { readOr } from './json-values.js';
import { MasterText } from './master-text.js';
import { MessageReader } from './message-reader.js';
import * as codecs from './rdata-codec.js';
import { LAYOUTS, parseRdata, RDATA_FIELDS, RETIRED_TYPES } from './rdata-types.js';
import { quoted, requireStorable } from './text.js';

/**
 * The own fields, as parseDnsRecord takes them. @throws MalformedMessageError for rdata that breaks the format
 * of a type with fields of its own: `data` of others can show anything.
 */
export function readRdata(type: string, rdata: MessageReader): Readonly<Record<string, unknown>> {
  const fields = RDATA_FIELDS.get(type);
  if (fields === undefined) {
    const all = rdata.fork();
    const asOctets = () => genericText(all.rest());
    return { data: readOr(() => layoutText(type, rdata), asOctets) };
  }
  const values: Record<string, unknown> = {};
  for (const { name, codec } of fields) {
    if (codec !== null) values[name] = codec.value?.(rdata) ?? codec.read(rdata);
  }
  codecs.requireRdata(rdata.isAtEnd, `octets after the data of a record of type ${type}`);
  return values;
}

/** @throws MalformedMessageError */
function layoutText(type: string, rdata: MessageReader): string {
  const layout = LAYOUTS.get(type);
  if (layout === undefined) return genericText(rdata.rest());
  const all = rdata.fork();
  const text = codecs.readAll(layout, rdata);
  codecs.requireRdata(rdata.isAtEnd, `octets after the data of a record of type ${type}`);
  // A bitmap of types is up to a hundred times as long in text, which could not be read again.
  // An APL record may have no prefix at all (RFC 3123, section 4): a master file then shows nothing.
  return text === '' || text.length > MAX_TEXT ? genericText(all.rest()) : text;
}

/** RFC 3597, section 5. */
export function genericText(octets: Buffer): string {
  return `\\# ${octets.length} ${codecs.hexadecimal(octets)}`.trimEnd();
}

/** Canonical DS records of the usual digests: large files consist of them. */
const CANONICAL_DELEGATION =
  /^(?:0|[1-9]\d{0,3}|[1-5]\d{4}) (?:0|[1-9]\d?|1\d\d) (?:1 [\dA-F]{40}|2 [\dA-F]{64}|4 [\dA-F]{96})$/;

/** An octet takes up to four characters (`\DDD`), and blanks may be between them. */
const MAX_TEXT = 8 * codecs.MAX_RDATA;

/**
 * The own fields of a record from its rdata in the presentation of master files (RFC 1035, section 5.1) or in
 * that of RFC 3597 (`\# 4 C0000207`), as parseDnsRecord takes them: for types without fields of their own
 * `data` in its one canonical text, which is that of dig with names in lower case. That is the form of RFC 3597
 * for types without presentation, and for octets in that form that are not valid for their type.
 *
 * @param absolute As MasterText has it.
 * @throws InvalidObservationError for a text that is not rdata of the type.
 */
export function parseRdataText(
  type: string,
  text: string,
  absolute?: (name: string) => string,
): Readonly<Record<string, unknown>> {
  if (type === 'DS' && CANONICAL_DELEGATION.test(text)) return { data: text };
  try {
    if (text.length > MAX_TEXT)
      throw invalidValue(`its text is longer than ${MAX_TEXT} characters; write \\# and its octets.`);
    const fields = new MasterText(requireStorable(text), absolute);
    // Which of its fields are names, which a file may have relative to its origin, is not known.
    const isKept = RETIRED_TYPES.has(type) && !fields.isGeneric && absolute === undefined;
    if (isKept && /^[ -~]+$/.test(fields.text)) return { data: fields.text };
    const rdata = MessageReader.ofRdata(rdataOctets(type, fields));
    const isShown = !fields.isGeneric && !RDATA_FIELDS.has(type);
    return isShown ? { data: layoutText(type, rdata) } : readRdata(type, rdata);
  } catch (error) {
    if (!(error instanceof InvalidObservationError)) throw error;
    const reason = error.message.replace(/\.$/, '');
    throw invalidValue(`it is not the data of a record of type ${type}: ${reason}.`);
  }
}

/** They may still break a rule of their type. @throws InvalidObservationError */
export function rdataOctets(type: string, fields: MasterText): Buffer {
  if (fields.isGeneric) return genericOctets(fields);
  const layout = LAYOUTS.get(type) ?? RDATA_FIELDS.get(type)?.flatMap(({ codec }) => codec ?? []);
  if (layout === undefined)
    throw invalidValue('write \\#, the number of octets, and the octets in hexadecimal.');
  const octets = codecs.writeAll(layout, fields);
  if (!fields.isAtEnd) throw invalidValue(`${quoted(fields.next())} is one field too many.`);
  if (octets.length <= codecs.MAX_RDATA) return octets;
  throw invalidValue(`it is longer than ${codecs.MAX_RDATA} octets.`);
}

/** RFC 3597, section 5. The hexadecimal may be in several pieces. */
function genericOctets(fields: MasterText): Buffer {
  const [, length = '', ...pieces] = fields.rest();
  const octets = codecs.encodedOctets(pieces.join(''), 'hex');
  if (octets.length === codecs.integerOctets(length, 2).readUInt16BE(0)) return octets;
  throw invalidValue(`there are ${octets.length} octets in place of ${length}.`);
}

/**
 * The rdata of a record in the presentation of master files (RFC 1035, section 5.1), with absolute names. A
 * string of a TXT record that is longer than any in a message is divided.
 *
 * @throws InvalidObservationError for fields that no message can hold, such as an MX record's preference 70000.
 */
export function presentRdata({ type, rdata }: { readonly type: string; readonly rdata: string }): string {
  const values = parseRdata(rdata);
  const text = rdataText(type, values);
  if (typeof values['data'] !== 'string') parseRdataText(type, text);
  return text;
}

/** As presentRdata(); fields that no message can hold are written as they are. */
export function rdataText(type: string, values: Readonly<Record<string, unknown>>): string {
  const { data, tag } = values;
  if (typeof data === 'string') return data;
  const texts = (RDATA_FIELDS.get(type) ?? []).flatMap(({ name, codec }) =>
    codec === null ? [] : [values[name] ?? ''].flat().map((value) => codec.present(String(value))),
  );
  const text = texts.join(' ');
  if (tag === undefined || codecs.isPlainTag(String(tag))) return text;
  return attempt(() => genericText(rdataOctets(type, new MasterText(text)))) ?? text;
}
