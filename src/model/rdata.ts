import {
  canonicalCharacterString,
  characterStringOctets,
  characterStringText,
  stringsOf,
} from './character-string.js';
import { InvalidObservationError } from './errors.js';
import { canonicalHostName } from './host-name.js';
import { canonicalIpv4, canonicalIpv6 } from './ip-address.js';
import { errorAt, readAt, requireText, requireTexts } from './json-values.js';
import { memoized } from './memoized.js';
import { LARGEST_RDATA } from './rdata-codec.js';
import { OTHER_RDATA_FIELDS, type RdataField, type RdataFieldKind, rdataFields } from './rdata-fields.js';
import { parseRdataText } from './rdata-text.js';
import { parseRdata } from './rdata-values.js';
import { quoted, requireStorable } from './text.js';

type Data = Readonly<Record<string, unknown>>;

/** From a record's data object to the own fields of its type in canonical form, as JSON text. */
export type RdataParser = (data: Data) => string;

const LARGEST_INTEGER = 4_294_967_295;

const CANONICAL: Readonly<Record<RdataFieldKind, (value: unknown, type: string) => unknown>> = {
  ipv4: (value) => canonicalIpv4(requireText(value)),
  ipv6: (value) => canonicalIpv6(requireText(value)),
  hostName: (value) => canonicalHostName(requireText(value)),
  integer: canonicalInteger,
  text: (value) => requireStorable(requireText(value)),
  characterString: (value) => canonicalCharacterString(requireText(value)),
  characterStrings: (value) => requireTexts(value).map(canonicalCharacterString),
  presentation: (value, type) => parseRdataText(type, requireText(value))['data'],
};

/**
 * The parser for the own fields of a type. It throws an InvalidObservationError that names the field, for
 * one that is missing or is not what its kind says, and one for rdata over 65,535 octets. Instead of
 * fields a record may have its rdata as text in `data` (rdata-text.ts).
 *
 * @param type The type's canonical name (dns-types.ts).
 */
export function rdataParser(type: string): RdataParser {
  const fields = rdataFields(type);
  const parse = fieldsParser(type, fields);
  if (fields === OTHER_RDATA_FIELDS) return parse;
  return (data) => parse(data['data'] === undefined ? data : fieldsOfData(type, fields, data));
}

function fieldsOfData(type: string, fields: readonly RdataField[], data: Data): Data {
  return readAt('data', () => {
    const other = fields.find(({ name }) => data[name] !== undefined);
    if (other === undefined) {
      return { ...parseRdataText(type, requireText(data['data'])), joined: data['joined'] };
    }
    throw new InvalidObservationError(
      `the record has ${other.name} too: write data or the fields of ${type}.`,
    );
  });
}

function fieldsParser(type: string, fields: readonly RdataField[]): RdataParser {
  if (type === 'TXT') return (data) => textJson(rdataJson(type, fields, completeTxt(data)), data);
  const [first] = fields;
  if (fields.length === 1 && first !== undefined) return singleFieldParser(type, first);
  return (data) => {
    const json = rdataJson(type, fields, data);
    // A UTF-16 unit takes three octets at most: nearly all rdata is short enough by this check alone.
    if (json.length * 3 > LARGEST_RDATA) {
      const octets = Object.values(parseRdata(json)).map((value) => Buffer.byteLength(String(value)));
      requireRdataLength(octets.reduce((sum, length) => sum + length, 0));
    }
    return json;
  };
}

/** The number of types with `data` is not bounded, and each has a cache. */
const SMALL_CACHE = 256;

/** Most records have one text, an address, a name or `data`: with a cache, each costs a look-up. */
function singleFieldParser(type: string, field: RdataField): RdataParser {
  const { name, kind } = field;
  const parse = (value: unknown) => rdataJson(type, [field], { [name]: value });
  const cached = memoized(parse, kind === 'presentation' && type !== 'DS' ? SMALL_CACHE : undefined);
  return (data) => {
    const value = data[name];
    return typeof value === 'string' ? cached(value) : parse(value);
  };
}

function rdataJson(type: string, fields: readonly RdataField[], data: Data): string {
  const values: Record<string, unknown> = {};
  for (const { name, kind } of fields) {
    values[name] = readAt(name, () => CANONICAL[kind](data[name], type));
  }
  return JSON.stringify(values);
}

function canonicalInteger(value: unknown): number {
  const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
  if (typeof number === 'number' && Number.isInteger(number) && number >= 0 && number <= LARGEST_INTEGER) {
    return number;
  }
  if (value === undefined) throw new InvalidObservationError('it is missing.');
  const shown = typeof value === 'string' ? quoted(value) : typeof value === 'number' ? value : 'it';
  throw new InvalidObservationError(`${shown} is not an integer from 0 to ${LARGEST_INTEGER}.`);
}

function requireRdataLength(octets: number): void {
  if (octets <= LARGEST_RDATA) return;
  throw new InvalidObservationError(`its data is longer than ${LARGEST_RDATA} octets.`);
}

/** After the own fields of a TXT record whose strings were joined before it was read: where they are divided is not known. */
export const JOINED = ',"joined":true}';

function textJson(json: string, { joined }: Data): string {
  if (joined === undefined || joined === false) return json;
  if (joined === true) return json.slice(0, -1) + JOINED;
  throw errorAt('joined', new InvalidObservationError('it must be true or false.'));
}

/**
 * Both own fields of a TXT record in canonical form, where one is enough: a `txt` alone is one entry,
 * and `entries` alone are joined. Where `joined` says that they are not known, each entry but the last is as long as it can be.
 *
 * @throws InvalidObservationError for fields that are missing, not texts, or an empty list; a `txt` that
 * is not the entries joined; lone surrogates; more than 65,535 octets.
 */
function completeTxt(data: Data): Data {
  const alone = data['entries'] === undefined;
  const texts = alone
    ? [readAt('txt', () => requireText(data['txt']))]
    : readAt('entries', () => requireTexts(data['entries']));
  const entries = readAt(alone ? 'txt' : 'entries', () => texts.map(characterStringOctets));
  const joined = Buffer.concat(entries);
  if (!alone && data['txt'] !== undefined) {
    readAt('txt', () => requireJoined(requireText(data['txt']), texts, joined));
  }
  const strings = data['joined'] === true ? stringsOf(joined) : entries;
  // Each character-string has a length octet before it.
  requireRdataLength(joined.length + strings.length);
  return { txt: characterStringText(joined), entries: strings.map(characterStringText) };
}

function requireJoined(txt: string, entries: readonly string[], joined: Buffer): void {
  if (txt === entries.join('') || characterStringOctets(txt).equals(joined)) return;
  throw new InvalidObservationError('it is not the entries joined.');
}
