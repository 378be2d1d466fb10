import type { Prisma, PrismaClient, Notification as Row } from '../database/generated/client.js';
import { OperationError } from '../model/errors.js';
import type { QueryParameters } from '../model/request-target.js';

export interface Notification extends Omit<Row, 'filter'> {
  /** The parameters of Changes in REST that select. */
  readonly filter: QueryParameters;
}

/** Of a message that was never sent. */
export const UNTRIED = { attempts: 0, failingSince: null, failure: null, due: 0n };

/** Names are shown in a table, and typed. */
export function isNotificationName(text: string): boolean {
  return /^[\p{L}\p{N}][\p{L}\p{N}._@:/+-]{0,63}$/u.test(text);
}

/** @throws OperationError where the name is in use. */
export async function addNotification(prisma: PrismaClient, added: Prisma.NotificationCreateManyInput) {
  const { count } = await prisma.notification.createMany({ data: [added], skipDuplicates: true });
  if (count > 0) return;
  throw new OperationError(`A notification named ${added.name} exists: choose another name.`);
}

/** Without the bodies of messages. */
export function listNotifications(prisma: PrismaClient) {
  return prisma.notification.findMany({ omit: { message: true }, orderBy: { name: 'asc' } });
}

/** @throws OperationError where there is none of that name. */
export async function findNotification(prisma: PrismaClient, name: string) {
  return found(name, await prisma.notification.findUnique({ where: { name } }));
}

export type Update = Prisma.NotificationUpdateManyMutationInput;

/** @throws OperationError where there is none of that name. */
export async function changeNotification(prisma: PrismaClient, name: string, data: Update): Promise<void> {
  found(name, (await prisma.notification.updateMany({ where: { name }, data })).count);
}

/** With the message that was not received. @throws OperationError where there is none of that name. */
export async function removeNotification(prisma: PrismaClient, name: string): Promise<void> {
  found(name, (await prisma.notification.deleteMany({ where: { name } })).count);
}

function found<Found>(name: string, result: Found): NonNullable<Found> {
  if (result) return result;
  throw new OperationError(`No notification is named ${name}: dms notify list shows all.`);
}
