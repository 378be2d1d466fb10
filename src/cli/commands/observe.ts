import { Command } from 'commander';
import { Registry } from 'prom-client';
import { parseDomainName } from '../../model/domain-name.js';
import { NoDatabaseError, OperationError } from '../../model/errors.js';
import { hasFailed } from '../../observer/outcome.js';
import { eventOf, type RecordObservations, recordLooks } from '../../observer/record-looks.js';
import { createObserver } from '../../observing.js';
import { createRecorder, previewFirst } from '../../recorder/recorder.js';
import { createLogger } from '../../telemetry/logging.js';
import { createObservationTelemetry, type ObservationTelemetry } from '../../telemetry/observations.js';
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
  const history = await openHistory(context, dryRun);
  const telemetry = dryRun ? null : createTelemetry(context);
  const failed: string[] = [];
  try {
    for (let first = 0; first < names.length; first += AT_ONCE) {
      const looks = await Promise.all(names.slice(first, first + AT_ONCE).map((name) => observer.look(name)));
      for (const recorded of await recordLooks(history.record, looks)) {
        telemetry?.observed(eventOf(recorded));
        context.stdout.write(json ? lookAsJson(recorded, !dryRun) : lookAsText(recorded, !dryRun));
        if (hasFailed(recorded.outcome)) failed.push(recorded.look.domain);
      }
    }
  } finally {
    observer.close();
    await history.close();
  }
  if (failed.length > 0) throw new OperationError(`Nothing could be observed of ${failed.join(', ')}.`);
}

/** What looks are recorded in or, in a dry run, compared with. */
interface OpenHistory {
  readonly record: RecordObservations;
  close(): Promise<void>;
}

async function openHistory(context: CommandContext, dryRun: boolean): Promise<OpenHistory> {
  try {
    const database = await context.openDatabase({ mayCreate: !dryRun });
    const { httpsGrace } = context.settings().observe;
    const recorder = createRecorder(database.pool, { now: context.now, httpsGrace });
    return { record: dryRun ? recorder.preview : recorder.record, close: () => database.close() };
  } catch (error) {
    if (!(dryRun && error instanceof NoDatabaseError)) throw error;
    // A dry run leaves nothing behind, not even an empty database.
    return { record: async (observations) => previewFirst(observations), close: async () => {} };
  }
}

/** On a terminal the log would stand among what a person reads. */
function createTelemetry({ stderr, settings }: CommandContext): ObservationTelemetry {
  const { logLevel, secrets } = settings();
  const level = stderr.isTTY ? 'silent' : logLevel;
  return createObservationTelemetry(createLogger({ level, secrets, stream: stderr }), new Registry());
}
