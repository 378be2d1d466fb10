import { typeName, typeNumberOf } from './dns-types.js';
import { InvalidObservationError, MalformedMessageError } from './errors.js';
import { ipv4Octets } from './ip-address.js';
import type { MessageReader } from './message-reader.js';
import { integerOctets, ipv4, type RdataCodec, untilEnd } from './rdata-codec.js';

/** The bitmap of numbers from 0 on: the highest bit of the first octet is number 0. */
function bitmapOf(numbers: readonly number[]): Buffer {
  const largest = numbers.reduce((most, number) => (number > most ? number : most), -1);
  const bits = Buffer.alloc((largest >> 3) + 1);
  for (const number of numbers) bits[number >> 3] = (bits[number >> 3] ?? 0) | (0x80 >> (number & 7));
  return bits;
}

/** @throws MalformedMessageError for a bitmap that is too long, or ends with an octet without bits. */
function numbersOf(bits: Buffer, mostOctets: number): number[] {
  if (bits.length > mostOctets || bits.at(-1) === 0) {
    throw new MalformedMessageError('its bitmap is too long or ends in an octet of zero');
  }
  return [...bits].flatMap((octet, at) =>
    [0, 1, 2, 3, 4, 5, 6, 7].filter((bit) => (octet & (0x80 >> bit)) !== 0).map((bit) => at * 8 + bit),
  );
}

/**
 * The types that there are, as NSEC has them (RFC 4034, section 4.1.2): windows of 256 types, each with its bitmap.
 *
 * @param least How many types there are at least.
 */
export function typeBitmap(least: 0 | 1): RdataCodec {
  return {
    write: (text) => {
      const numbers = text.rest().map(typeNumberOf);
      const windows = [...new Set(numbers.map((number) => number >> 8))].sort((a, b) => a - b);
      const parts = windows.map((window) => {
        const bits = bitmapOf(
          numbers.filter((number) => number >> 8 === window).map((number) => number & 255),
        );
        return Buffer.concat([Buffer.of(window, bits.length), bits]);
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
    const numbers = numbersOf(rdata.octets(rdata.uint8()), 32);
    if (window <= latest || numbers.length === 0) {
      throw new MalformedMessageError('it has a window without types, or out of order');
    }
    latest = window;
    return numbers.map((number) => (window << 8) | number);
  }).flat();
}

/** RFC 2535, section 5.2: one bitmap, of the types below 128. */
export const oldTypeBitmap: RdataCodec = {
  write: (text) => {
    const numbers = text.rest().map(typeNumberOf);
    if (numbers.every((number) => number < 128)) return bitmapOf(numbers);
    throw new InvalidObservationError('a record of type NXT names types below 128 only.');
  },
  read: (rdata) => numbersOf(rdata.rest(), 16).map(typeName).join(' '),
};

const PROTOCOLS = { ICMP: 1, TCP: 6, UDP: 17 };

/** RFC 1035, section 3.4.2: an address, a protocol, and the ports at which it is served, as numbers. */
export const wellKnownServices: RdataCodec = {
  write: (text) => {
    const address = ipv4Octets(text.next('an IPv4 address'));
    const protocol = integerOctets(text.next('a protocol'), 1, PROTOCOLS);
    const ports = text.rest().map((port) => integerOctets(port, 2).readUInt16BE(0));
    return Buffer.concat([address, protocol, bitmapOf(ports)]);
  },
  read: (rdata) => [ipv4.read(rdata), rdata.uint8(), ...numbersOf(rdata.rest(), 8192)].join(' '),
};
