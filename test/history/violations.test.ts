import { describe, expect, test } from 'vitest';
import type { StoredHistory } from '../../src/history/stored-history.js';
import { findViolations } from '../../src/history/violations.js';
import { historyOf } from '../support/histories.js';
import { instant, observation } from '../support/observations.js';

const sound = historyOf([
  observation({ at: 1, records: ['192.0.2.1', '192.0.2.2'], headers: { server: 'a', via: 'x' } }),
  observation({ at: 3, records: ['192.0.2.2'], types: ['A'], headers: { server: 'b' } }),
  observation({ at: 5, records: ['192.0.2.1', '192.0.2.2'], headers: { server: 'b', via: 'x' } }),
]);

/** A history with one of its parts replaced, as a broken program or hand could leave it. */
function broken(change: Partial<StoredHistory>): StoredHistory {
  return { ...sound, ...change };
}

const [first, ...others] = sound.stays;
const [firstHeader, ...otherHeaders] = sound.headers;
if (first === undefined || firstHeader === undefined) {
  throw new Error('the sound history has records and headers');
}

const breaches: [string, Partial<StoredHistory>, RegExp][] = [
  ['a name not in canonical form', { name: 'EXAMPLE.com' }, /name is not in canonical form/],
  ['a version that is not positive', { version: 0n }, /version 0/],
  [
    'a time of creation that no part has',
    { state: { ...sound.state, created: instant(0) } },
    /^created is 2024-01-01T00:00:00/,
  ],
  ['a last update that no part has', { state: { ...sound.state, lastUpdate: instant(9) } }, /^lastUpdate is/],
  [
    'a last change that no change has',
    { state: { ...sound.state, lastChange: null } },
    /^lastChange is none/,
  ],
  ['no part at all', { state: { ...sound.state, everyType: null, types: new Map(), http: null } }, /no part/],
  [
    'a part that ends before it begins',
    { state: { ...sound.state, everyType: { first: instant(5), latest: instant(1) } } },
    /later than its latest/,
  ],
  [
    'a record not in canonical form',
    { stays: [{ ...first, record: { ...first.record, host: 'EXAMPLE.com' } }, ...others] },
    /is not in canonical form/,
  ],
  [
    'a record removed before it was last seen',
    {
      stays: [{ ...first, removal: { removed: instant(3), lastSeen: instant(4), source: null } }, ...others],
    },
    /was last seen/,
  ],
  [
    'a record removed after the latest observation',
    {
      stays: [{ ...first, removal: { removed: instant(8), lastSeen: instant(7), source: null } }, ...others],
    },
    /removed after the latest/,
  ],
  [
    'a record first seen after the latest observation',
    { stays: [{ ...first, firstSeen: instant(8) }] },
    /first seen after/,
  ],
  ['a record that is present twice', { stays: [{ ...first, removal: null }, ...others] }, /still present/],
  [
    'a gap in the positions',
    { stays: [{ ...first, position: 4 }, ...others] },
    /has position 4 in place of 0/,
  ],
  [
    'records in the wrong order',
    {
      stays: sound.stays.map((stay, index) => ({
        ...stay,
        record: sound.stays[index === 0 ? 1 : 0]?.record ?? stay.record,
      })),
    },
    /should precede/,
  ],
  ['a record missing', { stays: [first] }, /digest of A/],
  [
    'a header that begins without a value',
    { headers: [{ ...firstHeader, value: null }, ...otherHeaders] },
    /does not begin with a value/,
  ],
  [
    'a new value that is the old one',
    {
      headers: sound.headers.map((change) => (change.name === 'server' ? { ...change, value: 'a' } : change)),
    },
    /new value is the old one/,
  ],
  [
    'a header that returns twice',
    { headers: sound.headers.map((change) => ({ ...change, present: true })) },
    /went or came back twice/,
  ],
  [
    'a header that changed before HTTP was observed',
    { headers: [{ ...firstHeader, observedAt: instant(0) }, ...otherHeaders] },
    /outside the observations/,
  ],
  [
    'a header missing',
    { headers: sound.headers.filter(({ name }) => name !== 'via') },
    /digest of the headers/,
  ],
];

describe('checking a stored history', () => {
  test('a sound history has no violation', () => {
    expect(findViolations(sound)).toEqual([]);
  });

  test.each(breaches)('%s is found', (_title, change, message) => {
    expect(findViolations(broken(change)).join('\n')).toMatch(new RegExp(message.source, 'm'));
  });
});
