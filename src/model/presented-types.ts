import { type Mnemonics, numbered, typeName, typeNumberOf } from './dns-types.js';
import { invalidValue, MalformedMessageError } from './errors.js';
import { ipv4Octets, ipv6Octets, ipv6OfOctets } from './ip-address.js';
import { location } from './location.js';
import type { MessageReader } from './message-reader.js';
import {
  characterStrings,
  dependent,
  encodedOctets,
  field,
  hexadecimal,
  integer,
  integerOctets,
  ipv4,
  ipv6,
  lengthBefore,
  list,
  name,
  type RdataCodec,
  remaining,
  remainingString,
  requireRdata,
  uint8,
  uint16,
  uint32,
  untilEnd,
} from './rdata-codec.js';
import { serviceParameters } from './service-parameters.js';
import { invalidText } from './text.js';

const BASE64 = remaining('base64');

/** DNS security algorithm numbers (IANA), by the names of RFC 4034, appendix A.1, and of BIND. */
const ALGORITHMS = numbered(
  [1, 'RSAMD5 DH DSA ECC RSASHA1 NSEC3DSA NSEC3RSASHA1 RSASHA256'],
  [10, 'RSASHA512'],
  [12, 'ECCGOST ECDSAP256SHA256 ECDSAP384SHA384 ED25519 ED448'],
  [6, 'DSA-NSEC3-SHA1 RSASHA1-NSEC3-SHA1'],
  [252, 'INDIRECT PRIVATEDNS PRIVATEOID'],
);
const algorithm = integer(1, ALGORITHMS);

/** RFC 4034, appendix A.2, and later RFCs. */
const DIGESTS = numbered([1, 'SHA1 SHA256 GOST SHA384'], [1, 'SHA-1 SHA-256'], [4, 'SHA-384']);

/** A digest's type and its octets. @param lengths By type; other types have any length from `least` on. */
function digest(lengths: Readonly<Record<number, number>>, least: number, mnemonics?: Mnemonics): RdataCodec {
  return dependent([integer(1, mnemonics)], 1, ([type = 0]) => [
    remaining('hex', lengths[type] ?? least, lengths[type]),
  ]);
}

/** Flags, protocol and algorithm: RFC 2535, section 7.1, without the names of flags. */
const KEY_HEAD = [uint16, integer(1, numbered([0, 'NONE TLS EMAIL DNSSEC IPSEC'], [255, 'ALL'])), algorithm];
/** RFC 2535, section 3.1.2: two bits of the flags say that there is no key. */
const oldKey = dependent(KEY_HEAD, 1, ([flags = 0]) => ((flags & 0xc0) === 0xc0 ? [] : [BASE64]));

/** The type that a signature covers; dig writes one without a mnemonic as its number alone. */
const typeCovered = field(
  (given) => integerOctets(/^\d/.test(given) ? given : typeNumberOf(given), 2),
  (rdata) => typeName(rdata.uint16()),
);

const TIME = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)$/;
/** RFC 4034, section 3.2: YYYYMMDDHHmmSS in UTC, or seconds since 1970, of which 32 bits are kept. */
const time = field(
  (given) => {
    if (!TIME.test(given)) return integerOctets(given, 4);
    const seconds = Date.parse(given.replace(TIME, '$1-$2-$3T$4:$5:$6Z')) / 1000;
    // Date.parse takes 30 February for a day in March.
    if (Number.isNaN(seconds) || timeText(seconds) !== given) throw invalidText(given, 'a time');
    return integerOctets(seconds >>> 0, 4);
  },
  (rdata) => timeText(rdata.uint32()),
);

function timeText(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace(/[-:T]|\..*/g, '');
}

/** RFC 5155, section 3.3: `-` or hexadecimal. */
const salt = field(
  (given) => lengthBefore(encodedOctets(given === '-' ? '' : given, 'hex')),
  (rdata) => hexadecimal(rdata.characterString()) || '-',
);

/** RFC 5155, section 3.3: base32 with the extended hexadecimal alphabet, without padding. */
const hashedOwner = field(
  (given) => {
    if (!/^[\da-v]*$/i.test(given)) throw invalidText(given, 'base32hex');
    const bits = given.replace(/./g, (digit) => Number.parseInt(digit, 32).toString(2).padStart(5, '0'));
    return lengthBefore(Buffer.from((bits.match(/.{8}/g) ?? []).map((octet) => Number.parseInt(octet, 2))));
  },
  (rdata) => {
    const octets = rdata.characterString();
    requireRdata(octets.length > 0, 'an empty hash');
    const bits = [...octets].map((octet) => octet.toString(2).padStart(8, '0')).join('');
    const digits = bits.replace(/.{1,5}/g, (digit) => Number.parseInt(digit.padEnd(5, '0'), 2).toString(32));
    return digits.toUpperCase();
  },
);

/**
 * The types that there are, at least so many, as NSEC has them (RFC 4034, section 4.1.2): windows of 256 types,
 * each with a bitmap, in which the highest bit of the first octet is the first type.
 */
function typeBitmap(least: 0 | 1): RdataCodec {
  return {
    write: (text) => {
      // Sparse: by the number of the window.
      const windows: Buffer[] = [];
      for (const number of text.rest().map(typeNumberOf)) {
        const bits = windows[number >> 8] ?? Buffer.alloc(32);
        bits[(number & 255) >> 3] = (bits[(number & 255) >> 3] ?? 0) | (0x80 >> (number & 7));
        windows[number >> 8] = bits;
      }
      const blocks = windows.flatMap((bits, window) => [Buffer.of(window), lengthBefore(withoutZeros(bits))]);
      return Buffer.concat(blocks);
    },
    read: (rdata) => {
      let latest = -1;
      const readWindow = () => {
        const window = rdata.uint8();
        const bits = rdata.characterString();
        requireRdata(bits.length > 0 && bits.length <= 32 && bits.at(-1) !== 0, 'a bitmap of a wrong length');
        requireRdata(window > latest, 'windows out of order');
        latest = window;
        const places = Array.from({ length: 8 * bits.length }, (_, bit) => bit);
        return places
          .filter((bit) => ((bits[bit >> 3] ?? 0) & (0x80 >> (bit & 7))) !== 0)
          .map((bit) => typeName(256 * window + bit));
      };
      return untilEnd(rdata, readWindow, least).flat().join(' ');
    },
  };
}

function withoutZeros(octets: Buffer): Buffer {
  return octets.subarray(0, octets.findLastIndex((octet) => octet !== 0) + 1);
}

/** Octets in hexadecimal with a separator, as EUI48 has them. */
function separated(separator: string, groups: number, digits: number, least: number): RdataCodec {
  const group = `[0-9a-f]{${least},${digits}}`;
  const pattern = new RegExp(`^${group}(?:${separator}${group}){${groups - 1}}$`, 'i');
  const zeros = new RegExp(`^0{0,${digits - least}}`);
  return field(
    (given) => {
      if (!pattern.test(given)) throw invalidText(given, `${groups} groups of hexadecimal`);
      const parts = given.split(separator).map((part) => part.padStart(digits, '0'));
      return Buffer.from(parts.join(''), 'hex');
    },
    (rdata) => {
      const parts = Array.from({ length: groups }, () => rdata.octets(digits / 2).toString('hex'));
      return parts.map((part) => part.replace(zeros, '')).join(separator);
    },
  );
}

const noGateway = field(
  (given) => {
    if (given !== '.') throw invalidText(given, '".": there is no gateway');
    return Buffer.alloc(0);
  },
  () => '.',
);

/** Where a tunnel or a relay is: none (`.`), at an IPv4 or IPv6 address, or at a name. */
function gateway(type: number): RdataCodec {
  const codec = [noGateway, ipv4, ipv6, name][type];
  if (codec === undefined) throw new MalformedMessageError(`an unknown type of gateway, ${type}`);
  return codec;
}

/** The highest bit of an octet. */
const FLAG = 0x80;

/** The bit of discovery, and the type of a relay, in one octet. */
const relayType: RdataCodec = {
  write: (text) => {
    const [discovery = 0, type = 0] = Buffer.concat([uint8.write(text), uint8.write(text)]);
    if (discovery > 1 || type >= FLAG)
      throw invalidValue('the discovery bit, or the type of the relay, is too large.');
    return Buffer.of((discovery * FLAG) | type);
  },
  read: (rdata) => {
    const octet = rdata.uint8();
    return `${octet >> 7} ${octet & ~FLAG}`;
  },
};

/** Address families of prefixes, from number 1 on. */
const FAMILIES = [
  { bits: 32, octets: ipv4Octets, text: (octets: Buffer) => octets.join('.') },
  { bits: 128, octets: ipv6Octets, text: ipv6OfOctets },
];

/** RFC 3123, section 4: a prefix of addresses, perhaps negated, without trailing octets of zero. */
function prefixOctets(text: string): Buffer {
  const [, negation, family = '', address = '', prefix = ''] =
    /^(!?)([12]):([^/]+)\/(\d{1,3})$/.exec(text) ?? [];
  const all = FAMILIES[Number(family) - 1]?.octets(address);
  if (all === undefined) throw invalidText(text, 'a prefix such as 1:192.0.2.0/24');
  const octets = withoutZeros(all);
  const flag = negation === '' ? 0 : FLAG;
  const start = [integerOctets(family, 2), integerOctets(prefix, 1), Buffer.of(flag | octets.length)];
  return Buffer.concat([...start, octets]);
}

function prefixText(rdata: MessageReader): string {
  const [family, prefix, length] = [rdata.uint16(), rdata.uint8(), rdata.uint8()];
  const octets = rdata.octets(length & ~FLAG);
  const known = FAMILIES[family - 1];
  const isPrefix = known && prefix <= known.bits && octets.length * 8 <= known.bits && octets.at(-1) !== 0;
  if (!isPrefix) throw new MalformedMessageError('a prefix that is not one of an address');
  const address = known.text(Buffer.concat([octets, Buffer.alloc(known.bits / 8 - octets.length)]));
  return `${(length & FLAG) === 0 ? '' : '!'}${family}:${address}/${prefix}`;
}

/** RFC 4398, section 2.1. */
const CERTIFICATES = numbered([1, 'PKIX SPKI PGP IPKIX ISPKI IPGP ACPKIX IACPKIX'], [253, 'URI OID']);

/** The types whose rdata are shown as a master file has them, and these from front to end. */
export const PRESENTED_TYPES: readonly (readonly [types: string, layout: readonly RdataCodec[]])[] = [
  ['MD MF MB MG MR NSAP-PTR DNAME', [name]],
  ['MINFO RP TALINK', [name, name]],
  ['AFSDB RT KX LP', [uint16, name]],
  ['PX', [uint16, name, name]],
  // RFC 4034, section 3, and RFC 2535, section 4.
  ['SIG RRSIG', [typeCovered, algorithm, uint8, uint32, time, time, uint16, name, BASE64]],
  ['KEY', [oldKey]],
  ['LOC', [location]],
  ['CERT', [integer(2, CERTIFICATES, true), uint16, integer(1, ALGORITHMS, true), BASE64]],
  ['APL', [list(field(prefixOctets, prefixText), 0)]],
  // RFC 4034, section 5; lengths of RFC 4034 (5.1.4), RFC 4509 and RFC 6605. BIND knows none for GOST.
  ['DS CDS TA DLV', [uint16, algorithm, digest({ 1: 20, 2: 32, 4: 48 }, 1, DIGESTS)]],
  // RFC 4255, section 3.1, and RFC 6594.
  ['SSHFP', [uint8, digest({ 1: 20, 2: 32 }, 0)]],
  // RFC 4025, section 2: precedence, type of the gateway, algorithm, gateway, key.
  ['IPSECKEY', [dependent([uint8, uint8, uint8], 3, ([, type = 0]) => [gateway(type), BASE64])]],
  ['NSEC', [name, typeBitmap(1)]],
  ['DNSKEY RKEY CDNSKEY', [...KEY_HEAD, BASE64]],
  ['DHCID OPENPGPKEY HHIT BRID', [BASE64]],
  ['NSEC3', [uint8, uint8, uint16, salt, hashedOwner, typeBitmap(0)]],
  ['NSEC3PARAM', [uint8, uint8, uint16, salt]],
  ['TLSA SMIMEA', [uint8, uint8, uint8, remaining('hex')]],
  ['NINFO SPF AVC RESINFO WALLET', [characterStrings]],
  ['CSYNC', [uint32, uint16, typeBitmap(0)]],
  // RFC 8976, section 2; the digest of a private algorithm has 12 octets at least (2.2.4).
  ['ZONEMD', [uint32, uint8, digest({ 1: 48, 2: 64 }, 12)]],
  ['SVCB HTTPS', [uint16, name, serviceParameters]],
  ['DSYNC', [typeCovered, integer(1, numbered([1, 'NOTIFY']), true), uint16, name]],
  ['NID L64', [uint16, separated(':', 4, 4, 1)]],
  ['L32', [uint16, ipv4]],
  ['EUI48', [separated('-', 6, 2, 2)]],
  ['EUI64', [separated('-', 8, 2, 2)]],
  ['URI', [uint16, uint16, remainingString]],
  // RFC 8777, section 4.
  ['AMTRELAY', [dependent([uint8, relayType], 2, ([, type = 0]) => [gateway(type & ~FLAG)])]],
];
