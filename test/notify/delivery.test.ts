import { expect, test } from 'vitest';
import { deliveryOf, LONGEST_TRY } from '../../src/notify/delivery.js';

const SECOND = 1_000_000n;
const NOW = 1_800_000_000n * SECOND;
const FIRST = { attempts: 0, failingSince: null, keptAt: NOW, digest: null, isFull: false };

/** The seconds until it is tried again. */
function pauseAfter(answer: Parameters<typeof deliveryOf>[0], sent = FIRST): number | undefined {
  const { outcome, stored } = deliveryOf(answer, sent, NOW);
  return outcome === 'retry' ? Number(((stored.due as bigint) - NOW) / SECOND) : undefined;
}

test.each([200, 202, 204, 299])('a message is received with status %i', (status) => {
  const received = { outcome: 'received', stored: { message: null } };
  expect(deliveryOf({ status }, FIRST, NOW)).toMatchObject(received);
});

test('status 410 pauses a notification: the receiver wants no more', () => {
  const reason = 'HTTP 410: the receiver wants no more';
  const paused = { outcome: 'paused', reason, stored: { paused: reason, failure: reason } };
  expect(deliveryOf({ status: 410 }, FIRST, NOW)).toMatchObject(paused);
});

test.each([301, 307, 400, 404, 500, 502])('a message is tried again after status %i', (status) => {
  const reason = `HTTP ${status}`;
  const retried = { outcome: 'retry', reason, stored: { attempts: 1, failingSince: NOW } };
  expect(deliveryOf({ status }, FIRST, NOW)).toMatchObject(retried);
});

test('without a response a message is tried again, with pauses that grow to four hours', () => {
  const pauses = [0, 1, 2, 3, 4, 5, 6, 7, 50].map((attempts) =>
    pauseAfter({ status: 0, said: 'connect ECONNREFUSED' }, { ...FIRST, attempts }),
  );
  expect(pauses).toEqual([5, 20, 80, 320, 1280, 5120, 14_400, 14_400, 14_400]);
});

test('after three days of failures a notification is paused with the reason', () => {
  const late = { ...FIRST, attempts: 30, failingSince: NOW - LONGEST_TRY };
  const reason = 'not received for three days: HTTP 500';
  const paused = { outcome: 'paused', reason, stored: { paused: reason, failure: reason } };
  expect(deliveryOf({ status: 500 }, late, NOW)).toMatchObject(paused);
});

test.each([
  [429, '120', 120],
  [503, '7200', 7200],
  [503, new Date(Number(NOW / 1000n) + 90_000).toUTCString(), 90],
  [429, '0', 1],
  [429, '99999999', Number(LONGEST_TRY / SECOND)],
  [429, 'soon', 5],
  [500, '120', 5],
])(
  'after status %i with Retry-After: %s a message is tried next in %i seconds',
  (status, retryAfter, pause) => {
    expect(pauseAfter({ status, retryAfter })).toBe(pause);
  },
);
