import type { PrismaClient } from '../database/generated/client.js';
import type { Instant } from '../model/instant.js';
import { HOUR, startRepeating } from './repeat.js';

/** In milliseconds. */
const SOON = 60_000;
/** By one statement. */
const NUMBERS_AT_ONCE = 10_000n;

/** In microseconds: for how long what a notification has not read is kept, at least. */
const KEPT_FOR_NOTIFICATIONS = 3n * 86_400_000_000n;

/**
 * Deletes the rows of the feed that were recorded before an instant, by the database's clock. The newest row
 * stays: a reader that has read everything continues there. So does what a notification has not read, for three
 * days.
 *
 * @param signal Ends it between two statements.
 * @returns how many were deleted.
 */
export async function pruneFeed(
  prisma: PrismaClient,
  before: Instant,
  now: Instant = BigInt(Date.now()) * 1_000n,
  signal?: AbortSignal,
): Promise<number> {
  const [oldest, kept] = [await firstSince(prisma, 0n), await firstSince(prisma, before)];
  if (oldest === undefined || kept === undefined) return 0;
  const end = await firstUnread(prisma, kept, now - KEPT_FOR_NOTIFICATIONS);
  let deleted = 0;
  for (let from = oldest; from < end && signal?.aborted !== true; from += NUMBERS_AT_ONCE) {
    const number = { lt: from + NUMBERS_AT_ONCE < end ? from + NUMBERS_AT_ONCE : end };
    const { count } = await prisma.changeFeed.deleteMany({ where: { number } });
    deleted += count;
  }
  return deleted;
}

/**
 * The row at which a notification goes on, up to a row: the latest that it has read, or else the latest that was
 * recorded before an instant, since the rows before that have been unread for too long.
 */
async function firstUnread({ notification, changeFeed }: PrismaClient, upTo: bigint, since: Instant) {
  const { _min: behind } = await notification.aggregate({ _min: { readTo: true } });
  if (behind.readTo === null || behind.readTo >= upTo) return upTo;
  const unread = await changeFeed.findFirst({
    select: { number: true },
    where: { number: { gt: behind.readTo, lte: upTo }, recordedAt: { lt: since } },
    orderBy: { number: 'desc' },
  });
  return unread?.number ?? behind.readTo;
}

/** The first row that was recorded from an instant on, or else the newest. */
async function firstSince({ changeFeed }: PrismaClient, since: Instant): Promise<bigint | undefined> {
  const select = { number: true };
  const first =
    (await changeFeed.findFirst({
      select,
      where: { recordedAt: { gte: since } },
      orderBy: { number: 'asc' },
    })) ?? (await changeFeed.findFirst({ select, orderBy: { number: 'desc' } }));
  return first?.number;
}

/**
 * Deletes what is no longer kept, each hour.
 *
 * @param kept For how long rows are kept, in milliseconds; undefined: for good.
 * @param failed Called with why it could not be done; it is tried again.
 * @returns a function that ends it, after the statement in progress.
 */
export function startPruning(
  prisma: PrismaClient,
  kept: number | undefined,
  failed: (error: unknown) => void,
): () => Promise<void> {
  if (kept === undefined) return async () => {};
  const prune = async (signal: AbortSignal) => {
    const now = BigInt(Date.now()) * 1_000n;
    await pruneFeed(prisma, now - BigInt(kept) * 1_000n, now, signal);
    return HOUR;
  };
  return startRepeating(SOON, prune, failed);
}
