import type { Database } from '../../database/client.js';
import type { Line } from '../../importers/lines.js';
import { parseDomainName } from '../../model/domain-name.js';
import { OperationError, UsageError } from '../../model/errors.js';
import { type Added, listWatched, unwatchDomains, watchDomains } from '../../observer/schedule/watch-list.js';
import { asUsageError, type CommandContext } from '../command-context.js';
import { readNames } from './watch-file.js';
import { watchedAsJson, watchedAsText } from './watch-text.js';

export interface NamesOptions {
  readonly fromFile?: string;
}

export interface AddOptions extends NamesOptions {
  readonly every?: bigint;
}

/** How many refused names are shown with their reasons. */
const REASONS_SHOWN = 10;

/** `dms watch add`: has domains observed from now on. */
export async function runAdd(
  context: CommandContext,
  domains: readonly string[],
  options: AddOptions,
): Promise<void> {
  const sum = { added: 0, changed: 0, read: 0 };
  const refused = await inBatches(context, domains, options.fromFile, async ({ pool }, names) => {
    const done: Added = await watchDomains(pool, names, options.every ?? null, context.now());
    sum.added += done.added;
    sum.changed += done.changed;
    sum.read += names.length;
  });
  const known = sum.read - sum.added - sum.changed;
  context.stdout.write(`${sum.added} added, ${sum.changed} at a new pace, ${known} watched already\n`);
  failIfRefused(refused);
}

/** `dms watch remove`: has domains observed no longer. */
export async function runRemove(
  context: CommandContext,
  domains: readonly string[],
  options: NamesOptions,
): Promise<void> {
  const sum = { removed: 0, read: 0 };
  const refused = await inBatches(context, domains, options.fromFile, async ({ pool }, names) => {
    sum.removed += (await unwatchDomains(pool, names)).length;
    sum.read += names.length;
  });
  context.stdout.write(`${sum.removed} removed, ${sum.read - sum.removed} not watched\n`);
  failIfRefused(refused);
}

function failIfRefused(refused: number): void {
  if (refused === 0) return;
  const lines = refused === 1 ? '1 line is no domain name' : `${refused} lines are no domain names`;
  throw new OperationError(`${lines}; the others are done.`);
}

/** `dms watch list`: a table, or JSON, of the watched domains. */
export async function runList(context: CommandContext, json: boolean): Promise<void> {
  const database = await context.openDatabase({ mayCreate: false });
  try {
    let count = 0;
    for await (const page of listWatched(database.pool)) {
      count += page.length;
      context.stdout.write(json ? watchedAsJson(page) : watchedAsText(page, count === page.length));
    }
    if (count === 0) context.stderr.write('No domain is watched: dms watch add DOMAIN --every 6h begins.\n');
  } finally {
    await database.close();
  }
}

/**
 * Hands over the names that a command is given, in batches without duplicates.
 *
 * @returns how many lines of the file were refused.
 * @throws UsageError for a name on the command line that is none.
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
  const named = [...new Set(asUsageError(() => domains.map(parseDomainName)))];
  const refusals = { count: 0 };
  const onRefused = (line: Line, reason: string) => {
    refusals.count += 1;
    if (refusals.count <= REASONS_SHOWN) context.stderr.write(`line ${line.number} refused: ${reason}\n`);
  };
  const database = await context.openDatabase();
  try {
    if (named.length > 0) await work(database, named);
    if (file !== undefined) {
      for await (const names of readNames(context, file, onRefused)) await work(database, names);
    }
    return refusals.count;
  } finally {
    await database.close();
  }
}
