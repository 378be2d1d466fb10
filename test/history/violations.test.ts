import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { DomainState, RecordStay, StoredHeaderChange, TypeState } from '../../src/history/state.js';
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

const times = (first: number, latest: number) => ({ first: instant(first), latest: instant(latest) });

function withState(change: Partial<DomainState>): Change {
  return { state: { ...sound.state, ...change } };
}

function withType(type: string, state: TypeState): Change {
  return withState({ types: new Map([...sound.state.types, [type, state]]) });
}

/** With one record changed, the first if no place is given. */
function withStay(change: Partial<RecordStay>, at = 0): Change {
  return { stays: sound.stays.map((stay, place) => (place === at ? { ...stay, ...change } : stay)) };
}

function withRecord(change: Partial<RecordStay['record']>): Change {
  return { stays: sound.stays.map((stay) => ({ ...stay, record: { ...stay.record, ...change } })) };
}

function removed(at: number, lastSeen: number, source: string | null = null): Partial<RecordStay> {
  return { removal: { removed: instant(at), lastSeen: instant(lastSeen), source, routine: null } };
}

function withHeader(change: Partial<StoredHeaderChange>, at = 0): Change {
  return { headers: sound.headers.map((each, place) => (place === at ? { ...each, ...change } : each)) };
}

/** With changes of a further header. */
function withChanges(...changes: [at: number, value: string | null, lastSeen: number | null][]): Change {
  const added = changes.map(([at, value, lastSeen]) => ({
    ...{ name: 'x-old', observedAt: instant(at), value, source: null, routine: null },
    lastSeen: lastSeen === null ? null : instant(lastSeen),
  }));
  return { headers: [...sound.headers, ...added] };
}

const NOT_CANONICAL = 'is not in canonical form';
const NOT_GIVEN = 'is stored, and the observations do not give it';
const GIVEN = 'the observations give ';
const NEVER = { everyType: null, types: new Map([['MX', { digest: '', named: null }]]) };
const TOO_LATE = `^lastUpdate is .*00:05.*; ${GIVEN}.*00:08`;
const BETWEEN = { everyType: times(5, 5), types: new Map([['A', { digest: '', named: times(1, 3) }]]) };
const SOONER = {
  headers: sound.headers.map((each) => ({ ...each, lastSeen: each.lastSeen && each.lastSeen - 1n })),
};

test.each<[what: string, change: Change, violation: string]>([
  ['a name not in canonical form', { name: 'EXAMPLE.com' }, `^the name "EXAMPLE.com" ${NOT_CANONICAL}`],
  ['a creation that no part has', withState({ created: instant(0) }), '^created is 2024-01-01T00:00:00'],
  ['a last update that no part has', withState({ lastUpdate: instant(9) }), '^lastUpdate is'],
  ['a last change that no change has', withState({ lastChange: null }), '^lastChange is none'],
  ['no part at all', withState({ everyType: null, types: new Map(), http: null }), '^everyType is none; the'],
  ['a part that ends first', withState({ everyType: times(5, 1) }), `^everyType is .*; ${GIVEN}`],
  ['a record not in canonical form', withRecord({ host: 'EXAMPLE.com' }), NOT_CANONICAL],
  ['a record whose data is no object', withRecord({ rdata: 'null' }), NOT_CANONICAL],
  ['a record removed before it was last seen', withStay(removed(3, 4)), `:01.0+Z is .*00:04.*; ${GIVEN}`],
  ['a record removed after the latest observation', withStay(removed(8, 7)), TOO_LATE],
  ['a record first seen after the latest observation', withStay({ firstSeen: instant(8) }, 2), TOO_LATE],
  [
    'a record first seen before all',
    withStay({ firstSeen: instant(0) }),
    `^created is .*:01.*; ${GIVEN}.*:00.0`,
  ],
  [
    'a record first seen between the observations of its type',
    { ...withStay({ firstSeen: instant(4) }), ...withState(BETWEEN) },
    `^everyType is .*; ${GIVEN}."first":"[^"]*00:0`,
  ],
  [
    'a record last seen long before the observation that it was gone at',
    withStay(removed(5, 1)),
    `:05.0+Z ${NOT_GIVEN}`,
  ],
  ['a record that comes back when it went', withStay({ firstSeen: instant(3) }, 2), `:03.0+Z ${NOT_GIVEN}`],
  ['a record of no source', withStay({ source: 'a\nb' }), `^the source of a record ".*" ${NOT_CANONICAL}`],
  [
    'a removal of no source',
    withStay(removed(3, 1, 'x'.repeat(65))),
    `^the source of a record ".*" ${NOT_CANONICAL}`,
  ],
  [
    'a type not in canonical form',
    withType('mx', { digest: '', named: times(1, 1) }),
    `the type "mx" ${NOT_CANONICAL}`,
  ],
  ['a type that was never observed', { stays: [], ...withState(NEVER) }, `the type "MX" ${NOT_GIVEN}`],
  [
    'records of a type that is not listed',
    withState({ types: new Map() }),
    'the type "A" is not stored; the obs',
  ],
  ['a record that is present twice', withStay({ removal: null }), NOT_GIVEN],
  ['a gap in the positions', withStay({ position: 4 }), `is ."position":4.*; ${GIVEN}."position":0`],
  [
    'records in the wrong order',
    withStay({ position: 1 }),
    `2.1".* is ."position":1.*; ${GIVEN}."position":0`,
  ],
  [
    'a record missing',
    { stays: sound.stays.slice(0, 1) },
    `^the type "A" is ."digest":"\\w+".*; ${GIVEN}."digest":""`,
  ],
  [
    'a header that begins without a value',
    withHeader({ value: null }),
    `"server" at .*00:01.0+Z ${NOT_GIVEN}`,
  ],
  [
    'a header name not in canonical form',
    withHeader({ name: 'Server' }),
    `header name "Server" ${NOT_CANONICAL}`,
  ],
  ['a header name that is none', withHeader({ name: 'a b' }), `header name "a b" ${NOT_CANONICAL}`],
  [
    'a header value that is not trimmed',
    withHeader({ value: ' a' }),
    `value of the header "server" " a" ${NOT_CANONICAL}`,
  ],
  [
    'a first value with a time at which the value before was last seen',
    withHeader({ lastSeen: instant(1) }),
    `"server" at .* is .*"lastSeen".*; ${GIVEN}."value":"a","routine":"INITIAL".$`,
  ],
  [
    'a value that was last seen at another time than that of the observation before its replacement',
    withHeader({ lastSeen: instant(2) }, 1),
    `"lastSeen":"[^"]*00:01.*; ${GIVEN}."lastSeen":"[^"]*00:02`,
  ],
  [
    'a value before an absence that was last seen at another time than the header',
    withChanges([1, 'a', null], [3, null, 1], [5, 'b', 3]),
    `"x-old" at .*"lastSeen":"[^"]*00:03.*; ${GIVEN}.*"lastSeen":"[^"]*00:01`,
  ],
  [
    'a header last seen at another time than before it was gone',
    SOONER,
    `"via" at .*00:00.9+Z.*; ${GIVEN}.*00:01.0+Z`,
  ],
  ['a header of no source', withHeader({ source: '' }), `^the source of a header "" ${NOT_CANONICAL}`],
  ['a new value that is the old one', withHeader({ value: 'a' }, 1), `"server" at .*00:03.0+Z ${NOT_GIVEN}`],
  [
    'a header that disappears twice',
    withChanges([1, 'a', null], [3, null, 1], [3, null, 1]),
    `"x-old" at .* ${NOT_GIVEN}`,
  ],
  [
    'a header that changed before HTTP was observed',
    withHeader({ observedAt: instant(0) }),
    `^http is .*:01.*; ${GIVEN}."first":"[^"]*:00`,
  ],
  ['a header missing', { headers: sound.headers.slice(0, 2) }, `^http is .*; ${GIVEN}`],
])('dms verify finds %s', (_what, change, violation) => {
  expect(findViolations({ ...sound, ...change }).join('\n')).toMatch(new RegExp(violation, 'm'));
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
  const site = (at: number) => ({ at, headers: {}, status: 200 });
  const parts = [
    { ...site(1), records: [] },
    { at: 2, records: ['192.0.2.1'] },
    site(2),
    { at: 3, records: [], source: 'one' },
    site(3),
  ];
  expect(findViolations(historyOf(parts.map(observation)))).toEqual([]);
});
