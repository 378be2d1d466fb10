import { Registry } from 'prom-client';
import type { Settings } from '../../config/settings.js';
import { NoDatabaseError, OperationError } from '../../model/errors.js';
import { LookClock } from '../../observer/look-clock.js';
import type { DomainCheck } from '../../observer/observe-domain.js';
import { hasFailed } from '../../observer/outcome.js';
import {
  createCheckReport,
  type RecordedCheck,
  type RecordObservations,
  type ReportCheck,
  recordChecks,
} from '../../observer/record-checks.js';
import { noteObserved } from '../../observer/schedule/watch-list.js';
import { createObserver, createResolverChecks } from '../../observing.js';
import { createRecorder, previewFirst } from '../../recorder/recorder.js';
import { createLogger } from '../../telemetry/logging.js';
import { type CommandContext, stopSignal } from '../command-context.js';
import { readDomains } from '../domain-arguments.js';
import { checkAsJson, checkAsText } from './observe-output.js';

interface ObserveOptions {
  readonly dryRun: boolean;
  readonly json: boolean;
}

export async function runObserve(
  context: CommandContext,
  domains: readonly string[],
  options: ObserveOptions,
): Promise<void> {
  const names = await readDomains(context, domains);
  const run = { context, names, options, signal: stopSignal(context) };
  const { httpsGrace } = context.settings().observe;
  if (!options.dryRun) {
    return context.withConnections('create', ({ pool }) =>
      observeAll(run, createRecorder(pool, { httpsGrace }).record, (recorded) =>
        noteObserved(pool, recorded),
      ),
    );
  }
  try {
    await context.withConnections('fail', ({ pool }) =>
      observeAll(run, createRecorder(pool, { httpsGrace }).preview),
    );
  } catch (error) {
    if (!(error instanceof NoDatabaseError)) throw error;
    // A dry run creates nothing, not even an empty database.
    await observeAll(run, async (observations) => previewFirst(observations));
  }
}

interface Run {
  readonly context: CommandContext;
  readonly names: readonly string[];
  readonly options: ObserveOptions;
  readonly signal: AbortSignal;
}

/**
 * @param record records what is observed or, in a dry run, compares it with what is recorded.
 * @param note keeps the outcomes; absent in a dry run.
 */
async function observeAll(
  { context, names, options: { dryRun, json }, signal }: Run,
  record: RecordObservations,
  note?: (recorded: readonly RecordedCheck[]) => Promise<void>,
): Promise<void> {
  const report = dryRun ? null : createReport(context);
  const texts = new Map<string, string>();
  const failed = new Set<string>();
  const late = new Set<string>();
  // Texts are shown in the order of the names, each as soon as those before it are.
  let [next, observed] = [0, 0];
  const show = (name = '') => {
    const text = texts.get(name);
    if (text !== undefined) context.stdout.write(text);
    return texts.delete(name);
  };
  const take = async (checks: readonly DomainCheck[]): Promise<void> => {
    const all = await recordChecks(record, checks);
    await note?.(all);
    for (const recorded of all) {
      const { domain } = recorded.check;
      report?.(recorded);
      texts.set(domain, (json ? checkAsJson : checkAsText)(recorded, !dryRun));
      if (hasFailed(recorded.outcome)) failed.add(domain);
      if (recorded.recording === 'stale') late.add(domain);
      observed += 1;
      while (show(names[next])) next += 1;
    }
  };
  try {
    await checkNow(context, context.settings(), names, take, signal);
  } finally {
    for (const name of names.slice(next)) show(name);
  }
  if (signal.aborted) {
    const kept = dryRun ? '' : '; what was seen of them is recorded';
    throw new OperationError(
      `Stopped by a signal: ${observed} of ${names.length} domains were checked${kept}.`,
    );
  }
  const without = names.filter((name) => failed.has(name));
  if (without.length > 0) throw new OperationError(`Nothing could be observed of ${without.join(', ')}.`);
  if (late.size > 0) {
    const newer = `Later observations are recorded of ${[...late].join(', ')}`;
    throw new OperationError(
      `${newer}. If there should be none, the clock is or was wrong: set it, by NTP say.`,
    );
  }
}

const AT_ONCE = 20;

/**
 * Checks domains, several at once, until a signal or a fault of the clock. A slow one holds up neither the others nor `take`,
 * which records them: what finishes meanwhile is its next batch.
 *
 * @throws OperationError for a fault of the clock.
 */
export async function checkNow(
  context: CommandContext,
  settings: Settings,
  names: readonly string[],
  take: (checks: readonly DomainCheck[]) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const { now, warn } = context;
  const observer = createObserver(settings, now, createResolverChecks(settings, now, warn));
  const ending = new AbortController();
  const either = AbortSignal.any([signal, ending.signal]);
  const waiting = names.values();
  const finished: DomainCheck[] = [];
  let taken = Promise.resolve();
  const clock = new LookClock();
  let clockFault: string | null = null;
  const checkNext = async () => {
    for (const name of waiting) {
      const observedAt = now();
      clockFault ??= clock.faultOf(observedAt);
      if (signal.aborted || clockFault !== null) return;
      const seen = await observer.check(name, observedAt, either);
      // A check that a signal has interrupted says nothing about the domain.
      if (signal.aborted) return;
      finished.push(seen);
      taken = taken.then(() => (finished.length === 0 ? undefined : take(finished.splice(0))));
      await taken;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, checkNext)).finally(() => ending.abort());
  if (clockFault !== null && !signal.aborted) throw new OperationError(clockFault);
}

/** On a terminal the log would mix with the output. What fails is in the output, too. */
function createReport({ stderr, settings, isQuiet }: CommandContext): ReportCheck {
  const { logLevel, secrets } = settings();
  const level = stderr.isTTY || isQuiet() ? 'silent' : logLevel;
  return createCheckReport(createLogger({ level, secrets, stream: stderr }), new Registry());
}
