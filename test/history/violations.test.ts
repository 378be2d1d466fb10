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

function expectViolation(change: Change, violation: string): void {
  expect(findViolations({ ...sound, ...change }).join('\n')).toMatch(new RegExp(violation, 'm'));
}

test.each<[what: string, change: Change]>([
  ['the name "EXAMPLE.com"', { name: 'EXAMPLE.com' }],
  ['EXAMPLE.com IN A', withRecord({ host: 'EXAMPLE.com' })],
  ['example.com IN A null', withRecord({ rdata: 'null' })],
  ['the source of a record "a\\\\nb"', withStay({ source: 'a\nb' })],
  ['the source of a record "x{64}', withStay(removed(3, 1, 'x'.repeat(65)))],
  ['the type "mx"', withType('mx', { digest: '', named: times(1, 1) })],
  ['the header name "Server"', withHeader({ name: 'Server' })],
  ['the header name "a b"', withHeader({ name: 'a b' })],
  ['a value of the header "server" " a"', withHeader({ value: ' a' })],
  ['the source of a header ""', withHeader({ source: '' })],
])('dms verify finds that %s is not in canonical form', (what, change) => {
  expectViolation(change, `^${what}.* is not in canonical form`);
});

const NEVER = { everyType: null, types: new Map([['MX', { digest: '', named: null }]]) };

test.each<[what: string, change: Change, item: string]>([
  ['last seen long before it was found to be gone', withStay(removed(5, 1)), ':05.0+Z'],
  ['back when it went', withStay({ firstSeen: instant(3) }, 2), ':03.0+Z'],
  ['present twice', withStay({ removal: null }), ''],
  ['of a type that was never observed', { stays: [], ...withState(NEVER) }, 'the type "MX"'],
  ['a header that begins without a value', withHeader({ value: null }), '"server" at .*:01.0+Z'],
  ['a new value that is the old one', withHeader({ value: 'a' }, 1), '"server" at .*:03.0+Z'],
  ['a header gone twice', withChanges([1, 'a', null], [3, null, 1], [3, null, 1]), '"x-old" at .*'],
])('dms verify finds what observations cannot give: %s', (_what, change, item) => {
  expectViolation(change, `${item} is stored, and the observations do not give it`);
});

const TOO_LATE = ['^lastUpdate is .*:05', '.*:08'] as const;
const BETWEEN = { everyType: times(5, 5), types: new Map([['A', { digest: '', named: times(1, 3) }]]) };
const SOONER = sound.headers.map((each) => ({ ...each, lastSeen: each.lastSeen && each.lastSeen - 1n }));

test.each<[what: string, change: Change, stored: string, given?: string]>([
  ['a creation that no part has', withState({ created: instant(0) }), '^created is 2024-01-01T00:00:00'],
  ['a last update that no part has', withState({ lastUpdate: instant(9) }), '^lastUpdate is'],
  ['a last change that no change has', withState({ lastChange: null }), '^lastChange is none'],
  ['no part at all', withState({ everyType: null, types: new Map(), http: null }), '^everyType is none'],
  ['a part that ends first', withState({ everyType: times(5, 1) }), '^everyType is '],
  ['a record removed before it was last seen', withStay(removed(3, 4)), ':01.0+Z is .*:04'],
  ['a record removed after the latest observation', withStay(removed(8, 7)), ...TOO_LATE],
  ['a record first seen after the latest observation', withStay({ firstSeen: instant(8) }, 2), ...TOO_LATE],
  ['a record first seen before all', withStay({ firstSeen: instant(0) }), '^created is .*:01', '.*:00.0'],
  [
    'a record first seen between the observations of its type',
    { ...withStay({ firstSeen: instant(4) }), ...withState(BETWEEN) },
    '^everyType is ',
    '."first":"[^"]*:0',
  ],
  ['a gap in the positions', withStay({ position: 4 }), ' is ."position":4', '."position":0'],
  ['records in the wrong order', withStay({ position: 1 }), '2.1".* is ."position":1', '."position":0'],
  [
    'a record missing',
    { stays: sound.stays.slice(0, 1) },
    '^the type "A" is ."digest":"\\w+"',
    '."digest":""',
  ],
  ['a first value after another', withHeader({ lastSeen: instant(1) }), '"lastSeen"', '."value":"a","rout'],
  [
    'a value that was last seen at another time than that of the observation before its replacement',
    withHeader({ lastSeen: instant(2) }, 1),
    '"lastSeen":"[^"]*:01',
    '."lastSeen":"[^"]*:02',
  ],
  [
    'a value before an absence that was last seen at another time than the header',
    withChanges([1, 'a', null], [3, null, 1], [5, 'b', 3]),
    '"x-old" at .*"lastSeen":"[^"]*:03',
    '.*"lastSeen":"[^"]*:01',
  ],
  ['a header last seen at no observation', { headers: SOONER }, '"via" at .*:00.9+Z', '.*:01.0+Z'],
  ['a header before HTTP', withHeader({ observedAt: instant(0) }), '^http is .*:01', '."first":"[^"]*:00'],
  ['a header missing', { headers: sound.headers.slice(0, 2) }, '^http is '],
])('dms verify finds what observations give otherwise: %s', (_what, change, stored, given = '') => {
  expectViolation(change, `${stored}.*; the observations give ${given}`);
});

test('dms verify finds records of a type that is not listed', () => {
  expectViolation(withState({ types: new Map() }), 'the type "A" is not stored; the observations give');
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
