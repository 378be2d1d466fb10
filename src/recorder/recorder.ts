import type { Pool } from 'pg';
import { type Changes, mergeChanges } from '../history/diff.js';
import { isInside } from '../history/extend-history.js';
import {
  isActing,
  type Outcome,
  partsToLoad,
  type RecordedObservations,
  type Rules,
  recordObservations,
} from '../history/record-observations.js';
import { type DomainState, holdNothing } from '../history/state.js';
import type { Observation } from '../model/observation.js';
import { type DomainRow, stateOfRow } from './domain-rows.js';
import { extendDomains } from './extend-domains.js';
import { loadDomainRows, loadHoldings } from './load-known.js';
import { COUNTS, type Counts, type DomainRecording, writeUntilDone } from './write-changes.js';

export interface Recorder {
  /**
   * Records a batch: all of a domain's observations in it or none, in the order given. It returns when
   * committed.
   *
   * @param older Observations that are older than the first of a part are put before what is known; otherwise
   *   they are stale.
   */
  record(observations: readonly Observation[], older?: boolean): Promise<Recording>;
  /** What recording a batch would do now. It writes nothing. */
  preview(observations: readonly Observation[]): Promise<Recording>;
}

export interface Recording extends Counts {
  /** One for each observation, in the order of the batch. */
  readonly outcomes: readonly Outcome[];
  /** Of the domains that were not recorded before. */
  readonly newNames: readonly string[];
  readonly changes: ReadonlyMap<string, Changes>;
}

type RecorderOptions = Pick<Rules, 'httpsGrace'>;

export function createRecorder(pool: Pool, options: RecorderOptions = {}): Recorder {
  return {
    async record(observations, older = false) {
      const batches = byDomain(observations);
      const inside: DomainBatch[] = [];
      const recorded = await writeUntilDone(pool, batches, async (left) => {
        const known = await loadKnown(pool, left);
        const belonging = new Set(known.filter((each) => belongsInside(each, older)));
        for (const { batch } of belonging) inside.push(batch);
        return applyRules(
          pool,
          options,
          known.filter((each) => !belonging.has(each)),
        );
      });
      const extended = await extendDomains(pool, inside, { ...options, older });
      return summarize(batches, [...recorded, ...extended]);
    },
    async preview(observations) {
      const batches = byDomain(observations);
      return summarize(batches, await applyRules(pool, options, await loadKnown(pool, batches)));
    },
  };
}

/** What recording a batch would do where nothing is recorded yet. */
export function previewFirst(observations: readonly Observation[]): Recording {
  const batches = byDomain(observations);
  const applied = batches.map((batch) =>
    toRecording(
      { batch, before: null, state: null },
      recordObservations(null, holdNothing(), batch.observations),
    ),
  );
  return summarize(batches, applied);
}

interface DomainBatch {
  readonly name: string;
  readonly observations: Observation[];
  /** Theirs in the whole batch. */
  readonly places: number[];
}

/** With what is recorded of the domain: null where nothing is. */
interface KnownBatch {
  readonly batch: DomainBatch;
  readonly before: DomainRow | null;
  readonly state: DomainState | null;
}

function byDomain(observations: readonly Observation[]): DomainBatch[] {
  const batches = new Map<string, DomainBatch>();
  for (const [place, observation] of observations.entries()) {
    const name = observation.domain;
    const batch = batches.get(name) ?? { name, observations: [], places: [] };
    batch.observations.push(observation);
    batch.places.push(place);
    batches.set(name, batch);
  }
  // One order for all writers: rows locked in different orders would be a deadlock.
  return [...batches.values()].sort((left, right) => (left.name < right.name ? -1 : 1));
}

async function loadKnown(pool: Pool, batches: readonly DomainBatch[]): Promise<KnownBatch[]> {
  const rows = await loadDomainRows(pool, batches);
  return batches.map((batch) => {
    const before = rows.get(batch.name) ?? null;
    return { batch, before, state: before === null ? null : stateOfRow(before) };
  });
}

/** Whether observations have to be put into the history that is known. */
function belongsInside({ batch: { observations }, state }: KnownBatch, older: boolean): boolean {
  return observations.some(
    (observation) =>
      observation.dns?.sighted === true || (state !== null && isInside(state, observation, older)),
  );
}

/**
 * Applies observations to what is known of their domains. Most are settled by the domain's row; only where one
 * differs, what the domain holds is loaded.
 */
async function applyRules(
  pool: Pool,
  rules: RecorderOptions,
  known: readonly KnownBatch[],
): Promise<DomainRecording[]> {
  const missing = new Map<string, ReadonlySet<string>>();
  for (const { batch, state } of known) {
    const parts = partsToLoad(state, batch.observations);
    if (parts.size > 0) missing.set(batch.name, parts);
  }
  const loaded = await loadHoldings(pool, missing);
  return known.map((each) => {
    const holdings = loaded.get(each.batch.name) ?? holdNothing();
    return toRecording(each, recordObservations(each.state, holdings, each.batch.observations, rules));
  });
}

function toRecording(
  { batch: { name }, before, state: stateBefore }: KnownBatch,
  { state, changes: observed, firsts: keptTimes, outcomes }: RecordedObservations,
): DomainRecording {
  const changes = mergeChanges(observed);
  const { added: stays, removed: ended, headers, responses, earlier } = changes;
  const recorded = outcomes.filter(isActing).length;
  const added = { stays, headers, responses, earlier };
  return {
    name,
    isNew: before === null,
    outcomes,
    changes: observed.length > 0 ? changes : null,
    counts: {
      recordsAdded: stays.length,
      recordsRemoved: ended.length + stays.filter(({ removal }) => removal !== null).length,
      headersCreated: headers.filter(({ kind }) => kind === 'created').length,
      headersUpdated: headers.filter(({ kind }) => kind === 'updated').length,
    },
    writing:
      recorded === 0 || state === null
        ? null
        : { name, before, stateBefore, state, recorded, added, ended, keptTimes, observed },
  };
}

function summarize(batches: readonly DomainBatch[], recorded: readonly DomainRecording[]): Recording {
  const places = new Map(batches.map((batch) => [batch.name, batch.places]));
  const outcomes: Outcome[] = [];
  const changes = new Map<string, Changes>();
  const counts = { recordsAdded: 0, recordsRemoved: 0, headersCreated: 0, headersUpdated: 0 };
  for (const each of recorded) {
    for (const [index, outcome] of each.outcomes.entries()) {
      outcomes[places.get(each.name)?.[index] ?? 0] = outcome;
    }
    if (each.changes !== null) changes.set(each.name, each.changes);
    for (const key of COUNTS) counts[key] += each.counts[key];
  }
  const newNames = recorded.flatMap(({ name, isNew }) => (isNew ? [name] : []));
  return { ...counts, newNames, outcomes, changes };
}
