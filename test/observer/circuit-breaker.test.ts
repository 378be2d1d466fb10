import { expect, test } from 'vitest';
import { CircuitBreaker } from '../../src/observer/circuit-breaker.js';

const SECOND = 1000;

function afterTimeouts(count: number): CircuitBreaker {
  const breaker = new CircuitBreaker(8);
  for (let at = 0; at < count; at += 1) breaker.recordTimeout(0, 0);
  return breaker;
}

test('nothing is sent to an endpoint for half a minute when eight requests in a row had no response in time', () => {
  expect(afterTimeouts(7).allows(SECOND)).toBe(true);
  expect(afterTimeouts(8).allows(29 * SECOND)).toBe(false);
});

test('timeouts of an endpoint are counted anew after a response, and do not count if another came meanwhile', () => {
  const breaker = afterTimeouts(7);
  breaker.recordResponse(2 * SECOND);
  for (let at = 0; at < 8; at += 1) breaker.recordTimeout(SECOND, 3 * SECOND);
  for (let at = 0; at < 7; at += 1) breaker.recordTimeout(3 * SECOND, 3 * SECOND);
  expect(breaker.allows(4 * SECOND)).toBe(true);
});

test('a silent endpoint gets one request after the half minute, another as long after its end, and all after a response', () => {
  const breaker = afterTimeouts(8);
  expect([30, 31, 59].map((time) => breaker.allows(time * SECOND))).toEqual([true, false, false]);
  breaker.recordTimeout(30 * SECOND, 32 * SECOND);
  expect([61, 62].map((time) => breaker.allows(time * SECOND))).toEqual([false, true]);
  breaker.recordResponse(63 * SECOND);
  expect([64, 64].map((time) => breaker.allows(time * SECOND))).toEqual([true, true]);
});
