import { invalidValue } from './errors.js';
import { memoized } from './memoized.js';
import { invalidText, quoted } from './text.js';

const MNEMONIC = /^[A-Za-z][A-Za-z0-9-]{0,31}$/;

/** A DNS type or class in upper case: RFC 1035, section 3.2, and RFC 3597. @throws InvalidObservationError */
const canonicalMnemonic: (text: string) => string = memoized((text) => {
  if (MNEMONIC.test(text)) return text.toUpperCase();
  throw invalidText(text, 'a mnemonic of DNS, such as MX or IN');
}, 1024);

/** RFC 3597, section 5, and RFC 6895, section 3.2. */
const NUMBERED_CLASSES: Readonly<Record<string, string>> = { CLASS1: 'IN', CLASS3: 'CH', CLASS4: 'HS' };

/** In upper case: `IN` for `in` and `CLASS1`; any mnemonic may be one. @throws InvalidObservationError */
export function canonicalClass(text: string): string {
  const name = canonicalMnemonic(text);
  return NUMBERED_CLASSES[name] ?? name;
}

export type Mnemonics = ReadonlyMap<string, number>;

/** Numbers of names in upper case. Each row is numbered from its first number on. */
export function numbered(...rows: readonly (readonly [first: number, mnemonics: string])[]): Mnemonics {
  return new Map(rows.flatMap(([first, names]) => names.split(' ').map((name, at) => [name, first + at])));
}

/** The registry "Resource Record (RR) TYPEs" of the IANA. */
const NUMBERS = numbered(
  [1, 'A NS MD MF CNAME SOA MB MG MR NULL WKS PTR HINFO MINFO MX TXT RP AFSDB X25 ISDN RT NSAP NSAP-PTR'],
  [24, 'SIG KEY PX GPOS AAAA LOC NXT EID NIMLOC SRV ATMA NAPTR KX CERT A6 DNAME SINK OPT APL DS SSHFP'],
  [45, 'IPSECKEY RRSIG NSEC DNSKEY DHCID NSEC3 NSEC3PARAM TLSA SMIMEA'],
  [55, 'HIP NINFO RKEY TALINK CDS CDNSKEY OPENPGPKEY CSYNC ZONEMD SVCB HTTPS DSYNC HHIT BRID'],
  [99, 'SPF UINFO UID GID UNSPEC NID L32 L64 LP EUI48 EUI64'],
  [128, 'NXNAME'],
  [249, 'TKEY TSIG IXFR AXFR MAILB MAILA ANY URI CAA AVC DOA AMTRELAY RESINFO WALLET CLA IPN'],
  [32_768, 'TA DLV'],
);
const NAMES: ReadonlyMap<number, string> = new Map(Array.from(NUMBERS, ([name, number]) => [number, name]));

const RESERVED = 65_535;

function anyNumber(type: string): number | undefined {
  const upper = type.toUpperCase();
  const digits = /^TYPE(0|[1-9]\d{0,4})$/.exec(upper)?.[1];
  return digits === undefined ? NUMBERS.get(upper) : Number(digits);
}

/**
 * @param type A mnemonic (`MX`) or the form of RFC 3597 (`TYPE65534`), in either case.
 * @returns Undefined for an unknown mnemonic, and for what no record can have: 0, 65535, and the types of
 * questions and of messages (OPT, ANY, AXFR and so on; RFC 6895, section 3.1).
 */
export function typeNumber(type: string): number | undefined {
  const number = anyNumber(type) ?? 0;
  const holdsNoData = number === 0 || number === 41 || (number >= 128 && number <= 255) || number >= RESERVED;
  return holdsNoData ? undefined : number;
}

/** Those that records may have. */
export const TYPE_NAMES = [...NUMBERS.keys()].filter((name) => typeNumber(name) !== undefined);

/** The mnemonic where there is one (`CAA` for `type257`), else as in RFC 3597. Undefined as typeNumber(). */
export function canonicalType(type: string): string | undefined {
  const number = typeNumber(type);
  return number === undefined ? undefined : typeName(number);
}

/** As canonicalType(). @throws InvalidObservationError */
export function requireType(text: string): string {
  const type = canonicalType(canonicalMnemonic(text));
  if (type !== undefined) return type;
  throw invalidValue(
    anyNumber(text) === undefined
      ? `the type ${quoted(text)} is not known: write TYPE and its number, such as TYPE65534.`
      : `no record can have the type ${quoted(text)}.`,
  );
}

/** Of any number from 0 to 65535, those of questions too: bitmaps and signatures may name them. */
export function typeName(number: number): string {
  return NAMES.get(number) ?? `TYPE${number}`;
}

/** Of any type, those of questions too. @throws InvalidObservationError */
export function typeNumberOf(text: string): number {
  const number = anyNumber(text);
  if (number !== undefined && number <= RESERVED) return number;
  throw invalidText(text, 'a type: write a mnemonic, or TYPE and its number');
}
