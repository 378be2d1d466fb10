import type { Observation } from '../model/observation.js';
import type { ActingHeaders, ActingParts, ActingType } from './acting-parts.js';
import { type Changes, diffHeaders, diffRecords } from './diff.js';
import { judgeHeaders, judgeRecords, judgeResponse } from './judge-changes.js';
import {
  type DomainState,
  earlierOf,
  extendedTimes,
  type Holdings,
  laterOf,
  latestOfType,
  namedTimes,
} from './state.js';

/**
 * Applies an observation to what is known of a domain. A pure rule: no clock, no database.
 *
 * @param holdings only needed where a part differs.
 * @param acting at least one part.
 * @param https what is known of HTTPS after it.
 */
export function applyObservation(
  state: DomainState | null,
  holdings: Holdings,
  observation: Observation,
  acting: ActingParts,
  https: DomainState['https'],
): { readonly state: DomainState; readonly changes: Changes } {
  const { observedAt } = observation;
  const { http, types } = acting;
  const differing = types.filter((part) => part.differs);
  const dns = differing.map((part) => changesOfType(part, state, holdings, observation));
  const added = dns.flatMap((change) => change.added);
  const removed = dns.flatMap((change) => change.removed);
  const ofHttp = http === null ? NOTHING_OF_HTTP : changesOfHttp(http, state, holdings, observation);
  const { headers, response } = ofHttp;
  const changed = added.length + removed.length + headers.length > 0;
  const next: DomainState = {
    created: earlierOf(state?.created, observedAt),
    lastUpdate: laterOf(state?.lastUpdate, observedAt),
    lastChange: changed ? laterOf(state?.lastChange, observedAt) : (state?.lastChange ?? null),
    everyType: acting.everyType ? extendedTimes(state?.everyType, observedAt) : (state?.everyType ?? null),
    types: nextTypes(state, observation, acting),
    http:
      http === null
        ? (state?.http ?? null)
        : { first: state?.http?.first ?? observedAt, latest: observedAt, digest: http.digest },
    https,
    site: response?.site ?? state?.site ?? null,
  };
  const responses = response !== undefined && (changed || response.isAnother) ? [response.change] : [];
  const earlier = [...dns.flatMap((change) => change.earlier), ...ofHttp.earlier];
  return { state: next, changes: { added, removed, headers, responses, earlier } };
}

function changesOfType(
  part: ActingType,
  state: DomainState | null,
  { records, earlier }: Holdings,
  observation: Observation,
) {
  const { observedAt } = observation;
  const present = records.get(part.type) ?? new Map();
  const latest = latestOfType(state, part.type);
  const changes = diffRecords(part, present, observation, latest);
  return judgeRecords(changes, [...present.values()], { observedAt, isFirst: latest === null, earlier });
}

const NOTHING_OF_HTTP = { headers: [], response: undefined, earlier: [] };

function changesOfHttp(
  { differs, headers }: ActingHeaders,
  state: DomainState | null,
  { headers: known, earlier }: Holdings,
  observation: Observation,
) {
  const { observedAt, response: given } = observation;
  const latest = state?.http?.latest ?? null;
  const changes = differs ? diffHeaders(headers, known, observation, latest) : [];
  const judged = judgeHeaders(changes, known, given?.status, {
    observedAt,
    isFirst: latest === null,
    earlier,
  });
  const response = given && judgeResponse(given, observation, state?.site ?? null, earlier);
  return { headers: judged.headers, response, earlier: [...judged.earlier, ...(response?.earlier ?? [])] };
}

function nextTypes(
  state: DomainState | null,
  { observedAt, dns }: Observation,
  { everyType, types: acting }: ActingParts,
): DomainState['types'] {
  // One of every type that is stale for a known one is one of the others by name.
  const byName = !everyType;
  const known: DomainState['types'] = state?.types ?? new Map();
  if (acting.every((part) => !byName && !part.differs)) return known;
  const types = new Map(known);
  // Known from now on, they are not OTHER_TYPES when they are first observed.
  for (const type of dns?.notOther ?? []) if (!types.has(type)) types.set(type, { digest: '', named: null });
  for (const { type, digest } of acting) {
    const named = namedTimes(state, type);
    types.set(type, { ...types.get(type), digest, named: byName ? extendedTimes(named, observedAt) : named });
  }
  return types;
}
