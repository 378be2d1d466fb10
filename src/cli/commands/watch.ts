import { Command, Option } from 'commander';
import type { Database } from '../../database/client.js';
import type { Line } from '../../importers/lines.js';
import { parseDomainName } from '../../model/domain-name.js';
import { OperationError, UsageError } from '../../model/errors.js';
import { type Added, listWatched, unwatchDomains, watchDomains } from '../../observer/schedule/watch-list.js';
import { asUsageError, type CommandContext } from '../command-context.js';
import { parseDuration } from '../duration.js';
import { readNames } from './watch-file.js';
import { watchedAsJson, watchedAsText } from './watch-text.js';

interface NamesOptions {
  readonly fromFile?: string;
}

interface AddOptions extends NamesOptions {
  readonly every?: bigint;
}

/** How many refused names are shown with their reasons. */
const REASONS_SHOWN = 10;

/** `dms watch add|remove|list`: the domains that are observed again and again. */
export function watchCommand(context: CommandContext): Command {
  return new Command('watch')
    .summary('manage the domains to observe again and again')
    .description('Manages the domains that dms serve and dms worker observe again and again.')
    .addCommand(addCommand(context))
    .addCommand(removeCommand(context))
    .addCommand(listCommand(context));
}

function addCommand(context: CommandContext): Command {
  return new Command('add')
    .summary('observe domains from now on')
    .description(
      'Has domains observed from now on by dms serve and dms worker. One that is watched already keeps its pace, ' +
        'unless --every gives a new one.',
    )
    .argument('[domain...]', 'domains to watch')
    .addOption(everyOption())
    .addOption(fromFileOption())
    .action((domains: string[], options: AddOptions) => runAdd(context, domains, options));
}

function removeCommand(context: CommandContext): Command {
  return new Command('remove')
    .summary('observe domains no longer')
    .description('Observes domains no longer. What is recorded of them stays: dms forget erases it.')
    .argument('[domain...]', 'domains to watch no longer')
    .addOption(fromFileOption())
    .action((domains: string[], options: NamesOptions) => runRemove(context, domains, options));
}

function listCommand(context: CommandContext): Command {
  return new Command('list')
    .summary('show the watched domains')
    .description(
      'Shows each watched domain with its pace, its next time, its last outcome and its failures in a row.',
    )
    .option('--json', 'one JSON object a line', false)
    .action((options: { json: boolean }) => runList(context, options.json));
}

function everyOption(): Option {
  return new Option(
    '--every <duration>',
    'from one observation to the next, such as 30m, 6h or 1d (default: 1d, for what is not watched yet)',
  ).argParser(parseDuration);
}

function fromFileOption(): Option {
  return new Option(
    '--from-file <file>',
    'a name a line; - is standard input; gzip is unpacked; # begins a remark',
  );
}

async function runAdd(
  context: CommandContext,
  domains: readonly string[],
  options: AddOptions,
): Promise<void> {
  const sum = { added: 0, changed: 0, read: 0 };
  const refused = await inBatches(context, domains, options.fromFile, async ({ writingPrisma }, names) => {
    const done: Added = await watchDomains(writingPrisma, names, options.every ?? null, context.now());
    sum.added += done.added;
    sum.changed += done.changed;
    sum.read += names.length;
  });
  const known = sum.read - sum.added - sum.changed;
  context.stdout.write(`${sum.added} added, ${sum.changed} at a new pace, ${known} watched already\n`);
  failIfRefused(refused);
}

async function runRemove(
  context: CommandContext,
  domains: readonly string[],
  options: NamesOptions,
): Promise<void> {
  const sum = { removed: 0, read: 0 };
  const refused = await inBatches(context, domains, options.fromFile, async ({ writingPrisma }, names) => {
    sum.removed += await unwatchDomains(writingPrisma, names);
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

async function runList(context: CommandContext, json: boolean): Promise<void> {
  const database = await context.openDatabase({ mayCreate: false });
  try {
    let count = 0;
    for await (const page of listWatched(database.writingPrisma)) {
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
