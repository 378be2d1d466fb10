import { expect, test } from 'vitest';
import { routineOf } from '../../src/history/routine.js';
import { CHANGE_KINDS } from '../../src/model/change-kinds.js';

test.each([
  ['what the first observation of a part showed', 5n, { observed: 5n, sighted: null }, 'INITIAL'],
  ['what a later observation of it showed', 6n, { observed: 5n, sighted: null }, null],
  ['the first sighting of a type that was never observed', 5n, { observed: null, sighted: 5n }, 'INITIAL'],
  ['the first sighting of a type before its first observation', 5n, { observed: 9n, sighted: 5n }, 'INITIAL'],
  ['what the first observation after sightings showed', 9n, { observed: 9n, sighted: 5n }, 'INITIAL'],
  ['the first sighting of a type after its first observation', 9n, { observed: 5n, sighted: 9n }, null],
] as const)('%s', (_title, date, first, expected) => {
  expect(routineOf('DNS_RECORD_ADDED', date, first)).toBe(expected);
  expect(routineOf('HEADER_CREATED', date, first)).toBe(expected);
});

test('nothing but what appears is there at first, and an extended history is always routine', () => {
  const reasons = CHANGE_KINDS.map((kind) => routineOf(kind, 5n, { observed: 5n, sighted: null }));
  expect(reasons).toEqual(['INITIAL', null, 'INITIAL', null, null, null, 'BACKFILL']);
});
