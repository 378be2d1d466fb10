import { expect, test } from 'vitest';
import { unknownKey } from '../../src/model/json-values.js';

const KNOWN = ['dnsRecords', 'minimum-ttl'];

test.each([
  ['dnsrecords', 'unknown key "dnsrecords": write dnsRecords.'],
  ['DNS_RECORDS', 'unknown key "DNS_RECORDS": write dnsRecords.'],
  ['minimumTtl', 'unknown key "minimumTtl": write minimum-ttl.'],
  ['records', 'unknown key "records": remove it, or write one of dnsRecords, minimum-ttl.'],
  ['', 'unknown key "": remove it, or write one of dnsRecords, minimum-ttl.'],
])('of %j the reason says what to write', (key, reason) => {
  expect(unknownKey(key, KNOWN).message).toBe(reason);
});

test('the reason names whose key it is', () => {
  expect(unknownKey('TTL', ['ttl'], 'in a record of type A').message).toBe(
    'unknown key "TTL" in a record of type A: write ttl.',
  );
});
