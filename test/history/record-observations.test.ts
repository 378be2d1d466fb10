import { describe, expect, test } from 'vitest';
import { mergeChanges } from '../../src/history/merge-changes.js';
import { heldAfter, recordObservations, UNRECORDED } from '../../src/history/record-observations.js';
import { historyOf } from '../support/histories.js';
import { instant, type ObservationParts, observation } from '../support/observations.js';

/** Records observations of a new domain, and tells the story in short. */
function record(...parts: ObservationParts[]) {
  const progress = recordObservations(UNRECORDED, parts.map(observation));
  const { added, headers } = mergeChanges(progress.changes);
  return {
    state: progress.state,
    kinds: progress.outcomes.map(({ kind }) => kind),
    contradictions: progress.outcomes.map(({ contradicts }) => contradicts),
    stays: added.map(({ firstSeen, removal, record: { type, rdata } }) => ({
      type,
      rdata,
      firstSeen: seconds(firstSeen),
      removed: removal === null ? null : seconds(removal.removed),
      lastSeen: removal === null ? null : seconds(removal.lastSeen),
    })),
    headers: headers.map(({ name, observedAt, kind, value }) => [seconds(observedAt), name, kind, value]),
  };
}

function seconds(time: bigint): number {
  return Number((time - instant(0)) / 1_000_000n);
}

const MX = { host: 'example.com', class: 'IN', type: 'MX', pri: 10, target: 'mail.example.com' };
const ONE = '{"ip":"192.0.2.1"}';
const TWO = '{"ip":"192.0.2.2"}';

describe('DNS records', () => {
  test('a record that is not known begins with the time of the observation and is not removed', () => {
    expect(record({ at: 5, records: ['192.0.2.1'] }).stays).toEqual([
      { type: 'A', rdata: ONE, firstSeen: 5, removed: null, lastSeen: null },
    ]);
  });

  test('a record that is no longer held is removed, and was last seen at the observation before', () => {
    const story = record(
      { at: 1, records: ['192.0.2.1'] },
      { at: 3, records: ['192.0.2.1'] },
      { at: 9, records: [] },
    );
    expect(story.stays).toEqual([{ type: 'A', rdata: ONE, firstSeen: 1, removed: 9, lastSeen: 3 }]);
    expect(story.kinds).toEqual(['changed', 'unchanged', 'changed']);
  });

  test('a record that comes back begins anew, and its first stay remains as it was', () => {
    const story = record(
      { at: 1, records: ['192.0.2.1'] },
      { at: 2, records: ['192.0.2.2'] },
      { at: 3, records: ['192.0.2.1'] },
    );
    expect(story.stays).toEqual([
      { type: 'A', rdata: ONE, firstSeen: 1, removed: 2, lastSeen: 1 },
      { type: 'A', rdata: TWO, firstSeen: 2, removed: 3, lastSeen: 2 },
      { type: 'A', rdata: ONE, firstSeen: 3, removed: null, lastSeen: null },
    ]);
  });

  test('a type that was not queried keeps its records', () => {
    const story = record({ at: 1, records: ['192.0.2.1', MX] }, { at: 2, records: [], types: ['A'] });
    expect(story.stays.map(({ type, removed }) => [type, removed])).toEqual([
      ['A', 2],
      ['MX', null],
    ]);
  });

  test('types queried one by one count, even where their times interleave', () => {
    const story = record(
      { at: 10, records: ['192.0.2.1'], types: ['A'] },
      { at: 5, records: [MX], types: ['MX'] },
      { at: 7, records: [], types: ['MX'] },
    );
    expect(story.kinds).toEqual(['changed', 'changed', 'changed']);
    expect(story.stays.find(({ type }) => type === 'MX')).toMatchObject({ firstSeen: 5, removed: 7 });
    expect(story.state).toMatchObject({
      created: instant(5),
      lastUpdate: instant(10),
      lastChange: instant(10),
    });
  });

  test('an observation of every type is a time for types not yet seen too', () => {
    const story = record({ at: 10, records: [] }, { at: 5, records: [MX], types: ['MX'] });
    expect(story.kinds).toEqual(['unchanged', 'stale']);
    expect(story.stays).toEqual([]);
  });

  test('an observation of every type that is late acts on the types whose latest is older', () => {
    const story = record(
      { at: 10, records: ['192.0.2.1'], types: ['A'] },
      { at: 5, records: ['192.0.2.2', MX] },
    );
    expect(story.kinds).toEqual(['changed', 'changed']);
    expect(story.stays.map(({ type, firstSeen }) => [type, firstSeen])).toEqual([
      ['A', 10],
      ['MX', 5],
    ]);
  });

  test('an unchanged observation moves lastUpdate and leaves lastChange', () => {
    const { state } = record({ at: 1, records: ['192.0.2.1'] }, { at: 8, records: ['192.0.2.1'] });
    expect(state).toMatchObject({ created: instant(1), lastUpdate: instant(8), lastChange: instant(1) });
  });

  test('a domain of which nothing ever changed has no last change', () => {
    expect(record({ at: 1, records: [] }).state?.lastChange).toBeNull();
  });
});

describe('HTTP headers', () => {
  test('a first value is created, another value is an update, an equal value adds nothing', () => {
    const story = record(
      { at: 1, headers: { server: 'a' } },
      { at: 2, headers: { server: 'a' } },
      { at: 3, headers: { server: 'b' } },
    );
    expect(story.headers).toEqual([
      [1, 'server', 'created', 'a'],
      [3, 'server', 'updated', 'b'],
    ]);
    expect(story.kinds).toEqual(['changed', 'unchanged', 'changed']);
  });

  test('an absence is kept with its date, and so is the return with the same value', () => {
    const story = record(
      { at: 1, headers: { server: 'a' } },
      { at: 2, headers: {} },
      { at: 3, headers: {} },
      { at: 4, headers: { server: 'a' } },
    );
    expect(story.headers).toEqual([
      [1, 'server', 'created', 'a'],
      [2, 'server', 'gone', null],
      [4, 'server', 'returned', 'a'],
    ]);
    expect(story.state?.lastChange).toBe(instant(4));
  });

  test('a header that returns with another value is updated', () => {
    const story = record(
      { at: 1, headers: { server: 'a' } },
      { at: 2, headers: {} },
      { at: 3, headers: { server: 'b' } },
    );
    expect(story.headers.at(-1)).toEqual([3, 'server', 'updated', 'b']);
  });

  test('a value that is replaced keeps when it was last seen, also where an absence came between', () => {
    const observations = [
      { at: 1, headers: { server: 'a', via: 'x' } },
      { at: 2, headers: { server: 'a', via: 'x' } },
      { at: 3, headers: { via: 'x' } },
      { at: 4, headers: { via: 'x' } },
      { at: 5, headers: { server: 'b', via: 'y' } },
    ];
    const { headers } = historyOf(observations.map(observation));
    const updated = headers.filter(({ value }) => value === 'b' || value === 'y');
    expect(updated.map(({ name, lastSeen }) => [name, lastSeen])).toEqual([
      ['server', instant(2)],
      ['via', instant(4)],
    ]);
  });

  test('headers and DNS are parts of their own: each has its own latest time', () => {
    const story = record(
      { at: 10, records: ['192.0.2.1'] },
      { at: 5, headers: { server: 'a' } },
      { at: 5, records: [] },
    );
    expect(story.kinds).toEqual(['changed', 'changed', 'stale']);
  });
});

describe('headers that an observer leaves out', () => {
  const ignored = new Set(['date', 'age']);

  /** Records a complete observation, and then others of an observer that leaves out `date` and `age`. */
  function recordLeavingOut(complete: ObservationParts, ...others: ObservationParts[]) {
    const left = others.map((parts) => ({ ...observation(parts), ignoredHeaders: ignored }));
    const progress = recordObservations(UNRECORDED, [observation(complete), ...left]);
    const { headers } = mergeChanges(progress.changes);
    return {
      progress,
      story: headers.map(({ observedAt, name, kind, value, old }) => [
        seconds(observedAt),
        name,
        kind,
        value,
        old,
      ]),
    };
  }

  test('are neither gone nor changed, and the others are compared as always', () => {
    const { story } = recordLeavingOut(
      { at: 1, headers: { server: 'a', via: 'x', date: 'Mon' } },
      { at: 2, headers: { server: 'a', via: 'x' } },
      { at: 3, headers: { server: 'b' } },
    );
    expect(story.slice(3)).toEqual([
      [3, 'server', 'updated', 'b', 'a'],
      [3, 'via', 'gone', null, 'x'],
    ]);
  });

  test('leave an observation unchanged that differs in nothing else', () => {
    const { progress } = recordLeavingOut(
      { at: 1, headers: { server: 'a', date: 'Mon' } },
      { at: 2, headers: { server: 'a' } },
    );
    expect(progress.outcomes.map(({ kind }) => kind)).toEqual(['changed', 'unchanged']);
  });

  test('make an observation that comes again no contradiction of itself, its headers being known or not yet', () => {
    const again = (at: number) => ({
      ...observation({ at, headers: { server: 'a' } }),
      ignoredHeaders: ignored,
    });
    const repeated = [
      { kind: 'repeated', contradicts: false, precedes: false, isPartial: false, heldBack: null },
    ];
    const { progress: complete } = recordLeavingOut({ at: 1, headers: { server: 'a', date: 'Mon' } });
    const { state } = complete;
    const holdings = heldAfter(complete);
    expect(recordObservations({ state, holdings: null }, [again(1)])).toBeNull();
    expect(recordObservations({ state, holdings }, [again(1)]).outcomes).toEqual(repeated);

    const looked = recordObservations({ state, holdings }, [again(2)]);
    const known = recordObservations({ state: looked.state, holdings: null }, [again(2)]);
    expect(known?.outcomes).toEqual(repeated);
  });

  test('are gone when a complete observation misses them', () => {
    const { progress } = recordLeavingOut(
      { at: 1, headers: { server: 'a', date: 'Mon' } },
      { at: 2, headers: { server: 'a' } },
    );
    const known = { state: progress.state, holdings: heldAfter(progress) };
    const later = recordObservations(known, [observation({ at: 3, headers: { server: 'a' } })]);
    expect(mergeChanges(later.changes).headers.at(-1)).toMatchObject({
      name: 'date',
      kind: 'gone',
      old: 'Mon',
    });
  });
});

describe('the same time again', () => {
  test('the same observation again changes nothing and is no contradiction', () => {
    const story = record({ at: 1, records: ['192.0.2.1'] }, { at: 1, records: ['192.0.2.1'] });
    expect(story.kinds).toEqual(['changed', 'repeated']);
    expect(story.contradictions).toEqual([false, false]);
  });

  test('another observation at the same time changes nothing and is reported as a contradiction', () => {
    const story = record(
      { at: 1, records: ['192.0.2.1'], headers: { server: 'a' } },
      { at: 1, records: ['192.0.2.2'] },
      { at: 1, headers: { server: 'b' } },
    );
    expect(story.kinds).toEqual(['changed', 'repeated', 'repeated']);
    expect(story.contradictions).toEqual([false, true, true]);
    expect(story.stays).toHaveLength(1);
  });

  test('an older observation changes nothing and is stale', () => {
    const story = record({ at: 2, records: ['192.0.2.1'] }, { at: 1, records: [] });
    expect(story.kinds).toEqual(['changed', 'stale']);
    expect(story.state?.created).toBe(instant(2));
  });
});

test('what a domain holds is needed only where an observation differs', () => {
  const { state } = recordObservations(UNRECORDED, [observation({ at: 1, records: ['192.0.2.1'] })]);
  const later = [2, 3, 4].map((at) => observation({ at, records: [at < 4 ? '192.0.2.1' : '192.0.2.2'] }));
  const unchanged = recordObservations({ state, holdings: null }, later.slice(0, 2));
  expect(unchanged?.outcomes.map(({ kind }) => kind)).toEqual(['unchanged', 'unchanged']);
  expect(recordObservations({ state, holdings: null }, later)).toBeNull();
});

test('a first response after unchanged headers does not need what the domain holds', () => {
  const look = (at: number) => observation({ at, headers: { server: 'a' } });
  const { state } = recordObservations(UNRECORDED, [look(1)]);
  const response = { scheme: 'https', status: 200, address: null } as const;
  const recorded = recordObservations({ state, holdings: null }, [{ ...look(2), response }, look(3)]);
  expect(recorded?.outcomes.map(({ kind }) => kind)).toEqual(['unchanged', 'unchanged']);
});
