import type { Instant } from '../model/instant.js';

/** What a receiver has said to a message. */
export type Answer =
  | {
      /** A status of HTTP (RFC 9110, section 15). */
      readonly status: number;
      /** The value of Retry-After, if there is one (RFC 9110, section 10.2.3). */
      readonly retryAfter?: string | undefined;
    }
  /** It has said nothing. */
  | { readonly error: string };

/** How often a message was sent in vain before, since when, and the wall-clock time. */
export interface Attempts {
  readonly attempts: number;
  readonly failingSince: Instant;
  readonly now: Instant;
}

/** What becomes of a message. */
export type Delivery =
  | { readonly kind: 'received' }
  | { readonly kind: 'retry'; readonly at: Instant; readonly reason: string }
  | { readonly kind: 'paused'; readonly reason: string };

const SECOND = 1_000_000n;
/** For how long a message is tried, and the feed keeps what was not read. */
export const LONGEST_TRY = 3n * 86_400n * SECOND;
/** Each pause is four times the one before: 5 s, 20 s, 80 s, and so on. */
const FIRST_PAUSE = 5n * SECOND;
const LONGEST_PAUSE = 4n * 3_600n * SECOND;
/** Beyond it, pauses are the longest. */
const MOST_STEPS = 8;

/** Whether an answer is a success (RFC 9110, section 15.3). */
export function isReceived(answer: Answer): boolean {
  return 'status' in answer && answer.status >= 200 && answer.status < 300;
}

/** Decides what becomes of a message by the answer to it. */
export function deliveryOf(answer: Answer, { attempts, failingSince, now }: Attempts): Delivery {
  const { status, retryAfter } = 'status' in answer ? answer : { status: 0, retryAfter: undefined };
  if (isReceived(answer)) return { kind: 'received' };
  const reason = 'status' in answer ? `HTTP ${status}` : answer.error;
  // As Standard Webhooks have it: the receiver is not interested any more.
  if (status === 410) return { kind: 'paused', reason: 'HTTP 410: the receiver wants no more' };
  const deadline = failingSince + LONGEST_TRY;
  if (now >= deadline) return { kind: 'paused', reason: `not received for three days: ${reason}` };
  const asked = status === 429 || status === 503 ? pauseOf(retryAfter, now) : undefined;
  const grown = FIRST_PAUSE * 4n ** BigInt(Math.min(attempts, MOST_STEPS));
  const at = now + (asked ?? (grown < LONGEST_PAUSE ? grown : LONGEST_PAUSE));
  return { kind: 'retry', at: at < deadline ? at : deadline, reason };
}

/** The microseconds that a Retry-After asks for, a second at least; undefined: it has neither seconds nor a date. */
function pauseOf(text: string | undefined, now: Instant): bigint | undefined {
  if (text === undefined) return undefined;
  const until = Date.parse(text);
  if (!/^\d{1,9}$/.test(text) && Number.isNaN(until)) return undefined;
  const pause = /^\d+$/.test(text) ? BigInt(text) * SECOND : BigInt(until) * 1000n - now;
  return pause > SECOND ? pause : SECOND;
}
