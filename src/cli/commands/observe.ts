import { Registry } from 'prom-client';
import { NoDatabaseError, OperationError } from '../../model/errors.js';
import type { DomainCheck } from '../../observer/observe-domain.js';
import { hasFailed } from '../../observer/outcome.js';
import { eventOf, type RecordObservations, recordChecks } from '../../observer/record-checks.js';
import { createObserver } from '../../observing.js';
import { createRecorder, previewFirst } from '../../recorder/recorder.js';
import { createLogger } from '../../telemetry/logging.js';
import { createObservationTelemetry, type ObservationTelemetry } from '../../telemetry/observations.js';
import { type CommandContext, stopSignal } from '../command-context.js';
import { parseDomains } from '../domain-arguments.js';
import { checkAsJson, lookAsText } from './observe-output.js';

export interface ObserveOptions {
  readonly dryRun: boolean;
  readonly json: boolean;
}

/** Domains observed at once. */
const AT_ONCE = 20;

/** `dms observe DOMAIN…`: observes domains now. */
export async function runObserve(
  context: CommandContext,
  domains: readonly string[],
  options: ObserveOptions,
): Promise<void> {
  const names = parseDomains(domains);
  const run = { context, names, options, signal: stopSignal(context) };
  const { httpsGrace } = context.settings().observe;
  if (!options.dryRun) {
    return context.withConnections('create', ({ pool }) =>
      observeAll(run, createRecorder(pool, { httpsGrace }).record),
    );
  }
  try {
    await context.withConnections('fail', ({ pool }) =>
      observeAll(run, createRecorder(pool, { httpsGrace }).preview),
    );
  } catch (error) {
    if (!(error instanceof NoDatabaseError)) throw error;
    // A dry run leaves nothing behind, not even an empty database.
    await observeAll(run, async (observations) => previewFirst(observations));
  }
}

interface Run {
  readonly context: CommandContext;
  readonly names: readonly string[];
  readonly options: ObserveOptions;
  readonly signal: AbortSignal;
}

/** @param record records what is observed or, in a dry run, compares it with what is recorded. */
async function observeAll(run: Run, record: RecordObservations): Promise<void> {
  const { context, names, signal } = run;
  const { dryRun, json } = run.options;
  const observer = createObserver(context.settings(), context.now);
  const ending = new AbortController();
  signal.addEventListener('abort', () => ending.abort());
  const telemetry = dryRun ? null : createTelemetry(context);
  const shown = new ShownInOrder(names, (text) => context.stdout.write(text));
  const failed = new Set<string>();
  const take = async (looks: readonly DomainCheck[]): Promise<void> => {
    for (const recorded of await recordChecks(record, looks)) {
      const { domain } = recorded.check;
      telemetry?.observed(eventOf(recorded));
      shown.add(domain, json ? checkAsJson(recorded, !dryRun) : lookAsText(recorded, !dryRun));
      if (hasFailed(recorded.outcome)) failed.add(domain);
    }
  };
  try {
    await lookAtAll(names, (name) => observer.check(name, ending.signal), take, signal);
  } finally {
    shown.end();
    ending.abort();
  }
  if (signal.aborted) throw new OperationError(stoppedText(names.length, shown.count, dryRun));
  const without = names.filter((name) => failed.has(name));
  if (without.length > 0) throw new OperationError(`Nothing could be observed of ${without.join(', ')}.`);
}

/**
 * Looks at domains, several at once, until it is stopped. A slow one holds up neither the others nor their
 * recording: what finishes while a batch is recorded is the next batch.
 */
async function lookAtAll(
  names: readonly string[],
  look: (name: string) => Promise<DomainCheck>,
  take: (looks: readonly DomainCheck[]) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const waiting = names.values();
  const finished: DomainCheck[] = [];
  let taken = Promise.resolve();
  const lookOn = async () => {
    for (const name of waiting) {
      const seen = signal.aborted ? null : await look(name);
      // What a signal has cut short shows nothing of the domain.
      if (seen === null || signal.aborted) return;
      finished.push(seen);
      taken = taken.then(() => (finished.length === 0 ? undefined : take(finished.splice(0))));
      await taken;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lookOn));
}

function stoppedText(all: number, observed: number, dryRun: boolean): string {
  const kept = dryRun ? '' : '; what was seen of them is recorded';
  return `Stopped by a signal: ${observed} of ${all} domains were looked at${kept}.`;
}

/** Writes the texts of domains in the order of the names. */
class ShownInOrder {
  readonly #names: readonly string[];
  readonly #write: (text: string) => void;
  readonly #waiting = new Map<string, string>();
  #next = 0;
  /** How many texts were added. */
  count = 0;

  constructor(names: readonly string[], write: (text: string) => void) {
    this.#names = names;
    this.#write = write;
  }

  add(name: string, text: string): void {
    this.count += 1;
    this.#waiting.set(name, text);
    while (this.#show(this.#names[this.#next])) this.#next += 1;
  }

  /** Writes what is left: the texts after one that has not come. */
  end(): void {
    for (const name of this.#names.slice(this.#next)) this.#show(name);
  }

  #show(name = ''): boolean {
    const text = this.#waiting.get(name);
    if (text === undefined) return false;
    this.#write(text);
    return this.#waiting.delete(name);
  }
}

/** On a terminal the log would stand among what a person reads. */
function createTelemetry({ stderr, settings }: CommandContext): ObservationTelemetry {
  const { logLevel, secrets } = settings();
  const level = stderr.isTTY ? 'silent' : logLevel;
  return createObservationTelemetry(createLogger({ level, secrets, stream: stderr }), new Registry());
}
