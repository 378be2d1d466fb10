import { isIP } from 'node:net';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { clientKey } from '../../src/limits/client-key.js';

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['::FFFF:c000:201', '192.0.2.1'],
  ['192.0.2.1:8080', '192.0.2.1'],
  ['2001:db8::1', '2001:db8::/64'],
  ['2001:0DB8:0:0:ffff:ffff:ffff:ffff', '2001:db8::/64'],
  ['[2001:db8:1:2:3::]:8080', '2001:db8:1:2::/64'],
  ['[2001:db8:1:2:3::]', '2001:db8:1:2::/64'],
  ['fe80::1%eth0', 'fe80::/64'],
  ['::1', '::/64'],
])('the client at %s is %s', (address, key) => {
  expect(clientKey(address, '198.51.100.1')).toBe(key);
  expect(clientKey('unknown', address), 'or on a connection from there').toBe(key);
});

test.each([
  ...[undefined, '', 'unknown', '_hidden', ':', '1.2.3', '1.2.3.4.5', '1.2.3.400:80', '192.0.2.1 '],
  ...['[192.0.2.1]x', 'g::1'],
])('what a proxy names and is no address is the client that is connected: %s', (named) => {
  expect(clientKey(named, '::ffff:198.51.100.1')).toBe('198.51.100.1');
  expect(clientKey(named, undefined)).toBe('');
});

test('any text is a client by its address, or the one that is connected', () => {
  const peer = '198.51.100.1';
  fc.assert(
    fc.property(fc.oneof(fc.ipV6(), fc.ipV4(), fc.string({ maxLength: 300 })), (text) => {
      const key = clientKey(text, peer);
      expect(isIP(key.replace(/\/64$/, ''))).not.toBe(0);
      if (isIP(text) === 0 && !text.includes(':')) expect(key).toBe(peer);
    }),
  );
});
