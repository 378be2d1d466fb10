import type { MergedChanges } from '../history/merge-changes.js';
import type { HeaderChangeKind } from '../history/state.js';
import type { Observation } from '../model/observation.js';
import type { Recorder } from '../recorder/recorder.js';
import type { ObservationChanges, ObservationEvent } from '../telemetry/observations.js';
import type { Look } from './observe-domain.js';
import { outcomeOf } from './outcome.js';

/** A look, and what recording it did. */
export interface RecordedLook {
  readonly look: Look;
  readonly recording: ObservationEvent['recording'];
  /** Null: it changed nothing. */
  readonly changes: MergedChanges | null;
}

/** Whether looks are recorded, or only compared with what is known. */
export type RecordingMode = 'record' | 'preview';

/**
 * Records looks as one batch; those that showed nothing leave no trace.
 *
 * @param looks of domains that are all different.
 * @throws the database's error when it cannot be written to.
 */
export async function recordLooks(
  recorder: Recorder,
  looks: readonly Look[],
  mode: RecordingMode = 'record',
): Promise<RecordedLook[]> {
  const observations = looks
    .map(({ observation }) => observation)
    .filter((observation): observation is Observation => observation !== null);
  const { outcomes, changes } = await recorder[mode](observations);
  const kinds = new Map(observations.map(({ domain }, place) => [domain, outcomes[place]?.kind]));
  return looks.map((look) => ({
    look,
    recording: (look.observation === null ? undefined : kinds.get(look.domain)) ?? 'nothing',
    changes: changes.get(look.domain) ?? null,
  }));
}

/** The event that telemetry tells of a look. */
export function eventOf({ look, recording, changes }: RecordedLook): ObservationEvent {
  const { domain, duration, dns, http } = look;
  return { domain, duration, ...outcomeOf(dns, http), recording, changes: countChanges(changes) };
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
