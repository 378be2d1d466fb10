import { expect, test } from 'vitest';
import { chooseServer, createNameServer, type NameServer } from '../../../src/observer/dns/name-server.js';

const server = (last: number) => createNameServer({ address: `127.0.0.${last}`, port: 53 }, 10);

/** Which server the next question has, of those that it has not had, at a time. */
function next(
  servers: readonly NameServer[],
  now: number,
  tried: readonly NameServer[] = [],
): string | undefined {
  return chooseServer(servers, new Map(tried.map((known) => [known, 1])), now)?.address;
}

test('the first that the question has not had is next, and after all of them the first again', () => {
  const [a, b, c] = [server(1), server(2), server(3)];
  expect(next([a, b, c], 0)).toBe('127.0.0.1');
  expect(next([a, b, c], 0, [a])).toBe('127.0.0.2');
  expect(next([a, b, c], 0, [a, c])).toBe('127.0.0.2');
  expect(next([a, b, c], 0, [a, b, c])).toBe('127.0.0.1');
  expect(next([], 0)).toBeUndefined();
});

test('a silent server comes last for 30 seconds; then one question finds out whether it answers', () => {
  const [a, b] = [server(1), server(2)];
  a.breaker.recordTimeout(0, 1000);
  expect(next([a, b], 1000)).toBe('127.0.0.2');
  expect(next([a, b], 30_999)).toBe('127.0.0.2');
  expect(next([a, b], 31_000)).toBe('127.0.0.1');
  expect(next([a, b], 31_000)).toBe('127.0.0.2');
  a.breaker.recordResponse(31_001);
  expect(next([a, b], 31_001)).toBe('127.0.0.1');
});

test('one that stays silent has one question in 30 seconds', () => {
  const [a, b] = [server(1), server(2)];
  a.breaker.recordTimeout(0, 0);
  expect(next([a, b], 30_000)).toBe('127.0.0.1');
  expect(next([a, b], 59_999)).toBe('127.0.0.2');
  a.breaker.recordTimeout(30_000, 32_000);
  expect(next([a, b], 61_999)).toBe('127.0.0.2');
  expect(next([a, b], 62_000)).toBe('127.0.0.1');
});

test('a server that has answered others meanwhile is not silent: one name had no answer', () => {
  const [a, b] = [server(1), server(2)];
  a.breaker.recordResponse(500);
  a.breaker.recordTimeout(400, 2400);
  expect(next([a, b], 2400)).toBe('127.0.0.1');
});

test('where all are silent the first is asked', () => {
  const [a, b] = [server(1), server(2)];
  a.breaker.recordTimeout(0, 10);
  b.breaker.recordTimeout(0, 5);
  expect(next([a, b], 20)).toBe('127.0.0.1');
  expect(next([a, b], 20, [a])).toBe('127.0.0.2');
});
