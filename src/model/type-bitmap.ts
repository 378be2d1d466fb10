import { typeName, typeNumberOf } from './dns-types.js';
import { InvalidObservationError, MalformedMessageError } from './errors.js';
import { ipv4Octets } from './ip-address.js';
import type { MessageReader } from './message-reader.js';
import { integerOctets, ipv4, type RdataCodec, untilEnd } from './rdata-codec.js';

const WINDOW_OCTETS = 32;

/**
 * The types that there are, as NSEC has them (RFC 4034, section 4.1.2): windows of up to 32 octets.
 *
 * @param least How many types there are at least.
 */
export function typeBitmap(least: 0 | 1): RdataCodec {
  return {
    write: (text) => windowsOf(text.rest().map(typeNumberOf)),
    read: (rdata) => {
      const types = typesOf(rdata);
      if (types.length < least) throw new MalformedMessageError('it names no type');
      return types.map(typeName).join(' ');
    },
  };
}

function windowsOf(numbers: readonly number[]): Buffer {
  const windows = new Map<number, Set<number>>();
  for (const number of numbers) {
    const window = windows.get(number >> 8) ?? new Set();
    windows.set(number >> 8, window.add(number & 255));
  }
  return Buffer.concat(
    [...windows]
      .sort(([a], [b]) => a - b)
      .flatMap(([window, inWindow]) => {
        const bits = bitmapOf(inWindow);
        return [Buffer.of(window, bits.length), bits];
      }),
  );
}

function typesOf(rdata: MessageReader): number[] {
  let latest = -1;
  return untilEnd(rdata, () => {
    const window = rdata.uint8();
    const bits = rdata.octets(rdata.uint8());
    if (window <= latest || bits.length > WINDOW_OCTETS || (bits.at(-1) ?? 0) === 0) {
      throw new MalformedMessageError('its bitmap of types is not in order');
    }
    latest = window;
    return numbersOf(bits).map((number) => (window << 8) | number);
  }).flat();
}

/** The highest bit of the first octet is number 0. */
function bitmapOf(numbers: Iterable<number>): Buffer {
  let length = 0;
  for (const number of numbers) length = Math.max(length, (number >> 3) + 1);
  const bits = Buffer.alloc(length);
  for (const number of numbers) bits[number >> 3] = (bits[number >> 3] ?? 0) | (0x80 >> (number & 7));
  return bits;
}

function numbersOf(bits: Buffer): number[] {
  return [...bits].flatMap((octet, at) =>
    [0, 1, 2, 3, 4, 5, 6, 7].filter((bit) => (octet & (0x80 >> bit)) !== 0).map((bit) => at * 8 + bit),
  );
}

/** RFC 2535, section 5.2: one bitmap, of the types below 128. */
export const oldTypeBitmap: RdataCodec = {
  write: (text) => {
    const numbers = text.rest().map(typeNumberOf);
    if (numbers.some((number) => number > 127)) {
      throw new InvalidObservationError('a record of type NXT names types below 128 only.');
    }
    return bitmapOf(numbers);
  },
  read: (rdata) => {
    const bits = rdata.rest();
    if (bits.length > 16 || bits.at(-1) === 0) throw new MalformedMessageError('its bitmap is not in order');
    return numbersOf(bits).map(typeName).join(' ');
  },
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
  read: (rdata) => [ipv4.read(rdata), rdata.uint8(), ...numbersOf(portBits(rdata))].join(' '),
};

function portBits(rdata: MessageReader): Buffer {
  const bits = rdata.rest();
  if (bits.length > 8192 || bits.at(-1) === 0) throw new MalformedMessageError('its ports are not in order');
  return bits;
}
