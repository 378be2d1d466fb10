import type { Pool } from 'pg';
import type { Changes } from '../history/apply-observation.js';
import { type ExtendOptions, isInside } from '../history/extend-history.js';
import { mergeChanges } from '../history/merge-changes.js';
import {
  beginRecording,
  type Outcome,
  type Progress,
  partsToLoad,
  recordObservations,
} from '../history/record-observations.js';
import type { DomainState, Holdings } from '../history/state.js';
import type { StoredHistory } from '../history/stored-history.js';
import type { Observation } from '../model/observation.js';
import { untilNoneLeft } from './contention.js';
import { type ExtendedDomain, extendDomains } from './extend-domains.js';
import { historyOctets } from './history-octets.js';
import { loadDomainRows, loadHoldings } from './load-known.js';
import { type DomainRow, leastNextVersion, stateOfRow } from './rows.js';
import { type DomainChanges, writeDomains } from './write-changes.js';

/** Records observations, of observers and importers alike. */
export interface Recorder {
  /**
   * Records a batch: all of a domain's observations in it or none, in the order given. It returns when committed.
   *
   * @param older Observations that are older than the first of a part are put before what is known; otherwise they are stale.
   */
  record(observations: readonly Observation[], older?: boolean): Promise<Recording>;
  /** What recording a batch would do now. It writes nothing. */
  preview(observations: readonly Observation[]): Promise<Recording>;
}

/** What recording a batch has done. */
export interface Recording {
  /** One for each observation, in the order of the batch. */
  readonly outcomes: readonly Outcome[];
  /** Of the domains that were not recorded before. */
  readonly newNames: readonly string[];
  readonly recordsAdded: number;
  readonly recordsRemoved: number;
  readonly headersCreated: number;
  readonly headersUpdated: number;
  /** By domain, of those that changed. */
  readonly changes: ReadonlyMap<string, Changes>;
}

interface RecorderOptions {
  /**
   * For how long a site's HTTPS must be declined before its responses over HTTP count, in microseconds; 0: they
   * always do. A day if absent.
   */
  readonly httpsGrace?: bigint | undefined;
}

export function createRecorder(pool: Pool, options: RecorderOptions = {}): Recorder {
  return {
    record: (observations, older = false) => recordBatch(pool, { ...options, older }, byDomain(observations)),
    async preview(observations) {
      const batches = await loadKnown(pool, byDomain(observations));
      return summarize((await applyRules(pool, options, batches)).map(recordedOf));
    },
  };
}

/** What recording a batch would do where nothing is recorded yet. */
export function previewFirst(observations: readonly Observation[]): Recording {
  const begun = byDomain(observations).map((batch) =>
    beginBatch({ batch, before: null, stateBefore: null }, undefined),
  );
  return summarize(
    begun.map((batch) => recordedOf({ ...batch, merged: mergeChanges(batch.progress.changes) })),
  );
}

/** The observations of one domain in a batch, and their places in it. */
interface DomainBatch {
  readonly name: string;
  readonly observations: Observation[];
  readonly places: number[];
}

interface AppliedBatch extends DomainBatch {
  readonly before: DomainRow | null;
  readonly stateBefore: DomainState | null;
  readonly progress: Progress;
  readonly merged: Changes;
}

async function recordBatch(
  pool: Pool,
  options: ExtendOptions,
  batches: readonly DomainBatch[],
): Promise<Recording> {
  const recorded: AppliedBatch[] = [];
  const extending: DomainBatch[] = [];
  await untilNoneLeft(batches, async (left) => {
    const known = await loadKnown(pool, left);
    const inside = new Set(known.filter((each) => belongsInside(each, options.older)));
    const others = known.filter((each) => !inside.has(each));
    const applied = await applyRules(pool, options, others);
    const written = await write(pool, applied);
    for (const batch of applied) if (written.has(batch.name)) recorded.push(batch);
    for (const { batch } of inside) extending.push(batch);
    return others.map(({ batch }) => batch).filter(({ name }) => !written.has(name));
  });
  const extended = await extendDomains(pool, extending, options);
  return summarize([...recorded.map(recordedOf), ...extended.map(extensionOf)]);
}

/** A batch, and what is recorded of its domain: null where nothing is. */
interface KnownBatch {
  readonly batch: DomainBatch;
  readonly before: DomainRow | null;
  readonly stateBefore: DomainState | null;
}

async function loadKnown(pool: Pool, batches: readonly DomainBatch[]): Promise<KnownBatch[]> {
  const rows = await loadDomainRows(
    pool,
    batches.map(({ name }) => name),
  );
  return batches.map((batch) => {
    const before = rows.get(batch.name) ?? null;
    return { batch, before, stateBefore: before === null ? null : stateOfRow(before) };
  });
}

/** Whether observations have to be put into the history that is known. */
function belongsInside({ batch: { observations }, stateBefore }: KnownBatch, older: boolean): boolean {
  if (observations.some(({ dns }) => dns?.sighted === true)) return true;
  return (
    stateBefore !== null && observations.some((observation) => isInside(stateBefore, observation, older))
  );
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

/**
 * Reads what is known and applies the observations to it: a first statement gives the states, which
 * settle most observations; only domains with a difference need what they hold.
 */
async function applyRules(
  pool: Pool,
  { httpsGrace }: RecorderOptions,
  batches: readonly KnownBatch[],
): Promise<AppliedBatch[]> {
  const begun = batches.map((batch) => beginBatch(batch, httpsGrace));
  const differing = begun.filter(({ progress }) => progress.waiting.length > 0);
  const parts = new Map(differing.map(({ name, progress }) => [name, partsToLoad(progress)]));
  const holdings = parts.size > 0 ? await loadHoldings(pool, parts) : new Map<string, Holdings>();
  return begun.map((batch) => {
    const held = holdings.get(batch.name);
    const progress =
      held === undefined ? batch.progress : recordObservations({ ...batch.progress, holdings: held });
    const { name, observations, places, before, stateBefore } = batch;
    const merged = mergeChanges(progress.changes);
    return { name, observations, places, before, stateBefore, progress, merged };
  });
}

/** A batch with the observations applied that are settled by the domain's row, before its changes are merged. */
function beginBatch(
  { batch: { name, observations, places }, before, stateBefore }: KnownBatch,
  httpsGrace: bigint | undefined,
): Omit<AppliedBatch, 'merged'> {
  const progress = recordObservations(beginRecording(stateBefore, observations, httpsGrace));
  // Without spread: V8 makes a hidden class for each object that gets properties after one.
  return { name, observations, places, before, stateBefore, progress };
}

/** @returns the names of the domains that are done: written, or with nothing to write. */
async function write(pool: Pool, applied: readonly AppliedBatch[]): Promise<Set<string>> {
  const [idle, domains] = [new Set<string>(), [] as DomainChanges[]];
  for (const { name, before, stateBefore, progress, merged } of applied) {
    const acted = progress.outcomes.filter(({ kind }) => kind === 'changed' || kind === 'unchanged').length;
    if (acted === 0 || progress.state === null) {
      idle.add(name);
    } else {
      const version = leastNextVersion(before, acted);
      // An end of a stay adds no row.
      const octets = historyOctets(
        merged.added.map(({ record }) => record),
        merged.headers,
      );
      const { state, changes: observed, firsts: keptTimes } = progress;
      domains.push({
        name,
        before,
        stateBefore,
        state,
        version,
        changes: merged,
        observed,
        keptTimes,
        octets,
      });
    }
  }
  return new Set([...idle, ...(await writeDomains(pool, domains))]);
}

/** What recording has done with one domain of a batch. */
interface Recorded extends Omit<Recording, 'outcomes' | 'changes' | 'newNames'> {
  readonly batch: DomainBatch;
  readonly isNew: boolean;
  readonly outcomes: readonly Outcome[];
  /** Null: nothing changed. */
  readonly merged: Changes | null;
}

function recordedOf({ merged, progress, before, ...batch }: AppliedBatch): Recorded {
  const { added, removed, headers } = merged;
  return {
    batch,
    outcomes: progress.outcomes,
    merged: progress.changes.length > 0 ? merged : null,
    isNew: before === null,
    recordsAdded: added.length,
    recordsRemoved: removed.length + added.filter(({ removal }) => removal !== null).length,
    headersCreated: headers.filter(({ kind }) => kind === 'created').length,
    headersUpdated: headers.filter(({ kind }) => kind === 'updated').length,
  };
}

/** Of a history that was extended, how much longer it is: what was known may only have moved. */
function extensionOf({ of, outcomes, isNew, before, after }: ExtendedDomain & { of: DomainBatch }): Recorded {
  const grownBy = (count: (history: Counted) => number) =>
    Math.max(count(after) - (before === null ? 0 : count(before)), 0);
  const namesOf = ({ headers }: Counted) => new Set(headers.map(({ name }) => name)).size;
  const valuesOf = ({ headers }: Counted) => headers.filter(({ value }) => value !== null).length;
  return {
    batch: of,
    outcomes,
    merged: null,
    isNew,
    recordsAdded: grownBy(({ stays }) => stays.length),
    recordsRemoved: grownBy(({ stays }) => stays.filter(({ removal }) => removal !== null).length),
    headersCreated: grownBy(namesOf),
    headersUpdated: Math.max(grownBy(valuesOf) - grownBy(namesOf), 0),
  };
}

type Counted = Pick<StoredHistory, 'stays' | 'headers'>;

function summarize(recorded: readonly Recorded[]): Recording {
  const outcomes: Outcome[] = [];
  const changes = new Map<string, Changes>();
  const newNames: string[] = [];
  const tally = { recordsAdded: 0, recordsRemoved: 0, headersCreated: 0, headersUpdated: 0 };
  for (const { batch, merged, ...each } of recorded) {
    for (const [index, outcome] of each.outcomes.entries()) outcomes[batch.places[index] ?? 0] = outcome;
    if (merged !== null) changes.set(batch.name, merged);
    if (each.isNew) newNames.push(batch.name);
    for (const count of COUNTS) tally[count] += each[count];
  }
  return { ...tally, newNames, outcomes, changes };
}

const COUNTS = ['recordsAdded', 'recordsRemoved', 'headersCreated', 'headersUpdated'] as const;
