import type { PrismaClient } from '../../database/generated/client.js';
import { UsageError } from '../../model/errors.js';
import { formatInstant } from '../../model/instant.js';
import { durationText } from '../../model/requested-time.js';
import { outcomeText } from '../../observer/outcome.js';
import {
  listWatched,
  unwatchDomains,
  type WatchedDomain,
  watchDomains,
} from '../../observer/schedule/watch-list.js';
import type { CommandContext } from '../command-context.js';
import { failIfRejected, readNames } from '../domain-arguments.js';
import { type Listing, timestampOrNull, timeText, writeList } from '../output.js';

interface NamesOptions {
  readonly fromFile?: string;
}

interface AddOptions extends NamesOptions {
  /** In microseconds. */
  readonly every?: bigint;
}

export async function runAdd(context: CommandContext, domains: readonly string[], options: AddOptions) {
  const sum = { added: 0, changed: 0 };
  const { names, rejected } = await inBatches(context, 'create', domains, options, async (prisma, batch) => {
    const done = await watchDomains(prisma, batch, options.every ?? null, context.now());
    sum.added += done.added;
    sum.changed += done.changed;
  });
  const known = names.length - sum.added - sum.changed;
  await context.sumUp(`${sum.added} added, ${sum.changed} at a new interval, ${known} already watched\n`);
  failIfRejected(rejected, 'the others are done');
}

export async function runRemove(context: CommandContext, domains: readonly string[], options: NamesOptions) {
  let removed = 0;
  const { names, rejected } = await inBatches(context, 'fail', domains, options, async (prisma, batch) => {
    removed += await unwatchDomains(prisma, batch);
  });
  await context.sumUp(`${removed} removed, ${names.length - removed} not watched\n`);
  failIfRejected(rejected, 'the others are done');
}

/** Names in one statement: its locks are held for a short time. */
const BATCH = 5_000;

async function inBatches(
  context: CommandContext,
  ifMissing: 'create' | 'fail',
  domains: readonly string[],
  { fromFile }: NamesOptions,
  work: (prisma: PrismaClient, batch: readonly string[]) => Promise<void>,
) {
  if (domains.length === 0 && fromFile === undefined) {
    throw new UsageError('Name the domains, or a file of them with --from-file FILE; - is standard input.');
  }
  const read = await readNames(context, domains, fromFile);
  await context.withDatabase(ifMissing, async ({ writingPrisma }) => {
    for (let from = 0; from < read.names.length; from += BATCH) {
      await work(writingPrisma, read.names.slice(from, from + BATCH));
    }
  });
  return read;
}

export async function runList(context: CommandContext, { json }: { json: boolean }): Promise<void> {
  await context.withDatabase('fail', async ({ writingPrisma }) => {
    const count = await writeList(context.stdout, listWatched(writingPrisma), WATCHED, json);
    if (count === 0)
      context.notes.write('No domain is watched. To watch one: dms watch add DOMAIN --every 6h\n');
  });
}

const WATCHED: Listing<WatchedDomain> = {
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
};

export function watchedText(count: number): string {
  if (count === 0) return 'no domain yet (dms watch add DOMAIN adds one)';
  return count === 1 ? '1 watched domain' : `${count} watched domains`;
}
