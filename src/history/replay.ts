import { addTo } from '../model/groups.js';
import { compareInstants } from '../model/instant.js';
import type { Observation } from '../model/observation.js';
import { compareUtf8 } from '../model/utf8-order.js';
import type { Changes } from './apply-observation.js';
import { applySightings } from './apply-sightings.js';
import { momentsOf, responsesByTime, sightingMoments } from './moments.js';
import { heldAfter, isActing, type Outcome, type Rules, recordObservations } from './record-observations.js';
import { type DomainState, type Holdings, NOTHING_HELD, OTHER_TYPES } from './state.js';
import { EVERY_TYPE, type KeptTime, type StoredHistory } from './stored-history.js';

export interface ReplayOptions {
  /** Observations older than the first of a part count; otherwise they are stale. */
  readonly older: boolean;
  /** As in Rules. */
  readonly httpsGrace?: bigint | undefined;
}

export function isSighted({ dns }: Observation): boolean {
  return dns?.sighted === true;
}

export const STALE: Outcome = {
  kind: 'stale',
  contradicts: false,
  heldBack: null,
  precedes: false,
  isPartial: false,
};

/**
 * What is known comes first, then observations in the order given; sightings of that time are judged by these.
 */
type Rank = 'known' | 'given' | 'sighted';
const RANKS: readonly Rank[] = ['known', 'given', 'sighted'];

interface Moment {
  readonly observation: Observation;
  readonly rank: Rank;
}

function compareMoments({ observation: a, rank }: Moment, { observation: b, rank: other }: Moment): number {
  return (
    compareInstants(a.observedAt, b.observedAt) ||
    RANKS.indexOf(rank) - RANKS.indexOf(other) ||
    // Whatever the order of sightings of one time, the same source remains.
    (rank === 'sighted' ? compareUtf8(a.source ?? '', b.source ?? '') : 0)
  );
}

/** What the rules have made of moments. */
export interface Replay {
  state: DomainState | null;
  holdings: Holdings;
  readonly changes: Changes[];
  readonly firsts: Map<string, readonly KeptTime[]>;
  readonly outcomes: Map<Observation, Outcome>;
  /** The types that were sighted since a complete observation of them. */
  readonly sighted: Set<string>;
  /** By part, the first complete observations after sightings. */
  readonly afterSightings: Map<string, KeptTime[]>;
}

/** Applies the rules to all that is known to have been observed, and to observations, in the order of time. */
export function replay(
  history: StoredHistory | null,
  observations: readonly Observation[],
  { older, httpsGrace }: ReplayOptions,
): Replay {
  const unknown = typesIn(observations).filter((type) => history?.state.types.has(type) === false);
  const known = history === null ? [] : [...momentsOf(history, unknown)];
  // Before those that are given: what is sighted again is known.
  const further = [...(history === null ? [] : sightingMoments(history)), ...observations];
  const moments = [
    ...known.map((observation): Moment => ({ observation, rank: 'known' })),
    ...further.map(
      (observation): Moment => ({
        observation,
        rank: isSighted(observation) ? 'sighted' : 'given',
      }),
    ),
  ].sort(compareMoments);
  const replayed: Replay = {
    state: beforeAll(moments, history?.state.types ?? new Map(), observations.length > 0),
    holdings: NOTHING_HELD,
    changes: [],
    firsts: new Map(),
    outcomes: new Map(),
    sighted: new Set(),
    afterSightings: new Map(),
  };
  // Those of one rank that follow each other together: what is present is copied for each run.
  const runs: Moment[][] = [];
  for (const moment of moments) {
    if (runs.at(-1)?.[0]?.rank === moment.rank) runs.at(-1)?.push(moment);
    else runs.push([moment]);
  }
  const responses = history === null ? undefined : responsesByTime(history);
  for (const run of runs) {
    const observations = run.map(({ observation }) => observation);
    // Observations that are given are stale by what is recorded.
    const recorded = run[0]?.rank === 'given' ? { state: history?.state ?? null, older } : undefined;
    if (run[0]?.rank === 'sighted') replaySightings(replayed, observations);
    else replayObservations(replayed, observations, { httpsGrace, responses, recorded });
  }
  return replayed;
}

function replayObservations(replayed: Replay, run: readonly Observation[], rules: Rules): void {
  const recorded = recordObservations(replayed, run, rules);
  replayed.state = recorded.state;
  replayed.holdings = heldAfter(recorded);
  for (const change of recorded.changes) replayed.changes.push(change);
  for (const [part, times] of recorded.firsts) replayed.firsts.set(part, times);
  for (const [at, observation] of run.entries()) {
    const outcome = recorded.outcomes[at] ?? STALE;
    replayed.outcomes.set(observation, outcome);
    if (isActing(outcome) && !outcome.isPartial) addAfterSightings(replayed, observation);
  }
}

/** The types that observations name or bring. */
function typesIn(observations: readonly Observation[]): string[] {
  return observations.flatMap(({ dns }) => [...(dns?.types ?? []), ...(dns?.records.keys() ?? [])]);
}

/**
 * Nothing but which types are known, where an observation may be of OTHER_TYPES: it is of none of them. One of
 * every type that is given is, if it is stale for a known one.
 */
function beforeAll(
  moments: readonly Moment[],
  types: DomainState['types'],
  isGiven: boolean,
): DomainState | null {
  const [first, last] = [moments[0], moments.at(-1)];
  const ofOthers = moments.some(({ observation: { dns } }) => dns?.types?.has(OTHER_TYPES) === true);
  if (first === undefined || last === undefined || types.size === 0 || !(isGiven || ofOthers)) return null;
  const known = [...types.keys()].filter((type) => type !== OTHER_TYPES);
  return {
    // The first that acts is earlier, or this one.
    created: last.observation.observedAt,
    lastUpdate: first.observation.observedAt,
    lastChange: null,
    everyType: null,
    http: null,
    https: null,
    site: null,
    types: new Map(known.map((type) => [type, { digest: '', named: null }])),
  };
}

const KINDS = { added: 'changed', seen: 'unchanged', known: 'repeated' } as const;

function replaySightings(replayed: Replay, run: readonly Observation[]): void {
  const { state, holdings, changes, kinds } = applySightings(replayed.state, replayed.holdings, run);
  replayed.state = state;
  replayed.holdings = holdings;
  for (const change of changes) replayed.changes.push(change);
  for (const type of typesIn(run)) replayed.sighted.add(type);
  for (const [at, observation] of run.entries()) {
    replayed.outcomes.set(observation, { ...STALE, kind: KINDS[kinds[at] ?? 'known'] });
  }
}

function addAfterSightings(
  { sighted, afterSightings }: Replay,
  { dns, observedAt, source }: Observation,
): void {
  if (dns === undefined) return;
  const { types } = dns;
  const confirmed = [...sighted].filter((type) => types?.has(type) !== false);
  for (const type of confirmed) sighted.delete(type);
  const parts = types === undefined ? confirmed.map(() => EVERY_TYPE).slice(0, 1) : confirmed;
  for (const part of parts) addTo(afterSightings, part, { observedAt, source: source ?? null });
}
