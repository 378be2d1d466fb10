import {
  canonicalCharacterString,
  characterStringOctets,
  characterStringText,
  stringsOf,
} from './character-string.js';
import { typeName, typeNumberOf } from './dns-types.js';
import { InvalidObservationError, MalformedMessageError } from './errors.js';
import { canonicalHostName, hostNameOctets } from './host-name.js';
import { canonicalIpv4, canonicalIpv6, ipv4Octets, ipv6Octets, ipv6OfOctets } from './ip-address.js';
import { requireText, requireTexts } from './json-values.js';
import { fieldOctets, type MasterText, quotedOctets } from './master-text.js';
import type { MessageReader } from './message-reader.js';
import { quoted, requireStorable } from './text.js';

/**
 * One field of rdata, or several that depend on each other, in both forms. `read` is strict, and validates
 * the result of `write`.
 */
export interface RdataCodec {
  /** The octets of the fields that come next in a master file. @throws InvalidObservationError */
  write(text: MasterText): Buffer;
  /** The canonical text of the octets that come next; empty for a list without members. @throws MalformedMessageError */
  read(rdata: MessageReader): string;
}

/** What a field of a record's data holds; addresses and names in canonical form. */
export type RdataFieldKind =
  | 'ipv4'
  | 'ipv6'
  | 'hostName'
  | 'integer' // 0 to 4294967295, in JSON a number
  | 'text' // any, as it was given
  | 'characterString' // of TXT data (character-string.ts)
  | 'characterStrings'
  | 'presentation'; // rdata as a master file has it (rdata-text.ts)

/** What a field of a record's own may hold in canonical form. */
export type RdataValue = string | number | readonly string[];

/** A field that types with fields of their own have. */
export interface FieldCodec extends RdataCodec {
  readonly kind: RdataFieldKind;
  /** The octets that come next as a value of JSON, where that is not the text of `read`. */
  value?(rdata: MessageReader): RdataValue;
  /** The canonical value of a value of parsed JSON. @throws InvalidObservationError */
  canonical(value: unknown): RdataValue;
  /** A canonical value as a master file has it. */
  present(value: string): string;
}

/** RFC 1035, section 3.2.1: the length of rdata has 16 bits. */
export const LARGEST_RDATA = 65_535;

/** A field whose value is its text. @param what it is, for the error where it is missing. */
export function field(
  what: string,
  write: (given: string) => Buffer,
  read: (rdata: MessageReader) => string,
): RdataCodec {
  return { write: (text) => write(text.next(what)), read };
}

/** Names of numbers, in upper case. */
type Mnemonics = Readonly<Record<string, number>>;

/**
 * An unsigned integer.
 *
 * @param size In octets: 1, 2 or 4.
 * @param mnemonics Names for some numbers.
 * @param shows Whether the canonical text has the name, as dig prints it.
 */
export function integer(size: 1 | 2 | 4, mnemonics: Mnemonics = {}, shows = false): FieldCodec {
  const names = new Map(shows ? Object.entries(mnemonics).map(([name, number]) => [number, name]) : []);
  const read = (rdata: MessageReader) => {
    const number = rdata.octets(size).readUIntBE(0, size);
    return names.get(number) ?? String(number);
  };
  const write = (given: string) => integerOctets(given, size, mnemonics);
  return {
    ...field('an integer', write, read),
    kind: 'integer',
    canonical: canonicalInteger,
    present: String,
  };
}

const LARGEST_INTEGER = 4_294_967_295;

function canonicalInteger(value: unknown): number {
  const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
  if (typeof number === 'number' && Number.isInteger(number) && number >= 0 && number <= LARGEST_INTEGER) {
    return number;
  }
  if (value === undefined) throw new InvalidObservationError('it is missing.');
  const shown = typeof value === 'string' ? quoted(value) : typeof value === 'number' ? value : 'it';
  throw new InvalidObservationError(`${shown} is not an integer from 0 to ${LARGEST_INTEGER}.`);
}

/** @throws InvalidObservationError for anything but an integer that has room, or one of the names. */
export function integerOctets(text: string | number, size: number, mnemonics: Mnemonics = {}): Buffer {
  const given = String(text);
  const number = /^\d{1,10}$/.test(given) ? Number(given) : mnemonics[given.toUpperCase()];
  const largest = 2 ** (8 * size) - 1;
  if (number === undefined || number > largest) {
    throw new InvalidObservationError(`${quoted(given)} is not an integer from 0 to ${largest}.`);
  }
  const octets = Buffer.alloc(size);
  octets.writeUIntBE(number, 0, size);
  return octets;
}

export const uint8 = integer(1);
export const uint16 = integer(2);
export const uint32 = integer(4);

function textField(
  kind: RdataFieldKind,
  codec: RdataCodec,
  canonical: (text: string) => string,
  present: (text: string) => string = String,
): FieldCodec {
  return { ...codec, kind, canonical: (value) => canonical(requireText(value)), present };
}

/** A domain name: absolute, with or without its final dot. */
export const name = textField(
  'hostName',
  {
    write: (text) => hostNameOctets(canonicalHostName(text.nextName())),
    read: (rdata) => absoluteName(rdata.name()),
  },
  canonicalHostName,
  absoluteName,
);

/** A canonical name with its final dot: absolute in a master file, whatever its origin (RFC 1035, section 5.1). */
export function absoluteName(name: string): string {
  return name === '.' ? name : `${name}.`;
}

export const ipv4 = textField(
  'ipv4',
  field('an IPv4 address', ipv4Octets, (rdata) => rdata.octets(4).join('.')),
  canonicalIpv4,
);

export const ipv6 = textField(
  'ipv6',
  field('an IPv6 address', ipv6Octets, (rdata) => ipv6OfOctets(rdata.octets(16))),
  canonicalIpv6,
);

function string(
  write: (octets: Buffer) => Buffer,
  read: (rdata: MessageReader) => Buffer,
  present = quotedString,
) {
  const codec = field(
    'a string',
    (given) => write(fieldOctets(given)),
    (rdata) => quotedOctets(read(rdata)),
  );
  const value = (rdata: MessageReader) => characterStringText(read(rdata));
  return { ...textField('text', codec, requireStorable, present), value };
}

function quotedString(text: string): string {
  return quotedOctets(characterStringOctets(text));
}

/** A character-string of at most 255 octets (RFC 1035, section 3.3). In values `\DDD` is as in TXT. */
export const characterString = string(lengthBefore, (rdata) => rdata.characterString());

/** RFC 8659, section 4.1: letters and digits. Name servers read it only without quotes. */
export function isPlainTag(tag: string): boolean {
  return /^[a-z0-9]+$/i.test(tag);
}

/** The tag of a CAA record: at least one octet, of which other than letters and digits occur. */
export const tag = string(
  lengthBefore,
  (rdata) => {
    const octets = rdata.characterString();
    if (octets.length > 0) return octets;
    throw new MalformedMessageError('"" is not a string of this type');
  },
  (text) => (isPlainTag(text) ? text : quotedString(text)),
);

/** All octets that are left, as one string. */
export const remainingString = string(Buffer.from, (rdata) => rdata.rest());

/** One or more character-strings. A value that is longer than any in a message is divided. */
export const characterStrings: FieldCodec = {
  write: (text) => {
    const octets = [characterString.write(text)];
    while (!text.isAtEnd) octets.push(characterString.write(text));
    return Buffer.concat(octets);
  },
  read: (rdata) => oneOrMore(rdata, characterString.read).join(' '),
  kind: 'characterStrings',
  value: (rdata) => oneOrMore(rdata, characterString.value),
  canonical: (value) => requireTexts(value).map(canonicalCharacterString),
  present: (text) => stringsOf(characterStringOctets(text)).map(quotedOctets).join(' '),
};

type Encoding = 'hex' | 'base64';

/** All octets that are left, at least one, in hexadecimal or base64: in texts also in several pieces. */
export function remaining(encoding: Encoding): RdataCodec {
  return {
    write: (text) => encodedOctets(text.rest().join(''), encoding),
    read: (rdata) => encoded(rdata.rest(), encoding),
  };
}

const ENCODED = {
  hex: /^(?:[0-9a-f]{2})*$/i,
  base64: /^(?:[a-z0-9+/]{4})*(?:[a-z0-9+/]{2}(?:==|[a-z0-9+/]=))?$/i,
};

/** @throws InvalidObservationError for a text that is not hexadecimal, or not base64. */
export function encodedOctets(text: string, encoding: Encoding): Buffer {
  if (ENCODED[encoding].test(text)) return Buffer.from(text, encoding);
  const named = encoding === 'hex' ? 'hexadecimal of whole octets' : 'base64';
  throw new InvalidObservationError(`${quoted(text)} is not ${named}.`);
}

/** @throws MalformedMessageError for fewer octets than there must be. */
export function encoded(octets: Buffer, encoding: Encoding, least = 1): string {
  if (octets.length < least) throw new MalformedMessageError(`it ends before its ${encoding} data`);
  return encoding === 'hex' ? octets.toString('hex').toUpperCase() : octets.toString('base64');
}

/** The type that a signature covers; dig writes one without a mnemonic as its number alone. */
export const typeCovered = field(
  'a type',
  (given) => integerOctets(/^\d/.test(given) ? given : typeNumberOf(given), 2),
  (rdata) => typeName(rdata.uint16()),
);

const TIME = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)$/;

/** RFC 4034, section 3.2: YYYYMMDDHHmmSS in UTC, or seconds since 1970, of which 32 bits are kept. */
export const time = field(
  'a time',
  (given) => {
    if (!TIME.test(given)) return integerOctets(given, 4);
    const seconds = Date.parse(given.replace(TIME, '$1-$2-$3T$4:$5:$6Z')) / 1000;
    // Date.parse takes 30 February for a day in March.
    if (Number.isNaN(seconds) || timeText(seconds) !== given) {
      throw new InvalidObservationError(`${quoted(given)} is not a time.`);
    }
    return integerOctets(((seconds % 2 ** 32) + 2 ** 32) % 2 ** 32, 4);
  },
  (rdata) => timeText(rdata.uint32()),
);

function timeText(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace(/[-:T]|\..*/g, '');
}

/** @throws InvalidObservationError for more than 255 octets. */
export function lengthBefore(octets: Buffer): Buffer {
  if (octets.length > 255) throw new InvalidObservationError('a string is longer than 255 octets.');
  return Buffer.concat([Buffer.of(octets.length), octets]);
}

export function oneOrMore<Item>(rdata: MessageReader, read: (rdata: MessageReader) => Item): Item[] {
  return [read(rdata), ...untilEnd(rdata, read)];
}

export function untilEnd<Item>(rdata: MessageReader, read: (rdata: MessageReader) => Item): Item[] {
  const items: Item[] = [];
  while (!rdata.isAtEnd) items.push(read(rdata));
  return items;
}

export function writeAll(codecs: readonly RdataCodec[], text: MasterText): Buffer {
  return Buffer.concat(codecs.map((codec) => codec.write(text)));
}

/** Reads the fields of a row one after another, with single blanks between them. */
export function readAll(codecs: readonly RdataCodec[], rdata: MessageReader): string {
  return codecs
    .map((codec) => codec.read(rdata))
    .filter((text) => text !== '')
    .join(' ');
}
