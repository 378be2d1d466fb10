import type { Instant } from '../model/instant.js';
import type { Observation, SiteResponse } from '../model/observation.js';
import { type ActingParts, findActingParts, isStale, type Recorded } from './acting-parts.js';
import { applyObservation, type Changes, isEmpty, tellsOfParts } from './apply-observation.js';
import { completeObservation, isPartial } from './complete-observation.js';
import { holdingsAfter } from './diff.js';
import { digestOfRecords } from './digest.js';
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
  /** What changed since: mostly, no observation follows that needs what is held then. */
  readonly unapplied: Changes | null;
  /** What the observations changed, one by one. */
  readonly changes: readonly Changes[];
  /** Of the observations that changed nothing, the first of parts, if they tell who observed. */
  readonly firsts: KeptTimes;
  /** Of the observations applied so far, in their order. */
  readonly outcomes: readonly Outcome[];
  readonly waiting: readonly Observation[];
  /** What the first that waits acts on; null: that has not been found. */
  readonly acting: ActingParts | null;
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
  // Without spread: V8 makes a hidden class for each object that gets properties after one.
  return {
    state,
    holdings,
    unapplied: null,
    changes: [],
    firsts: new Map(),
    outcomes: [],
    waiting: observations,
    acting: null,
    httpsGrace,
  };
}

/** What is held after the observations that were applied; null: that is not known. */
export function heldAfter({ holdings, unapplied }: Known): Holdings | null {
  return holdings === null || unapplied === null ? holdings : holdingsAfter(holdings, unapplied);
}

/** Applies observations until all are, or until one differs and the holdings are not known. */
export function recordObservations(progress: Progress): Progress {
  let known: Known = progress;
  const changes = [...progress.changes];
  const firsts = new Map(progress.firsts);
  const outcomes = [...progress.outcomes];
  let next = 0;
  let { acting } = progress;
  for (const observation of progress.waiting) {
    const step = recordOne(known, observation, progress, acting);
    acting = 'waitsFor' in step ? step.waitsFor : null;
    if ('waitsFor' in step) break;
    const isTold = step.changes !== null && tellsOfParts(step.changes);
    if (!isTold && step.state !== null) addFirsts(firsts, known.state, step.state, observation);
    known = step;
    outcomes.push(step.outcome);
    if (step.changes !== null) changes.push(step.changes);
    next += 1;
  }
  const { state, holdings, unapplied } = known;
  const waiting = progress.waiting.slice(next);
  return { ...progress, state, holdings, unapplied, changes, firsts, outcomes, waiting, acting };
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

type Known = Pick<Progress, 'state' | 'holdings' | 'unapplied'>;

interface Step extends Known {
  readonly changes: Changes | null;
  readonly outcome: Outcome;
}

/** An observation that differs in these parts, while the holdings are not known. */
interface Waiting {
  readonly waitsFor: ActingParts;
}

/** @param found What the observation acts on by the state, if that has been found. */
function recordOne(
  known: Known,
  observed: Observation,
  progress: Progress,
  found: ActingParts | null,
): Step | Waiting {
  const { state } = known;
  const holdings = heldAfter(known);
  const judged = judge(state, observed, progress);
  const { https, heldBack } = judged;
  // Where the holdings are not known yet, a digest that is equal says that it left out none that is present.
  const observation = completeObservation(judged.observation, holdings);
  const isSame = observation === judged.observation;
  const acting = (isSame ? found : null) ?? findActingParts(state, observation, progress.recorded);
  const { contradicts, precedes } = acting;
  const response = responseOf(observation, progress);
  const differs = differsFrom(state, acting, response);
  // What it left out may be all that differs from the same observation as it is recorded.
  if (holdings === null && (differs || (contradicts && isPartial(observed)))) return { waitsFor: acting };
  const outcome = { contradicts, precedes, isPartial: acting.stale, heldBack };
  if (actsOnNothing(acting)) {
    const after = withHttps(state, https);
    const kind = after !== state ? 'unchanged' : acting.stale ? 'stale' : 'repeated';
    const stays = { holdings, unapplied: null, changes: null };
    return { state: after, ...stays, outcome: { ...outcome, kind, isPartial: false } };
  }
  const held = holdings ?? NOTHING_HELD;
  const given = { ...judged, observation };
  const { state: after, changes } = applyObservation(state, held, given, acting, response);
  const kind = isChange(changes) ? 'changed' : 'unchanged';
  const told = isEmpty(changes) ? null : changes;
  return { state: after, holdings, unapplied: told, changes: told, outcome: { ...outcome, kind } };
}

/**
 * The parts of which it must be known what the domain holds, before the observations that wait can be applied. All others are, in
 * each of them, as they are now, so that nothing changes in them.
 *
 * @returns DNS types, and HTTP.
 */
export function partsToLoad(progress: Progress): Set<string> {
  const { state, waiting, recorded } = progress;
  const parts = new Set<string>();
  let found = progress.acting;
  for (const observation of waiting) {
    const acting = found ?? findActingParts(state, observation, recorded);
    found = null;
    for (const { type, differs } of acting.types) if (differs) parts.add(type);
    if (httpDiffers(state, acting, responseOf(observation, progress))) parts.add(HTTP);
    for (const part of partsToComplete(observation, state)) parts.add(part);
  }
  return parts;
}

/** The parts in which what is held may complete an observation. */
function partsToComplete({ dns, ignoredHeaders }: Observation, state: DomainState | null): string[] {
  const texts = dns?.records.get('TXT') ?? [];
  return [
    ...(dns?.observedOwners?.keys() ?? []),
    ...(digestOfRecords(texts) === (state?.types.get('TXT')?.digest ?? '') ? [] : ['TXT']),
    ...(ignoredHeaders === undefined ? [] : [HTTP]),
  ];
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

/** Whether what the domain holds is needed. */
function differsFrom(
  state: DomainState | null,
  acting: ActingParts,
  response: SiteResponse | undefined,
): boolean {
  return acting.types.some((part) => part.differs) || httpDiffers(state, acting, response);
}

/** Whether headers or the status differ: another status needs what it is judged by. */
function httpDiffers(
  state: DomainState | null,
  { http }: ActingParts,
  response: SiteResponse | undefined,
): boolean {
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
