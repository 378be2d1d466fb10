import { randomUUID } from 'node:crypto';
import type { Notification, Prisma, PrismaClient } from '../database/generated/client.js';
import { OperationError } from '../model/errors.js';
import type { Instant } from '../model/instant.js';
import type { Delivery } from './delivery.js';

export type { Notification };

/** What a notification is made with. */
export type NewNotification = Pick<
  Notification,
  | 'name'
  | 'url'
  | 'form'
  | 'secret'
  | 'fromTime'
  | 'settle'
  | 'digest'
  | 'watchFailures'
  | 'createdAt'
  | 'cursor'
> & { readonly filter: Filter };

/** The parameters of Changes in REST that select. */
export type Filter = Readonly<Record<string, string | readonly string[]>>;

/** Whether a text can be the name of a notification: it is shown in a table, and typed. */
export function isNotificationName(text: string): boolean {
  return /^[\p{L}\p{N}][\p{L}\p{N}._@:/+-]{0,63}$/u.test(text);
}

/** @throws OperationError where the name is in use. */
export async function addNotification(prisma: PrismaClient, added: NewNotification): Promise<void> {
  const { filter, ...others } = added;
  // Prisma's type of JSON has no readonly arrays.
  const row = {
    ...{ ...others, readTo: 0n, readAt: added.createdAt },
    filter: filter as Prisma.InputJsonObject,
  };
  const { count } = await prisma.notification.createMany({ data: [row], skipDuplicates: true });
  if (count === 0)
    throw new OperationError(`A notification named ${added.name} exists: choose another name.`);
}

/** All notifications, without the bodies of messages. */
export function listNotifications(prisma: PrismaClient) {
  return prisma.notification.findMany({ omit: { message: true }, orderBy: { name: 'asc' } });
}

/** @throws OperationError where there is none of that name. */
export async function findNotification(prisma: PrismaClient, name: string): Promise<Notification> {
  return (await prisma.notification.findUnique({ where: { name } })) ?? noneOf(name);
}

/** Removes a notification, with the message that was not received. @throws OperationError where there is none. */
export async function removeNotification(prisma: PrismaClient, name: string): Promise<void> {
  const { count } = await prisma.notification.deleteMany({ where: { name } });
  if (count === 0) noneOf(name);
}

/** Sends nothing from now on. @throws OperationError where there is none. */
export async function pauseNotification(prisma: PrismaClient, name: string, reason: string): Promise<void> {
  const { count } = await prisma.notification.updateMany({ where: { name }, data: { paused: reason } });
  if (count === 0) noneOf(name);
}

/** What a message that was never sent has. */
const UNTRIED = { attempts: 0, failingSince: null, failure: null, due: 0n };

/** Sends again, first the message that was not received. @throws OperationError where there is none. */
export async function resumeNotification(prisma: PrismaClient, name: string): Promise<void> {
  const data = { ...UNTRIED, paused: null };
  const { count } = await prisma.notification.updateMany({ where: { name }, data });
  if (count === 0) noneOf(name);
}

function noneOf(name: string): never {
  throw new OperationError(`No notification is named ${name}: dms notify list shows all.`);
}

/** The number of the feed's newest row; 0: there is none. */
export async function endOfFeed(prisma: PrismaClient): Promise<bigint> {
  const row = await prisma.changeFeed.findFirst({ select: { number: true }, orderBy: { number: 'desc' } });
  return row?.number ?? 0n;
}

/** A notification that this process has to itself. */
export interface Held {
  readonly name: string;
  /** A UUID, always that of the same process. */
  readonly lease: string;
}

/** Leases a notification, so that no other process sends for it until then. @returns whether it is this one's now. */
export async function holdNotification(
  prisma: PrismaClient,
  { name, lease }: Held,
  now: Instant,
  until: Instant,
): Promise<boolean> {
  // Its own may be left where the database was lost: it need not wait for the end of that.
  const where = { name, OR: [{ leasedUntil: { lte: now } }, { lease }] };
  const { count } = await prisma.notification.updateMany({ where, data: { lease, leasedUntil: until } });
  return count > 0;
}

/** Extends the lease, and reads the notification; null where there is nothing to do for this process any more. */
export async function readHeld(
  prisma: PrismaClient,
  { name, lease }: Held,
  until: Instant,
): Promise<Notification | null> {
  const where = { name, lease, paused: null };
  const { count } = await prisma.notification.updateMany({ where, data: { leasedUntil: until } });
  return count === 0 ? null : prisma.notification.findUnique({ where: { name } });
}

/** Ends the lease. */
export async function release(prisma: PrismaClient, held: Held): Promise<void> {
  await update(prisma, held, { lease: null, leasedUntil: 0n });
}

/** Goes on reading the feed from there. */
export async function advance(
  prisma: PrismaClient,
  held: Held,
  to:
    | { readonly cursor: string }
    | { readonly readTo: bigint; readonly readAt: Instant }
    | { readonly due: Instant },
): Promise<void> {
  await update(prisma, held, to);
}

/** The id of a message, which no other one has. */
export function newMessageId(): string {
  return `msg_${randomUUID()}`;
}

/** A message to keep, and what is told by it: where the feed is read on, or which domains fail. */
export interface NewMessage {
  readonly body: string;
  readonly now: Instant;
  readonly cursor?: string;
  readonly failing?: string[];
  /** Whether there may be more to tell at once. */
  readonly isFull: boolean;
}

/** Keeps a message, before it is sent first, and goes on behind what it tells. */
export async function keepMessage(
  prisma: PrismaClient,
  held: Held,
  { body, now, ...then }: NewMessage,
): Promise<void> {
  const messageId = newMessageId();
  await update(prisma, held, { ...UNTRIED, messageId, message: body, keptAt: now, ...then });
}

/** Stores what became of a message. */
export async function storeDelivery(
  prisma: PrismaClient,
  held: Held,
  { attempts, failingSince, keptAt, digest, isFull }: Notification,
  delivery: Delivery,
  now: Instant,
): Promise<void> {
  if (delivery.kind === 'received') {
    const due = digest === null || isFull ? 0n : (keptAt ?? now) + digest;
    const none = { ...UNTRIED, messageId: null, message: null, keptAt: null };
    await update(prisma, held, { ...none, due, receivedAt: now });
    return;
  }
  const failed = { attempts: attempts + 1, failingSince: failingSince ?? now, failure: delivery.reason };
  const then = delivery.kind === 'paused' ? { paused: delivery.reason } : { due: delivery.at };
  await update(prisma, held, { ...failed, ...then });
}

/** Writes only while the lease lasts: what another process has written since is not undone. */
async function update(
  prisma: PrismaClient,
  { name, lease }: Held,
  data: Prisma.NotificationUpdateManyMutationInput,
): Promise<void> {
  await prisma.notification.updateMany({ where: { name, lease }, data });
}
