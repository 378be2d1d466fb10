import { OperationError } from '../model/errors.js';
import type { Instant } from '../model/instant.js';
import { LookClock } from './look-clock.js';
import type { DomainCheck, DomainObserver } from './observe-domain.js';

const AT_ONCE = 20;

/**
 * Checks domains, several at once, until a signal or a fault of the clock. A slow one holds up neither the
 * others nor `take`, which records them: what finishes meanwhile is its next batch.
 *
 * @throws OperationError for a fault of the clock.
 */
export async function checkAll(
  observer: DomainObserver,
  names: readonly string[],
  take: (checks: readonly DomainCheck[]) => Promise<void>,
  { signal, now }: { readonly signal: AbortSignal; readonly now: () => Instant },
): Promise<void> {
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
