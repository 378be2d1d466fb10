import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { nextTime } from '../../../src/observer/schedule/leases.js';

const HOUR = 3_600_000_000n;
const DAY = 24n * HOUR;

/** An observation that went well, in time, and was not the first. */
const FINISHED = {
  now: 1_000n * DAY,
  scheduled: 1_000n * DAY,
  every: 6n * HOUR,
  failures: 0,
  first: false,
  chance: 0,
};

function wait(finished: Partial<typeof FINISHED>): bigint {
  const all = { ...FINISHED, ...finished };
  return nextTime(all, all.failures, all.now, all.chance) - all.now;
}

const finished = fc.record({
  now: fc.bigInt(0n, 10n ** 17n),
  scheduled: fc.bigInt(0n, 10n ** 17n),
  every: fc.bigInt(1_000_000n, 400n * DAY),
  failures: fc.nat(1_000_000),
  first: fc.boolean(),
  chance: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
});

describe('the next observation of a domain', () => {
  test('is due after the interval, and up to a tenth later', () => {
    expect(wait({ chance: 0 })).toBe(6n * HOUR);
    expect(wait({ chance: 0.5 })).toBe((6n * HOUR * 105n) / 100n);
    expect(wait({ chance: 0.999999 })).toBeLessThan((6n * HOUR * 110n) / 100n);
  });

  test('is never sooner than the interval, and a failing domain is observed at least once a day or interval', () => {
    fc.assert(
      fc.property(finished, (drawn) => {
        const longest = drawn.every > DAY ? drawn.every : DAY;
        expect(wait(drawn)).toBeGreaterThanOrEqual(drawn.every);
        expect(wait(drawn)).toBeLessThanOrEqual((longest * 4n) / 3n);
      }),
    );
  });

  test('comes twice as late after each failure in a row, up to a day', () => {
    const waits = [0, 1, 2, 3, 1_000].map((failures) => wait({ every: 4n * HOUR, failures }) / HOUR);
    expect(waits).toEqual([4n, 8n, 16n, 24n, 24n]);
  });

  test('of a domain that is observed less often than daily is not put off by failures', () => {
    expect(wait({ every: 7n * DAY, failures: 5 })).toBe(7n * DAY);
  });

  test('after an outage, and after the first one, spreads over a third of an interval: no wave comes back', () => {
    const late = { scheduled: FINISHED.now - HOUR };
    expect(wait({ ...late, chance: 0.5 })).toBe(7n * HOUR);
    expect(wait({ first: true, chance: 0.5 })).toBe(7n * HOUR);
  });
});
