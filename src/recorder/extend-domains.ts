import { isDeepStrictEqual } from 'node:util';
import type { Pool, PoolClient } from 'pg';
import { type ExtendedHistory, extendHistory } from '../history/extend-history.js';
import { earlierText, headerText, type ItemText, responseText, stayText } from '../history/history-text.js';
import { isActing, type Outcome } from '../history/record-observations.js';
import type { ReplayOptions } from '../history/replay.js';
import type { EarlierChanges } from '../history/routine.js';
import type { RecordedResponse, RecordStay } from '../history/state.js';
import type { StoredHeaderChange, StoredHistory } from '../history/stored-history.js';
import type { Observation } from '../model/observation.js';
import { type Columns, type WriteRows, write } from './bulk-write.js';
import { untilNoneLeft } from './contention.js';
import { type HistoryOctets, historyOctets } from './history-octets.js';
import { historyOfRows, readStoredRows, type StoredRows } from './read-histories.js';
import { leastNextVersion, storedKeptTimes } from './rows.js';
import {
  type DomainChanges,
  EARLIER_KEY,
  HEADER_KEY,
  RESPONSE_KEY,
  rowsOf,
  STAY_KEY,
  writeDomains,
} from './write-changes.js';

/** The observations of a domain, some of which belong into what is known of it. */
interface Extending {
  readonly name: string;
  readonly observations: readonly Observation[];
}

export interface ExtendedDomain<Domain> {
  readonly of: Domain;
  readonly isChanged: boolean;
  readonly outcomes: readonly Outcome[];
  readonly before: StoredHistory | null;
  readonly after: ExtendedHistory;
}

/** Domains whose histories are in memory together; an importer records four batches at once. */
const DOMAINS_AT_ONCE = 25;

/**
 * Puts observations where their times belong in the histories of domains (history/extend-history.ts). Each
 * history is read and written as a whole, in one transaction, on the condition that its version is the one that
 * was read.
 */
export async function extendDomains<Domain extends Extending>(
  pool: Pool,
  domains: readonly Domain[],
  options: ReplayOptions,
): Promise<ExtendedDomain<Domain>[]> {
  const done: ExtendedDomain<Domain>[] = [];
  for (let first = 0; first < domains.length; first += DOMAINS_AT_ONCE) {
    await untilNoneLeft(domains.slice(first, first + DOMAINS_AT_ONCE), async (left) => {
      const known = new Map<string, StoredRows>();
      const names = left.map(({ name }) => name);
      for await (const rows of readStoredRows(pool, names)) known.set(rows.domain.name, rows);
      const extended = left.map((domain) => extend(domain, known.get(domain.name) ?? null, options));
      const changed = extended.flatMap(({ writing }) => writing ?? []);
      const written = await writeDomains(pool, changed, replaceRows);
      for (const { writing, result } of extended) {
        if (writing === null || written.has(writing.name)) done.push(result);
      }
      return extended.flatMap(({ writing, result }) =>
        writing === null || written.has(writing.name) ? [] : [result.of],
      );
    });
  }
  return done;
}

/** What there is to write of a domain, and the rows that it replaces. */
interface Rewriting extends DomainChanges {
  readonly stays: readonly RecordStay[];
  readonly headers: readonly StoredHeaderChange[];
  readonly responses: readonly RecordedResponse[];
  readonly earlier: readonly EarlierChanges[];
  readonly kept: ExtendedHistory['keptTimes'];
}

function extend<Domain extends Extending>(of: Domain, rows: StoredRows | null, options: ReplayOptions) {
  const before = rows === null ? null : historyOfRows(rows);
  const after = extendHistory(before, of.observations, options);
  const stays = differenceOf(before?.stays ?? [], after.stays, stayText);
  const headers = differenceOf(before?.headers ?? [], after.headers, headerText);
  const responses = differenceOf(before?.responses ?? [], after.responses, responseText);
  const earlier = differenceOf(before?.earlier ?? [], after.earlier, earlierText);
  const isSame = before !== null && isDeepStrictEqual(stateOf(before), stateOf(after));
  const isChanged = !isSame || stays.isAny || headers.isAny || earlier.isAny;
  // What was told by sightings may be known, and tell nothing new.
  const outcomes = isChanged ? after.outcomes : after.outcomes.map(asKnown);
  const { name } = of;
  const result = { of, isChanged, outcomes, before, after };
  if (!isChanged) return { writing: null, result };
  const recorded = Math.max(outcomes.filter(isActing).length, 1);
  const writing: Rewriting = {
    ...{ name, before: rows?.domain ?? null, stateBefore: before?.state ?? null, state: after.state },
    version: leastNextVersion(rows?.domain ?? null, recorded),
    changes: {
      added: stays.added,
      removed: [],
      headers: headers.added,
      responses: responses.added,
      earlier: earlier.added,
    },
    observed: after.later,
    extendedFrom: after.extendedFrom,
    octets: octetsOf({ stays, headers }),
    ...{ stays: stays.gone, headers: headers.gone, responses: responses.gone },
    ...{ earlier: earlier.gone, kept: after.keptTimes },
  };
  return { writing, result };
}

function asKnown(outcome: Outcome): Outcome {
  return outcome.kind === 'stale' ? outcome : { ...outcome, kind: 'repeated', isPartial: false };
}

interface Difference<Item> {
  readonly added: readonly Item[];
  readonly gone: readonly Item[];
  readonly isAny: boolean;
}

function differenceOf<Item>(
  before: readonly Item[],
  after: readonly Item[],
  textOf: (item: Item) => ItemText,
): Difference<Item> {
  const keyOf = (item: Item) => textOf(item).join('\n');
  const [known, kept] = [new Set(before.map(keyOf)), new Set(after.map(keyOf))];
  const added = after.filter((item) => !known.has(keyOf(item)));
  const gone = before.filter((item) => !kept.has(keyOf(item)));
  return { added, gone, isAny: added.length + gone.length > 0 };
}

function stateOf({ state, keptTimes = new Map() }: Pick<StoredHistory, 'state' | 'keptTimes'>) {
  return { state, keptTimes };
}

function octetsOf({
  stays,
  headers,
}: {
  readonly stays: Difference<RecordStay>;
  readonly headers: Difference<StoredHeaderChange>;
}): HistoryOctets {
  const recordsOf = (list: readonly RecordStay[]) => list.map(({ record }) => record);
  const added = historyOctets(recordsOf(stays.added), headers.added);
  const gone = historyOctets(recordsOf(stays.gone), headers.gone);
  return { records: added.records - gone.records, headers: added.headers - gone.headers };
}

const KEPT: Columns<Rewriting> = [
  ['name', 'text', ({ name }) => name],
  ['kept', 'jsonb', ({ kept }) => (kept === undefined ? null : storedKeptTimes(kept))],
];

const SET_KEPT: WriteRows = ({ from, value, key, keys }) =>
  `UPDATE domain AS d SET kept_times = ${value('kept')} FROM ${from} WHERE d.name = ANY (${keys}) AND d.name = ${key('name')}`;

/** Deletes the rows that are written again, or are no more; what is kept of observations is replaced. */
async function replaceRows(client: PoolClient, written: readonly Rewriting[]): Promise<void> {
  await erase(
    client,
    'dns_record',
    STAY_KEY,
    rowsOf(written, ({ stays }) => stays),
  );
  await erase(
    client,
    'header_change',
    HEADER_KEY,
    rowsOf(written, ({ headers }) => headers),
  );
  await erase(
    client,
    'site_response',
    RESPONSE_KEY,
    rowsOf(written, ({ responses }) => responses),
  );
  await erase(
    client,
    'earlier_changes',
    EARLIER_KEY,
    rowsOf(written, ({ earlier }) => earlier),
  );
  await write(client, SET_KEPT, KEPT, written);
}

/** @param columns By which a row is told from others. */
async function erase<Row>(client: PoolClient, table: string, columns: Columns<Row>, rows: readonly Row[]) {
  const statement: WriteRows = ({ from, key, keys }) => `
    DELETE FROM ${table} AS old USING ${from}
     WHERE old.domain = ANY (${keys}) AND ${columns.map(([name]) => `old.${name} = ${key(name)}`).join(' AND ')}`;
  await write(client, statement, columns, rows);
}
