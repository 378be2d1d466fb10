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
  /**
   * Its response over HTTP did not count, since the site answers over HTTPS; null: it had none, or it counted.
   */
  readonly heldBack: HeldBack | null;
}

export function isActing({ kind }: Outcome): boolean {
  return kind === 'changed' || kind === 'unchanged';
}

/** What is known of a domain. */
export interface Known {
  /** Null: nothing is recorded of it. */
  readonly state: DomainState | null;
  /** Null: not loaded. It is needed only where an observation differs from what is known. */
  readonly holdings: Holdings | null;
}

/** Of a domain of which nothing is recorded. */
export const UNRECORDED = { state: null, holdings: NOTHING_HELD } as const;

export interface Rules {
  /**
   * For how long HTTPS must be declined before a response over HTTP counts, in microseconds; a day if absent.
   */
  readonly httpsGrace?: bigint | undefined;
  /** See findActingParts(). */
  readonly recorded?: Recorded | undefined;
  /** By time, the responses of observations that are recorded already, and have none with them. */
  readonly responses?: ReadonlyMap<Instant, SiteResponse> | undefined;
}

export interface RecordedObservations extends Known {
  /** What changed since `holdings`: mostly, nobody needs what is held after it. */
  readonly unapplied: Changes | null;
  /** What the observations changed, one by one. */
  readonly changes: readonly Changes[];
  /** Of the observations that changed nothing, the first of parts, if they tell who observed. */
  readonly firsts: KeptTimes;
  /** Of the observations, in their order. */
  readonly outcomes: readonly Outcome[];
}

/** What is held after observations. @throws Error where it was not loaded. */
export function heldAfter({
  holdings,
  unapplied,
}: Pick<RecordedObservations, 'holdings' | 'unapplied'>): Holdings {
  if (holdings === null) throw new Error('What the domain holds was not loaded.');
  return unapplied === null ? holdings : holdingsAfter(holdings, unapplied);
}

/**
 * Applies observations of one domain in the order given. A pure rule.
 *
 * @returns null where one differs and the holdings are not loaded: load partsToLoad(), and begin again.
 */
export function recordObservations(
  known: Known & { readonly holdings: Holdings },
  observations: readonly Observation[],
  rules?: Rules,
): RecordedObservations;
export function recordObservations(
  known: Known,
  observations: readonly Observation[],
  rules?: Rules,
): RecordedObservations | null;
export function recordObservations(
  known: Known,
  observations: readonly Observation[],
  rules: Rules = {},
): RecordedObservations | null {
  let { state, holdings } = known;
  let unapplied: Changes | null = null;
  const changes: Changes[] = [];
  const firsts = new Map<string, readonly KeptTime[]>();
  const outcomes: Outcome[] = [];
  for (const observation of observations) {
    // Where nothing is loaded, nothing but a response has changed, which is not held.
    if (holdings !== null && unapplied !== null) holdings = holdingsAfter(holdings, unapplied);
    const step = recordOne({ state, holdings }, observation, rules);
    if (step === null) return null;
    addFirsts(firsts, state, step, observation);
    state = step.state;
    unapplied = step.changes;
    outcomes.push(step.outcome);
    if (step.changes !== null) changes.push(step.changes);
  }
  return { state, holdings, unapplied, changes, firsts, outcomes };
}

/**
 * Adds the parts that an observation was the first of. Where it changed records, or headers, its changes tell
 * of it.
 */
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
  readonly changes: Changes | null;
  readonly outcome: Outcome;
}

/** @returns null where it differs, and the holdings are not loaded. */
function recordOne({ state, holdings }: Known, observed: Observation, rules: Rules): Step | null {
  const judged = judge(state, observed, rules);
  const { https, heldBack } = judged;
  // Where the holdings are not loaded, a digest that is equal says that it left out none that is present.
  const observation = completeObservation(judged.observation, holdings);
  const acting = findActingParts(state, observation, rules.recorded);
  const { contradicts, precedes } = acting;
  const response = responseOf(observation, rules);
  // What it left out may be all that differs from the same observation as it is recorded.
  const mayDiffer = differsFrom(state, acting, response) || (contradicts && isPartial(observed));
  if (holdings === null && mayDiffer) return null;
  const outcome = { contradicts, precedes, isPartial: acting.stale, heldBack };
  if (actsOnNothing(acting)) {
    // An observation at which HTTPS was declined is kept, even where it acts on no part.
    const after = state && { ...state, https };
    const isKept = https !== (state?.https ?? null);
    const kind = isKept ? 'unchanged' : leftAlone(acting);
    return { state: after, changes: null, outcome: { ...outcome, kind, isPartial: isKept && acting.stale } };
  }
  const given = { ...judged, observation };
  const applied = applyObservation(state, holdings ?? NOTHING_HELD, given, acting, response);
  const { changes } = applied;
  // A first status, and another scheme alone, are no changes.
  const isChange = tellsOfParts(changes) || changes.responses.some(isStatusChange);
  const kind = isChange ? 'changed' : 'unchanged';
  return { state: applied.state, changes: isEmpty(changes) ? null : changes, outcome: { ...outcome, kind } };
}

function differsFrom(
  state: DomainState | null,
  acting: ActingParts,
  response: SiteResponse | undefined,
): boolean {
  return acting.types.some((part) => part.differs) || httpDiffers(state, acting, response);
}

function leftAlone({ stale }: ActingParts): OutcomeKind {
  return stale ? 'stale' : 'repeated';
}

function actsOnNothing({ everyType, types, http }: ActingParts): boolean {
  return !everyType && types.length === 0 && http === null;
}

/**
 * The parts of which it must be known what the domain holds, before observations can be applied. All others
 * are, in each of them, as they are now, so that nothing changes in them.
 *
 * @returns DNS types, and HTTP.
 */
export function partsToLoad(
  state: DomainState | null,
  observations: readonly Observation[],
  rules: Rules = {},
): Set<string> {
  const parts = new Set<string>();
  for (const observation of observations) {
    const acting = findActingParts(state, observation, rules.recorded);
    for (const { type, differs } of acting.types) if (differs) parts.add(type);
    if (httpDiffers(state, acting, responseOf(observation, rules))) parts.add(HTTP);
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

function responseOf({ response, observedAt }: Observation, { responses }: Rules): SiteResponse | undefined {
  return response ?? responses?.get(observedAt);
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
  { httpsGrace = DEFAULT_HTTPS_GRACE, recorded }: Rules,
): Judged {
  return recorded !== undefined && isStale(observation, recorded.state?.http ?? null, recorded)
    ? { observation, https: state?.https ?? null, heldBack: null }
    : judgeHttps(state, observation, httpsGrace);
}
