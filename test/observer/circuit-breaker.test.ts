import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { CircuitBreaker } from '../../src/observer/circuit-breaker.js';

let breaker: CircuitBreaker;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
  breaker = new CircuitBreaker(8);
});
afterEach(() => void vi.useRealTimers());

function timeOut(count: number, sent = performance.now()): void {
  for (let at = 0; at < count; at += 1) breaker.recordTimeout(sent);
}

function allowsAfter(seconds: number): boolean {
  vi.advanceTimersByTime(seconds * 1000);
  return breaker.allows();
}

test('nothing is sent to an endpoint for half a minute when eight requests in a row had no response in time', () => {
  timeOut(7);
  expect(allowsAfter(1)).toBe(true);
  timeOut(1);
  expect(allowsAfter(29)).toBe(false);
});

test('timeouts of an endpoint are counted anew after a response, and do not count if another came meanwhile', () => {
  timeOut(7);
  const sent = performance.now();
  vi.advanceTimersByTime(1);
  breaker.recordResponse();
  timeOut(8, sent);
  vi.advanceTimersByTime(1);
  timeOut(7);
  expect(breaker.allows()).toBe(true);
});

test('a silent endpoint gets one request after the half minute, another as long after its end, and all after a response', () => {
  timeOut(8);
  expect([30, 1, 28].map(allowsAfter)).toEqual([true, false, false]);
  timeOut(1);
  expect([29, 1].map(allowsAfter)).toEqual([false, true]);
  breaker.recordResponse();
  expect([1, 0].map(allowsAfter)).toEqual([true, true]);
});
