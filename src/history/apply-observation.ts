import type { Instant } from '../model/instant.js';
import type { Observation } from '../model/observation.js';
import type { ActingParts, ActingType } from './acting-parts.js';
import { type DnsChanges, diffHeaders, diffRecords } from './diff.js';
import type { Judged } from './judge-https.js';
import {
  type DomainState,
  type HeaderChange,
  type Holdings,
  latestOfType,
  type PartTimes,
  type RecordedResponse,
} from './state.js';

/** What an observation changes: what there is to write besides the domain's new state. */
export interface Changes extends DnsChanges {
  readonly headers: readonly HeaderChange[];
  /** The response of the observation, where it changed something and its headers were acted on. */
  readonly responses: readonly RecordedResponse[];
}

/**
 * Applies an observation to what is known of a domain. A pure rule: no clock, no database.
 *
 * @param state null when nothing is recorded of the domain.
 * @param holdings what the domain holds according to `state`; only needed where a part differs.
 * @param judged the observation, and what is known of HTTPS after it.
 * @param acting the result of findActingParts for this state and this observation: at least one part.
 */
export function applyObservation(
  state: DomainState | null,
  holdings: Holdings,
  { observation, https }: Judged,
  acting: ActingParts,
): { readonly state: DomainState; readonly changes: Changes } {
  const { observedAt, response } = observation;
  const { http } = acting;
  const dns = acting.types
    .filter((part) => part.differs)
    .map((part) =>
      diffRecords(part, holdings.records.get(part.type) ?? [], observation, latestOfType(state, part.type)),
    );
  const added = dns.flatMap((change) => change.added);
  const removed = dns.flatMap((change) => change.removed);
  const headers =
    http?.differs === true
      ? diffHeaders(http.headers, holdings.headers, observation, state?.http?.latest ?? null)
      : [];
  const changed = added.length + removed.length + headers.length > 0;
  const responses = changed && http !== null && response !== undefined ? [{ observedAt, ...response }] : [];
  const next: DomainState = {
    created: state === null || observedAt < state.created ? observedAt : state.created,
    lastUpdate: later(state?.lastUpdate, observedAt),
    lastChange: changed ? later(state?.lastChange, observedAt) : (state?.lastChange ?? null),
    everyType: acting.everyType ? extended(state?.everyType, observedAt) : (state?.everyType ?? null),
    types: nextTypes(state, observation, acting.types),
    http:
      http === null ? (state?.http ?? null) : { ...extended(state?.http, observedAt), digest: http.digest },
    https,
  };
  return { state: next, changes: { added, removed, headers, responses } };
}

/** Whether nothing changed. */
export function isEmpty(changes: Changes): boolean {
  return changes.added.length === 0 && changes.removed.length === 0 && changes.headers.length === 0;
}

function nextTypes(
  state: DomainState | null,
  { dns, observedAt }: Observation,
  acting: readonly ActingType[],
): DomainState['types'] {
  const byName = dns?.types !== undefined;
  const known: DomainState['types'] = state?.types ?? new Map();
  if (!byName && acting.every((part) => !part.differs)) return known;
  const types = new Map(known);
  for (const { type, digest } of acting) {
    const named = types.get(type)?.named ?? null;
    types.set(type, { digest, named: byName ? extended(named, observedAt) : named });
  }
  return types;
}

function extended(times: PartTimes | null | undefined, observedAt: Instant): PartTimes {
  return { first: times?.first ?? observedAt, latest: observedAt };
}

function later(known: Instant | null | undefined, observedAt: Instant): Instant {
  return known == null || known < observedAt ? observedAt : known;
}
