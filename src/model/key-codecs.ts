import { InvalidObservationError, MalformedMessageError } from './errors.js';
import { canonicalHostName, hostNameOctets } from './host-name.js';
import type { MasterText } from './master-text.js';
import type { MessageReader } from './message-reader.js';
import {
  characterString,
  encoded,
  encodedOctets,
  integer,
  integerOctets,
  lengthBefore,
  name,
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
const algorithm = integer(1, ALGORITHMS);

const DIGESTS = { 'SHA-1': 1, SHA1: 1, 'SHA-256': 2, SHA256: 2, GOST: 3, 'SHA-384': 4, SHA384: 4 };
/** RFC 4034 (5.1.4), RFC 4509, RFC 6605: by digest type. BIND knows none for GOST, which is historic. */
const DIGEST_LENGTHS: Readonly<Record<number, number>> = { 1: 20, 2: 32, 4: 48 };
/** RFC 8976, section 2.2.3: by hash algorithm; 12 octets at least. */
const ZONE_DIGEST_LENGTHS: Readonly<Record<number, number>> = { 1: 48, 2: 64 };

/** A digest's type and its octets, as many as the type has. */
function digestWith(
  mnemonics: Readonly<Record<string, number>>,
  lengths: Readonly<Record<number, number>>,
  least: number,
) {
  const type = integer(1, mnemonics);
  const digest = remaining('hex', least);
  return {
    write: (text: MasterText) => writeAll([type, digest], text),
    read: (rdata: MessageReader) => {
      const number = rdata.uint8();
      const octets = rdata.rest();
      const wanted = lengths[number] ?? octets.length;
      if (octets.length !== wanted) throw new MalformedMessageError(`its digest has not ${wanted} octets`);
      return `${number} ${encoded(octets, 'hex', least)}`.trimEnd();
    },
  };
}

/** RFC 4034, section 5: DS, and the types made after it. */
export const DELEGATION: readonly RdataCodec[] = [uint16, algorithm, digestWith(DIGESTS, DIGEST_LENGTHS, 1)];
/** RFC 4255, section 3.1, and RFC 6594: lengths by the type of fingerprint. */
export const FINGERPRINT: readonly RdataCodec[] = [uint8, digestWith({}, { 1: 20, 2: 32 }, 0)];
/** RFC 8976, section 2. */
export const ZONE_DIGEST: readonly RdataCodec[] = [uint32, uint8, digestWith({}, ZONE_DIGEST_LENGTHS, 12)];

/** RFC 2535, section 7.1, without the names of flags. */
const KEY_PROTOCOLS = { NONE: 0, TLS: 1, EMAIL: 2, DNSSEC: 3, IPSEC: 4, ALL: 255 };
const keyProtocol = integer(1, KEY_PROTOCOLS);
/** RFC 4034, section 2. */
export const PUBLIC_KEY: readonly RdataCodec[] = [uint16, keyProtocol, algorithm, remaining('base64')];
const NO_KEY = 0xc000;

/** RFC 2535, section 3.1.2: flags that say that there is no key, or a key. */
export const oldKey: RdataCodec = {
  write: (text) => {
    const head = writeAll([uint16, keyProtocol, algorithm], text);
    return Buffer.concat([head, encodedOctets(text.rest().join(''), 'base64')]);
  },
  read: (rdata) => {
    const flags = rdata.fork().uint16();
    const head = readAll([uint16, uint8, uint8], rdata);
    return (flags & NO_KEY) === NO_KEY ? head : `${head} ${encoded(rdata.rest(), 'base64')}`;
  },
};

/** RFC 5155, section 3.3: `-` or hexadecimal. */
export const salt: RdataCodec = {
  write: (text) => {
    const given = text.next('a salt');
    return lengthBefore(given === '-' ? Buffer.alloc(0) : encodedOctets(given, 'hex'));
  },
  read: (rdata) => encoded(rdata.characterString(), 'hex', 0) || '-',
};

const BASE32 = '0123456789ABCDEFGHIJKLMNOPQRSTUV';

/** RFC 5155, section 3.3: base32 with the extended hexadecimal alphabet, without padding. */
export const hashedOwner: RdataCodec = {
  write: (text) => {
    const given = text.next('a hashed owner name');
    const digits = [...given.toUpperCase()].map((digit) => BASE32.indexOf(digit));
    if (digits.includes(-1)) throw new InvalidObservationError(`${quoted(given)} is not base32hex.`);
    const bits = digits.map((digit) => digit.toString(2).padStart(5, '0')).join('');
    return lengthBefore(Buffer.from((bits.match(/.{8}/g) ?? []).map((octet) => Number.parseInt(octet, 2))));
  },
  read: (rdata) => {
    const octets = rdata.characterString();
    if (octets.length === 0) throw new MalformedMessageError('an empty hash');
    const bits = [...octets].map((octet) => octet.toString(2).padStart(8, '0')).join('');
    return bits.replace(/.{1,5}/g, (digit) => BASE32.charAt(Number.parseInt(digit.padEnd(5, '0'), 2)));
  },
};

/** RFC 8005, section 5: algorithm, host identity tag, public key, and rendezvous servers. */
export const hostIdentity: RdataCodec = {
  write: (text) => {
    const keyAlgorithm = uint8.write(text);
    const tag = encodedOctets(text.next('a host identity tag'), 'hex');
    const key = encodedOctets(text.next('a public key'), 'base64');
    const servers = text.rest().map((server) => hostNameOctets(canonicalHostName(server)));
    const lengths = [
      integerOctets(String(tag.length), 1),
      keyAlgorithm,
      integerOctets(String(key.length), 2),
    ];
    return Buffer.concat([...lengths, tag, key, ...servers]);
  },
  read: (rdata) => {
    const [tagLength, keyAlgorithm, keyLength] = [rdata.uint8(), rdata.uint8(), rdata.uint16()];
    const tag = encoded(rdata.octets(tagLength), 'hex');
    const key = encoded(rdata.octets(keyLength), 'base64');
    return [keyAlgorithm, tag, key, ...untilEnd(rdata, name.read)].join(' ');
  },
};

/** draft-durand-doa-over-dns: enterprise, type, location, media type, and data in base64 or `-`. */
export const digitalObject: RdataCodec = {
  write: (text) => {
    const head = writeAll([uint32, uint32, uint8, characterString], text);
    const data = text.rest().join('');
    return Buffer.concat([head, data === '-' ? Buffer.alloc(0) : encodedOctets(data, 'base64')]);
  },
  read: (rdata) => {
    const head = readAll([uint32, uint32, uint8, characterString], rdata);
    return `${head} ${encoded(rdata.rest(), 'base64', 0) || '-'}`;
  },
};
