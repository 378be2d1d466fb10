import { InvalidObservationError, MalformedMessageError } from './errors.js';
import { ipv4Octets, ipv6Octets, ipv6OfOctets } from './ip-address.js';
import type { MessageReader } from './message-reader.js';
import {
  field,
  integerOctets,
  ipv4,
  ipv6,
  name,
  type RdataCodec,
  readAll,
  remaining,
  uint8,
  untilEnd,
  writeAll,
} from './rdata-codec.js';
import { quoted } from './text.js';

/** Octets in hexadecimal with a separator, as addresses of machines have it. */
export function separated(separator: string, groups: number, digits: number, least: number): RdataCodec {
  const group = `[0-9a-f]{${least},${digits}}`;
  const pattern = new RegExp(`^${group}(?:${separator}${group}){${groups - 1}}$`, 'i');
  const groupText = (rdata: MessageReader) => {
    const number = rdata.octets(digits / 2).readUIntBE(0, digits / 2);
    return number.toString(16).padStart(least, '0');
  };
  return field(
    'an identifier',
    (given) => {
      if (!pattern.test(given))
        throw new InvalidObservationError(`${quoted(given)} is not ${groups} groups of hexadecimal.`);
      const parts = given.split(separator).map((part) => part.padStart(digits, '0'));
      return Buffer.from(parts.join(''), 'hex');
    },
    (rdata) => Array.from({ length: groups }, () => groupText(rdata)).join(separator),
  );
}

const noGateway = field(
  'a gateway',
  (given) => {
    if (given === '.') return Buffer.alloc(0);
    throw new InvalidObservationError(`${quoted(given)} must be ".": there is no gateway.`);
  },
  () => '.',
);

/** Where a tunnel or a relay is: none (`.`), at an IPv4 or IPv6 address, or at a name. */
function gateway(type: number): RdataCodec {
  const codec = [noGateway, ipv4, ipv6, name][type];
  if (codec === undefined) throw new MalformedMessageError(`an unknown type of gateway, ${type}`);
  return codec;
}

/** RFC 4025, section 2: precedence, gateway type, algorithm, gateway, and the key. */
export const ipsecKey: RdataCodec = {
  write: (text) => {
    const start = writeAll([uint8, uint8, uint8], text);
    return Buffer.concat([start, writeAll([gateway(start[1] ?? 0), remaining('base64')], text)]);
  },
  read: (rdata) => {
    const [precedence, type, keyAlgorithm] = [rdata.uint8(), rdata.uint8(), rdata.uint8()];
    return `${precedence} ${type} ${keyAlgorithm} ${readAll([gateway(type), remaining('base64')], rdata)}`;
  },
};

/** The highest bit of an octet, which has a meaning of its own. */
const FLAG = 0x80;

/** RFC 8777, section 4: precedence, the bit of discovery, relay type, and the relay. */
export const multicastRelay: RdataCodec = {
  write: (text) => {
    const [precedence = 0, discovery = 0, type = 0] = writeAll([uint8, uint8, uint8], text);
    if (discovery > 1) throw new InvalidObservationError('the discovery bit is not 0 or 1.');
    return Buffer.concat([Buffer.of(precedence, (discovery * FLAG) | type), gateway(type).write(text)]);
  },
  read: (rdata) => {
    const [precedence, relay] = [rdata.uint8(), rdata.uint8()];
    const type = relay & ~FLAG;
    return `${precedence} ${relay >> 7} ${type} ${gateway(type).read(rdata)}`;
  },
};

/** Address families of prefixes, from number 1 on. */
const FAMILIES = [
  { bits: 32, octets: ipv4Octets, text: (octets: Buffer) => octets.join('.') },
  { bits: 128, octets: ipv6Octets, text: ipv6OfOctets },
];

/** RFC 3123, section 4: prefixes of addresses, each perhaps negated, without trailing octets of zero. */
export const addressPrefixes: RdataCodec = {
  write: (text) => Buffer.concat(text.rest().map(prefixOctets)),
  read: (rdata) => untilEnd(rdata, prefixText).join(' '),
};

function prefixOctets(text: string): Buffer {
  const [, negation, family = '', address = '', prefix = ''] =
    /^(!?)([12]):([^/]+)\/(\d{1,3})$/.exec(text) ?? [];
  const octets = FAMILIES[Number(family) - 1]?.octets(address);
  if (octets === undefined)
    throw new InvalidObservationError(`${quoted(text)} is not a prefix such as 1:192.0.2.0/24.`);
  const length = octets.findLastIndex((octet) => octet !== 0) + 1;
  const flag = negation === '' ? 0 : FLAG;
  const start = [integerOctets(family, 2), integerOctets(prefix, 1), Buffer.of(flag | length)];
  return Buffer.concat([...start, octets.subarray(0, length)]);
}

function prefixText(rdata: MessageReader): string {
  const [family, prefix, length] = [rdata.uint16(), rdata.uint8(), rdata.uint8()];
  const octets = rdata.octets(length & ~FLAG);
  const known = FAMILIES[family - 1];
  if (known === undefined || prefix > known.bits || octets.length * 8 > known.bits || octets.at(-1) === 0) {
    throw new MalformedMessageError('a prefix that is not one of an address');
  }
  const address = known.text(Buffer.concat([octets, Buffer.alloc(known.bits / 8 - octets.length)]));
  return `${(length & FLAG) === 0 ? '' : '!'}${family}:${address}/${prefix}`;
}
