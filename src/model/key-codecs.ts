import { typeName, typeNumberOf } from './dns-types.js';
import { InvalidObservationError, MalformedMessageError } from './errors.js';
import type { MessageReader } from './message-reader.js';
import {
  encoded,
  encodedOctets,
  field,
  integer,
  lengthBefore,
  type RdataCodec,
  readAll,
  remaining,
  uint8,
  uint16,
  uint32,
  untilEnd,
  writeAll,
} from './rdata-codec.js';
import { quoted } from './text.js';

/** DNS security algorithm numbers (IANA), by the names of RFC 4034, appendix A.1, and of BIND. */
export const ALGORITHMS = {
  ...{ RSAMD5: 1, DH: 2, DSA: 3, ECC: 4, RSASHA1: 5, NSEC3DSA: 6, NSEC3RSASHA1: 7, RSASHA256: 8 },
  ...{ RSASHA512: 10, ECCGOST: 12, ECDSAP256SHA256: 13, ECDSAP384SHA384: 14, ED25519: 15, ED448: 16 },
  ...{ 'DSA-NSEC3-SHA1': 6, 'RSASHA1-NSEC3-SHA1': 7, INDIRECT: 252, PRIVATEDNS: 253, PRIVATEOID: 254 },
};
export const algorithm = integer(1, ALGORITHMS);

/**
 * A digest's type and its octets, as many as the type has.
 *
 * @param lengths By type; other types have any length from `least` on.
 */
function digestWith(
  mnemonics: Readonly<Record<string, number>>,
  lengths: Readonly<Record<number, number>>,
  least: number,
): RdataCodec {
  return {
    write: (text) => writeAll([integer(1, mnemonics), remaining('hex')], text),
    read: (rdata) => {
      const type = rdata.uint8();
      const octets = rdata.rest();
      const wanted = lengths[type] ?? octets.length;
      if (octets.length !== wanted) throw new MalformedMessageError(`its digest has not ${wanted} octets`);
      return `${type} ${encoded(octets, 'hex', least)}`.trimEnd();
    },
  };
}

const DIGESTS = { 'SHA-1': 1, SHA1: 1, 'SHA-256': 2, SHA256: 2, GOST: 3, 'SHA-384': 4, SHA384: 4 };
/**
 * DS, and the types made after it (RFC 4034, section 5). Lengths are those of RFC 4034 (5.1.4), RFC 4509 and RFC 6605;
 * BIND knows none for GOST, which is historic.
 */
export const DELEGATION = [uint16, algorithm, digestWith(DIGESTS, { 1: 20, 2: 32, 4: 48 }, 1)];
/** RFC 4255, section 3.1, and RFC 6594: lengths by the type of fingerprint. */
export const FINGERPRINT = [uint8, digestWith({}, { 1: 20, 2: 32 }, 0)];
/** RFC 8976, section 2; lengths by hash algorithm (2.2.3), 12 octets at least. */
export const ZONE_DIGEST = [uint32, uint8, digestWith({}, { 1: 48, 2: 64 }, 12)];

/** RFC 2535, section 7.1, without the names of flags. */
const keyProtocol = integer(1, { NONE: 0, TLS: 1, EMAIL: 2, DNSSEC: 3, IPSEC: 4, ALL: 255 });
/** RFC 4034, section 2. */
export const PUBLIC_KEY = [uint16, keyProtocol, algorithm, remaining('base64')];
const NO_KEY = 0xc000;

/** RFC 2535, section 3.1.2: flags that say that there is no key, or a key. */
export const oldKey: RdataCodec = {
  write: (text) => writeAll(PUBLIC_KEY, text),
  read: (rdata) => {
    const flags = rdata.fork().uint16();
    return readAll((flags & NO_KEY) === NO_KEY ? PUBLIC_KEY.slice(0, 3) : PUBLIC_KEY, rdata);
  },
};

/** RFC 5155, section 3.3: `-` or hexadecimal. */
export const salt = field(
  'a salt',
  (given) => lengthBefore(encodedOctets(given === '-' ? '' : given, 'hex')),
  (rdata) => encoded(rdata.characterString(), 'hex', 0) || '-',
);

/** RFC 5155, section 3.3: base32 with the extended hexadecimal alphabet, without padding. */
export const hashedOwner = field(
  'a hashed owner name',
  (given) => {
    if (!/^[\da-v]*$/i.test(given)) throw new InvalidObservationError(`${quoted(given)} is not base32hex.`);
    const bits = given.replace(/./g, (digit) => Number.parseInt(digit, 32).toString(2).padStart(5, '0'));
    return lengthBefore(Buffer.from((bits.match(/.{8}/g) ?? []).map((octet) => Number.parseInt(octet, 2))));
  },
  (rdata) => {
    const octets = rdata.characterString();
    if (octets.length === 0) throw new MalformedMessageError('an empty hash');
    const bits = [...octets].map((octet) => octet.toString(2).padStart(8, '0')).join('');
    const digits = bits.replace(/.{1,5}/g, (digit) => Number.parseInt(digit.padEnd(5, '0'), 2).toString(32));
    return digits.toUpperCase();
  },
);

/**
 * The types that there are, as NSEC has them (RFC 4034, section 4.1.2): windows of 256 types, each with a bitmap, in which
 * the highest bit of the first octet is the first type.
 *
 * @param least How many types there are at least.
 */
export function typeBitmap(least: 0 | 1): RdataCodec {
  return {
    write: (text) => {
      const windows = new Map<number, Buffer>();
      for (const number of text.rest().map(typeNumberOf)) {
        const bits = windows.get(number >> 8) ?? Buffer.alloc(32);
        bits[(number & 255) >> 3] = (bits[(number & 255) >> 3] ?? 0) | (0x80 >> (number & 7));
        windows.set(number >> 8, bits);
      }
      const parts = [...windows]
        .sort(([one], [other]) => one - other)
        .map(([window, bits]) => {
          const length = bits.findLastIndex((octet) => octet !== 0) + 1;
          return Buffer.concat([Buffer.of(window, length), bits.subarray(0, length)]);
        });
      return Buffer.concat(parts);
    },
    read: (rdata) => {
      const types = typesOf(rdata);
      if (types.length < least) throw new MalformedMessageError('it names no type');
      return types.map(typeName).join(' ');
    },
  };
}

function typesOf(rdata: MessageReader): number[] {
  let latest = -1;
  return untilEnd(rdata, () => {
    const window = rdata.uint8();
    const bits = rdata.octets(rdata.uint8());
    if (bits.length > 32 || bits.at(-1) === 0) {
      throw new MalformedMessageError('its bitmap is too long or ends in an octet of zero');
    }
    if (window <= latest || bits.length === 0) {
      throw new MalformedMessageError('it has a window without types, or out of order');
    }
    latest = window;
    const types = Array.from({ length: 8 * bits.length }, (_, type) => type);
    return types
      .filter((type) => ((bits[type >> 3] ?? 0) & (0x80 >> (type & 7))) !== 0)
      .map((type) => (window << 8) | type);
  }).flat();
}
