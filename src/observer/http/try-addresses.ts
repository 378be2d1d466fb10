import type { Failure } from '../failure.js';
import type { VisitOutcome } from './visit-outcome.js';

/** What the addresses of a domain have come to under one scheme. */
export type Trial =
  | {
      readonly kind: 'answered';
      readonly address: string;
      readonly status: number;
      readonly headers: ReadonlyMap<string, string>;
    }
  | { readonly kind: 'failed'; readonly failure: Failure }
  /** Every way that there is refuses, or speaks no TLS: the other scheme may be tried at these addresses. */
  | { readonly kind: 'declined'; readonly failure: Failure; readonly addresses: readonly string[] };

/**
 * Visits the addresses one after the other until one accepts the connection.
 *
 * Where one did not answer in time, no later one can decline for the domain: whether it answers in time
 * next is chance, and the headers of the two schemes would take turns.
 *
 * @param addresses At least one.
 */
export async function tryAddresses(
  addresses: readonly string[],
  visitAt: (address: string) => Promise<VisitOutcome>,
): Promise<Trial> {
  const passed = new Map<'slow' | 'refused' | 'no-way', Failure>();
  for (const [at, address] of addresses.entries()) {
    const outcome = await visitAt(address);
    switch (outcome.kind) {
      case 'answered':
        return { ...outcome, address };
      case 'failed':
        return outcome;
      case 'no-tls':
        return declined(passed.get('slow'), outcome.failure, addresses.slice(at));
      default:
        passed.set(outcome.kind, outcome.failure);
    }
  }
  const refused = passed.get('refused');
  if (refused !== undefined) return declined(passed.get('slow'), refused, addresses);
  const failure = passed.get('slow') ?? passed.get('no-way') ?? NONE;
  return { kind: 'failed', failure };
}

const NONE: Failure = { code: 'no-address', message: 'the domain has no address' };

function declined(slow: Failure | undefined, failure: Failure, addresses: readonly string[]): Trial {
  return slow === undefined ? { kind: 'declined', failure, addresses } : { kind: 'failed', failure: slow };
}
