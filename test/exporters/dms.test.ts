import fc from 'fast-check';
import { expect, test } from 'vitest';
import { exportDms } from '../../src/exporters/dms.js';
import { extendHistory } from '../../src/history/extend-history.js';
import { headerPeriods, staysAsOf } from '../../src/history/stays-as-of.js';
import type { StoredHistory } from '../../src/history/stored-history.js';
import { findViolations } from '../../src/history/violations.js';
import { parseDmsLine } from '../../src/importers/dms.js';
import type { Instant } from '../../src/model/instant.js';
import type { Observation } from '../../src/model/observation.js';
import { historyOf } from '../support/histories.js';
import { repeats } from '../support/long-form.js';
import { addressRecord, instant, NOW, observation } from '../support/observations.js';

const time = fc.integer({ min: 0, max: 12 });
const address = fc
  .constantFrom('192.0.2.1', '192.0.2.2', '192.0.2.3')
  .map((ip) => addressRecord('example.com', ip));
const mx = { host: 'example.com', class: 'IN', type: 'MX', target: 'mail.example.com' };
const exchange = fc.constantFrom(1, 2).map((pri) => ({ ...mx, pri }));
const value = fc.constantFrom('a', 'b');
const headers = fc.dictionary(fc.constantFrom('server', 'via'), value, { noNullPrototype: true });
const dns = fc.record({
  records: fc.array(fc.oneof(address, exchange), { maxLength: 4 }),
  types: fc.constantFrom<string[] | undefined>(undefined, ['A'], ['MX'], ['A', 'MX']),
});
const optional = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined });

const source = optional(fc.constantFrom('one', 'two'));
const anyObservation = fc
  .record({ at: time, dns: optional(dns), headers: optional(headers), source })
  .filter((parts) => parts.dns !== undefined || parts.headers !== undefined)
  .map(({ dns: { records, types } = {}, ...parts }) => {
    const isQueried = ({ type }: Record<string, unknown>) => types?.includes(String(type)) ?? true;
    return observation({ ...parts, types, records: records?.filter(isQueried) });
  });
const observations = fc.array(anyObservation, { minLength: 1, maxLength: 12 });

/** What the API shows of a history. */
function shown({ state, stays, headers: changes }: StoredHistory) {
  const { created, lastUpdate, lastChange } = state;
  const records = stays.map(({ firstSeen, position, record, source: who, removal }) => {
    return [firstSeen, position, record, who, removal?.removed, removal?.source];
  });
  return { created, lastUpdate, lastChange, records, changes };
}

/** All that is shown of a history, and all by which later observations are judged. */
function stored({ state, stays, headers: changes }: StoredHistory) {
  const fields = changes.map(({ name, observedAt, value, lastSeen, source: who }) => {
    return { name, observedAt, value, lastSeen, who };
  });
  return { state, stays, fields };
}

const parsed = (lines: Iterable<string>) => Array.from(lines, (line) => parseDmsLine(line, NOW));

/** A history after observations that come together: before the first of a part, or after the latest. */
function withOlder(history: StoredHistory, older: readonly Observation[]) {
  if (older.length === 0) return { history, outcomes: [] };
  const extended = extendHistory(history, older, { older: true });
  return { history: { ...history, ...extended }, outcomes: extended.outcomes };
}

test('what is exported and recorded elsewhere gives the same history, and the same of what comes later: late, older and partial observations, too', () => {
  const some = fc.array(anyObservation, { maxLength: 4 });
  fc.assert(
    fc.property(observations, some, some, (first, later, older) => {
      const original = historyOf(first);
      const lines = parsed(exportDms(original));
      const copy = historyOf(lines);
      expect(stored(copy)).toEqual(stored(original));
      expect(findViolations(original)).toEqual([]);
      expect(findViolations(historyOf(lines.slice(0, Math.ceil(lines.length / 2))))).toEqual([]);
      expect(stored(historyOf([...lines, ...later]))).toEqual(stored(historyOf([...first, ...later])));
      const [extended, elsewhere] = [withOlder(original, older), withOlder(copy, older)];
      expect(stored(elsewhere.history)).toEqual(stored(extended.history));
      expect(elsewhere.outcomes).toEqual(extended.outcomes);
      const ofExtended = parsed(exportDms(extended.history));
      expect(stored(historyOf(ofExtended))).toEqual(stored(extended.history));
    }),
    { numRuns: repeats(5_000, 300) },
  );
});

test('what is exported as of an instant and recorded elsewhere gives what the observations up to it gave', () => {
  fc.assert(
    fc.property(observations, time, (unordered, seconds) => {
      const at = instant(seconds);
      // In the order of time none is stale: each is part of the history.
      const ordered = unordered.sort((one, other) => Number(one.observedAt - other.observedAt));
      const lines = [...exportDms(historyOf(ordered), { at })];
      const upTo = ordered.filter(({ observedAt }) => observedAt <= at);
      if (upTo.length === 0) {
        expect(lines).toEqual([]);
        return;
      }
      // Of an observation that changed nothing the time may be lost.
      const { lastUpdate, ...copy } = shown(historyOf(parsed(lines)));
      const { lastUpdate: latest, ...expected } = shown(historyOf(upTo));
      expect(copy).toEqual(expected);
      expect(lastUpdate).toBeLessThanOrEqual(latest);
    }),
    { numRuns: 500 },
  );
});

function known(history: StoredHistory, at?: Instant) {
  return { stays: staysAsOf(history, at), periods: headerPeriods(history, at) };
}

/** What is known of the history that lines give, of which there may be none. */
function recorded(lines: Iterable<string>): ReturnType<typeof known> {
  const given = parsed(lines);
  return given.length === 0 ? { stays: [], periods: [] } : known(historyOf(given));
}

/** The records and header values that are there. */
function presentIn({ stays, periods }: ReturnType<typeof known>) {
  const isThere = ({ removed }: { readonly removed: Instant | null }) => removed === null;
  const records = stays.filter(isThere).map(({ record }) => record);
  records.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  return { records, values: new Map(periods.filter(isThere).map(({ name, value }) => [name, value])) };
}

const someTypes = fc.constantFrom(undefined, new Set(['A']), new Set(['A', 'MX']), new Set(['TXT']));
const someTime = optional(time.map(instant));

test('what is exported of some types and recorded elsewhere gives that part of the history', () => {
  fc.assert(
    fc.property(observations, someTypes, someTime, (given, types, at) => {
      const original = historyOf(given);
      const whole = recorded(exportDms(original, { at }));
      const copy = recorded(exportDms(original, { at, types }));
      expect(copy.stays).toEqual(whole.stays.filter(({ record: { type } }) => types?.has(type) ?? true));
      expect(copy.periods).toEqual(types === undefined ? whole.periods : []);
    }),
    { numRuns: 500 },
  );
});

test('what is exported of what is present has all of it, and tells of no absence that was not seen', () => {
  fc.assert(
    fc.property(observations, someTypes, someTime, (given, types, at) => {
      const original = historyOf(given);
      const lines = [...exportDms(original, { at, types, present: true })];
      expect(presentIn(recorded(lines))).toEqual(presentIn(recorded(exportDms(original, { at, types }))));
      for (const { observedAt, dns: seen, httpHeaders } of parsed(lines)) {
        const { records, values } = presentIn(known(original, observedAt));
        const wanted = records.filter(({ type }) => seen?.types?.has(type) ?? true);
        if (seen !== undefined) expect(new Set([...seen.records.values()].flat())).toEqual(new Set(wanted));
        if (httpHeaders !== undefined) expect(httpHeaders).toEqual(values);
      }
    }),
    { numRuns: 500 },
  );
});

test('who observed a type without records is exported, where the same line changed headers and another observer all types', () => {
  const original = historyOf([
    observation({ at: 5, headers: { server: 'a' }, source: 'two' }),
    observation({ at: 5, types: ['A'], records: [], source: 'two' }),
    observation({ at: 5, records: [{ ...mx, pri: 1 }] }),
  ]);
  const older = [observation({ at: 0, records: ['192.0.2.1'] })];
  const removal = { removed: instant(5), lastSeen: instant(0), source: 'two', routine: null };
  for (const history of [original, historyOf(parsed(exportDms(original)))])
    expect(withOlder(history, older).history.stays[0]).toMatchObject({ record: { type: 'A' }, removal });
});

test('of what changed nothing, the first and latest of each part are exported, and the last before a removal or another value', () => {
  const given = [
    ...[1, 2, 3, 4].map((at) => observation({ at, records: ['192.0.2.1'] })),
    ...[5, 6, 7].map((at) => observation({ at, records: [] })),
    ...[11, 12, 13, 14].map((at) => observation({ at, headers: { server: at < 13 ? 'a' : 'b' } })),
  ];
  const exported = parsed(exportDms(historyOf(given))).map(({ observedAt }) => observedAt);
  expect(exported).toEqual([1, 4, 5, 7, 11, 12, 13, 14].map(instant));
});

test('an observation of all types that is late for one is one of the others by name, of types not seen before, too', () => {
  const text = { host: 'example.com', class: 'IN', type: 'TXT', txt: 'a', entries: ['a'] };
  const late = [
    observation({ at: 10, records: ['192.0.2.1', text] }),
    observation({ at: 51, records: [], types: ['A'] }),
    observation({ at: 50, records: [text] }),
  ];
  const exportedTypes = (given: Parameters<typeof historyOf>[0]) =>
    Array.from(exportDms(historyOf(given)), (line) => JSON.parse(line).dnsTypes);
  expect(exportedTypes(late)).toEqual([undefined, ['TXT', '*', '!A'], ['A']]);
  const older = observation({ at: 49, records: [{ ...mx, pri: 1 }], types: ['MX'] });
  expect(exportedTypes([...late, older])).toEqual([undefined, ['TXT', '*', '!A'], ['A']]);
  const unknown = [observation({ at: 51, records: [], types: ['A'] }), observation({ at: 50, records: [] })];
  expect(exportedTypes(unknown)).toEqual([['*', '!A'], ['A']]);
});
