import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { TypeState } from '../../src/history/state.js';
import type { StoredHistory } from '../../src/history/stored-history.js';
import { findViolations } from '../../src/history/violations.js';
import { parseDmsLine } from '../../src/importers/dms.js';
import { observationLine } from '../journeys/random-observations.js';
import { historyOf } from '../support/histories.js';
import { instant, NOW, observation } from '../support/observations.js';

const sound = historyOf([
  observation({ at: 1, records: ['192.0.2.1', '192.0.2.2'], headers: { server: 'a', via: 'x' } }),
  observation({ at: 3, records: ['192.0.2.2'], types: ['A'], headers: { server: 'b' } }),
  observation({ at: 5, records: ['192.0.2.1', '192.0.2.2'], headers: { server: 'b', via: 'x' } }),
]);

/** A history with one of its parts replaced, as a broken program or hand could leave it. */
function broken(change: Partial<StoredHistory>): StoredHistory {
  return { ...sound, ...change };
}

/** The state with one more type, or with another state of one. */
function withType(type: string, typeState: TypeState): Partial<StoredHistory> {
  return { state: { ...sound.state, types: new Map([...sound.state.types, [type, typeState]]) } };
}

/** The first header change with parts replaced. */
function withHeader(change: Partial<StoredHistory['headers'][number]>): Partial<StoredHistory> {
  return withHeaderAt(0, change);
}

function withHeaderAt(at: number, change: Partial<StoredHistory['headers'][number]>): Partial<StoredHistory> {
  return {
    headers: sound.headers.map((header, place) => (place === at ? { ...header, ...change } : header)),
  };
}

const [first, ...others] = sound.stays;
const [firstHeader, ...otherHeaders] = sound.headers;
if (first === undefined || firstHeader === undefined) {
  throw new Error('the sound history has records and headers');
}

const breaches: [string, Partial<StoredHistory>, RegExp][] = [
  [
    'a name not in canonical form',
    { name: 'EXAMPLE.com' },
    /^the name "EXAMPLE.com" is not in canonical form/,
  ],
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
  [
    'no part at all',
    { state: { ...sound.state, everyType: null, types: new Map(), http: null } },
    /everyType is none; the observations give/,
  ],
  [
    'a part that ends before it begins',
    { state: { ...sound.state, everyType: { first: instant(5), latest: instant(1) } } },
    /^everyType is .*; the observations give/,
  ],
  [
    'a record not in canonical form',
    { stays: [{ ...first, record: { ...first.record, host: 'EXAMPLE.com' } }, ...others] },
    /is not in canonical form/,
  ],
  [
    'a record removed before it was last seen',
    {
      stays: [
        { ...first, removal: { removed: instant(3), lastSeen: instant(4), source: null, routine: null } },
        ...others,
      ],
    },
    /of 2024-01-01T00:00:01.000000Z is .*00:04.*; the observations give /,
  ],
  [
    'a record removed after the latest observation',
    {
      stays: [
        { ...first, removal: { removed: instant(8), lastSeen: instant(7), source: null, routine: null } },
        ...others,
      ],
    },
    /^lastUpdate is .*00:05.*; the observations give .*00:08/,
  ],
  [
    'a record first seen after the latest observation',
    { stays: [{ ...first, firstSeen: instant(8) }] },
    /^lastUpdate is .*00:05.*; the observations give .*00:08/,
  ],
  [
    'a record first seen before the first observation',
    { stays: [{ ...first, firstSeen: instant(0) }, ...others] },
    /^created is .*00:01.*; the observations give .*00:00\.000000Z/,
  ],
  [
    'a record first seen between the observations of its type',
    {
      stays: [{ ...first, firstSeen: instant(4) }, ...others],
      state: {
        ...sound.state,
        everyType: { first: instant(5), latest: instant(5) },
        types: new Map([['A', { digest: '', named: { first: instant(1), latest: instant(3) } }]]),
      },
    },
    /^everyType is .*; the observations give ."first":"[^"]*00:04/,
  ],
  [
    'a record last seen long before the observation that it was gone at',
    {
      stays: sound.stays.map((stay) =>
        stay.removal === null
          ? stay
          : { ...stay, removal: { removed: instant(5), lastSeen: instant(1), source: null, routine: null } },
      ),
    },
    /00:05.000000Z is stored, and the observations do not give it/,
  ],
  [
    'a record that comes back when it went',
    {
      stays: sound.stays.map((stay) =>
        stay.firstSeen === instant(5) ? { ...stay, firstSeen: instant(3) } : stay,
      ),
    },
    /00:03.000000Z is stored, and the observations do not give it/,
  ],
  [
    'a record whose source is no name of one',
    { stays: [{ ...first, source: 'a\nb' }, ...others] },
    /^the source of a (record|header) ".*" is not in canonical form/,
  ],
  [
    'a removal whose source is no name of one',
    {
      stays: [
        {
          ...first,
          removal: { removed: instant(3), lastSeen: instant(1), source: 'x'.repeat(65), routine: null },
        },
        ...others,
      ],
    },
    /^the source of a (record|header) ".*" is not in canonical form/,
  ],
  [
    'a record whose data is no object',
    { stays: [{ ...first, record: { ...first.record, rdata: 'null' } }, ...others] },
    /is not in canonical form/,
  ],
  [
    'a type not in canonical form',
    withType('mx', { digest: '', named: { first: instant(1), latest: instant(1) } }),
    /the type "mx" is not in canonical form/,
  ],
  [
    'a type that was never observed',
    {
      stays: [],
      state: { ...sound.state, everyType: null, types: new Map([['MX', { digest: '', named: null }]]) },
    },
    /the type "MX" is stored, and the observations do not give it/,
  ],
  [
    'records of a type that is not listed',
    { state: { ...sound.state, types: new Map() } },
    /the type "A" is not stored; the observations give/,
  ],
  [
    'a record that is present twice',
    { stays: [{ ...first, removal: null }, ...others] },
    /is stored, and the observations do not give it/,
  ],
  [
    'a gap in the positions',
    { stays: [{ ...first, position: 4 }, ...others] },
    /is ."position":4.*; the observations give ."position":0/,
  ],
  [
    'records in the wrong order',
    {
      stays: sound.stays.map((stay, index) => ({
        ...stay,
        record: sound.stays[index === 0 ? 1 : 0]?.record ?? stay.record,
      })),
    },
    /"192.0.2.2".* is ."position":0.*; the observations give ."position":1/,
  ],
  [
    'a record missing',
    { stays: [first] },
    /^the type "A" is ."digest":"\w+".*; the observations give ."digest":""/,
  ],
  [
    'a header that begins without a value',
    { headers: [{ ...firstHeader, value: null }, ...otherHeaders] },
    /header "server" at .*00:01.000000Z is stored, and the observations do not give it/,
  ],
  [
    'a header name not in canonical form',
    withHeader({ name: 'Server' }),
    /header name "Server" is not in canonical form/,
  ],
  ['a header name that is none', withHeader({ name: 'a b' }), /header name "a b" is not in canonical form/],
  [
    'a header value that is not trimmed',
    withHeader({ value: ' a' }),
    /value of the header "server" " a" is not in canonical form/,
  ],
  [
    'a value of a header that is gone, not trimmed',
    { headers: [...sound.headers, ...gone('x-old', 'a\n')] },
    /header "x-old" ".*" is not in canonical form/,
  ],
  [
    'a first value of a header with a time at which the value before was last seen',
    withHeader({ lastSeen: instant(1) }),
    /"server" at .* is .*"lastSeen".*; the observations give ."value":"a","routine":"INITIAL".$/,
  ],
  [
    'a header that is gone and was never seen last',
    { headers: sound.headers.map((change) => ({ ...change, lastSeen: null })) },
    /"via" at .* is ..; the observations give ."lastSeen"/,
  ],
  [
    'a value that was last seen at another time than that of the observation before its replacement',
    withHeaderAt(1, { lastSeen: instant(2) }),
    /"lastSeen":"[^"]*00:01.*; the observations give ."lastSeen":"[^"]*00:02/,
  ],
  [
    'a value before an absence that was last seen at another time than the header',
    {
      headers: [
        ...sound.headers,
        ...gone('x-old', 'a'),
        {
          name: 'x-old',
          observedAt: instant(5),
          value: 'b',
          lastSeen: instant(3),
          source: null,
          routine: null,
        },
      ],
    },
    /"x-old" at .*"lastSeen":"[^"]*00:03.*; the observations give .*"lastSeen":"[^"]*00:01/,
  ],
  [
    'a header that was last seen at another time than that of the observation before it was gone',
    {
      headers: sound.headers.map((change) => ({
        ...change,
        lastSeen: change.lastSeen && change.lastSeen - 1n,
      })),
    },
    /"via" at .*00:00.999999Z.*; the observations give .*00:01.000000Z/,
  ],
  [
    'a header whose source is no name of one',
    withHeader({ source: '' }),
    /^the source of a (record|header) ".*" is not in canonical form/,
  ],
  [
    'a new value that is the old one',
    {
      headers: sound.headers.map((change) => (change.name === 'server' ? { ...change, value: 'a' } : change)),
    },
    /"server" at .*00:03.000000Z is stored, and the observations do not give it/,
  ],
  [
    'a header that disappears twice',
    { headers: [...sound.headers, ...gone('x-old', 'a'), ...gone('x-old', 'a').slice(1)] },
    /"x-old" at .* is stored, and the observations do not give it/,
  ],
  [
    'a header that changed before HTTP was observed',
    { headers: [{ ...firstHeader, observedAt: instant(0) }, ...otherHeaders] },
    /^http is .*00:01.*; the observations give ."first":"[^"]*00:00/,
  ],
  [
    'a header missing',
    { headers: sound.headers.filter(({ name }) => name !== 'via') },
    /^http is .*; the observations give/,
  ],
];

/** A header that came and went. */
function gone(name: string, value: string): StoredHistory['headers'] {
  return [
    { name, observedAt: instant(1), value, lastSeen: null, source: null, routine: null },
    { name, observedAt: instant(3), value: null, lastSeen: instant(1), source: null, routine: null },
  ];
}

describe('checking a stored history', () => {
  test('a sound history has no violation', () => {
    expect(findViolations(sound)).toEqual([]);
  });

  test('what the rules make of any observations has no violation', () => {
    const lines = fc.array(observationLine(['a.example']), { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(lines, (given) => {
        const observations = given.map((line) => parseDmsLine(JSON.stringify(line), NOW));
        expect(findViolations(historyOf(observations))).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  test.each(breaches)('%s is found', (_title, change, message) => {
    expect(findViolations(broken(change)).join('\n')).toMatch(new RegExp(message.source, 'm'));
  });
});
