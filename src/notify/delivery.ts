import type { Instant } from '../model/instant.js';
import { type Notification, UNTRIED } from './notifications.js';

export interface Answer {
  /** Of HTTP (RFC 9110, section 15); 0: the receiver has said nothing. */
  readonly status: number;
  /** In words; or why it has said nothing. */
  readonly said: string;
  /** The value of Retry-After (RFC 9110, section 10.2.3). */
  readonly retryAfter?: string | undefined;
}

const SECOND = 1_000_000n;
/** For how long a message is tried, and the feed keeps what was not read. */
export const MAX_TRY = 3n * 86_400n * SECOND;
/** Each pause is four times the one before: 5 s, 20 s, 80 s, and so on. */
const FIRST_PAUSE = 5n * SECOND;
const MAX_PAUSE = 4n * 3_600n * SECOND;

/** RFC 9110, section 15.3. */
export function isReceived({ status }: Answer): boolean {
  return status >= 200 && status < 300;
}

/** What becomes of a message, why it was not received, and what becomes of its notification. */
export function deliveryOf(
  answer: Answer,
  sent: Pick<Notification, 'attempts' | 'failingSince' | 'keptAt' | 'digest' | 'isFull'>,
  now: Instant,
) {
  const { attempts, failingSince, keptAt, digest, isFull } = sent;
  if (isReceived(answer)) {
    const due = digest === null || isFull ? 0n : (keptAt ?? now) + digest;
    const none = { ...UNTRIED, messageId: null, message: null, keptAt: null };
    return { outcome: 'received', stored: { ...none, due, receivedAt: now } } as const;
  }
  const { status, said: reason } = answer;
  const since = failingSince ?? now;
  const deadline = since + MAX_TRY;
  const failed = { attempts: attempts + 1, failingSince: since };
  // As Standard Webhooks have it: the receiver is not interested any more.
  const isUnwanted = status === 410;
  if (isUnwanted || now >= deadline) {
    const paused = isUnwanted
      ? `${reason}: the receiver wants no more`
      : `not received for three days: ${reason}`;
    return { outcome: 'paused', reason: paused, stored: { ...failed, failure: paused, paused } } as const;
  }
  const grown = FIRST_PAUSE << BigInt(2 * attempts);
  const next = now + (pauseAsked(answer, now) ?? (grown < MAX_PAUSE ? grown : MAX_PAUSE));
  const due = next < deadline ? next : deadline;
  return { outcome: 'retry', reason, stored: { ...failed, failure: reason, due } } as const;
}

/** The microseconds that Retry-After asks for, at least a second; undefined: neither seconds nor a date. */
function pauseAsked({ status, retryAfter: text = '' }: Answer, now: Instant): bigint | undefined {
  if (status !== 429 && status !== 503) return undefined;
  const milliseconds = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Number(now / 1000n);
  return Number.isNaN(milliseconds) ? undefined : BigInt(Math.max(milliseconds, 1000)) * 1000n;
}
