import type { Database } from '../../database/client.js';
import { type Line, readLines, textOf } from '../../importers/lines.js';
import { openInput } from '../../importers/open-input.js';
import { InvalidObservationError, OperationError, UsageError } from '../../model/errors.js';
import { type Added, listWatched, unwatchDomains, watchDomains } from '../../observer/schedule/watch-list.js';
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
  const sum = { added: 0, changed: 0, read: 0 };
  const rejected = await inBatches(context, domains, options.fromFile, async ({ writingPrisma }, names) => {
    const done: Added = await watchDomains(writingPrisma, names, options.every ?? null, context.now());
    sum.added += done.added;
    sum.changed += done.changed;
    sum.read += names.length;
  });
  const known = sum.read - sum.added - sum.changed;
  context.stdout.write(`${sum.added} added, ${sum.changed} at a new interval, ${known} already watched\n`);
  failIfRejected(rejected);
}

/** `dms watch remove`: has domains observed no longer. */
export async function runRemove(
  context: CommandContext,
  domains: readonly string[],
  options: NamesOptions,
): Promise<void> {
  const sum = { removed: 0, read: 0 };
  const rejected = await inBatches(context, domains, options.fromFile, async ({ writingPrisma }, names) => {
    sum.removed += await unwatchDomains(writingPrisma, names);
    sum.read += names.length;
  });
  context.stdout.write(`${sum.removed} removed, ${sum.read - sum.removed} not watched\n`);
  failIfRejected(rejected);
}

function failIfRejected(rejected: number): void {
  if (rejected === 0) return;
  const lines = rejected === 1 ? '1 line is not a domain name' : `${rejected} lines are not domain names`;
  throw new OperationError(`${lines}; the others are done.`);
}

/** `dms watch list`: a table, or JSON, of the watched domains. */
export async function runList(context: CommandContext, json: boolean): Promise<void> {
  const database = await context.openDatabase({ mayCreate: false });
  try {
    let count = 0;
    for await (const page of listWatched(database.writingPrisma)) {
      count += page.length;
      context.stdout.write(json ? watchedAsJson(page) : watchedAsText(page, count === page.length));
    }
    if (count === 0)
      context.stderr.write('No domain is watched. To watch one: dms watch add DOMAIN --every 6h\n');
  } finally {
    await database.close();
  }
}

/**
 * Passes on the names that a command is given, in batches without duplicates.
 *
 * @returns how many lines of the file were rejected.
 * @throws UsageError for an argument that is not a name.
 */
async function inBatches(
  context: CommandContext,
  domains: readonly string[],
  file: string | undefined,
  work: (database: Database, names: readonly string[]) => Promise<void>,
): Promise<number> {
  if (domains.length === 0 && file === undefined) {
    throw new UsageError('Name the domains, or a file of them with --from-file FILE.');
  }
  const named = parseDomains(domains);
  const rejected = { count: 0 };
  const onRejected = (line: Line, reason: string) => {
    rejected.count += 1;
    if (rejected.count <= REASONS_SHOWN) context.stderr.write(`line ${line.number} rejected: ${reason}\n`);
  };
  const database = await context.openDatabase();
  try {
    if (named.length > 0) await work(database, named);
    if (file !== undefined) {
      for await (const names of readNames(context, file, onRejected)) await work(database, names);
    }
    return rejected.count;
  } finally {
    await database.close();
  }
}

/** Names passed on at once. */
const BATCH = 5_000;

/**
 * Reads a file of domain names, one per line; `#` begins a comment.
 *
 * @param file a path, or `-` for standard input; gzip is decompressed.
 * @param onRejected called for each line that is not a name, with the reason.
 * @returns canonical names in batches, each without duplicates.
 * @throws OperationError where it cannot be read.
 */
async function* readNames(
  context: CommandContext,
  file: string,
  onRejected: (line: Line, reason: string) => void,
): AsyncGenerator<readonly string[]> {
  const progress = { read: 0, items: 0 };
  const onBytes = (count: number) => {
    progress.read += count;
  };
  const input = await openInput(file, context.stdin, onBytes);
  const state = () => ({ done: progress.read, total: input.size, items: progress.items });
  const hideProgress = showProgress(context.stderr, 'names', state);
  const batch = new Set<string>();
  try {
    for await (const lines of readLines(input.bytes, context.settings().limits.line)) {
      for (const line of lines) {
        progress.items += 1;
        const name = nameIn(line, onRejected);
        if (name !== null) batch.add(name);
      }
      if (batch.size >= BATCH) yield* emptied(batch);
    }
    yield* emptied(batch);
  } finally {
    hideProgress();
  }
}

function* emptied(batch: Set<string>): Generator<readonly string[]> {
  const names = [...batch];
  batch.clear();
  for (let first = 0; first < names.length; first += BATCH) yield names.slice(first, first + BATCH);
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
