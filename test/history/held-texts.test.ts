import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { asHeld } from '../../src/history/complete-observation.js';
import { differencesOf } from '../../src/history/expectation.js';
import type { StoredHistory } from '../../src/history/stored-history.js';
import { findViolations } from '../../src/history/violations.js';
import { isJoined, parseDnsRecord } from '../../src/model/dns-record.js';
import type { Observation } from '../../src/model/observation.js';
import { parseRdata } from '../../src/model/rdata-types.js';
import { exported, extended, historyOf } from '../support/histories.js';
import { repeats } from '../support/long-form.js';
import { instant, observation } from '../support/observations.js';

type Data = Readonly<Record<string, unknown>>;

function divided(...entries: readonly string[]): Data {
  return { host: 'example.com', class: 'IN', type: 'TXT', entries };
}

function joined(...entries: readonly string[]): Data {
  return { host: 'example.com', class: 'IN', type: 'TXT', txt: entries.join(''), joined: true };
}

/** As name servers divide them: what a text is does not tell it. */
const TEXTS = [
  ['v=spf1 ', 'include:example.net -all'],
  ['', '"","entries":[', '\\"'],
  ['k=rsa; p='.padEnd(200, 'A'), 'B'.repeat(100)],
  ['C'.repeat(255), 'C'],
  ['alone'],
];

/** Which texts are there at a time, and whether the tool joins their strings. */
const look = fc.record({
  at: fc.integer({ min: 0, max: 30 }),
  texts: fc.subarray(TEXTS),
  isJoined: fc.boolean(),
  byName: fc.boolean(),
});
type Look = typeof look extends fc.Arbitrary<infer Value> ? Value : never;

const looks = fc
  .uniqueArray(look, { minLength: 2, maxLength: 12, selector: ({ at }) => at })
  .map((all) => [...all].sort((a, b) => a.at - b.at));

function observed({ at, texts, isJoined: isOne, byName }: Look): Observation {
  const records = texts.map((entries) => (isOne ? joined(...entries) : divided(...entries)));
  return observation({ at, records, ...(byName && { types: ['TXT'] }) });
}

/** All that is shown of a history, and all by which later observations are judged. */
function shown({ state, stays, earlier }: Pick<StoredHistory, 'state' | 'stays' | 'earlier'>) {
  return { state: { ...state, types: new Map([...state.types].sort()) }, stays, earlier };
}

/** When each text came and went, and why that was routine. */
function told({ stays }: StoredHistory) {
  return stays
    .map(({ record, firstSeen, routine, removal }) => [
      ...[firstSeen, parseRdata(record.rdata)['txt'], removal?.removed, removal?.lastSeen, routine],
    ])
    .sort();
}

describe('a TXT record whose strings a tool has joined', () => {
  test('comes and goes as one that is divided, whichever observes when', () => {
    fc.assert(
      fc.property(looks, (all) => {
        const whole = all.map((each) => observed({ ...each, isJoined: false }));
        expect(told(historyOf(all.map(observed)))).toEqual(told(historyOf(whole)));
      }),
      { numRuns: repeats(2_000, 300) },
    );
  });

  test('has the same history in any order of import, by replay, and by export and import', () => {
    fc.assert(
      fc.property(looks, fc.array(fc.integer({ min: 0, max: 30 }), { maxLength: 3 }), (all, cuts) => {
        const observations = all.map(observed);
        const inOrder = historyOf(observations);
        expect(findViolations(inOrder)).toEqual([]);
        let history: StoredHistory | null = null;
        let end = instant(31);
        for (const cut of [...cuts.sort((a, b) => b - a), 0]) {
          const piece = observations.filter(({ observedAt: at }) => at >= instant(cut) && at < end);
          if (piece.length > 0) history = extended(history, piece, true);
          end = instant(cut);
        }
        expect(history && shown(history)).toEqual(shown(inOrder));
        expect(historyOf(exported(inOrder)).stays).toEqual(inOrder.stays);
      }),
      { numRuns: repeats(2_000, 300) },
    );
  });

  test('is what dms check expects, divided in any way', () => {
    const record = parseDnsRecord(joined('v=spf1 -all'));
    const found = new Map([['example.com', { records: [record], headers: new Map() }]]);
    const expected = (...entries: readonly string[]) => ({
      domain: 'example.com',
      domainsOf: () => ['example.com'],
      records: [parseDnsRecord(divided(...entries))],
      types: new Set(['TXT']),
      ...{ allOwners: true, headers: new Map<string, string | null>(), allHeaders: false },
    });
    expect(differencesOf([expected('v=spf1 ', '-all')], found)).toEqual([]);
    expect(differencesOf([expected('v=spf1 ', '~all')], found)).toHaveLength(2);
  });

  test('is held as it was first seen, and two that are divided differently are two', () => {
    const first = parseDnsRecord(divided('a', 'b'));
    const second = parseDnsRecord(divided('ab'));
    const third = parseDnsRecord(joined('ab'));
    expect([first, second, third].map(isJoined)).toEqual([false, false, true]);
    expect(asHeld([third], [first])).toEqual([first]);
    expect(asHeld([third], [first, second])).toEqual([first, second]);
    expect(asHeld([first], [third])).toEqual([third]);
    expect(asHeld([third, first], [])).toEqual([first]);
    expect(asHeld([second], [first])).toEqual([second]);
    const both = [divided('a', 'b'), divided('ab')];
    const { stays } = historyOf(both.map((record, at) => observation({ at, records: [record] })));
    expect(stays).toHaveLength(2);
  });
});

test('a record of format dms says that its strings were joined by joined, in TXT alone', () => {
  const record = parseDnsRecord(joined('x'.repeat(300)));
  expect(parseRdata(record.rdata)).toEqual({
    txt: 'x'.repeat(300),
    entries: ['x'.repeat(255), 'x'.repeat(45)],
    joined: true,
  });
  expect(parseDnsRecord({ ...divided('a', 'b'), joined: true })).toEqual(parseDnsRecord(joined('ab')));
  expect(parseDnsRecord({ ...divided('a', 'b'), joined: false })).toEqual(parseDnsRecord(divided('a', 'b')));
  expect(parseDnsRecord({ host: 'a', class: 'IN', type: 'TXT', data: '"a" "b"', joined: true })).toEqual(
    parseDnsRecord({ ...joined('ab'), host: 'a' }),
  );
  expect(() => parseDnsRecord({ ...divided('a'), joined: 1 })).toThrow('joined: it must be true or false.');
  const address = { host: 'a', class: 'IN', type: 'A', ip: '192.0.2.1' };
  expect(() => parseDnsRecord({ ...address, joined: true })).toThrow('joined');
});
