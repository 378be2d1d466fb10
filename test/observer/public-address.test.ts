import { BlockList, isIPv4, isIPv6 } from 'node:net';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isPublicAddress } from '../../src/observer/public-address.js';

/**
 * The special ranges of IANA's registries (IPv4 and IPv6 Special-Purpose Address Registry, multicast, and
 * the space that is not global unicast): the neighbour before it, first and last address, and the neighbour after it,
 * without those that are in a special range themselves.
 */
const RANGES = `
  this network, 0.0.0.0/8                | - | 0.0.0.0 | 0.255.255.255 | 1.0.0.0
  private, 10.0.0.0/8                    | 9.255.255.255 | 10.0.0.0 | 10.255.255.255 | 11.0.0.0
  shared, 100.64.0.0/10                  | 100.63.255.255 | 100.64.0.0 | 100.127.255.255 | 100.128.0.0
  loopback, 127.0.0.0/8                  | 126.255.255.255 | 127.0.0.0 | 127.255.255.255 | 128.0.0.0
  link local, 169.254.0.0/16             | 169.253.255.255 | 169.254.0.0 | 169.254.255.255 | 169.255.0.0
  private, 172.16.0.0/12                 | 172.15.255.255 | 172.16.0.0 | 172.31.255.255 | 172.32.0.0
  protocol assignments, 192.0.0.0/24     | 191.255.255.255 | 192.0.0.0 | 192.0.0.255 | 192.0.1.0
  documentation, 192.0.2.0/24            | 192.0.1.255 | 192.0.2.0 | 192.0.2.255 | 192.0.3.0
  AS112, 192.31.196.0/24                 | 192.31.195.255 | 192.31.196.0 | 192.31.196.255 | 192.31.197.0
  AMT, 192.52.193.0/24                   | 192.52.192.255 | 192.52.193.0 | 192.52.193.255 | 192.52.194.0
  6to4 relays, 192.88.99.0/24            | 192.88.98.255 | 192.88.99.0 | 192.88.99.255 | 192.88.100.0
  private, 192.168.0.0/16                | 192.167.255.255 | 192.168.0.0 | 192.168.255.255 | 192.169.0.0
  AS112, 192.175.48.0/24                 | 192.175.47.255 | 192.175.48.0 | 192.175.48.255 | 192.175.49.0
  benchmarking, 198.18.0.0/15            | 198.17.255.255 | 198.18.0.0 | 198.19.255.255 | 198.20.0.0
  documentation, 198.51.100.0/24         | 198.51.99.255 | 198.51.100.0 | 198.51.100.255 | 198.51.101.0
  documentation, 203.0.113.0/24          | 203.0.112.255 | 203.0.113.0 | 203.0.113.255 | 203.0.114.0
  multicast, 224.0.0.0/4                 | 223.255.255.255 | 224.0.0.0 | 239.255.255.255 | -
  reserved, 240.0.0.0/4                  | - | 240.0.0.0 | 255.255.255.254 | -
  broadcast                              | - | 255.255.255.255 | 255.255.255.255 | -
  unspecified and loopback               | - | :: | ::1 | -
  IPv4-compatible, ::/96                 | - | ::2 | ::ffff:ffff | -
  IPv4-mapped, of 10.0.0.0/8             | ::ffff:9.255.255.255 | ::ffff:a00:0 | ::ffff:aff:ffff | ::ffff:11.0.0.0
  IPv4-translated, ::ffff:0:0:0/96       | - | ::ffff:0:0:0 | ::ffff:0:ffff:ffff | -
  NAT64, of 10.0.0.0/8                   | 64:ff9b::9ff:ffff | 64:ff9b::a00:0 | 64:ff9b::10.255.255.255 | 64:ff9b::b00:0
  NAT64, local, 64:ff9b:1::/48           | - | 64:ff9b:1:: | 64:ff9b:1:ffff:ffff:ffff:ffff:ffff | -
  discard-only, 100::/64                 | - | 100:: | 100::ffff:ffff:ffff:ffff | -
  dummy, 100:0:0:1::/64                  | - | 100:0:0:1:: | 100::1:ffff:ffff:ffff:ffff | -
  not assigned, below 2000::/3           | - | 200:: | 1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff | 2000::
  Teredo, 2001::/32                      | 2000:ffff:: | 2001:: | 2001:0:ffff:ffff:ffff:ffff:ffff:ffff | -
  port control, 2001:1::1 to ::3         | - | 2001:1::1 | 2001:1::3 | -
  benchmarking, 2001:2::/48              | - | 2001:2:: | 2001:2:0:ffff:ffff:ffff:ffff:ffff | -
  AMT, 2001:3::/32                       | - | 2001:3:: | 2001:3:ffff:ffff:ffff:ffff:ffff:ffff | -
  AS112, 2001:4:112::/48                 | - | 2001:4:112:: | 2001:4:112:ffff:ffff:ffff:ffff:ffff | -
  ORCHID, 2001:10::/28                   | - | 2001:10:: | 2001:1f:ffff:ffff:ffff:ffff:ffff:ffff | -
  ORCHIDv2, 2001:20::/28                 | - | 2001:20:: | 2001:2f:ffff:ffff:ffff:ffff:ffff:ffff | -
  drones, 2001:30::/28                   | - | 2001:30:: | 2001:3f:ffff:ffff:ffff:ffff:ffff:ffff | -
  protocol assignments, 2001::/23        | - | 2001:: | 2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff | 2001:200::
  documentation, 2001:db8::/32           | 2001:db7:ffff:: | 2001:db8:: | 2001:db8:ffff::ffff | 2001:db9::
  6to4, of 10.0.0.0/8                    | 2002:9ff:ffff:: | 2002:a00:: | 2002:aff:ffff:ffff::1 | 2002:b00::
  AS112, 2620:4f:8000::/48               | 2620:4f:7fff:ffff:: | 2620:4f:8000:: | 2620:4f:8000:ffff:: | 2620:4f:8001::
  given back by the 6bone, 3ffe::/16     | 3ffd:ffff:: | 3ffe:: | 3ffe:ffff:ffff::1 | -
  documentation, 3fff::/20               | - | 3fff:: | 3fff:fff:ffff:: | 3fff:1000::
  not assigned, above 2000::/3           | 3fff:ffff:: | 4000:: | 5eff:ffff:: | -
  segment routing, 5f00::/16             | - | 5f00:: | 5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff | -
  not assigned, up to fc00::/7           | - | 6000:: | fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff | -
  unique local, fc00::/7                 | - | fc00:: | fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff | -
  not assigned, up to fe80::/10          | - | fe00:: | fe7f:ffff:: | -
  link local, fe80::/10                  | - | fe80:: | febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff | -
  site local, fec0::/10                  | - | fec0:: | feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff | -
  multicast, ff00::/8                    | - | ff00:: | ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff | -
`
  .trim()
  .split('\n')
  .map((line) => line.split('|').map((cell) => cell.trim()));

test.each(RANGES)(
  'the special range %s is not public, and what is next to it is',
  (_range, before, first, last, after) => {
    const outside = [before, after].map(String).filter((address) => address !== '-');
    const inside = [first, last].map(String);
    expect([...inside, ...outside].filter((address) => !isIPv4(address) && !isIPv6(address))).toEqual([]);
    expect(inside.filter(isPublicAddress)).toEqual([]);
    expect(outside.filter(isPublicAddress)).toEqual(outside);
  },
);

test.each([
  ...['', ' ', 'localhost', 'example.com', '8.8.8', '8.8.2056', '134744072', '0x8.8.8.8', '0x08080808'],
  ...['010.8.8.8', '8.8.8.08', '8.8.8.8.', ' 8.8.8.8', '8.8.8.8\n', '8.8.8.8/32', '8.8.8.256', '８.8.8.8'],
  ...['[2606:4700::1]', '2606:4700::1%eth0', '2606:4700::1%25lo', '2606:4700:::1', '2606::4700::1', ':::'],
  ...['::ffff:010.8.8.8', '::ffff:8.8.8', '2606:4700::1/64', '12606::1', '2606:4700:0:0:0:0:0:0:1'],
])('%j is no address that a socket would take as it is: not public', (text) => {
  expect(isPublicAddress(text)).toBe(false);
});

const special = new BlockList();
for (const [, , first = '', last = ''] of RANGES) if (isIPv4(first)) special.addRange(first, last, 'ipv4');

const octets = fc.array(fc.integer({ min: 0, max: 255 }), { minLength: 4, maxLength: 4 });
const groups = fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 8, maxLength: 8 });
const text = (address: readonly number[]) => address.map((group) => group.toString(16)).join(':');

test('an IPv4 address, and any that leads to it, is public unless it is in a special range', () => {
  fc.assert(
    fc.property(octets, groups, (address, [a = 0, b = 0, c = 0, d = 0, e = 0]) => {
      const dotted = address.join('.');
      const isPublic = !special.check(dotted);
      const octets = Buffer.from(address);
      const sixToFour = `2002:${text([octets.readUInt16BE(0), octets.readUInt16BE(2), a, b, c, d, e])}`;
      for (const leading of [dotted, `::ffff:${dotted}`, `64:ff9b::${dotted}`, sixToFour]) {
        expect(isPublicAddress(leading), leading).toBe(isPublic);
      }
      expect(isPublicAddress(`::${dotted}`)).toBe(false);
      expect(isPublicAddress(`64:ff9b:1::${dotted}`)).toBe(false);
    }),
    { numRuns: 2000 },
  );
});

test('an IPv6 address is as public in every notation', () => {
  fc.assert(
    fc.property(groups, fc.nat(8), fc.nat(8), (address, from, length) => {
      const zeroed = address.map((group, at) => (at >= from && at < from + length ? 0 : group));
      const short = new URL(`http://[${text(zeroed)}]/`).hostname.slice(1, -1);
      const long = zeroed.map((group) => group.toString(16).padStart(4, '0').toUpperCase()).join(':');
      expect(isPublicAddress(short)).toBe(isPublicAddress(long));
    }),
    { numRuns: 1000 },
  );
  expect(isPublicAddress('2001:4860::8.8.8.8')).toBe(true);
});

test('any text gives an answer, and a public address is one that a socket takes', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.ipV4Extended(), fc.ipV6(), fc.ipV4()), (address) => {
      if (isPublicAddress(address)) expect(isIPv4(address) || isIPv6(address)).toBe(true);
    }),
    { numRuns: 2000 },
  );
});
