import type { PrismaClient } from '../../database/generated/client.js';
import { OperationError, UsageError } from '../../model/errors.js';
import type { Instant } from '../../model/instant.js';
import type { QueryParameters } from '../../model/request-target.js';
import { durationText } from '../../model/requested-time.js';
import { endOfChanges } from '../../notify/changes.js';
import { isReceived } from '../../notify/delivery.js';
import { newMessageId } from '../../notify/messages.js';
import {
  addNotification,
  changeNotification,
  findNotification,
  isNotificationName,
  listNotifications,
  removeNotification,
  UNTRIED,
} from '../../notify/notifications.js';
import { receiverAddress, receiverOf, shortAddress } from '../../notify/receivers.js';
import { newSecret } from '../../notify/webhook.js';
import { type CommandContext, now } from '../command-context.js';
import { type ChangeOptions, changeParameters } from '../domain-arguments.js';
import { timestampOrNull, timeText, writeList, writeText } from '../output.js';
import { withQuestions } from '../questions.js';

interface AddOptions extends ChangeOptions {
  readonly url: string;
  readonly as?: 'json' | 'slack';
  readonly domains?: readonly string[];
  readonly from?: Instant;
  /** In microseconds. */
  readonly settle?: bigint;
  readonly digest?: bigint;
  readonly watchFailures?: number;
}

export async function runAdd(context: CommandContext, name: string, options: AddOptions): Promise<void> {
  if (!isNotificationName(name)) {
    const valid = '1 to 64 letters, digits and . _ @ : / + -, beginning with a letter or digit';
    throw new UsageError(`${JSON.stringify(name)} is not a valid name: write ${valid}.`);
  }
  const { href: url, protocol } = receiverAddress(options.url, context.settings().notify);
  const isMail = protocol === 'mailto:';
  if (isMail && options.as !== undefined) throw new UsageError('--as is for messages by POST, not for mail.');
  const form = isMail ? 'mail' : (options.as ?? 'json');
  const filter = await changeParameters(context, options.domains ?? [], options);
  const secret = form === 'json' ? newSecret() : null;
  await withQuestions(context, async (asking, { writingPrisma }) => {
    const cursor = await endOfChanges(asking, filter);
    const createdAt = now();
    await addNotification(writingPrisma, {
      name,
      url,
      form,
      secret,
      filter,
      createdAt,
      cursor,
      readTo: 0n,
      readAt: createdAt,
      fromTime: options.from ?? createdAt,
      settle: options.settle ?? null,
      digest: options.digest ?? null,
      watchFailures: options.watchFailures ?? null,
    });
    if (secret === null) return context.sumUp(`added ${name}\n`);
    await writeText(context.stdout, `${secret}\n`).catch(async (error: Error) => {
      await removeNotification(writingPrisma, name);
      throw error;
    });
    context.note(
      'This is the only time it is shown: the receiver verifies with it what it gets (Standard Webhooks).\n',
    );
  });
}

export async function runList(context: CommandContext, { json: asJson }: { json: boolean }): Promise<void> {
  await context.withDatabase('fail', async ({ writingPrisma }) =>
    writeList(context, [await listNotifications(writingPrisma)], asJson, {
      headings: ['name', 'to', 'tells', 'last received', 'state'],
      row: ({ name, url, filter, receivedAt, paused, failure }) => {
        const parameters = Object.entries(filter as QueryParameters);
        const tells = parameters.map(([key, value]) => `${key}=${[value].flat().join(',')}`).join(' ');
        const received = receivedAt === null ? 'never' : timeText(receivedAt);
        const state = [stateOf(paused, failure), paused ?? failure]
          .filter((text) => text !== null)
          .join(': ');
        return [name, shortAddress(url), tells, received, state];
      },
      json: ({ name, url, form, filter, settle, digest, watchFailures, paused, failure, ...listed }) => ({
        name,
        url: shortAddress(url),
        as: form,
        filter,
        from: timestampOrNull(listed.fromTime),
        settle: settle === null ? null : durationText(settle),
        digest: digest === null ? null : durationText(digest),
        watchFailures,
        state: stateOf(paused, failure),
        reason: paused ?? failure,
        attempts: listed.attempts,
        waitingSince: timestampOrNull(listed.keptAt),
        lastReceived: timestampOrNull(listed.receivedAt),
      }),
      none: 'There is no notification. To add one: dms notify add NAME --url URL',
    }),
  );
}

function stateOf(paused: string | null, failure: string | null): 'paused' | 'failing' | 'active' {
  if (paused !== null) return 'paused';
  return failure === null ? 'active' : 'failing';
}

export async function runTest(context: CommandContext, name: string): Promise<void> {
  await context.withDatabase('fail', async ({ writingPrisma }) => {
    const { url, form, secret } = await findNotification(writingPrisma, name);
    const receiver = receiverOf(form);
    const body = receiver.bodyOf({ notification: name, at: now(), told: { type: 'test' } });
    const { notify } = context.settings();
    const message = { url, secret, id: newMessageId(), body };
    const answer = await receiver.send(message, notify, new AbortController().signal);
    if (!isReceived(answer)) throw new OperationError(`The message was not received: ${answer.said}.`);
    await context.sumUp(`received by ${shortAddress(url)}: ${answer.said}\n`);
  });
}

function changing(done: string, change: (prisma: PrismaClient, name: string) => Promise<void>) {
  return async (context: CommandContext, name: string): Promise<void> => {
    await context.withDatabase('fail', ({ writingPrisma }) => change(writingPrisma, name));
    await context.sumUp(`${done} ${name}\n`);
  };
}

export const runPause = changing('paused', (prisma, name) =>
  changeNotification(prisma, name, { paused: 'by dms notify pause' }),
);

export const runResume = changing('resumed', (prisma, name) =>
  changeNotification(prisma, name, { ...UNTRIED, paused: null }),
);

export const runRemove = changing('removed', removeNotification);
