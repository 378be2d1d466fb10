import type { Failure } from '../failure.js';
import { failed, type VisitOutcome } from './visit-outcome.js';

/** What the addresses of a domain have come to under one scheme. */
export type Trial =
  | {
      readonly kind: 'answered';
      readonly address: string;
      readonly status: number;
      readonly headers: ReadonlyMap<string, string>;
    }
  | { readonly kind: 'failed'; readonly failure: Failure }
  /** Every address that can be reached refuses, or speaks no TLS: the other scheme may be tried. */
  | { readonly kind: 'declined'; readonly failure: Failure };

/** What leads to the next address, from what decides about all of them to what says nothing. */
const PASSED = ['slow', 'closed', 'no-tls', 'refused', 'no-way'] as const;

/**
 * Visits the addresses one after the other until one gives a response, or a failure that is the site's own.
 *
 * Where one did not answer in time, or closed the connection, no other can decline for the domain: how it
 * answers next is chance, and the headers of the two schemes would take turns.
 *
 * @param addresses At least one.
 */
export async function tryAddresses(
  addresses: readonly string[],
  visitAt: (address: string) => Promise<VisitOutcome>,
): Promise<Trial> {
  const passed = new Map<VisitOutcome['kind'], Failure>();
  for (const address of addresses) {
    const outcome = await visitAt(address);
    if (outcome.kind === 'answered') return { ...outcome, address };
    if (outcome.kind === 'failed') return outcome;
    passed.set(outcome.kind, outcome.failure);
  }
  const kind = PASSED.find((candidate) => passed.has(candidate));
  const failure = kind === undefined ? undefined : passed.get(kind);
  if (failure === undefined) return failed('no-address', 'the domain has no address');
  return { kind: kind === 'no-tls' || kind === 'refused' ? 'declined' : 'failed', failure };
}
