import fc from 'fast-check';
import { expect, test } from 'vitest';
import { WalPositions } from '../../src/database/wal-positions.js';

/** What a primary told, each second from 0 on. */
function positionsOf(told: readonly number[], server: (at: number) => string = () => 'one'): WalPositions {
  const positions = new WalPositions();
  for (const [at, position] of told.entries()) positions.add(at * 1000, BigInt(position), server(at));
  return positions;
}

test('how far a replica is behind counts from when the primary had what the replica has not replayed, and does not grow while the primary is away, or writes nothing', () => {
  const positions = positionsOf([10, 20, 20, 20]);
  for (const askedAt of [3000, 900_000]) {
    expect(positions.lagOf(20n, askedAt)).toEqual({ atLeast: 0, isKnown: true });
    expect(positions.lagOf(15n, askedAt)).toEqual({ atLeast: 2000, isKnown: true });
  }
});

test('how far a replica is behind is at least the time that positions are known, of a replica that has not had any of them', () => {
  expect(new WalPositions().lagOf(10n, 0)).toEqual({ atLeast: 0, isKnown: false });
  expect(positionsOf([10, 20]).lagOf(9n, 1000)).toEqual({ atLeast: 1000, isKnown: false });
  const restarted = positionsOf([10, 20, 20], (second) => (second < 2 ? 'one' : 'two'));
  expect(restarted.lagOf(15n, 2000)).toEqual({ atLeast: 0, isKnown: false });
  expect(positionsOf([10, 20, 15, 25]).lagOf(12n, 3000)).toEqual({ atLeast: 1000, isKnown: false });
});

test('how far a replica is behind is known for an hour, and of a replica without a lag for ever', () => {
  const positions = positionsOf(Array.from({ length: 8000 }, (_, second) => second));
  expect(positions.lagOf(7999n, 7_999_000)).toEqual({ atLeast: 0, isKnown: true });
  expect(positions.lagOf(4500n, 7_999_000)).toEqual({ atLeast: 3_498_000, isKnown: true });
  expect(positions.lagOf(4000n, 7_999_000)).toEqual({ atLeast: 3_601_000, isKnown: false });
  expect(positionsOf(Array.from({ length: 8000 }, () => 5)).lagOf(5n, 7_999_000)).toEqual({
    atLeast: 0,
    isKnown: true,
  });
});

test('how far a replica is behind is never less than what is missing has been known for, and is known if the primary was once where the replica is', () => {
  const steps = fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 30 });
  fc.assert(
    fc.property(steps, fc.nat(), (growth, chosen) => {
      let sum = 0;
      const told = growth.map((step) => {
        sum += step;
        return sum;
      });
      const now = (told.length - 1) * 1000;
      const replayed = chosen % (sum + 1);
      const lag = positionsOf(told).lagOf(BigInt(replayed), now);
      const isKnown = told.some((position) => position <= replayed);
      const missing = told.findIndex((position) => position > replayed);
      expect(lag).toEqual({ atLeast: missing === -1 ? 0 : now - missing * 1000, isKnown });
    }),
  );
});
