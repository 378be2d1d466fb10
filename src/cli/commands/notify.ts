import type { PrismaClient } from '../../database/generated/client.js';
import { durationText } from '../../model/duration.js';
import { OperationError, UsageError } from '../../model/errors.js';
import { formatInstant, type Instant } from '../../model/instant.js';
import type { QueryParameters } from '../../model/request-target.js';
import { endOfChanges } from '../../notify/changes.js';
import { answerText, isReceived } from '../../notify/delivery.js';
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
import type { CommandContext } from '../command-context.js';
import { type ChangeOptions, changeParameters } from '../domain-arguments.js';
import { type Listing, timeText, writeList, writeText } from '../output.js';
import { withQuestions } from '../questions.js';

interface AddOptions extends ChangeOptions {
  readonly url: string;
  /** Of messages by POST. */
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
    throw new UsageError(
      `${JSON.stringify(name)} is not a valid name: write 1 to 64 letters, digits and . _ @ : / + -, beginning with a letter or digit.`,
    );
  }
  const { href: url, protocol } = receiverAddress(options.url, context.settings().notify);
  const isMail = protocol === 'mailto:';
  if (isMail && options.as !== undefined) throw new UsageError('--as is for messages by POST, not for mail.');
  const form = isMail ? 'mail' : (options.as ?? 'json');
  const filter = await changeParameters(context, options.domains ?? [], options);
  const cursor = await withQuestions(context, (asking) => endOfChanges(asking, filter));
  const createdAt = context.now();
  const secret = form === 'json' ? newSecret() : null;
  const added = {
    ...{ name, url, form, secret, filter, createdAt, cursor, readTo: 0n, readAt: createdAt },
    fromTime: options.from ?? createdAt,
    settle: options.settle ?? null,
    digest: options.digest ?? null,
    watchFailures: options.watchFailures ?? null,
  };
  await context.withDatabase('fail', async ({ writingPrisma }) => {
    await addNotification(writingPrisma, added);
    if (secret !== null) {
      await writeText(context.stdout, `${secret}\n`).catch(async (error: Error) => {
        await removeNotification(writingPrisma, name);
        throw error;
      });
    }
  });
  if (secret === null) await context.sumUp(`added ${name}\n`);
  else {
    context.notes.write(
      'This is the only time it is shown: the receiver verifies with it what it gets (Standard Webhooks).\n',
    );
  }
}

export async function runList(context: CommandContext, { json }: { json: boolean }): Promise<void> {
  await context.withDatabase('fail', async ({ writingPrisma }) => {
    const pages = [await listNotifications(writingPrisma)];
    const count = await writeList(context.stdout, pages, NOTIFICATIONS, json);
    if (count === 0)
      context.notes.write('There is no notification. To add one: dms notify add NAME --url URL\n');
  });
}

type Listed = Awaited<ReturnType<typeof listNotifications>>[number];

const NOTIFICATIONS: Listing<Listed> = {
  headings: ['name', 'to', 'tells', 'last received', 'state'],
  row: (listed) => {
    const { name, url, filter, receivedAt, paused, failure } = listed;
    const parameters = Object.entries(filter as QueryParameters);
    const tells = parameters.map(([key, value]) => `${key}=${[value].flat().join(',')}`).join(' ');
    const received = receivedAt === null ? 'never' : timeText(receivedAt);
    const reason = paused ?? failure;
    const state = stateOf(listed) + (reason === null ? '' : `: ${reason}`);
    return [name, shortAddress(url), tells, received, state];
  },
  json: (listed) => {
    const { name, url, form, filter, settle, digest, watchFailures, attempts, failure, paused } = listed;
    const time = (instant: bigint | null) => (instant === null ? null : formatInstant(instant));
    return {
      ...{ name, url: shortAddress(url), as: form, filter },
      from: time(listed.fromTime),
      settle: settle === null ? null : durationText(settle),
      digest: digest === null ? null : durationText(digest),
      watchFailures,
      ...{ state: stateOf(listed), reason: paused ?? failure, attempts },
      ...{ waitingSince: time(listed.keptAt), lastReceived: time(listed.receivedAt) },
    };
  },
};

function stateOf({ paused, failure }: Listed): 'paused' | 'failing' | 'active' {
  if (paused !== null) return 'paused';
  return failure === null ? 'active' : 'failing';
}

export async function runTest(context: CommandContext, name: string): Promise<void> {
  await context.withDatabase('fail', async ({ writingPrisma }) => {
    const { url, form, secret } = await findNotification(writingPrisma, name);
    const receiver = receiverOf(form);
    const body = receiver.bodyOf({ notification: name, at: context.now(), told: { type: 'test' } });
    const { notify } = context.settings();
    const message = { url, secret, id: newMessageId(), body };
    const answer = await receiver.send(message, notify, new AbortController().signal);
    if (!isReceived(answer)) throw new OperationError(`The message was not received: ${answerText(answer)}.`);
    await context.sumUp(`received by ${shortAddress(url)}: ${answerText(answer)}\n`);
  });
}

export async function runPause(context: CommandContext, name: string): Promise<void> {
  await change(context, `paused ${name}`, (prisma) =>
    changeNotification(prisma, name, { paused: 'by dms notify pause' }),
  );
}

export async function runResume(context: CommandContext, name: string): Promise<void> {
  await change(context, `resumed ${name}`, (prisma) =>
    changeNotification(prisma, name, { ...UNTRIED, paused: null }),
  );
}

export async function runRemove(context: CommandContext, name: string): Promise<void> {
  await change(context, `removed ${name}`, (prisma) => removeNotification(prisma, name));
}

async function change(context: CommandContext, done: string, work: (prisma: PrismaClient) => Promise<void>) {
  await context.withDatabase('fail', ({ writingPrisma }) => work(writingPrisma));
  await context.sumUp(`${done}\n`);
}
