import { characterStringOctets } from './character-string.js';
import type { DnsRecord } from './dns-record.js';
import { MasterText, quotedOctets } from './master-text.js';
import { absoluteName } from './rdata-codec.js';
import { RDATA_FIELDS, type RdataFieldKind } from './rdata-fields.js';
import { genericText, parseRdataText, rdataOctets } from './rdata-text.js';
import { parseRdata, type RdataValue } from './rdata-values.js';

/** RFC 1035, section 3.3: the longest character-string. */
const LONGEST_STRING = 255;

/** RFC 8659, section 4.1: letters and digits. Name servers read it only without quotes. */
const CAA_TAG = /^[a-z0-9]+$/i;

const PRESENT: Readonly<Record<RdataFieldKind, (value: string) => string>> = {
  ipv4: String,
  ipv6: String,
  hostName: absoluteName,
  integer: String,
  text: (value) => quotedOctets(characterStringOctets(value)),
  characterString: (value) => quotedOctets(characterStringOctets(value)),
  characterStrings: splitString,
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
  const { data, tag } = values;
  if (typeof data === 'string') return data;
  const fields = (RDATA_FIELDS.get(type) ?? []).filter(({ codec }) => codec !== null);
  const texts = fields.map(({ name, kind }) => {
    const value = values[name] ?? '';
    if (name === 'tag' && CAA_TAG.test(String(value))) return String(value);
    return listOf(value).map(PRESENT[kind]).join(' ');
  });
  const text = texts.join(' ');
  parseRdataText(type, text);
  return tag === undefined || CAA_TAG.test(String(tag))
    ? text
    : genericText(rdataOctets(type, new MasterText(text)));
}

function listOf(value: RdataValue): readonly string[] {
  return Array.isArray(value) ? value : [String(value)];
}

function splitString(value: string): string {
  const octets = characterStringOctets(value);
  const count = Math.max(1, Math.ceil(octets.length / LONGEST_STRING));
  return Array.from({ length: count }, (_, at) =>
    quotedOctets(octets.subarray(at * LONGEST_STRING, (at + 1) * LONGEST_STRING)),
  ).join(' ');
}
