import fc from 'fast-check';
import { afterEach, expect, test, vi } from 'vitest';
import { createLimiters, secondsUntilReset } from '../../src/limits/rates.js';

afterEach(() => {
  vi.useRealTimers();
});

/** Sets the wall clock that the program reads. Timers and the monotonic clock go on. */
const stepClock = (milliseconds: number) =>
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + milliseconds });

test('a clock that steps back changes nothing of when a client is granted something again, and what it is told', async () => {
  const limiter = createLimiters()({ name: 'steps', limit: 1, seconds: 1 });
  await limiter.consume('client', 1);
  stepClock(-3_600_000);
  const { msBeforeNext } = await limiter.consume('client', 1).catch((rejection) => rejection);
  expect(msBeforeNext).toBeGreaterThan(0);
  expect(msBeforeNext).toBeLessThanOrEqual(1_000);
  await vi.waitFor(() => limiter.consume('client', 1), { timeout: 60_000, interval: 20 });
});

test('whoever has something left of a limit is granted all of a request, also one that costs more than the limit', async () => {
  const limiter = createLimiters()({ name: 'large', limit: 3, seconds: 60 });
  expect((await limiter.consume('client', 10)).remainingPoints).toBe(0);
  await expect(limiter.consume('client', 1)).rejects.toMatchObject({ consumedPoints: 11 });
  expect((await limiter.consume('client', 0)).consumedPoints).toBe(11);
});

test('a client has all of its budget within a window, and others have their own', async () => {
  const limiter = createLimiters()({ name: 'windows', limit: 3, seconds: 1 });
  const used = (key: string, points: number) =>
    limiter.consume(key, points).then(
      ({ remainingPoints }) => remainingPoints,
      ({ consumedPoints }) => `rejected at ${consumedPoints}`,
    );
  const all = [await used('a', 2), await used('b', 1), await used('a', 1), await used('a', 1)];
  expect(all).toEqual([1, 2, 0, 'rejected at 4']);
  await vi.waitFor(async () => expect(await used('a', 3)).toBe(0), { timeout: 60_000, interval: 1_100 });
});

test('a client is never told to wait for longer than a window, however differences of times are rounded', () => {
  // The sum of a process' first minute and a window has fewer bits for fractions.
  const anyTime = fc.integer({ min: 0, max: 60_000_000_000 }).map((nanoseconds) => nanoseconds / 1e6);
  const isWindow = (now: number) => secondsUntilReset({ msBeforeNext: now + 60_000 - now }) === 60;
  fc.assert(fc.property(anyTime, isWindow));
});
