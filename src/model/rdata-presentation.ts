import { characterStringOctets, stringsOf } from './character-string.js';
import type { DnsRecord } from './dns-record.js';
import { InvalidObservationError, MalformedMessageError } from './errors.js';
import { MasterText, quotedOctets } from './master-text.js';
import { absoluteName } from './rdata-codec.js';
import { RDATA_FIELDS, type RdataFieldKind } from './rdata-fields.js';
import { genericText, parseRdataText, rdataOctets } from './rdata-text.js';
import { parseRdata } from './rdata-values.js';

/** RFC 8659, section 4.1: letters and digits. Name servers read it only without quotes. */
const CAA_TAG = /^[a-z0-9]+$/i;

const PRESENT: Readonly<Record<RdataFieldKind, (value: string) => string>> = {
  ipv4: String,
  ipv6: String,
  hostName: absoluteName,
  integer: String,
  text: (value) => quotedOctets(characterStringOctets(value)),
  characterString: (value) => quotedOctets(characterStringOctets(value)),
  characterStrings: (value) => stringsOf(characterStringOctets(value)).map(quotedOctets).join(' '),
  presentation: String,
};

/**
 * The rdata of a record in the presentation of master files (RFC 1035, section 5.1), with absolute names. A string of a TXT record
 * that is longer than any in a message is divided.
 *
 * @throws InvalidObservationError for fields that no message can hold, such as the preference 70000 of an MX record.
 */
export function presentRdata({ type, rdata }: DnsRecord): string {
  const values = parseRdata(rdata);
  const text = rdataText(type, values);
  if (typeof values['data'] !== 'string') parseRdataText(type, text);
  return text;
}

/**
 * The same text from the own fields of a record's type; fields that no message can hold are written as they are.
 *
 * @param values By their names in the specification (2.3).
 */
export function rdataText(type: string, values: Readonly<Record<string, unknown>>): string {
  const { data, tag } = values;
  if (typeof data === 'string') return data;
  const texts: string[] = [];
  for (const { name, kind, codec } of RDATA_FIELDS.get(type) ?? []) {
    if (codec === null) continue;
    const isPlain = name === 'tag' && CAA_TAG.test(String(tag));
    for (const value of listOf(values[name])) texts.push(isPlain ? value : PRESENT[kind](value));
  }
  const text = texts.join(' ');
  return tag === undefined || CAA_TAG.test(String(tag)) ? text : (unnamedTagText(type, text) ?? text);
}

/** Of a CAA record, whose tag name servers would not read with quotes. Undefined for fields that no message can hold. */
function unnamedTagText(type: string, text: string): string | undefined {
  try {
    return genericText(rdataOctets(type, new MasterText(text)));
  } catch (error) {
    if (error instanceof InvalidObservationError || error instanceof MalformedMessageError) return undefined;
    throw error;
  }
}

function listOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [String(value ?? '')];
}
