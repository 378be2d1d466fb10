import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isRotation, KNOWN_BY, routineOfHeader, routineOfRecord } from '../../src/history/routine.js';

const soa = (serial: number, mname = 'ns.example') =>
  `{"mname":"${mname}","rname":"h.example","serial":${serial},"refresh":1,"retry":2,"expire":3,"minimum-ttl":4}`;
const service = (parameters: string) => `{"data":"1 . ${parameters}"}`;

describe('a record that says what another one in its place says is routine', () => {
  test.each([
    ['a SOA with another serial', 'SOA', soa(2), soa(1), 'SERIAL_ONLY'],
    ['a SOA with another primary server, too', 'SOA', soa(2, 'ns2.example'), soa(1), null],
    ['a SOA where there was none', 'SOA', soa(1), null, null],
    ['HTTPS of other addresses', 'HTTPS', service('ipv4hint=1 b'), service('ipv4hint=2,3 b'), 'ADDRESS_HINT'],
    ['SVCB without an address', 'SVCB', service('a'), service('a ipv6hint=::1'), 'ADDRESS_HINT'],
    ['HTTPS with another protocol, too', 'HTTPS', service('h3 ipv4hint=1'), service('h2 ipv4hint=2'), null],
    ['text that reads like a serial', 'TXT', '{"txt":"\\"serial\\":2"}', '{"txt":"\\"serial\\":1"}', null],
  ] as const)('%s', (_title, type, rdata, other, reason) => {
    expect(routineOfRecord(type, rdata, other === null ? [] : [other])).toBe(reason);
  });
});

const CSP = 'content-security-policy';

test.each([
  ['that follows the content is routine', 'etag', '"a"', '"b"', 'VALIDATOR'],
  ['that follows the content, and is gone, is routine', 'content-length', '12', null, 'VALIDATOR'],
  ['with another nonce is routine', CSP, "a 'nonce-a' 'self'", "a 'nonce-b' 'self'", 'NONCE_ONLY'],
  ['that allows more beside another nonce is notable', CSP, "a 'nonce-a'", "a 'nonce-b' a.example", null],
  ['that had no nonce is notable', CSP, "a 'self'", "a 'nonce-b' 'self'", null],
  ['that is new is notable', CSP, null, "a 'nonce-b'", null],
] as const)('a header %s', (_title, name, before, after, reason) => {
  expect(routineOfHeader(name, before, after)).toBe(reason);
});

const HOUR = 3_600_000_000n;
const DAY = 24n * HOUR;
/** Changes every so often, the latest first, of which the last was before the change at 100 days. */
const changesEvery = (gap: bigint, count: number, before = gap) =>
  Array.from({ length: count }, (_, at) => 100n * DAY - before - BigInt(at) * gap);
const isOneOfMany = (times: bigint[], latestNew: bigint, isNew = false) =>
  isRotation(times.slice(0, 7), { count: times.length, latestNew }, 100n * DAY, isNew);

describe('what changes again and again rotates', () => {
  test('from its fourth change within two days on', () => {
    expect(isOneOfMany(changesEvery(HOUR, 2), 99n * DAY)).toBe(false);
    expect(isOneOfMany(changesEvery(HOUR, 3), 99n * DAY)).toBe(true);
  });

  test('also where it is looked at each day', () => {
    expect(isOneOfMany(changesEvery(DAY, 3), 90n * DAY)).toBe(true);
  });

  test('but not the first change after it was quiet', () => {
    expect(isOneOfMany(changesEvery(HOUR, KNOWN_BY, 3n * DAY), 90n * DAY)).toBe(false);
  });

  test('with values that it never had, while these keep coming', () => {
    expect(isOneOfMany(changesEvery(HOUR, KNOWN_BY), 100n * DAY - HOUR, true)).toBe(true);
  });

  test('but not with a value that it never had after it was long seen whole', () => {
    const times = changesEvery(HOUR, KNOWN_BY);
    expect(isOneOfMany(times, 90n * DAY, true)).toBe(false);
    expect(isOneOfMany(times, 90n * DAY, false)).toBe(true);
    // Seldom looked at, it takes longer to be seen whole.
    expect(isOneOfMany(changesEvery(DAY, KNOWN_BY), 90n * DAY, true)).toBe(true);
  });

  test('whenever it is: nothing but the times between changes counts', () => {
    const times = fc.array(fc.bigInt({ min: 1n, max: 20n * DAY }), { maxLength: KNOWN_BY });
    fc.assert(
      fc.property(times, fc.bigInt({ min: 0n, max: 100n * DAY }), fc.boolean(), (gaps, shift, isNew) => {
        let time = 1_000n * DAY;
        const changes = gaps.map((gap) => (time -= gap));
        const judged = (by: bigint) =>
          isRotation(
            changes.map((each) => each + by),
            { count: changes.length, latestNew: time + by },
            1_000n * DAY + by,
            isNew,
          );
        expect(judged(shift)).toBe(judged(0n));
      }),
    );
  });
});
