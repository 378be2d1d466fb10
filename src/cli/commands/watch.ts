import type { PrismaClient } from '../../database/generated/client.js';
import { UsageError } from '../../model/errors.js';
import { formatInstant } from '../../model/instant.js';
import { durationText } from '../../model/requested-time.js';
import { outcomeText } from '../../observer/outcome.js';
import { listWatched, unwatchDomains, watchDomains } from '../../observer/schedule/watch-list.js';
import { type CommandContext, now } from '../command-context.js';
import { failIfRejected, readNames } from '../domain-arguments.js';
import { timestampOrNull, timeText, writeList } from '../output.js';

interface WatchOptions {
  readonly fromFile?: string;
  /** Of dms watch add, in microseconds. */
  readonly every?: bigint;
}

export async function runAdd(context: CommandContext, domains: readonly string[], options: WatchOptions) {
  const sum = { added: 0, changed: 0 };
  const watch = async (prisma: PrismaClient, batch: readonly string[]) => {
    const { added, changed } = await watchDomains(prisma, batch, options.every ?? null, now());
    sum.added += added;
    sum.changed += changed;
  };
  await inBatches(context, 'create', domains, options, watch, (names) => {
    const known = names - sum.added - sum.changed;
    return `${sum.added} added, ${sum.changed} at a new interval, ${known} already watched`;
  });
}

export async function runRemove(context: CommandContext, domains: readonly string[], options: WatchOptions) {
  let removed = 0;
  const unwatch = async (prisma: PrismaClient, batch: readonly string[]) => {
    removed += await unwatchDomains(prisma, batch);
  };
  const summary = (names: number) => `${removed} removed, ${names - removed} not watched`;
  await inBatches(context, 'fail', domains, options, unwatch, summary);
}

/** Names in one statement: its locks are held for a short time. */
const BATCH = 5_000;

async function inBatches(
  context: CommandContext,
  ifMissing: 'create' | 'fail',
  domains: readonly string[],
  { fromFile }: WatchOptions,
  work: (prisma: PrismaClient, batch: readonly string[]) => Promise<void>,
  summary: (names: number) => string,
): Promise<void> {
  if (domains.length === 0 && fromFile === undefined) {
    throw new UsageError('Name the domains, or a file of them with --from-file FILE; - is standard input.');
  }
  const { names, rejected } = await readNames(context, domains, fromFile);
  await context.withDatabase(ifMissing, async ({ writingPrisma }) => {
    for (let from = 0; from < names.length; from += BATCH) {
      await work(writingPrisma, names.slice(from, from + BATCH));
    }
  });
  await context.sumUp(`${summary(names.length)}\n`);
  failIfRejected(rejected, 'the others are done');
}

export async function runList(context: CommandContext, { json: asJson }: { json: boolean }) {
  await context.withDatabase('fail', ({ writingPrisma }) =>
    writeList(context, listWatched(writingPrisma), asJson, {
      headings: ['domain', 'every', 'next', 'failures', 'last outcome'],
      row: ({ name, every, next, leased, failures, outcome, observedAt }) => {
        const isNew = outcome === null || observedAt === null;
        const last = isNew ? 'not yet by a worker' : `${timeText(observedAt)} ${outcomeText(outcome)}`;
        return [name, durationText(every), leased ? 'now' : timeText(next), String(failures), last];
      },
      json: ({ name, every, next, leased, observedAt, outcome, failures }) => {
        const schedule = { domain: name, every: durationText(every), next: formatInstant(next), leased };
        return { ...schedule, observedAt: timestampOrNull(observedAt), failures, outcome };
      },
      none: 'No domain is watched. To watch one: dms watch add DOMAIN --every 6h',
    }),
  );
}

export function watchedText(count: number): string {
  if (count === 0) return 'no domain yet (dms watch add DOMAIN adds one)';
  return count === 1 ? '1 watched domain' : `${count} watched domains`;
}
