import { Prisma, type PrismaClient } from '../database/generated/client.js';
import type { ChangeFilter } from '../model/change-filter.js';
import { CHANGE_KINDS, type ChangeKind, HEADER_CHANGES, type RoutineReason } from '../model/change-kinds.js';
import type { Instant } from '../model/instant.js';
import { knownAt, literal, PLANNED, pageOf } from './columns.js';
import type { DnsEntry } from './dns-entries.js';
import type { DomainRowKey } from './domain-row.js';
import { allOf, isWithin, type Page, readFewThenMany } from './search.js';

/**
 * The place of a change among those of its domain: by date, by kind, then as Get domain orders records and
 * headers. Of a header, its name is `type`.
 */
export interface ChangePosition {
  readonly date: Instant;
  /** In CHANGE_KINDS. */
  readonly kind: number;
  readonly firstSeen: Instant;
  readonly type: string;
  readonly position: number;
}

export interface Change {
  readonly domain: string;
  readonly kind: ChangeKind;
  readonly date: Instant;
  readonly source: string | null;
  /** Null: it is notable. */
  readonly routine: RoutineReason | null;
  readonly at: ChangePosition;
  /** As of when its domain is; absent: now. */
  readonly asOf?: Instant | undefined;
  readonly record?: DnsEntry;
  /** When what is gone, or the value before, was last seen. */
  readonly lastSeen?: Instant;
  /** A header's name, and its values before and after. */
  readonly name?: string;
  readonly old?: string | null;
  readonly new?: string | null;
  /** Of an extended history: the time from which on it differs. */
  readonly earliest?: Instant;
  readonly oldStatus?: number;
  readonly newStatus?: number;
}

/** Changes that are in one table, in the order of one index. */
export interface ChangeSource {
  readonly kinds: readonly ChangeKind[];
  /** A query for the changes of all domains, as rows of one form. */
  readonly rows: Prisma.Sql;
  /** The columns by which the changes of a domain are in order: those of the index after `domain`. */
  readonly order: readonly ('date' | 'kind' | 'first_seen' | 'type' | 'position')[];
}

/** The places of kinds in CHANGE_KINDS, as they are in SQL. */
const [ADDED, REMOVED, CREATED, UPDATED, GONE, RETURNED, , STATUS] = CHANGE_KINDS.map((_kind, rank) =>
  Prisma.raw(String(rank)),
);

/**
 * The rows of changes, whoever reads them. This is no view: of a view that unites tables, PostgreSQL up to 18
 * reads all changes of a domain and sorts them for a page of its first; and on a Citus cluster, the feed puts
 * other queries in the place of the tables.
 *
 * @param domain The domain's name in SQL: where there is one, itself, by which a cluster finds the shard.
 */
export function changeSources(domain = Prisma.raw('change.domain')): readonly ChangeSource[] {
  const ofRecords = (date: string, kind: Prisma.Sql | undefined, prefix: string) => Prisma.sql`
    SELECT domain, ${Prisma.raw(date)} AS date, ${kind} AS kind, first_seen, type, position,
           ${Prisma.raw(`${prefix}source AS source, ${prefix}routine AS routine`)}, class, host,
           rdata, removed, last_seen, NULL::text AS value, NULL::text AS old
      FROM dns_record WHERE ${Prisma.raw(date)} IS NOT NULL`;
  // A header that returns with another value is updated. When the value before was last seen may not be
  // recorded: then it is the date at which it was new. Of an absence it always is.
  const ofHeaders = Prisma.sql`
    SELECT change.domain, change.observed_at AS date,
           CASE WHEN change.value IS NULL THEN ${GONE} WHEN before.value IS NULL THEN ${CREATED}
                WHEN before.value = change.value THEN ${RETURNED} ELSE ${UPDATED} END AS kind,
           0::bigint AS first_seen, change.name AS type, 0 AS position, change.source, change.routine,
           NULL::text AS class, NULL::text AS host, NULL::json AS rdata, NULL::bigint AS removed,
           CASE WHEN change.value IS NULL OR before.value <> change.value
                THEN coalesce(change.last_seen, before.observed_at) END AS last_seen,
           change.value, before.value AS old
      FROM header_change AS change
      LEFT JOIN LATERAL (
             SELECT before.value, before.observed_at FROM header_change AS before
              WHERE before.domain = ${domain} AND before.name = change.name
                AND before.observed_at < change.observed_at AND before.value IS NOT NULL
              ORDER BY before.observed_at DESC LIMIT 1) AS before ON true`;
  const ofSite = Prisma.sql`
    SELECT change.domain, change.observed_at AS date, ${STATUS} AS kind, 0::bigint AS first_seen, '' AS type,
           0 AS position, change.source, change.routine, NULL::text AS class, NULL::text AS host,
           NULL::json AS rdata, NULL::bigint AS removed, NULL::bigint AS last_seen,
           change.status::text AS value, before.status::text AS old
      FROM site_response AS change
      JOIN LATERAL (
             SELECT before.status FROM site_response AS before
              WHERE before.domain = ${domain} AND before.observed_at < change.observed_at
              ORDER BY before.observed_at DESC LIMIT 1) AS before ON before.status <> change.status`;
  return [
    {
      kinds: ['DNS_RECORD_ADDED'],
      rows: ofRecords('first_seen', ADDED, ''),
      order: ['date', 'type', 'position'],
    },
    {
      kinds: ['DNS_RECORD_REMOVED'],
      rows: ofRecords('removed', REMOVED, 'removed_'),
      order: ['date', 'first_seen', 'type', 'position'],
    },
    { kinds: HEADER_CHANGES, rows: ofHeaders, order: ['date', 'kind', 'type'] },
    { kinds: ['SITE_STATUS_CHANGED'], rows: ofSite, order: ['date'] },
  ];
}

export const IS_OF_RECORD = Prisma.sql`kind <= ${REMOVED}`;

/** A row `change` as changeRowSql() selects it. What is only of records is null for a header. */
export interface ChangeRow
  extends ChangePosition,
    Pick<Change, 'source' | 'routine'>,
    Pick<DnsEntry, 'class' | 'host' | 'removed' | 'lastSeen'> {
  readonly rdata: object | null;
  readonly value: string | null;
  readonly old: string | null;
}

/** The columns of a row `change`, for changeOfRow(). */
export function changeRowSql(at: Instant | undefined): Prisma.Sql {
  return Prisma.sql`
    date, kind, first_seen AS "firstSeen", type, position, source, routine, class, host, rdata,
    ${knownAt('removed', at)} AS removed, ${knownAt('last_seen', at)} AS "lastSeen", value, old`;
}

export function changeOfRow(domain: string, at: Instant | undefined, row: ChangeRow): Change {
  const { date, kind: rank, firstSeen, type, position, source, routine, rdata, removed, value, old } = row;
  const kind = CHANGE_KINDS[rank] ?? 'HEADER_UPDATED';
  const place = { date, kind: rank, firstSeen, type, position };
  const change = { domain, asOf: at, kind, date, source, routine, at: place };
  if (kind === 'SITE_STATUS_CHANGED') return { ...change, oldStatus: Number(old), newStatus: Number(value) };
  if (rdata === null) {
    const values = kind === 'HEADER_RETURNED' ? { new: value } : { new: value, old };
    return { ...change, name: type, ...values, ...(row.lastSeen !== null && { lastSeen: row.lastSeen }) };
  }
  const lastSeen = row.lastSeen ?? (removed === null ? null : firstSeen);
  const entry = { host: row.host, class: row.class, type, of: { domain, at }, firstSeen, removed, lastSeen };
  const record = { ...entry, ...rdata };
  return { ...change, record, ...(kind === 'DNS_RECORD_REMOVED' && lastSeen !== null && { lastSeen }) };
}

interface ChangesKey extends DomainRowKey, ChangeFilter {
  /** After `from`, up to `to`. */
  readonly from?: Instant | undefined;
  readonly to?: Instant | undefined;
  readonly newestFirst: boolean;
  readonly first: number;
  readonly after?: ChangePosition | undefined;
}

type ChangePage = Page<Change, ChangePosition>;

/** Among how many a page looks for those that are wanted, where few are not enough. */
const MAX_RECORDS = 10_000;
const MAX_HEADERS = 2_000;

/**
 * Loads a page of a domain's changes, as of an instant: those of each table by a range of one of its indexes,
 * of which the first ones are taken. A page is shorter where its records and values are long, or where few of
 * many changes are of the types or notable, or those of headers of the kinds.
 */
export function loadChanges(prisma: PrismaClient, key: ChangesKey): Promise<ChangePage> {
  // Without types and reasons, every record that is read is one of the page.
  const most = key.types === undefined && key.notable === undefined ? key.first + 1 : MAX_RECORDS;
  return readFewThenMany(key.first, (examined) => readChanges(prisma, key, examined), most);
}

/** In the order of changes, rows of each table up to the first (`isEnd`) after which others may follow unread. */
async function readChanges(prisma: PrismaClient, key: ChangesKey, records: number): Promise<ChangePage> {
  const name = Prisma.sql`${key.name}`;
  const pages = changeSources(name)
    .filter(({ kinds }) => kinds.some((kind) => key.kinds.has(kind)))
    .map((source) => pageOfSource(key, source, records));
  if (pages.length === 0) return { items: [], next: null };
  const order = sorted(['date', 'kind', 'first_seen', 'type', 'position'], key);
  // In one statement: an observation between two would be told in part.
  const rows = await prisma.$queryRaw<readonly (ChangeRow & { isWanted: boolean; isEnd: boolean })[]>`
    ${PLANNED} SELECT ${changeRowSql(key.at)}, is_wanted AS "isWanted", is_end AS "isEnd"
      FROM (SELECT *, count(*) FILTER (WHERE is_end)
                        OVER (ORDER BY ${order} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS ends
              FROM (${Prisma.join(pages, ' UNION ALL ')}) AS change) AS change
     WHERE ends = 0
     ORDER BY ${order}`;
  const wanted = rows.filter(({ isWanted }) => isWanted);
  const page = wanted.slice(0, key.first);
  const last = wanted.length > key.first ? page.at(-1) : rows.find(({ isEnd }) => isEnd);
  return { items: page.map((row) => changeOfRow(key.name, key.at, row)), next: last ?? null };
}

/** The first changes of one table that are asked for, and the last one that was looked at. */
function pageOfSource(key: ChangesKey, source: ChangeSource, records: number): Prisma.Sql {
  const { first, types, headers: names, notable, from, to } = key;
  const ofHeaders = source.kinds.length > 1;
  const areAll = notable === undefined && source.kinds.every((kind) => key.kinds.has(kind));
  const examined = literal(ofHeaders ? (areAll ? first + 1 : MAX_HEADERS) : records);
  const kinds = Prisma.raw([...key.kinds].map((kind) => CHANGE_KINDS.indexOf(kind)).join(', '));
  const isOfTypes =
    types === undefined ? Prisma.empty : Prisma.sql`AND (type = ANY (${types}) OR NOT ${IS_OF_RECORD})`;
  const isNotable = notable === undefined ? Prisma.empty : Prisma.sql`AND (routine IS NULL) = ${notable}`;
  const conditions = allOf([
    Prisma.sql`domain = ${key.name}`,
    isWithin(Prisma.raw('date'), from, to),
    // By one name, the primary key has them in their order.
    ofHeaders &&
      names !== undefined &&
      (names.length === 1 ? Prisma.sql`type = ${names[0]}` : Prisma.sql`type = ANY (${names})`),
    followsSql(key, source),
  ]);
  const order = sorted(source.order, key);
  const found = Prisma.sql`
    SELECT *
      FROM (SELECT *, kind IN (${kinds}) ${isOfTypes} ${isNotable} AS is_wanted,
                   count(*) OVER (ORDER BY ${order} ROWS UNBOUNDED PRECEDING) = ${examined} AS is_last
              FROM (SELECT * FROM (${source.rows}) AS change
                     WHERE ${conditions} ORDER BY ${order} LIMIT ${examined}) AS change) AS change
     WHERE is_wanted OR is_last
     ORDER BY ${order} LIMIT ${literal(first + 1)}`;
  return Prisma.sql`
    (SELECT *, lead(true) OVER (ORDER BY ${order}) IS NULL AND
               (is_last OR count(*) OVER () > ${literal(first)} OR count(*) OVER () < candidates) AS is_end
       FROM (${pageOf(found, ['rdata', 'value', 'old'], order.sql)}) AS change)`;
}

function sorted(columns: readonly string[], { newestFirst }: ChangesKey): Prisma.Sql {
  return Prisma.raw(columns.map((column) => (newestFirst ? `${column} DESC` : column)).join(', '));
}

/** That a table's changes come after a place: of one of its own changes, or of another table's. */
function followsSql({ after, newestFirst }: ChangesKey, { kinds, order }: ChangeSource): Prisma.Sql | false {
  if (after === undefined) return false;
  const { date, kind, firstSeen: first_seen, type, position } = after;
  const beyond = Prisma.raw(newestFirst ? '<' : '>');
  const ranks = kinds.map((each) => CHANGE_KINDS.indexOf(each));
  if (ranks.includes(kind)) {
    const place = { date, kind, first_seen, type, position };
    const values = Prisma.join(order.map((column) => place[column]));
    // The date by itself, too: an index is entered by it.
    return Prisma.sql`date ${beyond}= ${date} AND (${Prisma.raw(order.join(', '))}) ${beyond} (${values})`;
  }
  // Of that date, where its kinds come after that of the place.
  const hasDate = ranks.every((rank) => (newestFirst ? rank < kind : rank > kind));
  return Prisma.sql`date ${beyond}${Prisma.raw(hasDate ? '=' : '')} ${date}`;
}
