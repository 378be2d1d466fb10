import fc from 'fast-check';
import { expect, test } from 'vitest';

import { extendHistory } from '../../src/history/extend-history.js';
import { isActing } from '../../src/history/record-observations.js';
import { identityOf, lastSeenOf, latestOfType } from '../../src/history/state.js';
import type { StoredHistory } from '../../src/history/stored-history.js';
import { findViolations } from '../../src/history/violations.js';
import { parseDnsRecord, recordsByType } from '../../src/model/dns-record.js';
import type { Observation } from '../../src/model/observation.js';
import { exported, extended, historyOf } from '../support/histories.js';
import { repeats } from '../support/long-form.js';
import { addressRecord, instant, type ObservationParts, observation } from '../support/observations.js';

const time = fc.integer({ min: 0, max: 20 });
const address = fc.constantFrom('192.0.2.1', '192.0.2.2', '192.0.2.3');
const exchange = fc.constantFrom('a', 'b').map((name) => exchangeRecord(name));
const named = ['A', 'MX', 'A MX', 'A TXT'].map((text) => text.split(' '));
const types = fc.constantFrom(undefined, undefined, ...named);

function exchangeRecord(name: string): Readonly<Record<string, unknown>> {
  return { host: 'example.com', class: 'IN', type: 'MX', pri: 10, target: `${name}.example.net` };
}

const [name, value] = [fc.constantFrom('server', 'via', 'etag'), fc.constantFrom('a', 'b')];
const anyHeaders = fc.dictionary(name, value, { noNullPrototype: true });
const anyRecords = fc.record({ a: fc.uniqueArray(address), mx: fc.uniqueArray(exchange), types });

const anyParts: fc.Arbitrary<ObservationParts> = fc
  .record({ at: time, dns: fc.option(anyRecords), headers: fc.option(anyHeaders) })
  .filter(({ dns, headers }) => dns !== null || headers !== null)
  .map(({ at, dns, headers }) => {
    const covers = (type: string) => dns?.types?.includes(type) !== false;
    const records = dns && [
      ...(covers('A') ? dns.a.map((ip) => addressRecord('example.com', ip)) : []),
      ...(covers('MX') ? dns.mx : []),
    ];
    return {
      at,
      ...(records && { records }),
      ...(dns?.types && { types: dns.types }),
      ...(headers && { headers }),
      // Of two that observe at one time, only one can be told where neither changed anything.
      ...(at % 3 > 0 && { source: at % 3 === 1 ? 'one' : 'two' }),
    };
  });

const inOrder = fc
  .array(anyParts, { minLength: 1, maxLength: 14 })
  .map((all) => [...all].sort((a, b) => a.at - b.at).map(observation));

/** All that is shown of a history, and all by which later observations are judged. */
function stored({ version: _version, recordedAt: _recordedAt, keptTimes: _kept, ...history }: StoredHistory) {
  const headers = history.headers.map(({ name, observedAt, value, lastSeen, source, routine }) => [
    ...[name, observedAt, value, lastSeen, source, routine],
  ]);
  const types = new Map([...history.state.types].sort());
  return { ...history, headers, state: { ...history.state, types } };
}

test('older observations put before newer ones give the history of all of them recorded in order', () => {
  fc.assert(
    fc.property(inOrder, time, (observations, cut) => {
      const older = observations.filter(({ observedAt }) => observedAt < instant(cut));
      const newer = observations.filter(({ observedAt }) => observedAt >= instant(cut));
      fc.pre(older.length > 0 && newer.length > 0);
      const backfilled = extended(historyOf(newer), older, true);
      expect(stored(backfilled)).toEqual(stored(historyOf(observations)));
      expect(findViolations(backfilled)).toEqual([]);
      const again = extendHistory(backfilled, older, { older: true });
      expect(stored({ ...backfilled, ...again, name: 'example.com' })).toMatchObject(stored(backfilled));
      expect(again.outcomes.filter(isActing)).toEqual([]);
    }),
    { numRuns: repeats(2_000, 200) },
  );
});

test('observations between those that are recorded stay stale', () => {
  const [records, headers] = [['192.0.2.1'], { server: 'a' }];
  const known = historyOf([10, 20].map((at) => observation({ at, records, headers })));
  const given = [
    { at: 5, records },
    { at: 15, records: [] },
    { at: 10, headers },
    { at: 7, headers: {} },
  ];
  const { outcomes } = extendHistory(known, given.map(observation), { older: true });
  expect(outcomes.map(({ kind }) => kind)).toEqual(['changed', 'stale', 'stale', 'unchanged']);
});

const anySighting = fc.record({
  record: fc.oneof(
    address.map((ip) => addressRecord('example.com', ip)),
    exchange,
  ),
  ...{ from: time, to: time, source: fc.constantFrom('cof', 'sensor') },
});
type SightingParts = typeof anySighting extends fc.Arbitrary<infer Value> ? Value : never;

/** That a record was seen at two times. */
function sightings({ record, from, to, source }: SightingParts): Observation[] {
  const parsed = parseDnsRecord(record);
  const records = recordsByType([parsed]);
  const dns = { types: new Set([parsed.type]), sighted: true, records };
  return [from, to].map((at) => ({ domain: 'example.com', observedAt: instant(at), dns, source }));
}

test('sightings give the same history in whatever order they come, alone and beside observations, and as exported', () => {
  fc.assert(
    fc.property(
      fc.option(inOrder),
      fc.array(anySighting, { minLength: 1, maxLength: 12 }),
      fc.func(fc.nat()),
      fc.integer({ min: 1, max: 4 }),
      (observations, seen, place, size) => {
        const known = observations === null ? null : historyOf(observations);
        const atOnce = extended(known, seen.flatMap(sightings), false);
        expect(findViolations(atOnce)).toEqual([]);
        const shuffled = seen.toSorted((a, b) => place(a) - place(b));
        let stepwise = known;
        for (let first = 0; first < shuffled.length; first += size) {
          const some = shuffled.slice(first, first + size).flatMap(sightings);
          stepwise = extended(stepwise, some.toReversed(), false);
        }
        expect(stored(stepwise ?? atOnce)).toEqual(stored(atOnce));
        const elsewhere = extended(null, exported(atOnce), false);
        expect(exported(elsewhere)).toEqual(exported(atOnce));
        expect([elsewhere.stays, stored(elsewhere).headers]).toEqual([atOnce.stays, stored(atOnce).headers]);
      },
    ),
    { numRuns: repeats(2_000, 200) },
  );
});

/** Complete observations of every type, or all of one, in the order of time, each of which changes something. */
const changing = fc.tuple(inOrder, fc.boolean()).map(([observations, areOfAddresses]) => {
  let history: StoredHistory | null = null;
  const kept: Observation[] = [];
  for (const { httpHeaders: _, dns, ...each } of observations) {
    const records = new Map(dns?.records);
    if (areOfAddresses) records.delete('MX');
    const complete = { ...each, dns: { records, ...(areOfAddresses && { types: new Set(['A']) }) } };
    if (dns === undefined) continue;
    const before: StoredHistory | null = history;
    const { outcomes } = extendHistory(before, [complete], { older: false });
    if (outcomes[0]?.kind !== 'changed') continue;
    history = extended(before, [complete], false);
    kept.push(complete);
  }
  return kept;
});

test('passive DNS and complete observations that each changed something give the same history, and the same reasons why changes are routine, in whatever order they are imported', () => {
  fc.assert(
    fc.property(
      changing,
      fc.array(anySighting, { minLength: 1, maxLength: 12 }),
      fc.func(fc.nat()),
      (observations, seen, place) => {
        // Of one at the time of a complete observation, only that one counts.
        const sighted = seen
          .flatMap(sightings)
          .map((each) => ({ ...each, observedAt: each.observedAt + 1n }));
        fc.pre(observations.length > 0);
        const expected = extended(extended(null, observations, false), sighted, false);
        // Of the complete ones, each is later than those before: an earlier one would be stale.
        const others = [...sighted.keys()].map((index) => place(index) % (observations.length + 1));
        const lines = [...observations.keys(), observations.length].flatMap((next) => [
          ...sighted.filter((_, index) => others[index] === next),
          ...observations.slice(next, next + 1),
        ]);
        let history: StoredHistory | null = null;
        for (const line of lines) history = extended(history, [line], false);
        expect(history && stored(history)).toEqual(stored(expected));
      },
    ),
    { numRuns: repeats(2_000, 200) },
  );
});

test('a record that was sighted is removed at the first kept evidence of its absence', () => {
  const known = historyOf([
    observation({ at: 5, records: ['192.0.2.1'] }),
    observation({ at: 10, records: ['192.0.2.1', '192.0.2.2'] }),
    observation({ at: 20, records: ['192.0.2.1', '192.0.2.2'] }),
  ]);
  const record = addressRecord('example.com', '192.0.2.9');
  const after = (from: number, to: number) =>
    extended(known, sightings({ record, from, to, source: 'cof' }), false)
      .stays.filter(({ record: { rdata } }) => rdata.includes('192.0.2.9'))
      .map(({ firstSeen, removal }) => [firstSeen, removal?.lastSeen, removal?.removed]);
  expect(after(1, 3)).toEqual([[1, 3, 5].map(instant)]);
  expect(after(6, 7)).toEqual([[6, 7, 10].map(instant)]);
  expect(after(6, 15)).toEqual([[6, 6, 10].map(instant), [15, 15, 20].map(instant)]);
  expect(after(25, 30)).toEqual([[instant(25), undefined, undefined]]);
});

test('a complete observation among sightings removes what it does not hold, until it is sighted again', () => {
  const seen = ['192.0.2.1', '192.0.2.2'].flatMap((ip) =>
    sightings({ record: addressRecord('example.com', ip), from: 2, to: 12, source: 'cof' }),
  );
  const late = extended(extended(null, seen, false), [observation({ at: 6, records: ['192.0.2.1'] })], false);
  expect(late.stays.map(({ firstSeen, removal }) => [firstSeen, removal?.removed ?? null])).toEqual([
    [instant(2), null],
    [instant(2), instant(6)],
    [instant(12), null],
  ]);
  expect(findViolations(late)).toEqual([]);
});

const TYPES = ['A', 'MX', 'TXT'];

/** What was accepted of each type, one by one: when it was observed, and what it held. */
class Evidence {
  readonly #observed = new Map(TYPES.map((type) => [type, new Map<bigint, ReadonlySet<string>>()]));
  readonly #sighted = new Set<string>();

  /** Observations in the order in which they come: after the latest of a type. */
  add(observations: readonly Observation[]): void {
    for (const observation of observations)
      this.#addWhere(observation, (at, times) => times.every((time) => time < at));
  }

  /** Observations that come together: before the first of a type, or after the latest. */
  addOlder(observations: readonly Observation[]): void {
    const known = new Map(Array.from(this.#observed, ([type, times]) => [type, [...times.keys()]]));
    const counts = (at: bigint, _times: readonly bigint[], type: string) => {
      const before = known.get(type) ?? [];
      return before.every((time) => time < at) || before.every((time) => time > at);
    };
    for (const observation of observations) this.#addWhere(observation, counts);
  }

  #addWhere(
    { dns, observedAt }: Observation,
    counts: (at: bigint, times: readonly bigint[], type: string) => boolean,
  ): void {
    for (const type of dns === undefined ? [] : (dns.types ?? TYPES)) {
      const times = this.#observed.get(type);
      if (times?.has(observedAt) !== false || !counts(observedAt, [...times.keys()], type)) continue;
      times.set(observedAt, new Set((dns?.records.get(type) ?? []).map(identityOf)));
    }
  }

  addSightings(observations: readonly Observation[]): void {
    for (const { dns, observedAt } of observations) {
      for (const record of [...(dns?.records.values() ?? [])].flat())
        this.#sighted.add(`${identityOf(record)} ${record.type} ${observedAt}`);
    }
  }

  /** The times of a history's stays at which the record was not seen, or was, when it is told to be gone. */
  contradictions({ state, stays }: StoredHistory): string[] {
    return stays.flatMap((stay) => {
      const { record, firstSeen, removal } = stay;
      const held = this.#observed.get(record.type);
      const isSeen = (at: bigint) =>
        held?.get(at)?.has(identityOf(record)) === true ||
        this.#sighted.has(`${identityOf(record)} ${record.type} ${at}`);
      const lastSeen = removal?.lastSeen ?? lastSeenOf(stay, latestOfType(state, record.type));
      const isGone = removal === null || held?.get(removal.removed)?.has(identityOf(record)) === false;
      return [firstSeen, lastSeen].every(isSeen) && isGone ? [] : [`${identityOf(record)} ${lastSeen}`];
    });
  }
}

/** Which of several observers at one time it was is not always known. */
function withoutSources({ stays }: StoredHistory) {
  return stays.map(({ source: _, removal, ...stay }) => ({
    ...stay,
    removal: removal && { ...removal, source: undefined },
  }));
}

test('each time that is told of a record is that of an observation of its type, or of a sighting: after late, older and sighted ones, and as exported', () => {
  fc.assert(
    fc.property(
      fc.array(anyParts, { minLength: 1, maxLength: 10 }),
      fc.array(anySighting, { maxLength: 3 }),
      fc.array(anyParts, { minLength: 1, maxLength: 4 }),
      (parts, seen, older) => {
        const [observations, before] = [parts.map(observation), older.map(observation)];
        const evidence = new Evidence();
        evidence.add(observations);
        const known = historyOf(observations);
        expect(evidence.contradictions(known)).toEqual([]);
        const sighted = seen.flatMap(sightings);
        evidence.addSightings(sighted);
        const among = sighted.length === 0 ? known : extended(known, sighted, false);
        expect(evidence.contradictions(among)).toEqual([]);
        evidence.addOlder(before);
        const backfilled = extended(among, before, true);
        expect(evidence.contradictions(backfilled)).toEqual([]);
        expect(findViolations(backfilled)).toEqual([]);
        for (const history of [known, among, backfilled]) {
          const elsewhere = extended(null, exported(history), false);
          expect(evidence.contradictions(elsewhere)).toEqual([]);
          if (sighted.length === 0) expect(withoutSources(elsewhere)).toEqual(withoutSources(history));
          const { created, lastUpdate } = elsewhere.state;
          expect({ ...history.state, created, lastUpdate }).toEqual(history.state);
        }
      },
    ),
    { numRuns: repeats(5_000, 200) },
  );
});

test('an observation of all types that is stale for a known one tells nothing of it, beside sightings', () => {
  const mx = extended(null, [observation({ at: 10, records: [exchangeRecord('a')], types: ['MX'] })], false);
  const record = addressRecord('example.com', '192.0.2.1');
  const sighted = extended(mx, sightings({ record, from: 5, to: 5, source: 'cof' }), false);
  const late = extendHistory(sighted, [observation({ at: 1, records: [] })], { older: false });
  expect(late.outcomes).toMatchObject([{ kind: 'unchanged', isPartial: true }]);
  expect(late.state.everyType).toBeNull();
  expect(late.stays.find(({ record }) => record.type === 'MX')).toMatchObject({ routine: 'INITIAL' });
});
