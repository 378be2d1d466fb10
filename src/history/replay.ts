import { addTo } from '../model/groups.js';
import { compareInstants } from '../model/instant.js';
import type { Observation } from '../model/observation.js';
import { compareUtf8 } from '../model/utf8-order.js';
import { applySightings } from './apply-sightings.js';
import type { Changes } from './diff.js';
import { momentsOf, sightingMoments } from './moments.js';
import { isActing, type Outcome, type Rules, recordObservations } from './record-observations.js';
import { type DomainState, holdNothing, OTHER_TYPES, UNOBSERVED } from './state.js';
import { EVERY_TYPE, type History, type KeptTime } from './stored-history.js';

export interface ReplayOptions {
  /** Observations older than the first of a part count; otherwise they are stale. */
  readonly older: boolean;
  readonly httpsGrace?: bigint | undefined;
}

export function isSighted({ dns }: Observation): boolean {
  return dns?.sighted === true;
}

const NO_REMARKS = { contradicts: false, heldBack: null, precedes: false, isPartial: false };
export const STALE: Outcome = { kind: 'stale', ...NO_REMARKS };

/** Of one time: what is known, observations in the order given, and sightings, which are judged by these. */
const [KNOWN, GIVEN, SIGHTED] = [0, 1, 2];

interface Moment {
  readonly observation: Observation;
  readonly rank: number;
}

function compareMoments({ observation: a, rank }: Moment, { observation: b, rank: other }: Moment): number {
  return (
    compareInstants(a.observedAt, b.observedAt) ||
    rank - other ||
    // Whatever the order of sightings of one time, the same source remains.
    (rank === SIGHTED ? compareUtf8(a.source ?? '', b.source ?? '') : 0)
  );
}

/** Applies the rules to all that is known to have been observed, and to observations, in the order of time. */
export class Replay {
  state: DomainState | null;
  readonly holdings = holdNothing();
  readonly changes: Changes[] = [];
  readonly firsts = new Map<string, readonly KeptTime[]>();
  readonly outcomes = new Map<Observation, Outcome>();
  /** By part, the first complete observations after sightings. */
  readonly afterSightings = new Map<string, KeptTime[]>();
  /** The types that were sighted since a complete observation of them. */
  readonly #sighted = new Set<string>();

  constructor(
    history: History | null,
    observations: readonly Observation[],
    { older, httpsGrace }: ReplayOptions,
  ) {
    const unknown = typesIn(observations).filter((type) => history?.state.types.has(type) === false);
    const known = history === null ? [] : [...momentsOf(history, unknown)];
    // Before those that are given: what is sighted again is known.
    const further = [...(history === null ? [] : sightingMoments(history)), ...observations];
    const moments = [
      ...known.map((observation): Moment => ({ observation, rank: KNOWN })),
      ...further.map((observation) => ({ observation, rank: isSighted(observation) ? SIGHTED : GIVEN })),
    ].sort(compareMoments);
    this.state = beforeAll(moments, history, observations.length > 0);
    // Those of one rank that follow each other are applied together.
    const runs: Moment[][] = [];
    for (const moment of moments) {
      if (runs.at(-1)?.[0]?.rank === moment.rank) runs.at(-1)?.push(moment);
      else runs.push([moment]);
    }
    // Observations that are given are stale by what is recorded.
    const recorded = { state: history?.state ?? null, older };
    for (const run of runs) {
      const observations = run.map(({ observation }) => observation);
      const rank = run[0]?.rank;
      if (rank === SIGHTED) this.#sight(observations);
      else this.#record(observations, rank === KNOWN ? null : { httpsGrace, recorded });
    }
  }

  /** @param rules null: the observations are known, and judge HTTPS no more. */
  #record(run: readonly Observation[], rules: Rules | null): void {
    const https = this.state?.https ?? null;
    const recorded = recordObservations(this.state, this.holdings, run, rules ?? {});
    const { state, changes, firsts, outcomes } = recorded;
    this.state = rules === null ? state && { ...state, https } : state;
    for (const change of changes) this.changes.push(change);
    for (const [part, times] of firsts) this.firsts.set(part, times);
    for (const [index, observation] of run.entries()) {
      const outcome = outcomes[index] ?? STALE;
      this.outcomes.set(observation, outcome);
      if (isActing(outcome) && !outcome.isPartial) this.#addAfterSightings(observation);
    }
  }

  #sight(run: readonly Observation[]): void {
    const { state, changes, kinds } = applySightings(this.state, this.holdings, run);
    this.state = state;
    for (const change of changes) this.changes.push(change);
    for (const type of typesIn(run)) this.#sighted.add(type);
    for (const [index, observation] of run.entries()) {
      this.outcomes.set(observation, { kind: kinds[index] ?? 'repeated', ...NO_REMARKS });
    }
  }

  #addAfterSightings(observation: Observation): void {
    const { dns, observedAt, source = null } = observation;
    if (dns === undefined) return;
    const { types } = dns;
    const confirmed = [...this.#sighted].filter((type) => types?.has(type) !== false);
    for (const type of confirmed) this.#sighted.delete(type);
    const parts = types === undefined ? confirmed.map(() => EVERY_TYPE).slice(0, 1) : confirmed;
    for (const part of parts) addTo(this.afterSightings, part, { observedAt, source });
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
  history: History | null,
  isGiven: boolean,
): DomainState | null {
  const [first, last] = [moments[0], moments.at(-1)];
  const ofOthers = moments.some(({ observation: { dns } }) => dns?.types?.has(OTHER_TYPES) === true);
  if (first === undefined || last === undefined || !history?.state.types.size || !(isGiven || ofOthers)) {
    return null;
  }
  const known = [...history.state.types.keys()].filter((type) => type !== OTHER_TYPES);
  // The first that acts is earlier, or this one.
  const [created, lastUpdate] = [last.observation.observedAt, first.observation.observedAt];
  const types = new Map(known.map((type) => [type, { digest: '', named: null }]));
  return { ...UNOBSERVED, created, lastUpdate, types };
}
