import { describe, expect, test } from 'vitest';
import { deliveryOf, LONGEST_TRY } from '../../src/notify/delivery.js';

const SECOND = 1_000_000n;
const NOW = 1_800_000_000n * SECOND;
const FIRST = { attempts: 0, failingSince: null, keptAt: NOW, digest: null, isFull: false };

/** The seconds until it is tried again. */
function pauseAfter(answer: Parameters<typeof deliveryOf>[0], sent = FIRST): number | undefined {
  const { outcome, stored } = deliveryOf(answer, sent, NOW);
  return outcome === 'retry' ? Number(((stored.due as bigint) - NOW) / SECOND) : undefined;
}

describe('what becomes of a message', () => {
  test.each([200, 202, 204, 299])('status %i: it is received', (status) => {
    expect(deliveryOf({ status }, FIRST, NOW)).toMatchObject({
      outcome: 'received',
      stored: { message: null },
    });
  });

  test('status 410: the receiver wants no more, and the notification is paused', () => {
    const { outcome, reason, stored } = deliveryOf({ status: 410 }, FIRST, NOW);
    expect([outcome, stored.paused]).toEqual(['paused', reason]);
  });

  test.each([301, 307, 400, 404, 500, 502])('status %i: it is tried again', (status) => {
    const retried = {
      outcome: 'retry',
      reason: `HTTP ${status}`,
      stored: { attempts: 1, failingSince: NOW },
    };
    expect(deliveryOf({ status }, FIRST, NOW)).toMatchObject(retried);
  });

  test('without a response it is tried again, with pauses that grow to four hours', () => {
    const pauses = [0, 1, 2, 3, 4, 5, 6, 7, 50].map((attempts) =>
      pauseAfter({ error: 'connect ECONNREFUSED' }, { ...FIRST, attempts }),
    );
    expect(pauses).toEqual([5, 20, 80, 320, 1280, 5120, 14_400, 14_400, 14_400]);
  });

  test('after three days of failures the notification is paused with the reason', () => {
    const late = { ...FIRST, attempts: 30, failingSince: NOW - LONGEST_TRY };
    const reason = 'not received for three days: HTTP 500';
    const paused = { outcome: 'paused', reason, stored: { paused: reason, failure: reason } };
    expect(deliveryOf({ status: 500 }, late, NOW)).toMatchObject(paused);
  });

  test('Retry-After of 429 and 503 is when it is tried next: seconds or a date, within the three days', () => {
    expect(pauseAfter({ status: 429, retryAfter: '120' })).toBe(120);
    expect(pauseAfter({ status: 503, retryAfter: '7200' })).toBe(7200);
    const date = new Date(Number(NOW / 1000n) + 90_000).toUTCString();
    expect(pauseAfter({ status: 503, retryAfter: date })).toBe(90);
    expect(pauseAfter({ status: 429, retryAfter: '0' })).toBe(1);
    expect(pauseAfter({ status: 429, retryAfter: '99999999' })).toBe(Number(LONGEST_TRY / SECOND));
    expect(pauseAfter({ status: 429, retryAfter: 'soon' })).toBe(5);
    expect(pauseAfter({ status: 500, retryAfter: '120' })).toBe(5);
  });
});
