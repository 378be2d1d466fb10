import { locationText } from './location.js';
import { MalformedMessageError } from './malformed.js';
import type { MessageReader } from './message-reader.js';
import { nameOctets } from './question.js';
import { quotedOctets } from './quoted-octets.js';
import { serviceParametersText } from './service-parameters.js';

/** Takes one field from the front of rdata, and gives it as a master file has it. */
type PresentedField = (rdata: MessageReader) => string;

const uint8: PresentedField = (rdata) => String(rdata.uint8());
const uint16: PresentedField = (rdata) => String(rdata.uint16());
const name: PresentedField = (rdata) => absoluteName(rdata.name());
const hexadecimal: PresentedField = (rdata) => someOctets(rdata).toString('hex').toUpperCase();
const base64: PresentedField = (rdata) => someOctets(rdata).toString('base64');
const quoted: PresentedField = (rdata) => quotedOctets(someOctets(rdata));

const DIGEST = [uint16, uint8, uint8, hexadecimal];
const KEY = [uint16, uint8, uint8, base64];
const CERTIFICATE = [uint8, uint8, uint8, hexadecimal];
const SERVICE = [uint16, name, serviceParametersText];

/** The types whose presentation we write, each as its RFC and dig do. */
const LAYOUTS: ReadonlyMap<string, readonly PresentedField[]> = new Map([
  ['RP', [name, name]],
  ['LOC', [locationText]],
  ['DNAME', [name]],
  ['DS', DIGEST],
  ['SSHFP', [uint8, uint8, hexadecimal]],
  ['DNSKEY', KEY],
  ['TLSA', CERTIFICATE],
  ['SMIMEA', CERTIFICATE],
  ['CDS', DIGEST],
  ['CDNSKEY', KEY],
  ['OPENPGPKEY', [base64]],
  ['SVCB', SERVICE],
  ['HTTPS', SERVICE],
  ['URI', [uint16, uint16, quoted]],
]);

/** Rdata with names that a server may compress: how many octets, how many names, and whether more follows. */
interface NamesWithin {
  readonly before: number;
  readonly names: number;
  readonly after: boolean;
}

const ONE_NAME: NamesWithin = { before: 0, names: 1, after: false };
const PREFERENCE_AND_NAME: NamesWithin = { before: 2, names: 1, after: false };

/** RFC 1035, section 4.1.4, and RFC 3597, section 4: elsewhere no name is compressed. */
const NAMES_WITHIN: ReadonlyMap<string, NamesWithin> = new Map([
  ['MD', ONE_NAME],
  ['MF', ONE_NAME],
  ['MB', ONE_NAME],
  ['MG', ONE_NAME],
  ['MR', ONE_NAME],
  ['MINFO', { before: 0, names: 2, after: false }],
  ['AFSDB', PREFERENCE_AND_NAME],
  ['RT', PREFERENCE_AND_NAME],
  ['KX', PREFERENCE_AND_NAME],
  ['PX', { before: 2, names: 2, after: false }],
  ['SIG', { before: 18, names: 1, after: true }],
  ['NXT', { before: 0, names: 1, after: true }],
]);

/**
 * The rdata of a type without fields of its own in the presentation of master files: the type's usual one
 * where we know it and the rdata fits it, and otherwise that of RFC 3597. Names are lower-case and
 * absolute, hexadecimal is upper-case, and nothing is split.
 *
 * @param type The type's canonical name (src/model/dns-types.ts).
 * @param rdata A reader for the record's rdata, which is read to its end.
 */
export function presentRdata(type: string, rdata: MessageReader): string {
  const layout = LAYOUTS.get(type);
  const namesWithin = NAMES_WITHIN.get(type);
  const usual = layout && ifItFits(rdata, (fields) => layout.map((field) => field(fields)).join(' '));
  const expanded = namesWithin && ifItFits(rdata, (fields) => expandedRdata(namesWithin, fields));
  const octets = rdata.rest();
  return usual ?? unknownText(expanded ?? octets);
}

/** What is read from all of the rdata, or undefined where it has another format. */
function ifItFits<Result>(rdata: MessageReader, read: (rdata: MessageReader) => Result): Result | undefined {
  const fork = rdata.fork();
  try {
    const result = read(fork);
    return fork.isAtEnd ? result : undefined;
  } catch (error) {
    if (error instanceof MalformedMessageError) return undefined;
    throw error;
  }
}

/** The rdata with its names in full and lower-case: their pointers mean something in one message only. */
function expandedRdata({ before, names, after }: NamesWithin, rdata: MessageReader): Buffer {
  const parts = [rdata.octets(before)];
  for (let count = 0; count < names; count += 1) parts.push(nameOctets(rdata.name()));
  if (after) parts.push(rdata.rest());
  return Buffer.concat(parts);
}

/** RFC 3597, section 5. */
function unknownText(octets: Buffer): string {
  const hexadecimalText = octets.toString('hex').toUpperCase();
  return octets.length === 0 ? '\\# 0' : `\\# ${octets.length} ${hexadecimalText}`;
}

function absoluteName(text: string): string {
  return text === '.' ? text : `${text}.`;
}

/** All octets that are left: a field without any could not be told from a missing one. */
function someOctets(rdata: MessageReader): Buffer {
  const octets = rdata.rest();
  if (octets.length === 0) throw new MalformedMessageError('an empty field');
  return octets;
}
