import type { PrismaClient } from '../../database/generated/client.js';
import { type Line, readLines, textOf } from '../../importers/lines.js';
import { openInput } from '../../importers/open-input.js';
import { InvalidObservationError, OperationError, UsageError } from '../../model/errors.js';
import { listWatched, unwatchDomains, watchDomains } from '../../observer/schedule/watch-list.js';
import type { CommandContext } from '../command-context.js';
import { parseDomain, parseDomains } from '../domain-arguments.js';
import { showProgress } from '../progress.js';
import { watchedAsJson, watchedAsText } from './watch-text.js';

export interface NamesOptions {
  readonly fromFile?: string;
}

export interface AddOptions extends NamesOptions {
  readonly every?: bigint;
}

/** How many rejected names are shown with their reasons. */
const REASONS_SHOWN = 10;

/** `dms watch add`: has domains observed from now on. */
export async function runAdd(
  context: CommandContext,
  domains: readonly string[],
  options: AddOptions,
): Promise<void> {
  const sum = { added: 0, changed: 0 };
  const { read, rejected } = await inBatches(context, domains, options, async (prisma, names) => {
    const done = await watchDomains(prisma, names, options.every ?? null, context.now());
    sum.added += done.added;
    sum.changed += done.changed;
  });
  const known = read - sum.added - sum.changed;
  context.stdout.write(`${sum.added} added, ${sum.changed} at a new interval, ${known} already watched\n`);
  failIfRejected(rejected);
}

/** `dms watch remove`: has domains observed no longer. */
export async function runRemove(
  context: CommandContext,
  domains: readonly string[],
  options: NamesOptions,
): Promise<void> {
  let removed = 0;
  const { read, rejected } = await inBatches(context, domains, options, async (prisma, names) => {
    removed += await unwatchDomains(prisma, names);
  });
  context.stdout.write(`${removed} removed, ${read - removed} not watched\n`);
  failIfRejected(rejected);
}

function failIfRejected(rejected: number): void {
  if (rejected === 0) return;
  const lines = rejected === 1 ? '1 line is not a domain name' : `${rejected} lines are not domain names`;
  throw new OperationError(`${lines}; the others are done.`);
}

/** `dms watch list`: a table, or JSON, of the watched domains. */
export async function runList(context: CommandContext, json: boolean): Promise<void> {
  await context.withDatabase('fail', async ({ writingPrisma }) => {
    let count = 0;
    for await (const page of listWatched(writingPrisma)) {
      count += page.length;
      context.stdout.write(json ? watchedAsJson(page) : watchedAsText(page, count === page.length));
    }
    if (count === 0)
      context.stderr.write('No domain is watched. To watch one: dms watch add DOMAIN --every 6h\n');
  });
}

/** How many names a command was given, and how many lines of the file are none. */
interface Counts {
  read: number;
  rejected: number;
}

/**
 * Passes on the names that a command is given, in batches without duplicates.
 *
 * @throws UsageError for an argument that is not a name.
 */
async function inBatches(
  context: CommandContext,
  domains: readonly string[],
  { fromFile }: NamesOptions,
  work: (prisma: PrismaClient, names: readonly string[]) => Promise<void>,
): Promise<Counts> {
  if (domains.length === 0 && fromFile === undefined) {
    throw new UsageError('Name the domains, or a file of them with --from-file FILE.');
  }
  const named = parseDomains(domains);
  const counts = { read: 0, rejected: 0 };
  await context.withDatabase('create', async ({ writingPrisma }) => {
    const take = async (names: readonly string[]) => {
      counts.read += names.length;
      await work(writingPrisma, names);
    };
    if (named.length > 0) await take(named);
    if (fromFile === undefined) return;
    for await (const names of readNames(context, fromFile, counts)) await take(names);
  });
  return counts;
}

/** Names passed on at once. */
const BATCH = 5_000;

/**
 * Reads a file of domain names, one per line; `#` begins a comment.
 *
 * @param file a path, or `-` for standard input; gzip is decompressed.
 * @returns canonical names in batches, without the duplicates that are near each other.
 * @throws OperationError where it cannot be read.
 */
async function* readNames(
  context: CommandContext,
  file: string,
  counts: Counts,
): AsyncGenerator<readonly string[]> {
  let [bytes, items] = [0, 0];
  const input = await openInput(file, context.stdin, (count) => {
    bytes += count;
  });
  const hideProgress = showProgress(context.stderr, 'names', () => ({
    done: bytes,
    total: input.size,
    items,
  }));
  const onRejected = (line: Line, reason: string) => {
    counts.rejected += 1;
    if (counts.rejected <= REASONS_SHOWN) context.stderr.write(`line ${line.number} rejected: ${reason}\n`);
  };
  const batch = new Set<string>();
  try {
    for await (const lines of readLines(input.bytes, context.settings().limits.line)) {
      for (const line of lines) {
        items += 1;
        const name = nameIn(line, onRejected);
        if (name !== null) batch.add(name);
      }
      if (batch.size < BATCH) continue;
      yield* sliced([...batch]);
      batch.clear();
    }
    yield* sliced([...batch]);
  } finally {
    hideProgress();
  }
}

function* sliced(names: readonly string[]): Generator<readonly string[]> {
  for (let at = 0; at < names.length; at += BATCH) yield names.slice(at, at + BATCH);
}

/** @returns null for a comment, a blank line or a rejected one. */
function nameIn(line: Line, onRejected: (line: Line, reason: string) => void): string | null {
  try {
    const name = textOf(line).replace(/#.*/, '').trim();
    return name === '' ? null : parseDomain(name);
  } catch (error) {
    if (!(error instanceof UsageError || error instanceof InvalidObservationError)) throw error;
    onRejected(line, error.message);
    return null;
  }
}
