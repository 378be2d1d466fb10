import { Prisma, type PrismaClient } from '../database/generated/client.js';
import { type FirstTimes, routineOf } from '../history/routine.js';
import { CHANGE_KINDS, type ChangeKind, HEADER_CHANGES, type RoutineReason } from '../model/change-kinds.js';
import type { Instant } from '../model/instant.js';
import { PLANNED, pageOf } from './columns.js';
import { COLUMNS_SQL, type DnsEntry, parseDnsEntries } from './dns-entries.js';
import type { DomainRowKey } from './domain-row.js';
import { type FirstTimesRow, firstTimesOf, firstTimesSql } from './observed-parts.js';
import { readFewThenMany } from './search.js';

/**
 * The place of a change among those of its domain: by date, by kind, then as Get domain orders records and headers. For a
 * record `firstSeen`, the type and the position; for a header its name as `type`.
 */
export interface ChangePosition {
  readonly date: Instant;
  /** In CHANGE_KINDS. */
  readonly kind: number;
  readonly firstSeen: Instant;
  readonly type: string;
  readonly position: number;
}

/** A change of a domain. */
export interface Change {
  readonly domain: string;
  readonly kind: ChangeKind;
  readonly date: Instant;
  /** Who observed it. */
  readonly source: string | null;
  /** Null: it is notable. */
  readonly routine: RoutineReason | null;
  readonly at: ChangePosition;
  /** As of when its domain was asked for; absent: now. */
  readonly asOf?: Instant | undefined;
  /** The stay of a DNS record. */
  readonly record?: DnsEntry;
  /** When what is gone, or the value before, was last seen. */
  readonly lastSeen?: Instant;
  /** A header's name, and its values before and after. */
  readonly name?: string;
  readonly old?: string | null;
  readonly new?: string | null;
  /** Of an extended history: the time from which on it differs. */
  readonly earliest?: Instant;
}

/** Which changes of a domain, and how many. */
export interface ChangesKey extends DomainRowKey {
  /** After this time; absent: from the first on. */
  readonly from?: Instant | undefined;
  /** Up to this time; absent: up to the last. */
  readonly to?: Instant | undefined;
  readonly kinds: ReadonlySet<ChangeKind>;
  /** Only records of these types; absent: of every type. */
  readonly types?: readonly string[] | undefined;
  /** Only headers of these names; absent: of every name. */
  readonly names?: readonly string[] | undefined;
  readonly newestFirst: boolean;
  readonly first: number;
  /** The place that they follow. */
  readonly after?: ChangePosition | undefined;
}

/** Changes in their order, and where the page ends. */
export interface ChangePage {
  readonly changes: readonly Change[];
  /** The place after which the next page begins; null on the last one. */
  readonly next: ChangePosition | null;
}

/** A page of changes, and the question that it is of. */
export interface ChangesOfQuestion extends ChangePage {
  /** Text for the cursors. */
  readonly question: string;
}

/** A change of a page with its cursor. */
export interface ChangeWithCursor {
  readonly node: Change;
  readonly cursor: string;
}

/** The first changes of one table. */
interface Candidates {
  readonly changes: readonly Change[];
  /** Up to which place they are all; null: there are no others. */
  readonly end: ChangePosition | null;
}

/**
 * Loads a page of a domain's changes, as of an instant: those of each table by a range of one of its indexes, of which the
 * first ones are taken. A page is shorter where its records and values are long, or where few of many changes are of the types, or
 * those of headers of the kinds.
 */
export async function loadChanges(prisma: PrismaClient, key: ChangesKey): Promise<ChangePage> {
  // Without types, every record that is read is one of the page.
  if (key.types === undefined) return readChanges(prisma, key, key.first + 1);
  const read = (examined: number) => readChanges(prisma, key, examined);
  const lengthOf = ({ changes }: ChangePage) => changes.length;
  const page = await readFewThenMany(key.first, read, lengthOf, MOST_EXAMINED_RECORDS);
  return page ?? { changes: [], next: null };
}

/** @param examined How many records are looked at of each table. */
async function readChanges(prisma: PrismaClient, key: ChangesKey, examined: number): Promise<ChangePage> {
  const ofHeaders = HEADER_CHANGES.some((kind) => key.kinds.has(kind));
  // In one statement: an observation between two would be told in part.
  const [tables] = await prisma.$queryRaw<readonly Tables[]>`
    ${PLANNED} SELECT ${key.kinds.has('DNS_RECORD_ADDED') ? recordsAddedSql(key, examined) : NONE} AS added,
           ${key.kinds.has('DNS_RECORD_REMOVED') ? recordsRemovedSql(key, examined) : NONE} AS removed,
           ${ofHeaders ? headerChangesSql(key) : NONE} AS headers`;
  const found = [
    recordChanges(key, tables?.added ?? null, added),
    recordChanges(key, tables?.removed ?? null, removed),
    headerChanges(key, tables?.headers ?? null),
  ];
  const compare = (one: ChangePosition, other: ChangePosition) =>
    key.newestFirst ? comparePositions(other, one) : comparePositions(one, other);
  // What follows the end of a table is not known yet.
  const [end = null] = found.flatMap((table) => table.end ?? []).sort(compare);
  const known = found
    .flatMap(({ changes }) => changes)
    .filter(({ at }) => end === null || compare(at, end) <= 0)
    .sort((one, other) => compare(one.at, other.at));
  const changes = known.slice(0, key.first);
  const next = known.length > key.first ? (changes.at(-1)?.at ?? end) : end;
  return { changes, next };
}

/** What one statement reads of each table, as JSON; null where its kinds are not requested. */
interface Tables {
  readonly added: RecordRows | null;
  readonly removed: RecordRows | null;
  readonly headers: HeaderRows | null;
}

const NONE = Prisma.sql`NULL::json`;

/** By date, kind and what follows it, the earlier first. */
function comparePositions(one: ChangePosition, other: ChangePosition): number {
  return (
    compare(one.date, other.date) ||
    compare(one.kind, other.kind) ||
    compare(one.firstSeen, other.firstSeen) ||
    compare(one.type, other.type) ||
    compare(one.position, other.position)
  );
}

/** Of types and names of headers, which are ASCII: as PostgreSQL compares them with COLLATE "C". */
function compare<Value extends bigint | number | string>(one: Value, other: Value): number {
  return one < other ? -1 : Number(one > other);
}

const ADDED = 0;
const REMOVED = 1;

/** Rows of the table of records. */
interface RecordRows {
  /** For parseDnsEntries; null where there are no rows. */
  readonly columns: string | null;
  readonly candidates: number | null;
  readonly sources: readonly (string | null)[] | null;
  readonly positions: readonly number[] | null;
  /** Of their types. */
  readonly firsts: readonly (FirstTimesRow | null)[] | null;
  /** Whether a row is the last one that was looked at. */
  readonly lasts: readonly boolean[] | null;
}

function recordsAddedSql(key: ChangesKey, examined: number): Prisma.Sql {
  return recordsSql(key, examined, {
    ...{ kind: ADDED, date: 'first_seen', source: 'source' },
    order: ['first_seen', 'type', 'position'],
    values: ({ date, type, position }) => [date, type, position],
  });
}

/** What the rows of a record tell of its change, besides the record. */
interface RecordEvidence {
  readonly position: number;
  readonly source: string | null;
  /** Of the record's type. */
  readonly first: FirstTimes;
}

export function added(domain: string, record: DnsEntry, { position, source, first }: RecordEvidence): Change {
  const { firstSeen: date, type } = record;
  const at = { date, kind: ADDED, firstSeen: date, type, position };
  const kind = 'DNS_RECORD_ADDED';
  return { domain, kind, date, source, routine: routineOf(kind, date, first), record, at };
}

function recordsRemovedSql(key: ChangesKey, examined: number): Prisma.Sql {
  return recordsSql(key, examined, {
    ...{ kind: REMOVED, date: 'removed', source: 'removed_source' },
    order: ['removed', 'first_seen', 'type', 'position'],
    values: ({ date, firstSeen, type, position }) => [date, firstSeen, type, position],
  });
}

export function removed(
  domain: string,
  record: DnsEntry,
  { position, source, first }: RecordEvidence,
): Change {
  const { firstSeen, removed: date, lastSeen, type } = record;
  if (date === null || lastSeen === null) throw new Error('A record that was removed has no removal.');
  const at = { date, kind: REMOVED, firstSeen, type, position };
  const kind = 'DNS_RECORD_REMOVED';
  return { domain, kind, date, source, routine: routineOf(kind, date, first), record, lastSeen, at };
}

/** How the changes of one kind are found in table `dns_record`. */
interface RecordRange {
  readonly kind: number;
  /** The column of their date, and of who observed them. */
  readonly date: 'first_seen' | 'removed';
  readonly source: 'source' | 'removed_source';
  /** The columns of an index after `domain`. */
  readonly order: readonly string[];
  /** The values of these columns at a place. */
  readonly values: (position: ChangePosition) => readonly unknown[];
}

function recordsSql(
  key: ChangesKey,
  examined: number,
  { kind, date, source, order, values }: RecordRange,
): Prisma.Sql {
  const after =
    key.after?.kind === kind
      ? Prisma.sql`AND (${Prisma.raw(order.join(', '))}) ${beyond(key)} (${Prisma.join([...values(key.after)])})`
      : Prisma.empty;
  const sorted = directed(order, key);
  // As of an instant, later removals are not known. The index of removals has them as they are, and up to it.
  const known = (column: 'removed' | 'last_seen') =>
    key.at === undefined || kind === REMOVED
      ? Prisma.raw(column)
      : Prisma.sql`CASE WHEN ${Prisma.raw(column)} <= ${key.at} THEN ${Prisma.raw(column)} END AS ${Prisma.raw(column)}`;
  const rows = (columns: string) => Prisma.sql`
    SELECT ${Prisma.raw(columns)} FROM dns_record
     WHERE domain = ${key.name} ${datesSql(key, date, kind)} ${after}
     ORDER BY ${Prisma.raw(sorted)}
     LIMIT ${examined}`;
  const found =
    key.types === undefined
      ? Prisma.sql`SELECT *, false AS is_last FROM (${rows('*')}) AS entry`
      : ofTypesSql(key, key.types, { examined, rows: rows('first_seen, type, position, removed'), sorted });
  const candidates = Prisma.sql`
    SELECT type, class, host, first_seen, rdata, position, ${Prisma.raw(source)} AS source, is_last,
           ${known('removed')}, ${known('last_seen')}, ${firstTimesSql(Prisma.sql`${key.name}`)} AS first
      FROM (${found}) AS entry`;
  return Prisma.sql`
    (SELECT json_build_object('columns', ${COLUMNS_SQL}, 'candidates', max(candidates), 'sources', json_agg(source),
                              'positions', json_agg(position), 'lasts', json_agg(is_last),
                              'firsts', json_agg(first))
       FROM (${pageOf(candidates, ['rdata'], sorted)}) AS entry)`;
}

/** Of how many records a page looks for those of the types, where few are not enough. */
const MOST_EXAMINED_RECORDS = 10_000;

/** The keys of records in their order, and how many they are at most. */
interface Examined {
  readonly examined: number;
  readonly rows: Prisma.Sql;
  readonly sorted: string;
}

/** The first records of the types, and the last one that was looked at: found in the index, before the rows are read. */
function ofTypesSql(
  { name, first }: ChangesKey,
  types: readonly string[],
  { examined, rows, sorted }: Examined,
): Prisma.Sql {
  const order = Prisma.raw(sorted);
  return Prisma.sql`
    SELECT entry.*, found.is_last
      FROM (SELECT *
              FROM (SELECT *, count(*) OVER (ORDER BY ${order} ROWS UNBOUNDED PRECEDING) = ${examined} AS is_last
                      FROM (${rows}) AS examined) AS numbered
             WHERE type = ANY(${types}) OR is_last
             ORDER BY ${order}
             LIMIT ${first + 1}) AS found
      JOIN dns_record AS entry
        ON entry.domain = ${name} AND entry.first_seen = found.first_seen AND entry.type = found.type
       AND entry.position = found.position`;
}

function recordChanges(
  key: ChangesKey,
  rows: RecordRows | null,
  changeOf: (domain: string, record: DnsEntry, evidence: RecordEvidence) => Change,
): Candidates {
  const entries = parseDnsEntries(rows?.columns ?? '');
  const all = entries.map((entry, row) => changeOf(key.name, entry, evidenceOf(rows, row)));
  const isOfTypes = ({ record }: Change) => key.types?.includes(record?.type ?? '') ?? true;
  const isLast = rows?.lasts?.at(-1) === true;
  const end = isLast ? (all.at(-1)?.at ?? null) : endOf(key, all, rows?.candidates ?? 0);
  return { changes: all.filter(isOfTypes), end };
}

/** @param rows What is read of records, as columns. */
export function evidenceOf(
  rows: Pick<RecordRows, 'positions' | 'sources' | 'firsts'> | null | undefined,
  row: number,
): RecordEvidence {
  const [position, source] = [rows?.positions?.[row] ?? 0, rows?.sources?.[row] ?? null];
  return { position, source, first: firstTimesOf(rows?.firsts?.[row] ?? undefined) };
}

function endOf({ first }: ChangesKey, changes: readonly Change[], candidates: number): ChangePosition | null {
  const isComplete = changes.length >= candidates && changes.length <= first;
  return isComplete ? null : (changes.at(-1)?.at ?? null);
}

/** A change of a header: times as digits, the kind in CHANGE_KINDS, whether others may follow that were not looked at. */
export type HeaderRow = readonly [
  name: string,
  date: string,
  value: string | null,
  old: string | null,
  lastSeen: string | null,
  source: string | null,
  kind: number,
  isLast: boolean,
  /** When HTTP was first observed. */
  first: string | null,
];

interface HeaderRows {
  readonly candidates: number | null;
  readonly rows: readonly HeaderRow[] | null;
}

/** Of how many changes of headers a page looks for those of the kinds. */
const MOST_EXAMINED = 2_000;

/** In CHANGE_KINDS. A header that returns with another value is updated. */
export const KIND_OF_HEADER = Prisma.raw(
  `CASE WHEN value IS NULL THEN ${rankOf('HEADER_GONE')} WHEN old IS NULL THEN ${rankOf('HEADER_CREATED')}
        WHEN old = value THEN ${rankOf('HEADER_RETURNED')} ELSE ${rankOf('HEADER_UPDATED')} END`,
);

/**
 * When the value before a change was last seen: where that was not recorded, the date at which it was new. Of an absence it
 * always was.
 */
export const LAST_SEEN_OF_HEADER = Prisma.raw(
  'CASE WHEN value IS NULL OR old <> value THEN coalesce(last_seen, old_date) END',
);

function rankOf(kind: ChangeKind): number {
  return CHANGE_KINDS.indexOf(kind);
}

function headerChangesSql(key: ChangesKey): Prisma.Sql {
  const { after } = key;
  const sorted = directed(['date', 'kind', 'name'], key);
  const kinds = CHANGE_KINDS.flatMap((kind, rank) => (key.kinds.has(kind) ? [rank] : []));
  const ofAllKinds = HEADER_CHANGES.every((kind) => key.kinds.has(kind));
  const examined = ofAllKinds ? key.first + 1 : MOST_EXAMINED;
  const follows =
    after !== undefined && after.kind > REMOVED
      ? Prisma.sql`AND (date, kind, name) ${beyond(key)} (${after.date}, ${after.kind}, ${after.type})`
      : Prisma.empty;
  const candidates = Prisma.sql`
    SELECT *
      FROM (SELECT *, count(*) OVER (ORDER BY ${Prisma.raw(sorted)} ROWS UNBOUNDED PRECEDING) = ${examined} AS is_last
              FROM (SELECT *
                      FROM (SELECT name, observed_at AS date, value, old, ${LAST_SEEN_OF_HEADER} AS last_seen, source, ${KIND_OF_HEADER} AS kind
                              FROM header_change AS change
                              LEFT JOIN LATERAL (
                                     SELECT before.value AS old, before.observed_at AS old_date FROM header_change AS before
                                      WHERE before.domain = ${key.name} AND before.name = change.name
                                        AND before.observed_at < change.observed_at AND before.value IS NOT NULL
                                      ORDER BY before.observed_at DESC LIMIT 1) AS before ON true
                             WHERE domain = ${key.name} ${namesSql(key)} ${datesSql(key, 'observed_at', REMOVED + 1)}) AS change
                     WHERE true ${follows}
                     ORDER BY ${Prisma.raw(sorted)}
                     LIMIT ${examined}) AS examined) AS change
     WHERE kind IN (${Prisma.join(kinds)}) OR is_last
     ORDER BY ${Prisma.raw(sorted)}
     LIMIT ${key.first + 1}`;
  return Prisma.sql`
    (SELECT json_build_object('candidates', max(candidates), 'rows',
              json_agg(json_build_array(name, date::text, value, old, last_seen::text, source, kind, is_last,
                                         (SELECT http_first::text FROM domain WHERE name = ${key.name}))))
       FROM (${pageOf(candidates, ['value', 'old'], sorted)}) AS change)`;
}

function namesSql({ names }: ChangesKey): Prisma.Sql {
  return names === undefined ? Prisma.empty : Prisma.sql`AND name = ANY(${names})`;
}

function headerChanges(key: ChangesKey, found: HeaderRows | null): Candidates {
  const rows = found?.rows ?? [];
  const all = rows.map((row) => headerChange(key.name, row));
  const changes = all.filter(({ kind }) => key.kinds.has(kind));
  const isLast = rows.at(-1)?.[7] === true;
  const end = isLast ? (all.at(-1)?.at ?? null) : endOf(key, all, found?.candidates ?? 0);
  return { changes, end };
}

export function headerChange(domain: string, row: HeaderRow): Change {
  const [name, digits, value, old, lastSeen, source, rank, , first] = row;
  const date = BigInt(digits);
  const kind = CHANGE_KINDS[rank] ?? 'HEADER_UPDATED';
  const at = { date, kind: rank, firstSeen: 0n, type: name, position: 0 };
  return {
    ...{ domain, kind, date, source, name, new: value, at },
    routine: routineOf(kind, date, firstTimesOf([first, null])),
    ...(kind !== 'HEADER_RETURNED' && { old }),
    ...(lastSeen !== null && { lastSeen: BigInt(lastSeen) }),
  };
}

function directed(columns: readonly string[], { newestFirst }: ChangesKey): string {
  return columns.map((column) => (newestFirst ? `${column} DESC` : column)).join(', ');
}

function beyond({ newestFirst }: ChangesKey): Prisma.Sql {
  return newestFirst ? Prisma.sql`<` : Prisma.sql`>`;
}

/** Dates in the interval and, of a kind that follows that of `after` at its date, also that date. */
function datesSql(
  { from, to, after, newestFirst }: ChangesKey,
  column: 'first_seen' | 'removed' | 'observed_at',
  kind: number,
): Prisma.Sql {
  const name = Prisma.raw(column);
  const conditions = [
    ...(from === undefined ? [] : [Prisma.sql`AND ${name} > ${from}`]),
    ...(to === undefined ? [] : [Prisma.sql`AND ${name} <= ${to}`]),
    // Of an index that has only these rows.
    ...(column === 'removed' ? [Prisma.sql`AND removed IS NOT NULL`] : []),
  ];
  if (after !== undefined) {
    const isHeaders = kind > REMOVED && after.kind > REMOVED;
    const hasDate = isHeaders || after.kind === kind || (newestFirst ? kind < after.kind : kind > after.kind);
    const comparison = Prisma.raw(`${newestFirst ? '<' : '>'}${hasDate ? '=' : ''}`);
    conditions.push(Prisma.sql`AND ${name} ${comparison} ${after.date}`);
  }
  return conditions.length === 0 ? Prisma.empty : Prisma.join(conditions, ' ');
}
