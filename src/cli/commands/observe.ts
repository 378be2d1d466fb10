import { Command } from 'commander';
import { parseDomainName } from '../../model/domain-name.js';
import { OperationError } from '../../model/errors.js';
import { hasFailed, outcomeOf } from '../../observer/outcome.js';
import { recordLooks } from '../../observer/record-looks.js';
import { createObserver } from '../../observing.js';
import { createRecorder } from '../../recorder/recorder.js';
import { asUsageError, type CommandContext } from '../command-context.js';
import { lookAsJson } from './observe-json.js';
import { lookAsText } from './observe-text.js';

interface ObserveOptions {
  readonly dryRun: boolean;
  readonly json: boolean;
}

/** So many domains are looked at together. */
const AT_ONCE = 20;

/** `dms observe DOMAIN…`: looks at domains now. */
export function observeCommand(context: CommandContext): Command {
  return new Command('observe')
    .summary('observe domains now')
    .description(
      'Looks at domains now, their DNS records and the response headers of their sites, records what it saw, and ' +
        'shows it with what changed: + is new, - is gone, ~ has another value.',
    )
    .argument('<domain...>', 'domains to observe')
    .option('--dry-run', 'record nothing', false)
    .option('--json', 'one JSON object a line', false)
    .action((domains: string[], options: ObserveOptions) => runObserve(context, domains, options));
}

async function runObserve(
  context: CommandContext,
  domains: readonly string[],
  { dryRun, json }: ObserveOptions,
): Promise<void> {
  const names = [...new Set(asUsageError(() => domains.map(parseDomainName)))];
  const observer = createObserver(context.settings(), context.now);
  const database = await context.openDatabase();
  const recorder = createRecorder(database.pool, { now: context.now });
  const failed: string[] = [];
  try {
    for (let first = 0; first < names.length; first += AT_ONCE) {
      const looks = await Promise.all(names.slice(first, first + AT_ONCE).map((name) => observer.look(name)));
      for (const recorded of await recordLooks(recorder, looks, dryRun ? 'preview' : 'record')) {
        context.stdout.write(json ? lookAsJson(recorded, !dryRun) : lookAsText(recorded, !dryRun));
        if (hasFailed(outcomeOf(recorded.look.dns, recorded.look.http))) failed.push(recorded.look.domain);
      }
    }
  } finally {
    observer.close();
    await database.close();
  }
  if (failed.length > 0) throw new OperationError(`Nothing could be observed of ${failed.join(', ')}.`);
}
