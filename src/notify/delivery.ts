import type { Prisma } from '../database/generated/client.js';
import type { Instant } from '../model/instant.js';
import { type Notification, UNTRIED } from './notifications.js';

/**
 * What a receiver has said to a message: a status of HTTP (RFC 9110, section 15), and the value of Retry-After,
 * if there is one (section 10.2.3), or what it has said in other words; or why it has said nothing.
 */
export type Answer =
  | { readonly status: number; readonly retryAfter?: string | undefined; readonly said?: string }
  | { readonly error: string };

/** What becomes of a message, why it was not received, and what becomes of its notification. */
export interface Delivery {
  readonly outcome: 'received' | 'retry' | 'paused';
  readonly reason?: string;
  readonly stored: Prisma.NotificationUpdateManyMutationInput;
}

type Sent = Pick<Notification, 'attempts' | 'failingSince' | 'keptAt' | 'digest' | 'isFull'>;

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

export function answerText(answer: Answer): string {
  return 'status' in answer ? (answer.said ?? `HTTP ${answer.status}`) : answer.error;
}

/** Decides what becomes of a message by the answer to it. @param now Wall-clock time. */
export function deliveryOf(answer: Answer, sent: Sent, now: Instant): Delivery {
  const { attempts, failingSince, keptAt, digest, isFull } = sent;
  if (isReceived(answer)) {
    const due = digest === null || isFull ? 0n : (keptAt ?? now) + digest;
    const none = { ...UNTRIED, messageId: null, message: null, keptAt: null };
    return { outcome: 'received', stored: { ...none, due, receivedAt: now } };
  }
  const since = failingSince ?? now;
  const deadline = since + LONGEST_TRY;
  const failed = { attempts: attempts + 1, failingSince: since };
  const paused = reasonToPause(answer, now >= deadline);
  if (paused !== null) {
    return { outcome: 'paused', reason: paused, stored: { ...failed, failure: paused, paused } };
  }
  const grown = FIRST_PAUSE * 4n ** BigInt(Math.min(attempts, MOST_STEPS));
  const next = now + (pauseAsked(answer, now) ?? (grown < LONGEST_PAUSE ? grown : LONGEST_PAUSE));
  const [reason, due] = [answerText(answer), next < deadline ? next : deadline];
  return { outcome: 'retry', reason, stored: { ...failed, failure: reason, due } };
}

function reasonToPause(answer: Answer, isOverdue: boolean): string | null {
  const reason = answerText(answer);
  // As Standard Webhooks have it: the receiver is not interested any more.
  if ('status' in answer && answer.status === 410) return `${reason}: the receiver wants no more`;
  return isOverdue ? `not received for three days: ${reason}` : null;
}

/** The microseconds that Retry-After asks for, at least a second; undefined: neither seconds nor a date. */
function pauseAsked(answer: Answer, now: Instant): bigint | undefined {
  if (!('status' in answer) || (answer.status !== 429 && answer.status !== 503)) return undefined;
  const { retryAfter: text = '' } = answer;
  const milliseconds = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Number(now / 1000n);
  return Number.isNaN(milliseconds) ? undefined : BigInt(Math.max(milliseconds, 1000)) * 1000n;
}
