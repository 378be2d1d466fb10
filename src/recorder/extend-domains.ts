import { isDeepStrictEqual } from 'node:util';
import type { Pool } from 'pg';
import { extendHistory } from '../history/extend-history.js';
import { earlierText, headerText, type ItemText, responseText, stayText } from '../history/history-text.js';
import { isActing, type Outcome } from '../history/record-observations.js';
import type { ReplayOptions } from '../history/replay.js';
import type { Observation } from '../model/observation.js';
import type { HistoryItems } from './history-tables.js';
import { historyOfRows, readStoredRows, type StoredRows } from './read-histories.js';
import { COUNTS, type Counts, type DomainRecording, writeUntilDone } from './write-changes.js';

interface Extending {
  readonly name: string;
  /** Some of which belong into what is known of the domain. */
  readonly observations: readonly Observation[];
}

/** Domains whose histories are in memory together; an importer records four batches at once. */
const DOMAINS_AT_ONCE = 25;

/**
 * Puts observations where their times belong in the histories of domains (history/extend-history.ts). Each
 * history is read and written as a whole, in one transaction, on the condition that its version is the one that
 * was read.
 */
export async function extendDomains(
  pool: Pool,
  domains: readonly Extending[],
  options: ReplayOptions,
): Promise<DomainRecording[]> {
  const done: DomainRecording[][] = [];
  for (let first = 0; first < domains.length; first += DOMAINS_AT_ONCE) {
    const some = domains.slice(first, first + DOMAINS_AT_ONCE);
    const recorded = writeUntilDone(pool, some, async (left) => {
      const known = new Map<string, StoredRows>();
      const names = left.map(({ name }) => name);
      for await (const rows of readStoredRows(pool, names)) known.set(rows.domain.name, rows);
      return left.map((domain) => extend(domain, known.get(domain.name) ?? null, options));
    });
    done.push(await recorded);
  }
  return done.flat();
}

const NOTHING: HistoryItems = { stays: [], headers: [], responses: [], earlier: [] };

function extend(
  { name, observations }: Extending,
  rows: StoredRows | null,
  options: ReplayOptions,
): DomainRecording {
  const before = rows === null ? null : historyOfRows(rows);
  const after = extendHistory(before, observations, options);
  const gone = differenceOf(before ?? NOTHING, after);
  const added = differenceOf(after, before ?? NOTHING);
  const { state, keptTimes = new Map() } = after;
  const isSameState = isDeepStrictEqual([before?.state, before?.keptTimes ?? new Map()], [state, keptTimes]);
  const isChanged =
    !isSameState ||
    [gone, added].some(({ stays, headers, earlier }) => stays.length + headers.length + earlier.length > 0);
  // What was told by sightings may be known, and tell nothing new.
  const outcomes = isChanged ? after.outcomes : after.outcomes.map(asKnown);
  const writing = !isChanged
    ? null
    : {
        name,
        before: rows?.domain ?? null,
        stateBefore: before?.state ?? null,
        state,
        recorded: Math.max(outcomes.filter(isActing).length, 1),
        added,
        ended: [],
        gone,
        keptTimes,
        observed: after.later,
        extendedFrom: after.extendedFrom,
      };
  return {
    name,
    isNew: before === null,
    outcomes,
    changes: null,
    counts: countsOf(before ?? NOTHING, after),
    writing,
  };
}

function asKnown(outcome: Outcome): Outcome {
  return outcome.kind === 'stale' ? outcome : { ...outcome, kind: 'repeated', isPartial: false };
}

function differenceOf(one: HistoryItems, other: HistoryItems): HistoryItems {
  return {
    stays: without(one.stays, other.stays, stayText),
    headers: without(one.headers, other.headers, headerText),
    responses: without(one.responses, other.responses, responseText),
    earlier: without(one.earlier, other.earlier, earlierText),
  };
}

function without<Item>(
  items: readonly Item[],
  others: readonly Item[],
  textOf: (item: Item) => ItemText,
): Item[] {
  const keyOf = (item: Item) => textOf(item).join('\n');
  const known = new Set(others.map(keyOf));
  return items.filter((item) => !known.has(keyOf(item)));
}

/** How much longer a history is: what was known may only have moved. */
function countsOf(before: HistoryItems, after: HistoryItems): Counts {
  const [known, counts] = [totalsIn(before), totalsIn(after)];
  for (const key of COUNTS) counts[key] = Math.max(counts[key] - known[key], 0);
  return counts;
}

function totalsIn({ stays, headers }: HistoryItems) {
  const created = new Set(headers.map(({ name }) => name)).size;
  return {
    recordsAdded: stays.length,
    recordsRemoved: stays.filter(({ removal }) => removal !== null).length,
    headersCreated: created,
    headersUpdated: headers.filter(({ value }) => value !== null).length - created,
  };
}
