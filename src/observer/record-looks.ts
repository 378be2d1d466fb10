import type { MergedChanges } from '../history/merge-changes.js';
import type { Outcome } from '../history/record-observations.js';
import type { HeaderChangeKind } from '../history/state.js';
import type { Observation } from '../model/observation.js';
import type { Recording } from '../recorder/recorder.js';
import type { ObservationChanges, ObservationEvent } from '../telemetry/observations.js';
import type { Look } from './observe-domain.js';
import { type LookOutcome, outcomeOf } from './outcome.js';

/** A look, and what recording it did. */
export interface RecordedLook {
  readonly look: Look;
  readonly outcome: LookOutcome;
  readonly recording: ObservationEvent['recording'];
  /** Null: it changed nothing. */
  readonly changes: MergedChanges | null;
}

/** Records observations, or only compares them with what is known. */
export type RecordObservations = (observations: readonly Observation[]) => Promise<Recording>;

/**
 * Records looks as one batch; those that showed nothing leave no trace.
 *
 * @param looks of domains that are all different.
 * @throws what `record` throws.
 */
export async function recordLooks(
  record: RecordObservations,
  looks: readonly Look[],
): Promise<RecordedLook[]> {
  const observations = looks
    .map(({ observation }) => observation)
    .filter((observation): observation is Observation => observation !== null);
  const { outcomes, changes } = await record(observations);
  const recorded = new Map<Observation | null, Outcome | undefined>(
    observations.map((observation, place) => [observation, outcomes[place]]),
  );
  return looks.map((look) => {
    const { kind = 'nothing', heldBack = null } = recorded.get(look.observation) ?? {};
    const outcome = outcomeOf(look.dns, look.http, heldBack);
    return { look, outcome, recording: kind, changes: changes.get(look.domain) ?? null };
  });
}

/** The event that telemetry tells of a look. */
export function eventOf({ look, outcome, recording, changes }: RecordedLook): ObservationEvent {
  const { domain, duration } = look;
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
