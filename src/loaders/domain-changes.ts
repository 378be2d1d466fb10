import { Prisma, type PrismaClient } from '../database/generated/client.js';
import type { ChangeFilter } from '../model/change-filter.js';
import { CHANGE_KINDS } from '../model/change-kinds.js';
import type { Instant } from '../model/instant.js';
import {
  type Change,
  type ChangePosition,
  type ChangeRow,
  type ChangeSource,
  changeOfRow,
  changeRowSql,
  changeSources,
  IS_OF_RECORD,
  SIZED_COLUMNS,
} from './change-rows.js';
import { PLANNED, pageOf } from './columns.js';
import type { DomainRowKey } from './domain-row.js';
import { allOf, isWithin, literal, type Page, readFewThenMany } from './search.js';

/** Which changes of a domain, and how many. */
export interface ChangesKey extends DomainRowKey, ChangeFilter {
  /** After this time; absent: from the first on. */
  readonly from?: Instant | undefined;
  /** Up to this time; absent: up to the last. */
  readonly to?: Instant | undefined;
  readonly newestFirst: boolean;
  readonly first: number;
  /** The place that they follow. */
  readonly after?: ChangePosition | undefined;
}

type ChangePage = Page<Change, ChangePosition>;

/** Of how many records a page looks for those that are wanted, where few are not enough. */
const MOST_RECORDS = 10_000;
/** Of how many changes of headers a page looks for those that are wanted. */
const MOST_HEADERS = 2_000;

/**
 * Loads a page of a domain's changes, as of an instant: those of each table by a range of one of its indexes,
 * of which the first ones are taken. A page is shorter where its records and values are long, or where few of
 * many changes are of the types or notable, or those of headers of the kinds.
 */
export function loadChanges(prisma: PrismaClient, key: ChangesKey): Promise<ChangePage> {
  // Without types and reasons, every record that is read is one of the page.
  const most = key.types === undefined && key.notable === undefined ? key.first + 1 : MOST_RECORDS;
  return readFewThenMany(key.first, (examined) => readChanges(prisma, key, examined), most);
}

/** In the order of changes, rows of each table up to the first after which others may follow unread. */
async function readChanges(prisma: PrismaClient, key: ChangesKey, records: number): Promise<ChangePage> {
  const name = Prisma.sql`${key.name}`;
  const pages = changeSources(name)
    .filter(({ kinds }) => kinds.some((kind) => key.kinds.has(kind)))
    .map((source) => pageOfSource(key, source, records));
  if (pages.length === 0) return { items: [], next: null };
  const order = sorted(['date', 'kind', 'first_seen', 'type', 'position'], key);
  // In one statement: an observation between two would be told in part.
  const rows = await prisma.$queryRaw<readonly Row[]>`
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

interface Row extends ChangeRow {
  /** Whether it is one that is asked for. */
  readonly isWanted: boolean;
  /** Whether others may follow that were not read. */
  readonly isEnd: boolean;
}

/** The first changes of one table that are asked for, and the last one that was looked at. */
function pageOfSource(key: ChangesKey, source: ChangeSource, records: number): Prisma.Sql {
  const { first, types, headers: names, notable, from, to } = key;
  const ofHeaders = source.kinds.length > 1;
  const areAll = notable === undefined && source.kinds.every((kind) => key.kinds.has(kind));
  const examined = literal(ofHeaders ? (areAll ? first + 1 : MOST_HEADERS) : records);
  const kinds = Prisma.raw([...key.kinds].map((kind) => CHANGE_KINDS.indexOf(kind)).join(', '));
  const isOfTypes =
    types === undefined ? Prisma.empty : Prisma.sql`AND (type = ANY (${types}) OR NOT ${IS_OF_RECORD})`;
  const isNotable = notable === undefined ? Prisma.empty : Prisma.sql`AND (routine IS NULL) = ${notable}`;
  const conditions = allOf([
    Prisma.sql`domain = ${key.name}`,
    isWithin(Prisma.raw('date'), from, to),
    // By one name, the primary key has them in their order.
    ofHeaders && names?.length === 1 && Prisma.sql`type = ${names[0]}`,
    ofHeaders && names !== undefined && names.length !== 1 && Prisma.sql`type = ANY (${names})`,
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
       FROM (${pageOf(found, SIZED_COLUMNS, order.sql)}) AS change)`;
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
