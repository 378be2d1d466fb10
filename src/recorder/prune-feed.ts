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
  const { changeFeed } = prisma;
  const oldestFirst = { select: { number: true }, orderBy: { number: 'asc' } } as const;
  const newestFirst = { select: { number: true }, orderBy: { number: 'desc' } } as const;
  const kept =
    (await changeFeed.findFirst({ ...oldestFirst, where: { recordedAt: { gte: before } } })) ??
    (await changeFeed.findFirst(newestFirst));
  const oldest = await changeFeed.findFirst(oldestFirst);
  if (kept === null || oldest === null) return 0;
  const first = await firstUnread(prisma, kept.number, now - KEPT_FOR_NOTIFICATIONS);
  let deleted = 0;
  for (let from = oldest.number; from < first && signal?.aborted !== true; from += NUMBERS_AT_ONCE) {
    const end = from + NUMBERS_AT_ONCE < first ? from + NUMBERS_AT_ONCE : first;
    deleted += (await changeFeed.deleteMany({ where: { number: { lt: end } } })).count;
  }
  return deleted;
}

/**
 * The first row that a notification continues with, up to a row.
 *
 * @param since When what it has not read was recorded at the earliest.
 */
async function firstUnread(prisma: PrismaClient, upTo: bigint, since: Instant): Promise<bigint> {
  const where = { readTo: { lt: upTo } };
  const behind = await prisma.notification.findMany({ where, orderBy: { readTo: 'asc' } });
  for (const { readTo } of behind) {
    const next = await prisma.changeFeed.findFirst({
      select: { recordedAt: true },
      where: { number: { gt: readTo } },
      orderBy: { number: 'asc' },
    });
    if (next === null || next.recordedAt >= since) return readTo;
  }
  return upTo;
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
