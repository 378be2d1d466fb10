import type { Observation } from '../model/observation.js';
import { type ActingParts, findActingParts, type Recorded } from './acting-parts.js';
import { applyObservation } from './apply-observation.js';
import { completeObservation, isCompletable } from './complete-observation.js';
import { type Changes, hold, timeOf } from './diff.js';
import { digestOfRecords } from './digest.js';
import { type HeldBack, judgeHttps } from './judge-https.js';
import { type DomainState, type Holdings, holdNothing, isStatusChange } from './state.js';
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
  /** One by one. */
  readonly changes: readonly Changes[];
  /** Of the observations that changed nothing, the first of parts, if they tell who observed. */
  readonly firsts: KeptTimes;
  /** In the order of the observations. */
  readonly outcomes: readonly Outcome[];
  /**
   * One differs in what is not loaded, and none is applied: load these DNS types, and HTTP, and begin again. In
   * all other parts nothing changes. Null: all are applied.
   */
  readonly missing: ReadonlySet<string> | null;
  /** What the last observation changed: mostly, nobody needs what is held after it. */
  readonly unheld: Changes | null;
}

/**
 * Applies observations of one domain in the order given. A pure rule, which makes `holdings` what is held
 * after them, but for `unheld`.
 *
 * @param holdings null where nothing is loaded: that is needed only where an observation differs.
 */
export function recordObservations(
  state: DomainState | null,
  holdings: Holdings | null,
  observations: readonly Observation[],
  rules: Rules = {},
): RecordedObservations {
  let before = state;
  let unheld: Changes | null = null;
  const changes: Changes[] = [];
  const firsts = new Map<string, readonly KeptTime[]>();
  const outcomes: Outcome[] = [];
  for (const observation of observations) {
    // Where nothing is loaded, nothing but a response has changed, which is not held.
    if (holdings !== null && unheld !== null) hold(holdings, unheld);
    const step = recordOne(before, holdings, observation, rules);
    if (step === null) {
      const missing = new Set(observations.flatMap((each) => partsToLoad(state, each, rules)));
      return { state, changes: [], firsts: new Map(), outcomes: [], missing, unheld: null };
    }
    addFirsts(firsts, before, step, observation);
    before = step.state;
    outcomes.push(step.outcome);
    unheld = step.changes;
    if (unheld !== null) changes.push(unheld);
  }
  return { state: before, changes, firsts, outcomes, missing: null, unheld };
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

/** @returns null where it differs, and the holdings are not loaded. */
function recordOne(
  state: DomainState | null,
  holdings: Holdings | null,
  given: Observation,
  { httpsGrace, recorded = { state, older: false } }: Rules,
): Step | null {
  // Where the holdings are not loaded, a digest that is equal says that it left out none that is present.
  const observation = holdings === null ? given : completeObservation(given, holdings);
  const acting = findActingParts(state, observation, recorded);
  const { https, heldBack } = judgeHttps(state, observation, recorded, httpsGrace);
  if (heldBack !== null) acting.http = null;
  const { contradicts, precedes, stale } = acting;
  // What it left out may be all that differs from the same observation as it is recorded.
  if (holdings === null && (differs(state, observation, acting) || (contradicts && isCompletable(given)))) {
    return null;
  }
  if (!acting.everyType && acting.types.length === 0 && acting.http === null) {
    // An observation at which HTTPS was declined is kept, even where it acts on no part.
    const isKept = https !== (state?.https ?? null);
    const kind = isKept ? 'unchanged' : leftAlone(acting);
    const outcome: Outcome = { kind, contradicts, precedes, isPartial: isKept && stale, heldBack };
    return { state: state && { ...state, https }, changes: null, outcome };
  }
  const applied = applyObservation(state, holdings ?? NOTHING, observation, acting, https);
  const kind = kindOf(applied.changes);
  const outcome: Outcome = { kind, contradicts, precedes, isPartial: stale, heldBack };
  return {
    state: applied.state,
    changes: timeOf(applied.changes) === undefined ? null : applied.changes,
    outcome,
  };
}

function leftAlone({ stale }: ActingParts): OutcomeKind {
  return stale ? 'stale' : 'repeated';
}

/** A first status, and another scheme alone, are no changes. */
function kindOf({ added, removed, headers, responses }: Changes): OutcomeKind {
  const isOfParts = added.length + removed.length + headers.length > 0;
  return isOfParts || responses.some(isStatusChange) ? 'changed' : 'unchanged';
}

/** Of what is not loaded, nothing is needed. */
const NOTHING = holdNothing();

function differs(state: DomainState | null, observation: Observation, acting: ActingParts): boolean {
  return acting.types.some((part) => part.differs) || httpDiffers(state, observation, acting);
}

/** Whether headers or the status differ: another status needs what it is judged by. */
function httpDiffers(state: DomainState | null, { response }: Observation, { http }: ActingParts): boolean {
  if (http === null) return false;
  return (
    http.differs || (response !== undefined && state?.site != null && state.site.status !== response.status)
  );
}

/** The parts in which an observation differs from what is known now, or which may complete it. */
function partsToLoad(
  state: DomainState | null,
  observation: Observation,
  { recorded = { state, older: false } }: Rules,
): string[] {
  const { dns, ignoredHeaders } = observation;
  const acting = findActingParts(state, observation, recorded);
  const isOfHttp = ignoredHeaders !== undefined || httpDiffers(state, observation, acting);
  const texts = digestOfRecords(dns?.records.get('TXT') ?? []);
  return [
    ...acting.types.filter((part) => part.differs).map(({ type }) => type),
    ...(dns?.observedOwners?.keys() ?? []),
    ...(texts === (state?.types.get('TXT')?.digest ?? '') ? [] : ['TXT']),
    ...(isOfHttp ? [HTTP] : []),
  ];
}
