import type { Observation, SiteResponse } from '../model/observation.js';
import type { ActingHeaders, ActingParts, ActingType } from './acting-parts.js';
import { type DnsChanges, diffHeaders, diffRecords } from './diff.js';
import { judgeHeaders, judgeRecords, judgeResponse } from './judge-changes.js';
import type { Judged } from './judge-https.js';
import type { EarlierChanges } from './routine.js';
import {
  type DomainState,
  extendedTimes,
  type HeaderChange,
  type Holdings,
  laterOf,
  latestOfType,
  namedTimes,
  type ResponseChange,
} from './state.js';

/** What there is to write of an observation besides the domain's new state. */
export interface Changes extends DnsChanges {
  readonly headers: readonly HeaderChange[];
  /**
   * The response of the observation, where its headers were acted on, and something changed, or its scheme or
   * status.
   */
  readonly responses: readonly ResponseChange[];
  /** What the next changes of the RRsets and headers that changed are judged by. */
  readonly earlier: readonly EarlierChanges[];
}

/**
 * Applies an observation to what is known of a domain. A pure rule: no clock, no database.
 *
 * @param state null when nothing is recorded of the domain.
 * @param holdings what the domain holds according to `state`; only needed where a part differs.
 * @param judged the observation, and what is known of HTTPS after it.
 * @param acting the result of findActingParts for this state and this observation: at least one part.
 * @param response with its headers, where that is known; it may be recorded already.
 */
export function applyObservation(
  state: DomainState | null,
  holdings: Holdings,
  { observation, https }: Judged,
  acting: ActingParts,
  response: SiteResponse | undefined,
): { readonly state: DomainState; readonly changes: Changes } {
  const { observedAt } = observation;
  const { http } = acting;
  const dns = acting.types
    .filter((part) => part.differs)
    .map((part) => changesOfType(part, state, holdings, observation));
  const added = dns.flatMap((change) => change.added);
  const removed = dns.flatMap((change) => change.removed);
  const ofHttp =
    http === null ? NOTHING_OF_HTTP : changesOfHttp(http, state, holdings, observation, response);
  const { headers, site } = ofHttp;
  const changed = added.length + removed.length + headers.length > 0;
  const responses = site !== null && (changed || site.isAnother) ? [site.response] : [];
  const next: DomainState = {
    created: state === null || observedAt < state.created ? observedAt : state.created,
    lastUpdate: laterOf(state?.lastUpdate, observedAt),
    lastChange: changed ? laterOf(state?.lastChange, observedAt) : (state?.lastChange ?? null),
    everyType: acting.everyType ? extendedTimes(state?.everyType, observedAt) : (state?.everyType ?? null),
    types: nextTypes(state, observation, acting),
    http:
      http === null
        ? (state?.http ?? null)
        : { ...extendedTimes(state?.http, observedAt), digest: http.digest },
    https,
    site: site?.state ?? state?.site ?? null,
  };
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
  const present = records.get(part.type) ?? [];
  const latest = latestOfType(state, part.type);
  const changes = diffRecords(part, present, observation, latest);
  return judgeRecords(changes, present, { observedAt, isFirst: latest === null, earlier });
}

const NOTHING_OF_HTTP = { headers: [], site: null, earlier: [] };

function changesOfHttp(
  { differs, headers }: ActingHeaders,
  state: DomainState | null,
  { headers: known, earlier }: Holdings,
  observation: Observation,
  response: SiteResponse | undefined,
) {
  const { observedAt, source = null } = observation;
  const latest = state?.http?.latest ?? null;
  const changes = differs ? diffHeaders(headers, known, observation, latest) : [];
  const grounds = { observedAt, isFirst: latest === null, earlier };
  const judged = judgeHeaders(changes, known, response?.status, grounds);
  const site = response && judgeResponse({ ...response, observedAt, source }, state?.site ?? null, earlier);
  return {
    headers: judged.headers,
    site: site ?? null,
    earlier: [...judged.earlier, ...(site?.earlier ?? [])],
  };
}

/** Whether there is nothing to write besides the domain's new state. */
export function isEmpty(changes: Changes): boolean {
  return !tellsOfParts(changes) && changes.responses.length === 0;
}

/** Whether records or headers changed. */
export function tellsOfParts({ added, removed, headers }: Changes): boolean {
  return added.length > 0 || removed.length > 0 || headers.length > 0;
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
