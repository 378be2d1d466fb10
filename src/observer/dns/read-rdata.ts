import { characterStringText } from '../../model/character-string.js';
import { MalformedMessageError } from './malformed.js';
import type { MessageReader } from './message-reader.js';
import { presentRdata } from './present-rdata.js';

/** Takes one field from the front of rdata. */
type Field = (rdata: MessageReader) => unknown;

const uint8: Field = (rdata) => rdata.uint8();
const uint16: Field = (rdata) => rdata.uint16();
const uint32: Field = (rdata) => rdata.uint32();
const name: Field = (rdata) => rdata.name();
/** Octets that no text can hold (NUL, no UTF-8) are escaped in all texts as they are in TXT. */
const text: Field = (rdata) => characterStringText(rdata.characterString());
const ipv4: Field = (rdata) => rdata.octets(4).join('.');
const ipv6: Field = (rdata) => Array.from({ length: 8 }, () => rdata.uint16().toString(16)).join(':');

/** RFC 8659, section 4.1: a tag has at least one octet. */
const tag: Field = (rdata) => {
  const octets = rdata.characterString();
  if (octets.length === 0) throw new MalformedMessageError('a CAA record without a tag');
  return characterStringText(octets);
};

/** RFC 1035, section 3.3.14: one or more character-strings. */
const texts: Field = (rdata) => {
  const entries = [text(rdata)];
  while (!rdata.isAtEnd) entries.push(text(rdata));
  return entries;
};

const TARGET = { target: name };

/** The types with fields of their own: the fields in the order of the rdata, by the names of src/model. */
const LAYOUTS: ReadonlyMap<string, Readonly<Record<string, Field>>> = new Map<string, Record<string, Field>>([
  ['A', { ip: ipv4 }],
  ['AAAA', { ipv6 }],
  ['NS', TARGET],
  ['CNAME', TARGET],
  ['PTR', TARGET],
  [
    'SOA',
    {
      ...{ mname: name, rname: name, serial: uint32, refresh: uint32 },
      ...{ retry: uint32, expire: uint32, 'minimum-ttl': uint32 },
    },
  ],
  ['TXT', { entries: texts }],
  ['MX', { pri: uint16, target: name }],
  ['SRV', { pri: uint16, weight: uint16, port: uint16, target: name }],
  ['CAA', { flags: uint8, tag, value: (rdata) => characterStringText(rdata.rest()) }],
  ['NAPTR', { order: uint16, pref: uint16, flags: text, services: text, regex: text, replacement: name }],
  ['HINFO', { cpu: text, os: text }],
]);

/**
 * The own fields of a record, as parseDnsRecord takes them.
 *
 * @param type The type's canonical name (src/model/dns-types.ts).
 * @param rdata A reader for the record's rdata.
 * @throws MalformedMessageError for rdata that breaks the format of a type with fields of its own. Other
 * types have `data`, which can show anything.
 */
export function readRdata(type: string, rdata: MessageReader): Readonly<Record<string, unknown>> {
  const layout = LAYOUTS.get(type);
  if (layout === undefined) return { data: presentRdata(type, rdata) };
  const values: Record<string, unknown> = {};
  for (const field in layout) values[field] = layout[field]?.(rdata);
  if (!rdata.isAtEnd) throw new MalformedMessageError(`octets after the data of a record of type ${type}`);
  return values;
}
