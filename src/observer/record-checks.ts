import type { MergedChanges } from '../history/merge-changes.js';
import type { Outcome } from '../history/record-observations.js';
import type { HeaderChangeKind } from '../history/state.js';
import type { Observation } from '../model/observation.js';
import type { Recording } from '../recorder/recorder.js';
import type { ObservationChanges, ObservationEvent } from '../telemetry/observations.js';
import type { DomainCheck } from './observe-domain.js';
import { type CheckOutcome, outcomeOf } from './outcome.js';

/** A check, and what recording it did. */
export interface RecordedCheck {
  readonly check: DomainCheck;
  readonly outcome: CheckOutcome;
  readonly recording: ObservationEvent['recording'];
  /** Null: it changed nothing. */
  readonly changes: MergedChanges | null;
}

/** Records observations, or only compares them with what is known. */
export type RecordObservations = (observations: readonly Observation[]) => Promise<Recording>;

/**
 * Records checks as one batch; those that observed nothing leave no trace.
 *
 * @param checks of domains that are all different.
 * @throws what `record` throws.
 */
export async function recordChecks(
  record: RecordObservations,
  checks: readonly DomainCheck[],
): Promise<RecordedCheck[]> {
  const observations = checks
    .map(({ observation }) => observation)
    .filter((observation): observation is Observation => observation !== null);
  const { outcomes, changes } = await record(observations);
  const recorded = new Map<Observation | null, Outcome | undefined>(
    observations.map((observation, place) => [observation, outcomes[place]]),
  );
  return checks.map((check) => {
    const { kind = 'nothing', heldBack = null } = recorded.get(check.observation) ?? {};
    const outcome = outcomeOf(check.dns, check.http, heldBack);
    return { check, outcome, recording: kind, changes: changes.get(check.domain) ?? null };
  });
}

/** A check as an event of telemetry. */
export function eventOf({ check, outcome, recording, changes }: RecordedCheck): ObservationEvent {
  const { domain, duration } = check;
  return { domain, duration, ...outcome, recording, changes: countChanges(changes) };
}

function countChanges(changes: MergedChanges | null): ObservationChanges {
  const headers = (kind: HeaderChangeKind) =>
    changes?.headers.filter((change) => change.kind === kind).length ?? 0;
  return {
    recordsAdded: changes?.added.length ?? 0,
    recordsRemoved: changes?.removed.length ?? 0,
    headersCreated: headers('created'),
    headersUpdated: headers('updated'),
    headersGone: headers('gone'),
    headersReturned: headers('returned'),
  };
}
