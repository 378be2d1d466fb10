import { InvalidObservationError } from './errors.js';
import { memoized } from './memoized.js';
import { quoted } from './text.js';

const MNEMONIC = /^[A-Za-z][A-Za-z0-9-]{0,31}$/;

/**
 * A DNS type or class in upper case (`MX`, `TYPE65534`, `IN`): RFC 1035, section 3.2, and RFC 3597.
 *
 * @throws InvalidObservationError for anything but a letter and up to 31 letters, digits and `-`.
 */
export const canonicalMnemonic: (text: string) => string = memoized((text) => {
  if (MNEMONIC.test(text)) return text.toUpperCase();
  throw new InvalidObservationError(`${quoted(text)} is not a mnemonic of DNS, such as MX or IN.`);
}, 1024);

/** RFC 3597, section 5: the classes that have names, by their numbers (RFC 6895, section 3.2). */
const NUMBERED_CLASSES: Readonly<Record<string, string>> = { CLASS1: 'IN', CLASS3: 'CH', CLASS4: 'HS' };

/** The one name of a DNS class, in upper case: `IN` for `in` and `CLASS1`. @throws as canonicalMnemonic does. */
export function canonicalClass(text: string): string {
  const name = canonicalMnemonic(text);
  return NUMBERED_CLASSES[name] ?? name;
}

/** The types that hold data and have a mnemonic: the registry "Resource Record (RR) TYPEs" of the IANA. */
const NUMBERS: ReadonlyMap<string, number> = new Map(
  Object.entries({
    ...{ A: 1, NS: 2, MD: 3, MF: 4, CNAME: 5, SOA: 6, MB: 7, MG: 8, MR: 9, NULL: 10, WKS: 11, PTR: 12 },
    ...{ HINFO: 13, MINFO: 14, MX: 15, TXT: 16, RP: 17, AFSDB: 18, X25: 19, ISDN: 20, RT: 21, NSAP: 22 },
    ...{ 'NSAP-PTR': 23, SIG: 24, KEY: 25, PX: 26, GPOS: 27, AAAA: 28, LOC: 29, NXT: 30, EID: 31 },
    ...{ NIMLOC: 32, SRV: 33, ATMA: 34, NAPTR: 35, KX: 36, CERT: 37, A6: 38, DNAME: 39, SINK: 40 },
    ...{ APL: 42, DS: 43, SSHFP: 44, IPSECKEY: 45, RRSIG: 46, NSEC: 47, DNSKEY: 48, DHCID: 49, NSEC3: 50 },
    ...{ NSEC3PARAM: 51, TLSA: 52, SMIMEA: 53, HIP: 55, NINFO: 56, RKEY: 57, TALINK: 58, CDS: 59 },
    ...{ CDNSKEY: 60, OPENPGPKEY: 61, CSYNC: 62, ZONEMD: 63, SVCB: 64, HTTPS: 65, DSYNC: 66, HHIT: 67 },
    ...{
      BRID: 68,
      SPF: 99,
      UINFO: 100,
      UID: 101,
      GID: 102,
      UNSPEC: 103,
      NID: 104,
      L32: 105,
      L64: 106,
      LP: 107,
      EUI48: 108,
      EUI64: 109,
      URI: 256,
    },
    ...{ CAA: 257, AVC: 258, DOA: 259, AMTRELAY: 260, RESINFO: 261, WALLET: 262, CLA: 263, IPN: 264 },
    ...{ TA: 32768, DLV: 32769 },
  }),
);

/** The types of questions and of messages, which no record has: bitmaps and signatures may name them. */
const META: ReadonlyMap<string, number> = new Map(
  Object.entries({
    ...{ OPT: 41, NXNAME: 128, TKEY: 249, TSIG: 250, IXFR: 251, AXFR: 252, MAILB: 253, MAILA: 254, ANY: 255 },
  }),
);

const MNEMONICS: ReadonlyMap<number, string> = new Map(
  Array.from([...NUMBERS, ...META], ([name, number]) => [number, name]),
);

/** RFC 3597, section 5. */
const NUMBERED = /^TYPE(0|[1-9]\d{0,4})$/;
const RESERVED = 65_535;

/**
 * The number of a type that holds data.
 *
 * @param type A mnemonic (`MX`) or the form of RFC 3597 (`TYPE65534`), in either case.
 * @returns Undefined for an unknown mnemonic, and for what no record can have: 0, 65535, and the types of
 * questions and of messages (OPT, ANY, AXFR and so on; RFC 6895, section 3.1).
 */
export function typeNumber(type: string): number | undefined {
  const number = anyNumber(type);
  return number === undefined || holdsNoData(number) ? undefined : number;
}

function anyNumber(type: string): number | undefined {
  const upper = type.toUpperCase();
  const digits = NUMBERED.exec(upper)?.[1];
  return digits === undefined ? (NUMBERS.get(upper) ?? META.get(upper)) : Number(digits);
}

function holdsNoData(number: number): boolean {
  return number === 0 || number === 41 || (number >= 128 && number <= 255) || number >= RESERVED;
}

/**
 * The one name of a type, as its records have it: the mnemonic where there is one (`CAA` for `type257`),
 * and otherwise the form of RFC 3597. Undefined where isKnownType is false.
 */
export function canonicalType(type: string): string | undefined {
  const number = typeNumber(type);
  return number === undefined ? undefined : typeName(number);
}

/** Whether a type can be asked for: a mnemonic that we know, or `TYPE` and the number of a type of data. */
export function isKnownType(type: string): boolean {
  return typeNumber(type) !== undefined;
}

/**
 * The canonical name of a type that records may have.
 *
 * @throws InvalidObservationError for any other text; the message says what to write.
 */
export function requireType(text: string): string {
  const type = canonicalType(canonicalMnemonic(text));
  if (type !== undefined) return type;
  throw new InvalidObservationError(
    anyNumber(text) === undefined
      ? `the type ${quoted(text)} is not known: write TYPE and its number, such as TYPE65534.`
      : `no record can have the type ${quoted(text)}.`,
  );
}

/** The name of any number from 0 to 65535, those of questions too. */
export function typeName(number: number): string {
  return MNEMONICS.get(number) ?? `TYPE${number}`;
}

/**
 * The number of any type, those of questions too.
 *
 * @throws InvalidObservationError for a text that names none.
 */
export function typeNumberOf(text: string): number {
  const number = anyNumber(text);
  if (number !== undefined && number <= RESERVED) return number;
  throw new InvalidObservationError(
    `${quoted(text)} is not a type: write a mnemonic, or TYPE and its number.`,
  );
}
