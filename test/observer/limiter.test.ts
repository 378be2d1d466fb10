import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Counts, type Room, sharePlaces } from '../../src/observer/limiter.js';

const PLENTY = { normal: 1_000, low: 1_000 };

const room200 = (free: number) => ({ places: 200, free, low: 0 });

test.each<[string, Room, Counts, number, number]>([
  ['both wait: a quarter is for the low priority', room200(200), PLENTY, 150, 50],
  ['only the low one waits: a quarter is left', room200(200), { normal: 0, low: 900 }, 0, 150],
  ['a low one has its turn, however many normal ones wait', room200(1), PLENTY, 0, 1],
  ['two places: one each', { places: 2, free: 2, low: 0 }, PLENTY, 1, 1],
  ['one place that no other wants', { places: 1, free: 1, low: 0 }, { normal: 0, low: 1 }, 0, 1],
])('places that two priorities share: %s', (_case, places, asked, normal, low) => {
  expect(sharePlaces(places, asked)).toEqual({ normal, low });
});

const room = fc
  .tuple(fc.integer({ min: 2, max: 500 }), fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(500))
  .map(([places, used, low]) => {
    const inUse = Math.round(places * used);
    return { places, free: places - inUse, low: Math.min(low, inUse) };
  });
const wanted = fc.record({ normal: fc.nat(600), low: fc.nat(600) });

test('no more places are given than are free or wanted, the low priority never has the last quarter, and none stays free that the normal one wants', () => {
  fc.assert(
    fc.property(room, wanted, (places, asked) => {
      const { normal, low } = sharePlaces(places, asked);
      const quarter = Math.max(Math.floor(places.places / 4), 1);
      expect(normal + low).toBeLessThanOrEqual(places.free);
      expect(normal).toBeLessThanOrEqual(asked.normal);
      expect(low).toBeLessThanOrEqual(asked.low);
      if (low > 0) expect(places.low + low).toBeLessThanOrEqual(places.places - quarter);
      if (normal === asked.normal) return;
      expect(normal + low).toBe(places.free);
      expect(low === 0 || places.low + low <= quarter).toBe(true);
    }),
  );
});

test('of a single place, both priorities have their turns while both always wait', () => {
  const only = { places: 1, free: 1, low: 0 };
  const shares = Array.from({ length: 400 }, () => sharePlaces(only, { normal: 9, low: 9 }));
  expect(shares.every(({ normal, low }) => normal + low === 1)).toBe(true);
  expect(shares.some(({ low }) => low === 1)).toBe(true);
  expect(shares.filter(({ normal }) => normal === 1).length).toBeGreaterThan(200);
});
