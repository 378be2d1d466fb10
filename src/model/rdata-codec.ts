import {
  canonicalCharacterString,
  characterStringOctets,
  characterStringText,
  stringsOf,
} from './character-string.js';
import type { Mnemonics } from './dns-types.js';
import { invalidValue, MalformedMessageError } from './errors.js';
import { canonicalHostName, hostNameOctets } from './host-name.js';
import { canonicalIpv4, canonicalIpv6, ipv4Octets, ipv6Octets, ipv6OfOctets } from './ip-address.js';
import { requireText, requireTexts } from './json-values.js';
import { fieldOctets, type MasterText, quotedOctets } from './master-text.js';
import type { MessageReader } from './message-reader.js';
import { invalidText, quoted, requireStorable } from './text.js';

/** A field of rdata, or several that depend on each other. `read` validates what `write` has written. */
export interface RdataCodec {
  /** The octets of what comes next in a master file. @throws InvalidObservationError */
  write(text: MasterText): Buffer;
  /** The canonical text of the next octets; empty for an empty list. @throws MalformedMessageError */
  read(rdata: MessageReader): string;
}

export type RdataFieldKind =
  | 'ipv4'
  | 'ipv6'
  | 'hostName'
  | 'integer' // 0 to 4294967295, in JSON a number
  | 'text' // any, as it was given
  | 'characterString' // of TXT data (character-string.ts)
  | 'characterStrings'
  | 'presentation'; // rdata as a master file has it (rdata-text.ts)

export type RdataValue = string | number | readonly string[];

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
export const MAX_RDATA = 65_535;

/** One word of a master file. */
export function field(write: (word: string) => Buffer, read: (rdata: MessageReader) => string): RdataCodec {
  return { write: (text) => write(text.next()), read };
}

export function requireRdata(isValid: boolean, reason: string): void {
  if (!isValid) throw new MalformedMessageError(reason);
}

const NONE: Mnemonics = new Map();

/** Unsigned. @param size In octets. @param shows Whether the text has the mnemonic, as dig prints it. */
export function integer(size: 1 | 2 | 4, mnemonics = NONE, shows = false): FieldCodec {
  const names = new Map(Array.from(shows ? mnemonics : NONE, ([name, number]) => [number, name]));
  return {
    kind: 'integer',
    write: (text) => integerOctets(text.next(), size, mnemonics),
    read: (rdata) => {
      const number = rdata.octets(size).readUIntBE(0, size);
      return names.get(number) ?? String(number);
    },
    canonical: canonicalInteger,
    present: String,
  };
}

const MAX_INTEGER = 4_294_967_295;

function canonicalInteger(value: unknown): number {
  const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
  if (typeof number === 'number' && Number.isInteger(number) && number >= 0 && number <= MAX_INTEGER)
    return number;
  if (value === undefined) throw invalidValue('it is missing.');
  const shown = typeof value === 'object' ? 'it' : quoted(String(value));
  throw invalidValue(`${shown} is not an integer from 0 to ${MAX_INTEGER}.`);
}

/** @throws InvalidObservationError for anything but an integer that has room, or one of the mnemonics. */
export function integerOctets(text: string | number, size: number, mnemonics = NONE): Buffer {
  const given = String(text);
  const number = /^\d{1,10}$/.test(given) ? Number(given) : mnemonics.get(given.toUpperCase());
  const largest = 2 ** (8 * size) - 1;
  if (number === undefined || number > largest) throw invalidText(given, `an integer from 0 to ${largest}`);
  const octets = Buffer.alloc(size);
  octets.writeUIntBE(number, 0, size);
  return octets;
}

export const uint8 = integer(1);
export const uint16 = integer(2);
export const uint32 = integer(4);

/** A domain name: absolute, with or without its final dot. */
export const name: FieldCodec = {
  kind: 'hostName',
  write: (text) => hostNameOctets(canonicalHostName(text.nextName())),
  read: (rdata) => absoluteName(rdata.name()),
  canonical: (value) => canonicalHostName(requireText(value)),
  present: absoluteName,
};

/** A canonical name with its final dot: absolute, whatever the origin of a file (RFC 1035, section 5.1). */
export function absoluteName(name: string): string {
  return name === '.' ? name : `${name}.`;
}

export const ipv4: FieldCodec = {
  ...field(ipv4Octets, (rdata) => rdata.octets(4).join('.')),
  kind: 'ipv4',
  canonical: (value) => canonicalIpv4(requireText(value)),
  present: String,
};

export const ipv6: FieldCodec = {
  ...field(ipv6Octets, (rdata) => ipv6OfOctets(rdata.octets(16))),
  kind: 'ipv6',
  canonical: (value) => canonicalIpv6(requireText(value)),
  present: String,
};

/** A text, in whose values `\DDD` is as in TXT. */
function string(write: (octets: Buffer) => Buffer, read: (rdata: MessageReader) => Buffer) {
  return {
    kind: 'text' as const,
    write: (text: MasterText) => write(fieldOctets(text.next())),
    read: (rdata: MessageReader) => quotedOctets(read(rdata)),
    value: (rdata: MessageReader) => characterStringText(read(rdata)),
    canonical: (value: unknown) => requireStorable(requireText(value)),
    present: quotedString,
  };
}

function quotedString(text: string): string {
  return quotedOctets(characterStringOctets(text));
}

/** A character-string of at most 255 octets (RFC 1035, section 3.3). */
export const characterString = string(lengthBefore, (rdata) => rdata.characterString());

/** RFC 8659, section 4.1: letters and digits. Name servers read it only without quotes. */
export function isPlainTag(tag: string): boolean {
  return /^[a-z0-9]+$/i.test(tag);
}

/** The tag of a CAA record: at least one octet, of which other than letters and digits occur. */
export const tag: FieldCodec = {
  ...string(lengthBefore, (rdata) => {
    const octets = rdata.characterString();
    requireRdata(octets.length > 0, 'an empty tag');
    return octets;
  }),
  present: (text) => (isPlainTag(text) ? text : quotedString(text)),
};

export const remainingString = string(Buffer.from, (rdata) => rdata.rest());

/** One or more character-strings. A value that is longer than any in a message is divided. */
export const characterStrings: FieldCodec = {
  ...list(characterString, 1),
  kind: 'characterStrings',
  value: (rdata) => untilEnd(rdata, characterString.value, 1),
  canonical: (value) => requireTexts(value).map(canonicalCharacterString),
  present: (text) => stringsOf(characterStringOctets(text)).map(quotedOctets).join(' '),
};

type Encoding = 'hex' | 'base64';

/** All octets that are left; in texts also in several pieces. */
export function remaining(encoding: Encoding, least = 1, most = MAX_RDATA): RdataCodec {
  return {
    write: (text) => encodedOctets(text.rest().join(''), encoding),
    read: (rdata) => {
      const octets = rdata.rest();
      const isOfLength = octets.length >= least && octets.length <= most;
      requireRdata(isOfLength, `its last field cannot have ${octets.length} octets`);
      return encoding === 'hex' ? hexadecimal(octets) : octets.toString(encoding);
    },
  };
}

export function hexadecimal(octets: Buffer): string {
  return octets.toString('hex').toUpperCase();
}

const ENCODED = {
  hex: /^(?:[0-9a-f]{2})*$/i,
  base64: /^(?:[a-z0-9+/]{4})*(?:[a-z0-9+/]{2}(?:==|[a-z0-9+/]=))?$/i,
};

/** @throws InvalidObservationError */
export function encodedOctets(text: string, encoding: Encoding): Buffer {
  if (ENCODED[encoding].test(text)) return Buffer.from(text, encoding);
  throw invalidText(text, encoding === 'hex' ? 'hexadecimal of whole octets' : 'base64');
}

/** @throws InvalidObservationError for more than 255 octets. */
export function lengthBefore(octets: Buffer): Buffer {
  if (octets.length > 255) throw invalidValue('a string is longer than 255 octets.');
  return Buffer.concat([Buffer.of(octets.length), octets]);
}

export function untilEnd<Source extends { readonly isAtEnd: boolean }, Item>(
  source: Source,
  read: (source: Source) => Item,
  least: 0 | 1,
): Item[] {
  const items: Item[] = [];
  while (items.length < least || !source.isAtEnd) items.push(read(source));
  return items;
}

export function list({ write, read }: RdataCodec, least: 0 | 1): RdataCodec {
  return {
    write: (text) => Buffer.concat(untilEnd(text, write, least)),
    read: (rdata) => untilEnd(rdata, read, least).join(' '),
  };
}

/** Fields of which the first say what the others are. @param size Of the first, in octets. */
export function dependent(
  first: readonly RdataCodec[],
  size: number,
  others: (head: Buffer) => readonly RdataCodec[],
): RdataCodec {
  return {
    write: (text) => {
      const head = writeAll(first, text);
      return Buffer.concat([head, writeAll(others(head), text)]);
    },
    read: (rdata) => readAll([...first, ...others(rdata.fork().octets(size))], rdata),
  };
}

export function writeAll(codecs: readonly RdataCodec[], text: MasterText): Buffer {
  return Buffer.concat(codecs.map((codec) => codec.write(text)));
}

export function readAll(codecs: readonly RdataCodec[], rdata: MessageReader): string {
  const texts = codecs.map((codec) => codec.read(rdata));
  return texts.filter((text) => text !== '').join(' ');
}
