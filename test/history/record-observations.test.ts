import { describe, expect, test } from 'vitest';
import { mergeChanges } from '../../src/history/diff.js';
import { partsToLoad, recordObservations } from '../../src/history/record-observations.js';
import { holdNothing } from '../../src/history/state.js';
import type { Observation } from '../../src/model/observation.js';
import { historyOf } from '../support/histories.js';
import { instant, type ObservationParts, observation } from '../support/observations.js';

/** Records observations of a new domain, and tells the story in short. */
function recordAll(observations: readonly Observation[]) {
  const holdings = holdNothing();
  const { state, changes, outcomes } = recordObservations(null, holdings, observations);
  const { added, headers } = mergeChanges(changes);
  return {
    state,
    holdings,
    kinds: outcomes.map(({ kind }) => kind),
    contradictions: outcomes.map(({ contradicts }) => contradicts),
    /** When each record was first seen, removed and last seen. */
    stays: added.map(({ firstSeen, removal, record: { rdata } }) => [
      ...[textOf(rdata), seconds(firstSeen), seconds(removal?.removed), seconds(removal?.lastSeen)],
    ]),
    headers: headers.map(({ name, observedAt, kind, value }) => [seconds(observedAt), name, kind, value]),
  };
}

const record = (...parts: ObservationParts[]) => recordAll(parts.map(observation));

function textOf(rdata: string): unknown {
  const { ip, target } = JSON.parse(rdata);
  return ip ?? target;
}

function seconds(time: bigint | undefined): number | null {
  return time === undefined ? null : Number((time - instant(0)) / 1_000_000n);
}

const MX = { host: 'example.com', class: 'IN', type: 'MX', pri: 10, target: 'mail' };
const [ONE, TWO] = ['192.0.2.1', '192.0.2.2'];

type Records = NonNullable<ObservationParts['records']>;
const look = (at: number, ...records: Records): ObservationParts => ({ at, records });
const lookFor = (type: string, ...[at, ...records]: Parameters<typeof look>) => ({
  ...{ at, records, types: [type] },
});

describe('DNS records', () => {
  test.each<[what: string, parts: ObservationParts[], stays: unknown[][]]>([
    ['a record that is not known begins, and is not removed', [look(5, ONE)], [[ONE, 5, null, null]]],
    [
      'a record that is no longer held is removed, and was last seen at the observation before',
      [look(1, ONE), look(3, ONE), look(9)],
      [[ONE, 1, 9, 3]],
    ],
    [
      'a record that comes back begins anew, and its first stay remains as it was',
      [look(1, ONE), look(2, TWO), look(3, ONE)],
      [
        [ONE, 1, 2, 1],
        [TWO, 2, 3, 2],
        [ONE, 3, null, null],
      ],
    ],
    [
      'a type that was not queried keeps its records',
      [look(1, ONE, MX), lookFor('A', 2)],
      [
        [ONE, 1, 2, 1],
        ['mail', 1, null, null],
      ],
    ],
    [
      'types queried one by one count, even where their times interleave',
      [lookFor('A', 10, ONE), lookFor('MX', 5, MX), lookFor('MX', 7)],
      [
        [ONE, 10, null, null],
        ['mail', 5, 7, 5],
      ],
    ],
    [
      'an observation of every type that is late acts on the types whose latest is older',
      [lookFor('A', 10, ONE), look(5, TWO, MX)],
      [
        [ONE, 10, null, null],
        ['mail', 5, null, null],
      ],
    ],
    ['an observation of every type is one of types not yet seen', [look(10), lookFor('MX', 5, MX)], []],
  ])('%s', (_what, parts, stays) => {
    expect(record(...parts).stays).toEqual(stays);
  });

  test('a domain is created at its earliest observation, updated at its latest, and changed at its latest change', () => {
    const { state, kinds } = record(lookFor('A', 10, ONE), lookFor('MX', 5, MX), look(12, ONE, MX));
    expect(kinds).toEqual(['changed', 'changed', 'unchanged']);
    expect(state).toMatchObject({ created: instant(5), lastUpdate: instant(12), lastChange: instant(10) });
    expect(record(look(1)).state?.lastChange).toBeNull();
  });
});

const head = (at: number, headers: ObservationParts['headers'] = {}): ObservationParts => ({ at, headers });

describe('HTTP headers', () => {
  test('a first value is created, another value is an update, an equal value adds nothing', () => {
    const story = record(head(1, { server: 'a' }), head(2, { server: 'a' }), head(3, { server: 'b' }));
    expect(story.headers).toEqual([
      [1, 'server', 'created', 'a'],
      [3, 'server', 'updated', 'b'],
    ]);
    expect(story.kinds).toEqual(['changed', 'unchanged', 'changed']);
  });

  test('an absence is kept with its date, and so is the return with the same value, or another', () => {
    const [a, b] = [{ server: 'a' }, { server: 'b' }];
    const story = record(head(1, a), head(2), head(3), head(4, a), head(5), head(6, b));
    expect(story.headers).toEqual([
      [1, 'server', 'created', 'a'],
      [2, 'server', 'gone', null],
      [4, 'server', 'returned', 'a'],
      [5, 'server', 'gone', null],
      [6, 'server', 'updated', 'b'],
    ]);
    expect(story.state?.lastChange).toBe(instant(6));
  });

  test('a value that is replaced keeps when it was last seen, also where an absence came between', () => {
    const [both, one] = [{ server: 'a', via: 'x' }, { via: 'x' }];
    const parts = [
      head(1, both),
      head(2, both),
      head(3, one),
      head(4, one),
      head(5, { server: 'b', via: 'y' }),
    ];
    const { headers } = historyOf(parts.map(observation));
    const updated = headers.filter(({ value }) => value === 'b' || value === 'y');
    expect(updated.map(({ name, lastSeen }) => [name, lastSeen])).toEqual([
      ['server', instant(2)],
      ['via', instant(4)],
    ]);
  });

  test('headers and DNS are parts of their own: each has its own latest time', () => {
    const story = record(look(10, ONE), head(5, { server: 'a' }), look(5));
    expect(story.kinds).toEqual(['changed', 'changed', 'stale']);
  });
});

describe('headers that an observer leaves out', () => {
  const leavingOut = (at: number, headers: Record<string, string>): Observation => ({
    ...observation({ at, headers }),
    ignoredHeaders: new Set(['date', 'age']),
  });
  const complete = observation({ at: 1, headers: { server: 'a', via: 'x', date: 'Mon' } });
  const same = (at: number) => leavingOut(at, { server: 'a', via: 'x' });

  test('are neither gone nor changed until a complete observation misses them, and the others are compared as always', () => {
    const { kinds, headers } = recordAll([
      ...[complete, same(2), leavingOut(3, { server: 'b' })],
      observation({ at: 4, headers: { server: 'b' } }),
    ]);
    expect(kinds).toEqual(['changed', 'unchanged', 'changed', 'changed']);
    expect(headers.slice(3)).toEqual([
      [3, 'server', 'updated', 'b'],
      [3, 'via', 'gone', null],
      [4, 'date', 'gone', null],
    ]);
  });

  test('make an observation that comes again no contradiction of itself, its headers being known or not yet', () => {
    const repeated = [
      { kind: 'repeated', contradicts: false, precedes: false, isPartial: false, heldBack: null },
    ];
    const { state, holdings } = recordAll([complete]);
    expect(partsToLoad(state, [same(1)])).toEqual(new Set(['HTTP headers']));
    expect(recordObservations(state, holdings, [same(1)]).outcomes).toEqual(repeated);
    const looked = recordObservations(state, holdings, [same(2)]);
    expect(recordObservations(looked.state, holdNothing(), [same(2)]).outcomes).toEqual(repeated);
  });
});

describe('the same time again', () => {
  test('changes nothing, and is a contradiction where it holds something else', () => {
    const story = record(
      { at: 1, records: [ONE], headers: { server: 'a' } },
      { at: 1, records: [ONE] },
      { at: 1, records: [TWO] },
      { at: 1, headers: { server: 'b' } },
    );
    expect(story.kinds).toEqual(['changed', 'repeated', 'repeated', 'repeated']);
    expect(story.contradictions).toEqual([false, false, true, true]);
    expect(story.stays).toHaveLength(1);
  });

  test('an older observation changes nothing and is stale', () => {
    const story = record(look(2, ONE), look(1));
    expect(story.kinds).toEqual(['changed', 'stale']);
    expect(story.state?.created).toBe(instant(2));
  });
});

describe('what a domain holds', () => {
  test('is needed only of the parts in which an observation differs', () => {
    const { state } = record({ at: 1, records: [ONE, MX] });
    const later = [2, 3, 4].map((at) => observation({ at, records: [at < 4 ? ONE : TWO, MX] }));
    expect(partsToLoad(state, later.slice(0, 2))).toEqual(new Set());
    expect(partsToLoad(state, later)).toEqual(new Set(['A']));
  });

  test('is not needed for a first response after unchanged headers', () => {
    const look = (at: number) => observation({ at, headers: { server: 'a' } });
    const { state } = recordAll([look(1)]);
    const response = { scheme: 'https', status: 200, address: null } as const;
    expect(partsToLoad(state, [{ ...look(2), response }, look(3)])).toEqual(new Set());
  });
});
