import { memoized } from './bounded-cache.js';
import { canonicalCharacterString } from './character-string.js';
import { InvalidObservationError } from './errors.js';
import { canonicalHostName } from './host-name.js';
import { canonicalIpv4, canonicalIpv6 } from './ip-address.js';
import { canonicalPresentation, isDigestType } from './presentation.js';
import { quoted } from './quoted.js';
import { type RdataField, type RdataFieldKind, rdataFields } from './rdata-fields.js';
import { parseRdata } from './rdata-values.js';
import { readAt } from './refusal.js';
import { requireText, requireTexts } from './required.js';
import { refuseUnstorable } from './storable-text.js';
import { completeTxt, LARGEST_RDATA } from './txt-fields.js';

/** Takes a record's data object, and gives the own fields of its type in canonical form as JSON text. */
export type RdataParser = (data: Readonly<Record<string, unknown>>) => string;

const LARGEST_INTEGER = 4_294_967_295;
/** In presentation an octet takes up to four characters (`\DDD`). */
const LARGEST_PRESENTATION = 4 * LARGEST_RDATA;

const CANONICAL: Readonly<Record<RdataFieldKind, (value: unknown, type: string) => unknown>> = {
  ipv4: (value) => canonicalIpv4(requireText(value)),
  ipv6: (value) => canonicalIpv6(requireText(value)),
  hostName: (value) => canonicalHostName(requireText(value)),
  integer: canonicalInteger,
  text: storableText,
  characterString: (value) => canonicalCharacterString(requireText(value)),
  characterStrings: (value) => requireTexts(value).map(canonicalCharacterString),
  presentation: (value, type) => canonicalPresentation(type, requireText(value)),
};

/**
 * The parser for the own fields of a type (upper case). It throws an InvalidObservationError that names
 * the field, for one that is missing or is not what its kind says, and one for rdata over 65,535 octets.
 */
export function rdataParser(type: string): RdataParser {
  const fields = rdataFields(type);
  if (type === 'TXT') return (data) => rdataJson(type, fields, completeTxt(data));
  const [first] = fields;
  if (fields.length === 1 && first !== undefined) return singleFieldParser(type, first);
  return (data) => withinLimit(rdataJson(type, fields, data), LARGEST_RDATA);
}

/** Most records have one text: with a memory of the latest ones, they cost a look-up each. */
function singleFieldParser(type: string, field: RdataField): RdataParser {
  const { name, kind } = field;
  const limit = kind === 'presentation' ? LARGEST_PRESENTATION : LARGEST_RDATA;
  const parse = (value: unknown) => withinLimit(rdataJson(type, [field], { [name]: value }), limit);
  // The other types with `data` are without number, and each would have a memory of its own.
  if (kind === 'presentation' && !isDigestType(type)) return (data) => parse(data[name]);
  const remembered = memoized(parse);
  return (data) => {
    const value = data[name];
    return typeof value === 'string' ? remembered(value) : parse(value);
  };
}

function rdataJson(
  type: string,
  fields: readonly RdataField[],
  data: Readonly<Record<string, unknown>>,
): string {
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

function storableText(value: unknown): string {
  const text = requireText(value);
  refuseUnstorable(text);
  return text;
}

function withinLimit(rdata: string, limit: number): string {
  // A UTF-16 unit takes three octets at most: nearly all rdata is known to be short enough at a glance.
  if (rdata.length * 3 > limit && valuesLength(rdata) > limit) {
    throw new InvalidObservationError(`its data is longer than ${LARGEST_RDATA} octets.`);
  }
  return rdata;
}

function valuesLength(rdata: string): number {
  return Object.values(parseRdata(rdata)).reduce<number>(
    (length, value) => length + Buffer.byteLength(String(value)),
    0,
  );
}
