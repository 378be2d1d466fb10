import fc from 'fast-check';
import { expect, test } from 'vitest';
import { clientKey } from '../../src/rates/client-key.js';

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
  ['', ''],
  ['unknown', 'unknown'],
  [':', ':'],
])('the client at %s is %s', (address, key) => {
  expect(clientKey(address)).toBe(key);
});

test('any text is some client, of a short name', () => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV6(), fc.ipV4(), fc.string({ maxLength: 300 })), (text) => {
      expect(clientKey(text).length).toBeLessThanOrEqual(64);
    }),
  );
});
