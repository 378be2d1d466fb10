import type { Instant } from '../model/instant.js';
import type { Observation } from '../model/observation.js';
import { findActingParts, type Recorded, typesCovered } from './acting-parts.js';
import { applyObservation } from './apply-observation.js';
import { completeObservation, partsToComplete } from './complete-observation.js';
import { type Changes, hold, timeOf } from './diff.js';
import { digestOfRecords, isDigestOf } from './digest.js';
import { type HeldBack, judgeHttps } from './judge-https.js';
import { type DomainState, type Holdings, isStatusChange, latestOfType } from './state.js';
import { EVERY_TYPE, HTTP, type KeptTime, type KeptTimes } from './stored-history.js';

/**
 * It changed something; it was recorded without a change; every part that it covers was observed at this very
 * time already; or newer observations are recorded.
 */
type OutcomeKind = 'changed' | 'unchanged' | 'repeated' | 'stale';

export interface Outcome {
  readonly kind: OutcomeKind;
  /** A part was observed at this very time already, and held something else then. */
  readonly contradicts: boolean;
  /** A part that it covers was first observed later: it would have to be put before that. */
  readonly precedes: boolean;
  /** It was recorded, and something newer is of other parts that it covers. */
  readonly isPartial: boolean;
  /** Null: there was no response over HTTP, or it counted. */
  readonly heldBack: HeldBack | null;
}

export function isActing({ kind }: Pick<Outcome, 'kind'>): boolean {
  return kind === 'changed' || kind === 'unchanged';
}

export interface Rules {
  /** See judgeHttps(). */
  readonly httpsGrace?: bigint | undefined;
  /** Absent: what the observations are applied to. */
  readonly recorded?: Recorded | undefined;
}

export interface RecordedObservations {
  readonly state: DomainState | null;
  readonly changes: readonly Changes[];
  /** Of the observations that changed nothing, the first of parts, if they tell who observed. */
  readonly firsts: KeptTimes;
  /** In the order of the observations. */
  readonly outcomes: readonly Outcome[];
}

/**
 * Applies observations of one domain in the order given. A pure rule, which makes `holdings` what is held
 * after them.
 *
 * @param holdings At least those of partsToLoad().
 */
export function recordObservations(
  state: DomainState | null,
  holdings: Holdings,
  observations: readonly Observation[],
  rules: Rules = {},
): RecordedObservations {
  let before = state;
  const changes: Changes[] = [];
  const firsts = new Map<string, readonly KeptTime[]>();
  const outcomes: Outcome[] = [];
  for (const observation of observations) {
    const step = recordOne(before, holdings, observation, rules);
    addFirsts(firsts, before, step, observation);
    before = step.state;
    outcomes.push(step.outcome);
    if (step.changes === null) continue;
    changes.push(step.changes);
    hold(holdings, step.changes);
  }
  return { state: before, changes, firsts, outcomes };
}

/** Adds the parts that an observation was the first of, unless its changes of records, or headers, tell of it. */
function addFirsts(
  firsts: Map<string, readonly KeptTime[]>,
  before: DomainState | null,
  { state, changes }: Step,
  { observedAt, source }: Observation,
): void {
  if (source === undefined || state === null) return;
  const { everyType, types, http } = state;
  const add = (part: string) => firsts.set(part, [{ observedAt, source }]);
  if (http !== null && before?.http == null && !changes?.headers.length) add(HTTP);
  if (changes?.added.length || changes?.removed.length) return;
  if (everyType !== null && before?.everyType == null) add(EVERY_TYPE);
  if (types === before?.types) return;
  for (const [type, { named }] of types) {
    if (named !== null && before?.types.get(type)?.named == null) add(type);
  }
}

interface Step {
  readonly state: DomainState | null;
  /** Null: there is nothing to write besides the state. */
  readonly changes: Changes | null;
  readonly outcome: Outcome;
}

function recordOne(
  state: DomainState | null,
  holdings: Holdings,
  given: Observation,
  { httpsGrace, recorded = { state, older: false } }: Rules,
): Step {
  const observation = completeObservation(given, holdings);
  const acting = findActingParts(state, observation, recorded);
  const { https, heldBack } = judgeHttps(state, observation, recorded, httpsGrace);
  if (heldBack !== null) acting.http = null;
  const { contradicts, precedes, stale } = acting;
  if (!acting.everyType && acting.types.length === 0 && acting.http === null) {
    // An observation at which HTTPS was declined is kept, even where it acts on no part.
    const isKept = https !== (state?.https ?? null);
    const kind = isKept ? 'unchanged' : stale ? 'stale' : 'repeated';
    const outcome: Outcome = { kind, contradicts, precedes, isPartial: isKept && stale, heldBack };
    return { state: state && { ...state, https }, changes: null, outcome };
  }
  const applied = applyObservation(state, holdings, observation, acting, https);
  const kind = kindOf(applied.changes);
  const outcome: Outcome = { kind, contradicts, precedes, isPartial: stale, heldBack };
  return {
    state: applied.state,
    changes: timeOf(applied.changes) === undefined ? null : applied.changes,
    outcome,
  };
}

/** A first status, and another scheme alone, are no changes. */
function kindOf({ added, removed, headers, responses }: Changes): OutcomeKind {
  const isOfParts = added.length + removed.length + headers.length > 0;
  return isOfParts || responses.some(isStatusChange) ? 'changed' : 'unchanged';
}

/**
 * The parts of which what a domain holds is needed to apply observations: those in which one differs from what
 * is known. In all others nothing changes; a digest that is equal says that an observation left out none that is
 * present.
 *
 * @returns DNS types, and HTTP.
 */
export function partsToLoad(
  state: DomainState | null,
  observations: readonly Observation[],
): ReadonlySet<string> {
  const parts = new Set<string>();
  if (state === null) return parts;
  for (const observation of observations) {
    const { dns } = observation;
    for (const type of dns === undefined ? [] : typesCovered(state, dns)) {
      const digest = digestOfRecords(dns?.records.get(type) ?? []);
      if (digest === (state.types.get(type)?.digest ?? '')) continue;
      addDiffering(parts, observation, type, latestOfType(state, type));
    }
    if (httpDiffers(state, observation)) addDiffering(parts, observation, HTTP, state.http?.latest ?? null);
  }
  return parts;
}

/** @param latest When the part was observed before: a stale observation changes nothing in it. */
function addDiffering(
  parts: Set<string>,
  observation: Observation,
  part: string,
  latest: Instant | null,
): void {
  if (latest === null || observation.observedAt > latest) parts.add(part);
  if (observation.observedAt !== latest) return;
  // What it left out may be all that differs from the same observation as it is recorded.
  for (const each of partsToComplete(observation)) parts.add(each);
}

/** Whether headers or the status differ: another status needs what it is judged by. */
function httpDiffers({ http, site }: DomainState, observation: Observation): boolean {
  const { httpHeaders, ignoredHeaders, response } = observation;
  if (httpHeaders === undefined) return false;
  if (!isDigestOf(http?.digest ?? '', httpHeaders, ignoredHeaders)) return true;
  return response !== undefined && site !== null && site.status !== response.status;
}
