import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { DomainState, RecordStay, TypeState } from '../../src/history/state.js';
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

type Change = Partial<StoredHistory>;

function withState(change: Partial<DomainState>): Change {
  return { state: { ...sound.state, ...change } };
}

function withType(type: string, state: TypeState): Change {
  return withState({ types: new Map([...sound.state.types, [type, state]]) });
}

/** With one record changed, the first if no place is given. */
function withRecord(change: Partial<RecordStay>, at = 0): Change {
  return { stays: sound.stays.map((stay, place) => (place === at ? { ...stay, ...change } : stay)) };
}

function removed(at: number, lastSeen: number, source: string | null = null): Partial<RecordStay> {
  return { removal: { removed: instant(at), lastSeen: instant(lastSeen), source, routine: null } };
}

function withHeader(change: Partial<StoredHistory['headers'][number]>, at = 0): Change {
  return {
    headers: sound.headers.map((header, place) => (place === at ? { ...header, ...change } : header)),
  };
}

/** With changes of a further header. */
function withChanges(
  name: string,
  ...changes: [at: number, value: string | null, lastSeen: number | null][]
): Change {
  const added = changes.map(([at, value, lastSeen]) => ({
    name,
    observedAt: instant(at),
    value,
    lastSeen: lastSeen === null ? null : instant(lastSeen),
    source: null,
    routine: null,
  }));
  return { headers: [...sound.headers, ...added] };
}

const { record } = sound.stays[0] ?? { record: { host: '', class: '', type: '', rdata: '' } };
const NOT_GIVEN = 'is stored, and the observations do not give it';

test.each<[what: string, change: Change, violation: RegExp]>([
  ['a name not in canonical form', { name: 'EXAMPLE.com' }, /^the name "EXAMPLE.com" is not in canonical/],
  ['a creation that no part has', withState({ created: instant(0) }), /^created is 2024-01-01T00:00:00/],
  ['a last update that no part has', withState({ lastUpdate: instant(9) }), /^lastUpdate is/],
  ['a last change that no change has', withState({ lastChange: null }), /^lastChange is none/],
  ['no part at all', withState({ everyType: null, types: new Map(), http: null }), /^everyType is none; the/],
  [
    'a part that ends before it begins',
    withState({ everyType: { first: instant(5), latest: instant(1) } }),
    /^everyType is .*; the observations give/,
  ],
  [
    'a record not in canonical form',
    withRecord({ record: { ...record, host: 'EXAMPLE.com' } }),
    /is not in canonical form/,
  ],
  [
    'a record whose data is no object',
    withRecord({ record: { ...record, rdata: 'null' } }),
    /is not in canonical form/,
  ],
  [
    'a record removed before it was last seen',
    withRecord(removed(3, 4)),
    /of 2024-01-01T00:00:01.000000Z is .*00:04.*; the observations give /,
  ],
  [
    'a record removed after the latest observation',
    withRecord(removed(8, 7)),
    /^lastUpdate is .*00:05.*; the observations give .*00:08/,
  ],
  [
    'a record first seen after the latest observation',
    withRecord({ firstSeen: instant(8) }, 2),
    /^lastUpdate is .*00:05.*; the observations give .*00:08/,
  ],
  [
    'a record first seen before the first observation',
    withRecord({ firstSeen: instant(0) }),
    /^created is .*00:01.*; the observations give .*00:00\.000000Z/,
  ],
  [
    'a record first seen between the observations of its type',
    {
      ...withRecord({ firstSeen: instant(4) }),
      ...withState({
        everyType: { first: instant(5), latest: instant(5) },
        types: new Map([['A', { digest: '', named: { first: instant(1), latest: instant(3) } }]]),
      }),
    },
    /^everyType is .*; the observations give ."first":"[^"]*00:0/,
  ],
  [
    'a record last seen long before the observation that it was gone at',
    withRecord(removed(5, 1)),
    new RegExp(`00:05.000000Z ${NOT_GIVEN}`),
  ],
  [
    'a record that comes back when it went',
    withRecord({ firstSeen: instant(3) }, 2),
    new RegExp(`00:03.000000Z ${NOT_GIVEN}`),
  ],
  ['a record of no source', withRecord({ source: 'a\nb' }), /^the source of a record ".*" is not in canon/],
  [
    'a removal of no source',
    withRecord(removed(3, 1, 'x'.repeat(65))),
    /^the source of a record ".*" is not in canonical form/,
  ],
  [
    'a type not in canonical form',
    withType('mx', { digest: '', named: { first: instant(1), latest: instant(1) } }),
    /the type "mx" is not in canonical form/,
  ],
  [
    'a type that was never observed',
    { stays: [], ...withState({ everyType: null, types: new Map([['MX', { digest: '', named: null }]]) }) },
    new RegExp(`the type "MX" ${NOT_GIVEN}`),
  ],
  [
    'records of a type that is not listed',
    withState({ types: new Map() }),
    /the type "A" is not stored; the observations give/,
  ],
  ['a record that is present twice', withRecord({ removal: null }), new RegExp(NOT_GIVEN)],
  [
    'a gap in the positions',
    withRecord({ position: 4 }),
    /is ."position":4.*; the observations give ."position":0/,
  ],
  [
    'records in the wrong order',
    withRecord({ position: 1 }),
    /"192.0.2.1".* is ."position":1.*; the observations give ."position":0/,
  ],
  [
    'a record missing',
    { stays: sound.stays.slice(0, 1) },
    /^the type "A" is ."digest":"\w+".*; the observations give ."digest":""/,
  ],
  [
    'a header that begins without a value',
    withHeader({ value: null }),
    new RegExp(`header "server" at .*00:01.000000Z ${NOT_GIVEN}`),
  ],
  [
    'a header name not in canonical form',
    withHeader({ name: 'Server' }),
    /header name "Server" is not in canon/,
  ],
  ['a header name that is none', withHeader({ name: 'a b' }), /header name "a b" is not in canonical form/],
  [
    'a header value that is not trimmed',
    withHeader({ value: ' a' }),
    /value of the header "server" " a" is not/,
  ],
  [
    'a first value with a time at which the value before was last seen',
    withHeader({ lastSeen: instant(1) }),
    /"server" at .* is .*"lastSeen".*; the observations give ."value":"a","routine":"INITIAL".$/,
  ],
  [
    'a value that was last seen at another time than that of the observation before its replacement',
    withHeader({ lastSeen: instant(2) }, 1),
    /"lastSeen":"[^"]*00:01.*; the observations give ."lastSeen":"[^"]*00:02/,
  ],
  [
    'a value before an absence that was last seen at another time than the header',
    withChanges('x-old', [1, 'a', null], [3, null, 1], [5, 'b', 3]),
    /"x-old" at .*"lastSeen":"[^"]*00:03.*; the observations give .*"lastSeen":"[^"]*00:01/,
  ],
  [
    'a header that was last seen at another time than that of the observation before it was gone',
    { headers: sound.headers.map((each) => ({ ...each, lastSeen: each.lastSeen && each.lastSeen - 1n })) },
    /"via" at .*00:00.999999Z.*; the observations give .*00:01.000000Z/,
  ],
  [
    'a header of no source',
    withHeader({ source: '' }),
    /^the source of a header "" is not in canonical form/,
  ],
  [
    'a new value that is the old one',
    withHeader({ value: 'a' }, 1),
    new RegExp(`"server" at .*00:03.000000Z ${NOT_GIVEN}`),
  ],
  [
    'a header that disappears twice',
    withChanges('x-old', [1, 'a', null], [3, null, 1], [3, null, 1]),
    new RegExp(`"x-old" at .* ${NOT_GIVEN}`),
  ],
  [
    'a header that changed before HTTP was observed',
    withHeader({ observedAt: instant(0) }),
    /^http is .*00:01.*; the observations give ."first":"[^"]*00:00/,
  ],
  [
    'a header missing',
    { headers: sound.headers.filter(({ name }) => name !== 'via') },
    /^http is .*; the observations give/,
  ],
])('dms verify finds %s', (_what, change, violation) => {
  const found = findViolations({ ...sound, ...change });
  expect(found.join('\n')).toMatch(new RegExp(violation.source, 'm'));
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

test('what two tools observed at one time has no violation', () => {
  const site = (at: number) => ({
    domain: 'a.example',
    observedAt: at,
    httpHeaders: {},
    site: { scheme: 'http', status: 200 },
  });
  const record = { host: 'a.example', class: 'IN', type: 'A', ip: '192.0.2.1' };
  const lines = [
    { ...site(1), dnsRecords: [] },
    { domain: 'a.example', observedAt: 2, dnsRecords: [record] },
    site(2),
    { domain: 'a.example', observedAt: 3, dnsRecords: [], source: 'one' },
    site(3),
  ].map(({ observedAt, ...line }) => ({ ...line, observedAt: `2024-03-01T10:20:0${observedAt}Z` }));
  const observations = lines.map((line) => parseDmsLine(JSON.stringify(line), NOW));
  expect(findViolations(historyOf(observations))).toEqual([]);
});
