import type { Pool, PoolClient } from 'pg';
import { type ExtendedHistory, extendHistory } from '../history/extend-history.js';
import type { Outcome } from '../history/record-observations.js';
import type { RecordedResponse, RecordStay } from '../history/state.js';
import type { StoredHeaderChange, StoredHistory } from '../history/stored-history.js';
import type { Observation } from '../model/observation.js';
import { type Columns, type WriteRows, write } from './bulk-write.js';
import { untilNoneLeft } from './contention.js';
import { type HistoryOctets, historyOctets } from './history-octets.js';
import { historyOfRows, readStoredRows, type StoredRows } from './read-histories.js';
import { leastNextVersion, storedKeptTimes, storedTypes } from './rows.js';
import { type DomainChanges, writeDomains } from './write-changes.js';

/** The observations of a domain, some of which belong into what is known of it. */
interface Extending {
  readonly name: string;
  readonly observations: readonly Observation[];
}

/** What extending the history of a domain has done. */
export interface ExtendedDomain {
  readonly name: string;
  readonly isNew: boolean;
  readonly isChanged: boolean;
  readonly outcomes: readonly Outcome[];
  readonly before: StoredHistory | null;
  readonly after: ExtendedHistory;
}

interface ExtendOptions {
  readonly older: boolean;
  readonly httpsGrace?: bigint | undefined;
}

/** Domains whose histories are in memory together; an importer records four batches at once. */
const DOMAINS_AT_ONCE = 25;

/**
 * Puts observations where their times belong in the histories of domains (history/extend-history.ts). Each history is read
 * and written as a whole, in one transaction, on the condition that its version is the one that was read.
 */
export async function extendDomains<Domain extends Extending>(
  pool: Pool,
  domains: readonly Domain[],
  options: ExtendOptions,
): Promise<(ExtendedDomain & { readonly of: Domain })[]> {
  const done: (ExtendedDomain & { readonly of: Domain })[] = [];
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
  readonly kept: ExtendedHistory['keptTimes'];
}

function extend<Domain extends Extending>(of: Domain, rows: StoredRows | null, options: ExtendOptions) {
  const before = rows === null ? null : historyOfRows(rows);
  const after = extendHistory(before, of.observations, options);
  const stays = differenceOf(before?.stays ?? [], after.stays, stayText);
  const headers = differenceOf(before?.headers ?? [], after.headers, headerText);
  const responses = differenceOf(before?.responses ?? [], after.responses, responseText);
  const isChanged = before === null || stateText(before) !== stateText(after) || stays.isAny || headers.isAny;
  // What was told by sightings may be known, and tell nothing new.
  const outcomes = isChanged ? after.outcomes : after.outcomes.map(asKnown);
  const { name } = of;
  const result = { of, name, isNew: before === null, isChanged, outcomes, before, after };
  if (!isChanged) return { writing: null, result };
  const acted = outcomes.filter(({ kind }) => kind === 'changed' || kind === 'unchanged').length;
  const recorded = acted === 0 ? 1 : acted;
  const writing: Rewriting = {
    ...{ name, before: rows?.domain ?? null, stateBefore: before?.state ?? null, state: after.state },
    version: leastNextVersion(rows?.domain ?? null, recorded),
    changes: {
      added: stays.added,
      removed: [],
      headers: headers.added.map((change) => ({ ...change, kind: 'updated' as const, old: null })),
      responses: responses.added,
    },
    observed: after.later,
    extendedFrom: after.extendedFrom,
    octets: octetsOf({ stays, headers }),
    ...{ stays: stays.gone, headers: headers.gone, responses: responses.gone, kept: after.keptTimes },
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
  textOf: (item: Item) => string,
): Difference<Item> {
  const [known, kept] = [new Set(before.map(textOf)), new Set(after.map(textOf))];
  const added = after.filter((item) => !known.has(textOf(item)));
  const gone = before.filter((item) => !kept.has(textOf(item)));
  return { added, gone, isAny: added.length + gone.length > 0 };
}

function stayText({ record, removal, ...stay }: RecordStay): string {
  const times = [stay.firstSeen, stay.firstSighted, stay.lastSighted, stay.position, stay.source];
  const end = removal && [removal.removed, removal.lastSeen, removal.lastSighted, removal.source];
  return textOfAll([record.type, record.host, record.class, record.rdata, ...times, ...(end ?? [])]);
}

function headerText({ name, observedAt, value, lastSeen, source }: StoredHeaderChange): string {
  return textOfAll([name, observedAt, value, lastSeen, source]);
}

function responseText({ observedAt, scheme, status, address }: RecordedResponse): string {
  return textOfAll([observedAt, scheme, status, address]);
}

function stateText({ state, keptTimes }: Pick<StoredHistory, 'state' | 'keptTimes'>): string {
  const { types, ...others } = state;
  const sorted = new Map([...types].sort(([a], [b]) => (a < b ? -1 : 1)));
  const kept = new Map([...(keptTimes ?? [])].sort(([a], [b]) => (a < b ? -1 : 1)));
  const { created, lastUpdate, lastChange, everyType, http, https } = others;
  return textOfAll([
    created,
    lastUpdate,
    lastChange,
    everyType,
    http,
    https,
    storedTypes(sorted),
    storedKeptTimes(kept),
  ]);
}

/** @param values Of bigint, too. */
function textOfAll(values: readonly unknown[]): string {
  return JSON.stringify(values, (_key, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  );
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

interface RowOf<Item> {
  readonly name: string;
  readonly item: Item;
}

const STAYS: Columns<RowOf<RecordStay>> = [
  ['domain', 'text', ({ name }) => name],
  ['first_seen', 'bigint', ({ item }) => item.firstSeen],
  ['type', 'text', ({ item }) => item.record.type],
  ['position', 'integer', ({ item }) => item.position],
];

const HEADERS: Columns<RowOf<StoredHeaderChange>> = [
  ['domain', 'text', ({ name }) => name],
  ['name', 'text', ({ item }) => item.name],
  ['observed_at', 'bigint', ({ item }) => item.observedAt],
];

const RESPONSES: Columns<RowOf<RecordedResponse>> = [
  ['domain', 'text', ({ name }) => name],
  ['observed_at', 'bigint', ({ item }) => item.observedAt],
];

const KEPT: Columns<Rewriting> = [
  ['name', 'text', ({ name }) => name],
  ['kept', 'jsonb', ({ kept }) => (kept === undefined ? null : storedKeptTimes(kept))],
];

const SET_KEPT: WriteRows = ({ from, value, keys }) =>
  `UPDATE domain AS d SET kept_times = ${value('kept')} FROM ${from} WHERE d.name = ANY (${keys}) AND d.name = new.name`;

/** Deletes the rows that are written again, or are no more; what is kept of observations is replaced. */
async function replaceRows(client: PoolClient, written: readonly Rewriting[]): Promise<void> {
  const all = <Item>(itemsOf: (domain: Rewriting) => readonly Item[]): RowOf<Item>[] =>
    written.flatMap((domain) => itemsOf(domain).map((item) => ({ name: domain.name, item })));
  await write(
    client,
    deleteFrom('dns_record', STAYS),
    STAYS,
    all(({ stays }) => stays),
  );
  await write(
    client,
    deleteFrom('header_change', HEADERS),
    HEADERS,
    all(({ headers }) => headers),
  );
  await write(
    client,
    deleteFrom('site_response', RESPONSES),
    RESPONSES,
    all(({ responses }) => responses),
  );
  await write(client, SET_KEPT, KEPT, written);
}

/** By all of the columns. */
function deleteFrom<Row>(table: string, columns: Columns<Row>): WriteRows {
  return ({ from, value, keys }) => `
    DELETE FROM ${table} AS old USING ${from}
     WHERE old.domain = ANY (${keys}) AND ${columns.map(([name]) => `old.${name} = ${value(name)}`).join(' AND ')}`;
}
