import { SocketAddress } from 'node:net';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { InvalidObservationError } from '../../src/model/errors.js';
import { canonicalIpv4, canonicalIpv6 } from '../../src/model/ip-address.js';

const group = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 0xffff }));
const groups = fc.array(group, { minLength: 8, maxLength: 8 });
const hexadecimal = (address: readonly number[]) => address.map((each) => each.toString(16));

/** RFC 5952: of the runs of two or more zeros, the first of the longest is shortened. */
function shortestText(address: readonly number[]): string {
  const text = hexadecimal(address).join(':');
  const [longest = ''] = (text.match(/\b0(?::0\b)+/g) ?? []).sort((one, other) => other.length - one.length);
  const start = longest === '' ? -1 : text.search(new RegExp(`\\b${longest}\\b`));
  if (start === -1) return text;
  return `${text.slice(0, start).replace(/:$/, '')}::${text.slice(start + longest.length).replace(/^:/, '')}`;
}

test('an IPv6 address has one text, the one of RFC 5952, whatever way it was written, in decimals at the end, too', () => {
  fc.assert(
    fc.property(groups, fc.boolean(), (address, upper) => {
      const long = address.map((each) => each.toString(16).padStart(4, '0')).join(':');
      const canonical = canonicalIpv6(upper ? long.toUpperCase() : long);
      const [high = 0, low = 0] = address.slice(6);
      const decimals = [high >> 8, high & 255, low >> 8, low & 255].join('.');
      const isMapped = address[5] === 0xffff && address.slice(0, 5).every((each) => each === 0);
      expect(canonical).toBe(isMapped ? `::ffff:${decimals}` : shortestText(address));
      expect(canonicalIpv6(canonical)).toBe(canonical);
      expect(canonicalIpv6([...hexadecimal(address.slice(0, 6)), decimals].join(':'))).toBe(canonical);
    }),
  );
});

function systemText(address: string): string | undefined {
  try {
    return new SocketAddress({ address, family: 'ipv6' }).address;
  } catch {
    return undefined;
  }
}

test('an IPv6 address is accepted if and only if the system takes it for one', () => {
  const piece = fc.constantFrom(...'0|a|FFFF|12345|g|1.2.3.4|01.2.3.4||:|::|.'.split('|'));
  const text = fc
    .array(piece, { maxLength: 9 })
    .chain((parts) => fc.constantFrom(parts.join(':'), parts.join('')));
  fc.assert(
    fc.property(text, (address) => {
      const canonical = systemText(address);
      if (canonical === undefined) expect(() => canonicalIpv6(address)).toThrow(InvalidObservationError);
      else expect(systemText(canonicalIpv6(address))).toBe(canonical);
    }),
    { numRuns: 1000 },
  );
});

test.each([
  ['2001:0DB8:0:0:0:0:0:1', '2001:db8::1'],
  ['::FFFF:C000:207', '::ffff:192.0.2.7'],
  ['0:0:0:0:0:ffff:192.0.2.7', '::ffff:192.0.2.7'],
  ['::ffff:0:0', '::ffff:0.0.0.0'],
  ['64:ff9b::192.0.2.7', '64:ff9b::c000:207'],
  ['::ffff:0:192.0.2.7', '::ffff:0:c000:207'],
])('the IPv6 address %s is %s', (text, canonical) => {
  expect(canonicalIpv6(text)).toBe(canonical);
});

test.each(
  '|1:2:3:4:5:6:7:8:9|1::2::3|g::|fe80::1%eth0|[::1]|::1/64|192.0.2.7|::1.2.3.04| ::1|::1\n'.split('|'),
)('%j is no IPv6 address', (text) => {
  expect(() => canonicalIpv6(text)).toThrow(InvalidObservationError);
});

test('an IPv4 address is four decimals, without leading zeros', () => {
  for (const text of ['0.0.0.0', '192.0.2.10', '255.255.255.255']) expect(canonicalIpv4(text)).toBe(text);
  const others =
    '|1.2.3|1.2.3.4.|1.2.3.4.5|.1.2.3.4|1..2.3|256.1.1.1|01.2.3.4|1.2.3.4 |1.2.3.4\n|0x1.2.3.4|16909060|١.2.3.4|-1.2.3.4|::ffff:1.2.3.4';
  for (const text of others.split('|'))
    expect(() => canonicalIpv4(text), text).toThrow(/four decimals without leading zeros/);
});
