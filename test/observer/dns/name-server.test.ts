import { expect, test } from 'vitest';
import {
  chooseServer,
  createNameServer,
  type NameServer,
  TRIES_IN_A_ROW,
} from '../../../src/observer/dns/name-server.js';

const server = (last: number) => createNameServer({ address: `127.0.0.${last}`, port: 53 }, 10);

/** Which server the next question has, of those that it has not had, at a time. */
function next(
  servers: readonly NameServer[],
  now: number,
  tried: readonly NameServer[] = [],
): string | undefined {
  return chooseServer(servers, new Map(tried.map((known) => [known, TRIES_IN_A_ROW])), now)?.address;
}

test('the first that the question has not had is next, and after all of them the first again', () => {
  const [a, b, c] = [server(1), server(2), server(3)];
  expect(next([a, b, c], 0)).toBe('127.0.0.1');
  expect(next([a, b, c], 0, [a])).toBe('127.0.0.2');
  expect(next([a, b, c], 0, [a, c])).toBe('127.0.0.2');
  expect(next([a, b, c], 0, [a, b, c])).toBe('127.0.0.1');
  expect(next([], 0)).toBeUndefined();
});

test('the one that it has had once has it again, silent or not', () => {
  const [a, b] = [server(1), server(2)];
  b.breaker.recordTimeout(0, 10);
  const tries = new Map([
    [a, TRIES_IN_A_ROW],
    [b, 1],
  ]);
  expect(chooseServer([a, b], tries, 20)).toBe(b);
});

/** How many milliseconds after a time the first server is next again, and not the second. */
function timeUntilFirst(servers: readonly NameServer[], from: number): number {
  const latest = from + 3_600_000;
  for (let now = from; now < latest; now += 500) if (next(servers, now) === '127.0.0.1') return now - from;
  throw new Error('The first server never comes back.');
}

test('a silent server comes last for a while; then one question finds out whether it answers', () => {
  const [a, b] = [server(1), server(2)];
  a.breaker.recordTimeout(0, 1_000);
  const last = timeUntilFirst([a, b], 1_000);
  expect(last).toBeGreaterThan(0);
  expect(next([a, b], 1_000 + last)).toBe('127.0.0.2');
  a.breaker.recordResponse(1_001 + last);
  expect(next([a, b], 1_001 + last)).toBe('127.0.0.1');
});

test('one that stays silent has one question in as long a time again, from the end of the last', () => {
  const [a, b] = [server(1), server(2)];
  a.breaker.recordTimeout(0, 0);
  const last = timeUntilFirst([a, b], 0);
  expect(timeUntilFirst([a, b], last)).toBe(last);
  a.breaker.recordTimeout(2 * last, 2 * last + 2_000);
  expect(timeUntilFirst([a, b], 2 * last)).toBe(2_000 + last);
});

test('a server that has answered others meanwhile is not silent: one name had no answer', () => {
  const [a, b] = [server(1), server(2)];
  a.breaker.recordResponse(500);
  a.breaker.recordTimeout(400, 2400);
  expect(next([a, b], 2400)).toBe('127.0.0.1');
});

test('where all are silent the first is queried', () => {
  const [a, b] = [server(1), server(2)];
  a.breaker.recordTimeout(0, 10);
  b.breaker.recordTimeout(0, 5);
  expect(next([a, b], 20)).toBe('127.0.0.1');
  expect(next([a, b], 20, [a])).toBe('127.0.0.2');
});
