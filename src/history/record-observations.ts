import type { Instant } from '../model/instant.js';
import type { Observation, SiteResponse } from '../model/observation.js';
import { type ActingParts, findActingParts, isStale, type Recorded } from './acting-parts.js';
import { applyObservation, type Changes, isEmpty, tellsOfParts } from './apply-observation.js';
import { completeObservation, isPartial } from './complete-observation.js';
import { holdingsAfter } from './diff.js';
import { DEFAULT_HTTPS_GRACE, type HeldBack, type Judged, judgeHttps } from './judge-https.js';
import { type DomainState, type Holdings, isStatusChange, NOTHING_HELD } from './state.js';
import { EVERY_TYPE, HTTP, type KeptTime, type KeptTimes } from './stored-history.js';

/**
 * The outcome of an observation: it changed something; it was recorded without a change; every part
 * that it covers was observed at this very time already; or newer observations are recorded.
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
  /** Its response over HTTP did not count, since the site answers over HTTPS; null: it had none, or it counted. */
  readonly heldBack: HeldBack | null;
}

/** How far the observations of one domain have been applied, in the order given. */
export interface Progress {
  readonly state: DomainState | null;
  /** Null until an observation differs from what is known: only then are they needed. */
  readonly holdings: Holdings | null;
  /** What the observations changed, one by one. */
  readonly changes: readonly Changes[];
  /** Of the observations that changed nothing, the first of parts, if they tell who observed. */
  readonly firsts: KeptTimes;
  /** Of the observations applied so far, in their order. */
  readonly outcomes: readonly Outcome[];
  readonly waiting: readonly Observation[];
  /** For how long HTTPS must be declined before a response over HTTP counts, in microseconds. */
  readonly httpsGrace: bigint;
  /** See findActingParts(). */
  readonly recorded?: Recorded | undefined;
  /** By time, the responses of observations that are recorded already, and have none with them. */
  readonly responses?: ReadonlyMap<Instant, SiteResponse> | undefined;
}

/** Begins with a domain's state; of a domain not yet recorded the holdings are known: none. */
export function beginRecording(
  state: DomainState | null,
  observations: readonly Observation[],
  httpsGrace = DEFAULT_HTTPS_GRACE,
): Progress {
  const holdings = state === null ? NOTHING_HELD : null;
  return { state, holdings, changes: [], firsts: new Map(), outcomes: [], waiting: observations, httpsGrace };
}

/** Applies observations until all are, or until one differs and the holdings are not known. */
export function recordObservations(progress: Progress): Progress {
  let known: Known = progress;
  const changes = [...progress.changes];
  const firsts = new Map(progress.firsts);
  const outcomes = [...progress.outcomes];
  let next = 0;
  for (const observation of progress.waiting) {
    const step = recordOne(known, observation, progress);
    if (step === null) break;
    const isTold = step.changes !== null && tellsOfParts(step.changes);
    if (!isTold && step.state !== null) addFirsts(firsts, known.state, step.state, observation);
    known = step;
    outcomes.push(step.outcome);
    if (step.changes !== null) changes.push(step.changes);
    next += 1;
  }
  const { state, holdings } = known;
  return { ...progress, state, holdings, changes, firsts, outcomes, waiting: progress.waiting.slice(next) };
}

/** Adds the parts that an observation was the first of. Where it changed something, its changes tell of it. */
function addFirsts(
  firsts: Map<string, readonly KeptTime[]>,
  before: DomainState | null,
  { everyType, types, http }: DomainState,
  { observedAt, source }: Observation,
): void {
  if (source === undefined) return;
  const add = (part: string) => firsts.set(part, [{ observedAt, source }]);
  if (everyType !== null && before?.everyType == null) add(EVERY_TYPE);
  if (http !== null && before?.http == null) add(HTTP);
  if (types === before?.types) return;
  for (const [type, { named }] of types) {
    if (named !== null && before?.types.get(type)?.named == null) add(type);
  }
}

type Known = Pick<Progress, 'state' | 'holdings'>;

interface Step extends Known {
  readonly changes: Changes | null;
  readonly outcome: Outcome;
}

/** @returns null when the holdings are needed and not known. */
function recordOne({ state, holdings }: Known, observed: Observation, progress: Progress): Step | null {
  const judged = judge(state, observed, progress);
  const { https, heldBack } = judged;
  // Where the holdings are not known yet, a digest that is equal says that it left out none that is present.
  const observation =
    holdings === null ? judged.observation : completeObservation(judged.observation, holdings);
  const acting = findActingParts(state, observation, progress.recorded);
  const { contradicts, precedes } = acting;
  const response = responseOf(observation, progress);
  const differs = differsFrom(state, acting, response);
  // What it left out may be all that differs from the same observation as it is recorded.
  if (holdings === null && (differs || (contradicts && isPartial(observed)))) return null;
  const outcome = { contradicts, precedes, isPartial: acting.stale, heldBack };
  if (actsOnNothing(acting)) {
    const after = withHttps(state, https);
    const kind = after !== state ? 'unchanged' : acting.stale ? 'stale' : 'repeated';
    return { state: after, holdings, changes: null, outcome: { ...outcome, kind, isPartial: false } };
  }
  const held = holdings ?? NOTHING_HELD;
  const given = { ...judged, observation };
  const { state: after, changes } = applyObservation(state, held, given, acting, response);
  const kind = isChange(changes) ? 'changed' : 'unchanged';
  return {
    state: after,
    holdings: holdings && holdingsAfter(held, changes),
    changes: isEmpty(changes) ? null : changes,
    outcome: { ...outcome, kind },
  };
}

/** A first status, and another scheme alone, are no changes. */
function isChange(changes: Changes): boolean {
  return tellsOfParts(changes) || changes.responses.some(isStatusChange);
}

function actsOnNothing({ everyType, types, http }: ActingParts): boolean {
  return !everyType && types.length === 0 && http === null;
}

function responseOf(
  { response, observedAt }: Observation,
  { responses }: Progress,
): SiteResponse | undefined {
  return response ?? responses?.get(observedAt);
}

/** Whether what the domain holds is needed: for a status that is another than before, what it is judged by. */
function differsFrom(
  state: DomainState | null,
  { types, http }: ActingParts,
  response: SiteResponse | undefined,
): boolean {
  if (types.some((part) => part.differs)) return true;
  if (http === null) return false;
  return (
    http.differs || (response !== undefined && state?.site != null && state.site.status !== response.status)
  );
}

/** A response that is stale tells nothing of HTTPS. */
function judge(
  state: DomainState | null,
  observation: Observation,
  { httpsGrace, recorded }: Progress,
): Judged {
  return recorded !== undefined && isStale(observation, recorded.state?.http ?? null, recorded)
    ? { observation, https: state?.https ?? null, heldBack: null }
    : judgeHttps(state, observation, httpsGrace);
}

/** An observation at which HTTPS was declined is kept, even where it acts on no part. */
function withHttps(state: DomainState | null, https: DomainState['https']): DomainState | null {
  return state === null || https === state.https ? state : { ...state, https };
}
