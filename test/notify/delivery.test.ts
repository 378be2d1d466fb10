import { expect, test } from 'vitest';
import { type Answer, deliveryOf, MAX_TRY } from '../../src/notify/delivery.js';

const SECOND = 1_000_000n;
const NOW = 1_800_000_000n * SECOND;
const FIRST = { attempts: 0, failingSince: null, keptAt: NOW, digest: null, isFull: false };

function deliver(answer: Partial<Answer>, sent: Partial<Parameters<typeof deliveryOf>[1]> = {}) {
  return deliveryOf({ status: 0, said: `HTTP ${answer.status}`, ...answer }, { ...FIRST, ...sent }, NOW);
}

/** The seconds until it is tried again. */
function pauseAfter(answer: Partial<Answer>, attempts = 0): number {
  const { stored } = deliver(answer, { attempts });
  return 'due' in stored ? Number((stored.due - NOW) / SECOND) : expect.fail('It is not tried again.');
}

test.each([200, 202, 204, 299])('a message is received with status %i', (status) => {
  expect(deliver({ status })).toMatchObject({ outcome: 'received', stored: { message: null } });
});

const LATE = { attempts: 30, failingSince: NOW - MAX_TRY };
test.each([
  ['status 410: the receiver wants no more', 410, {}, 'HTTP 410: the receiver wants no more'],
  ['three days of failures', 500, LATE, 'not received for three days: HTTP 500'],
])('a notification is paused with the reason after %s', (_title, status, sent, reason) => {
  const paused = { outcome: 'paused', reason, stored: { paused: reason, failure: reason } };
  expect(deliver({ status }, sent)).toMatchObject(paused);
});

test.each([301, 307, 400, 404, 500, 502])('a message is tried again after status %i', (status) => {
  const stored = { attempts: 1, failingSince: NOW };
  expect(deliver({ status })).toMatchObject({ outcome: 'retry', reason: `HTTP ${status}`, stored });
});

test('without a response a message is tried again, with pauses that grow to four hours', () => {
  const refused = { status: 0, said: 'connect ECONNREFUSED' };
  const pauses = [0, 1, 2, 3, 4, 5, 6, 7, 50].map((attempts) => pauseAfter(refused, attempts));
  expect(pauses).toEqual([5, 20, 80, 320, 1280, 5120, 14_400, 14_400, 14_400]);
});

test.each([
  [429, '120', 120],
  [503, '7200', 7200],
  [503, new Date(Number(NOW / 1000n) + 90_000).toUTCString(), 90],
  [429, '0', 1],
  [429, '99999999', Number(MAX_TRY / SECOND)],
  [429, 'soon', 5],
  [500, '120', 5],
])(
  'after status %i with Retry-After: %s a message is tried next in %i seconds',
  (status, retryAfter, wait) => {
    expect(pauseAfter({ status, retryAfter })).toBe(wait);
  },
);
