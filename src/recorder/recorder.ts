import type { Pool } from 'pg';
import type { Changes } from '../history/apply-observation.js';
import { isInside } from '../history/extend-history.js';
import { mergeChanges } from '../history/merge-changes.js';
import {
  isActing,
  type Outcome,
  partsToLoad,
  type RecordedObservations,
  type Rules,
  recordObservations,
  UNRECORDED,
} from '../history/record-observations.js';
import type { ReplayOptions } from '../history/replay.js';
import { type DomainState, type Holdings, NOTHING_HELD } from '../history/state.js';
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
  /** By domain, of those that changed. */
  readonly changes: ReadonlyMap<string, Changes>;
}

const COUNTS = ['recordsAdded', 'recordsRemoved', 'headersCreated', 'headersUpdated'] as const;
type Counts = Readonly<Record<(typeof COUNTS)[number], number>>;
const NO_COUNTS: Counts = { recordsAdded: 0, recordsRemoved: 0, headersCreated: 0, headersUpdated: 0 };

type RecorderOptions = Pick<Rules, 'httpsGrace'>;

export function createRecorder(pool: Pool, options: RecorderOptions = {}): Recorder {
  return {
    record: (observations, older = false) => recordBatch(pool, { ...options, older }, byDomain(observations)),
    async preview(observations) {
      const known = await loadKnown(pool, byDomain(observations));
      return summarize((await applyRules(pool, options, known)).map(toDone));
    },
  };
}

/** What recording a batch would do where nothing is recorded yet. */
export function previewFirst(observations: readonly Observation[]): Recording {
  const applied = byDomain(observations).map((batch) => {
    const recorded = recordObservations(UNRECORDED, batch.observations);
    return { batch, before: null, stateBefore: null, recorded, merged: mergeChanges(recorded.changes) };
  });
  return summarize(applied.map(toDone));
}

/** The observations of one domain in a batch, and their places in it. */
interface DomainBatch {
  readonly name: string;
  readonly observations: Observation[];
  readonly places: number[];
}

/** A batch, and what is recorded of its domain: null where nothing is. */
interface KnownBatch {
  readonly batch: DomainBatch;
  readonly before: DomainRow | null;
  readonly stateBefore: DomainState | null;
}

interface AppliedBatch extends KnownBatch {
  readonly recorded: RecordedObservations;
  readonly merged: Changes;
}

async function recordBatch(
  pool: Pool,
  options: ReplayOptions,
  batches: readonly DomainBatch[],
): Promise<Recording> {
  const done: Done[] = [];
  const extending: DomainBatch[] = [];
  await untilNoneLeft(batches, async (left) => {
    const known = await loadKnown(pool, left);
    const inside = new Set(known.filter((each) => belongsInside(each, options.older)));
    for (const { batch } of inside) extending.push(batch);
    const others = known.filter((each) => !inside.has(each));
    const applied = await applyRules(pool, options, others);
    const written = await write(pool, applied);
    for (const each of applied) if (written.has(each.batch.name)) done.push(toDone(each));
    return others.map(({ batch }) => batch).filter(({ name }) => !written.has(name));
  });
  for (const extended of await extendDomains(pool, extending, options)) done.push(extensionOf(extended));
  return summarize(done);
}

async function loadKnown(pool: Pool, batches: readonly DomainBatch[]): Promise<KnownBatch[]> {
  const names = batches.map(({ name }) => name);
  const rows = await loadDomainRows(pool, names);
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
 * Applies observations to what is known of their domains. Most are settled by the domain's row; only where one
 * differs, what the domain holds is loaded, and its observations are applied again.
 */
async function applyRules(
  pool: Pool,
  rules: RecorderOptions,
  known: readonly KnownBatch[],
): Promise<AppliedBatch[]> {
  const settled = known.map(({ batch, stateBefore: state }) =>
    recordObservations({ state, holdings: state === null ? NOTHING_HELD : null }, batch.observations, rules),
  );
  const parts = new Map<string, Set<string>>();
  for (const [at, { batch, stateBefore }] of known.entries()) {
    if (settled[at] === null) parts.set(batch.name, partsToLoad(stateBefore, batch.observations));
  }
  const loaded = parts.size > 0 ? await loadHoldings(pool, parts) : new Map<string, Holdings>();
  return known.map(({ batch, before, stateBefore }, at) => {
    const holdings = loaded.get(batch.name) ?? NOTHING_HELD;
    const recorded =
      settled[at] ?? recordObservations({ state: stateBefore, holdings }, batch.observations, rules);
    // Without spread: V8 makes a hidden class for each object that gets properties after one.
    return { batch, before, stateBefore, recorded, merged: mergeChanges(recorded.changes) };
  });
}

/** @returns the names of the domains that are done: written, or with nothing to write. */
async function write(pool: Pool, applied: readonly AppliedBatch[]): Promise<Set<string>> {
  const [idle, domains] = [new Set<string>(), [] as DomainChanges[]];
  for (const { batch, before, stateBefore, recorded, merged: changes } of applied) {
    const { name } = batch;
    const { state, changes: observed, firsts: keptTimes, outcomes } = recorded;
    const acted = outcomes.filter(isActing).length;
    if (acted === 0 || state === null) {
      idle.add(name);
      continue;
    }
    const version = leastNextVersion(before, acted);
    // An end of a stay adds no row.
    const records = changes.added.map(({ record }) => record);
    const octets = historyOctets(records, changes.headers);
    domains.push({ name, before, stateBefore, state, version, changes, observed, keptTimes, octets });
  }
  return new Set([...idle, ...(await writeDomains(pool, domains))]);
}

/** What recording has done with one domain of a batch. */
interface Done extends Counts {
  readonly batch: DomainBatch;
  readonly isNew: boolean;
  readonly outcomes: readonly Outcome[];
  /** Null: nothing changed. */
  readonly changes: Changes | null;
}

function toDone({ batch, before, recorded, merged }: AppliedBatch): Done {
  const { added, removed, headers } = merged;
  return {
    batch,
    isNew: before === null,
    outcomes: recorded.outcomes,
    changes: recorded.changes.length > 0 ? merged : null,
    recordsAdded: added.length,
    recordsRemoved: removed.length + added.filter(({ removal }) => removal !== null).length,
    headersCreated: headers.filter(({ kind }) => kind === 'created').length,
    headersUpdated: headers.filter(({ kind }) => kind === 'updated').length,
  };
}

/** Of a history that was extended, how much longer it is: what was known may only have moved. */
function extensionOf({ of, outcomes, before, after }: ExtendedDomain<DomainBatch>): Done {
  const [known, now] = [before === null ? NO_COUNTS : countsIn(before), countsIn(after)];
  const counts = { ...NO_COUNTS };
  for (const key of COUNTS) counts[key] = Math.max(now[key] - known[key], 0);
  return { batch: of, isNew: before === null, outcomes, changes: null, ...counts };
}

function countsIn({ stays, headers }: Pick<StoredHistory, 'stays' | 'headers'>): Counts {
  const created = new Set(headers.map(({ name }) => name)).size;
  return {
    recordsAdded: stays.length,
    recordsRemoved: stays.filter(({ removal }) => removal !== null).length,
    headersCreated: created,
    headersUpdated: headers.filter(({ value }) => value !== null).length - created,
  };
}

function summarize(all: readonly Done[]): Recording {
  const outcomes: Outcome[] = [];
  const changes = new Map<string, Changes>();
  const counts = { ...NO_COUNTS };
  for (const done of all) {
    for (const [index, outcome] of done.outcomes.entries()) outcomes[done.batch.places[index] ?? 0] = outcome;
    if (done.changes !== null) changes.set(done.batch.name, done.changes);
    for (const key of COUNTS) counts[key] += done[key];
  }
  const newNames = all.flatMap(({ batch, isNew }) => (isNew ? [batch.name] : []));
  return { ...counts, newNames, outcomes, changes };
}
