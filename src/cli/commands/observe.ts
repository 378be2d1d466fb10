import type { Settings } from '../../config/settings.js';
import { NoDatabaseError, OperationError } from '../../model/errors.js';
import type { DomainCheck } from '../../observer/observe-domain.js';
import { hasFailed } from '../../observer/outcome.js';
import { type RecordedCheck, type RecordObservations, recordChecks } from '../../observer/record-checks.js';
import { noteObserved } from '../../observer/schedule/watch-list.js';
import { createObserver, createResolverChecks } from '../../observing.js';
import { createRecorder, previewFirst } from '../../recorder/recorder.js';
import { type CommandContext, stopSignal } from '../command-context.js';
import { readDomains } from '../domain-arguments.js';
import { writeText } from '../output.js';
import { checkAsJson, checkAsText } from './observe-output.js';

interface ObserveOptions {
  readonly dryRun: boolean;
  readonly json: boolean;
}

export async function runObserve(
  context: CommandContext,
  domains: readonly string[],
  { dryRun, json }: ObserveOptions,
): Promise<void> {
  const names = await readDomains(context, domains);
  const signal = stopSignal(context);
  const settings = context.settings();
  const { httpsGrace } = settings.observe;
  let observed = 0;
  const failed: string[] = [];
  const late: string[] = [];
  /** In a dry run, `record` compares what is observed with what is recorded. */
  const observeAll = (
    record: RecordObservations,
    note: (recorded: readonly RecordedCheck[]) => Promise<void> = async () => {},
  ) => {
    const take = async (checks: readonly DomainCheck[]) => {
      const all = await recordChecks(record, checks);
      await note(all);
      for (const recorded of all) {
        observed += 1;
        if (hasFailed(recorded.outcome)) failed.push(recorded.check.domain);
        if (recorded.recording === 'stale') late.push(recorded.check.domain);
        await writeText(context.stdout, (json ? checkAsJson : checkAsText)(recorded, !dryRun));
      }
    };
    return checkNow(context, settings, names, take, signal);
  };
  if (dryRun) {
    await context
      .withConnections('fail', ({ pool }) => observeAll(createRecorder(pool, { httpsGrace }).preview))
      .catch((error) => {
        if (!(error instanceof NoDatabaseError)) throw error;
        // A dry run creates nothing, not even an empty database.
        return observeAll(async (observations) => previewFirst(observations));
      });
  } else {
    await context.withConnections('create', ({ pool }) =>
      observeAll(createRecorder(pool, { httpsGrace }).record, (recorded) => noteObserved(pool, recorded)),
    );
  }
  if (signal.aborted) {
    const kept = dryRun ? '' : '; what was seen of them is recorded';
    throw new OperationError(
      `Stopped by a signal: ${observed} of ${names.length} domains were checked${kept}.`,
    );
  }
  if (failed.length > 0) throw new OperationError(`Nothing could be observed of ${failed.join(', ')}.`);
  if (late.length > 0) {
    const newer = `Later observations are recorded of ${late.join(', ')}`;
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
  let clockFault: string | undefined;
  const checkNext = async () => {
    for (const name of waiting) {
      if (signal.aborted || clockFault !== undefined) return;
      const seen = await observer.check(name, either);
      clockFault ??= seen.clockFault;
      // A check that a signal has interrupted says nothing about the domain.
      if (signal.aborted || seen.clockFault !== undefined) return;
      finished.push(seen);
      taken = taken.then(() => (finished.length === 0 ? undefined : take(finished.splice(0))));
      await taken;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, checkNext)).finally(() => ending.abort());
  if (clockFault !== undefined && !signal.aborted) throw new OperationError(clockFault);
}
