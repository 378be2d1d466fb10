import { Prisma } from '../database/generated/client.js';
import { PLANNED_EACH_TIME } from '../database/query-limits.js';
import type { Instant } from '../model/instant.js';

/** Begins a statement for a page whose plan depends on what is asked for. */
export const PLANNED = Prisma.raw(PLANNED_EACH_TIME);

/** A number in the text of a statement, where PostgreSQL plans with it. */
export function literal(number: number): Prisma.Sql {
  return Prisma.raw(String(number));
}

/** A time in SQL as of an instant: null where it is later, and so not known. @param at undefined: now. */
export function knownAt(time: string, at: Instant | undefined): Prisma.Sql {
  const column = Prisma.raw(time);
  return at === undefined ? column : Prisma.sql`CASE WHEN ${column} <= ${at} THEN ${column} END`;
}

/** The condition, after others, that a row is not later than an instant. @param at undefined: now. */
export function upTo(time: string, at: Instant | undefined): Prisma.Sql {
  return at === undefined ? Prisma.empty : Prisma.sql`AND ${Prisma.raw(time)} <= ${at}`;
}

/** A time from its digits: JSON has no such number. */
export function instantOrNull(digits: string | null): Instant | null {
  return digits === null || digits === '' ? null : BigInt(digits);
}

/** @throws Error where the column is too short: what is stored breaks a rule of the recorder. */
export function cell<Value>(column: readonly Value[], row: number): Value {
  const value = column[row];
  if (value === undefined) throw new Error('The columns of a history differ in length.');
  return value;
}

/** To read or parse a page takes a few milliseconds; other requests are served in between. */
const PAGE_CHARACTERS = 65_536;

/** A value that the database has compressed is assumed to be so many times as long; it is up to 85 times. */
const COMPRESSION = 32;

/**
 * Limits a page to about so many characters, and to one row at the least: rows that follow each other may
 * differ in size a thousand times. The values themselves are not read for that.
 *
 * @param candidates Rows of the table in their order, at most as many as are wanted.
 * @param columns That have the size of a row.
 * @param order The columns by which the rows are in order.
 * @param atLeast Columns of the order: rows that are equal to the first by these are all in the page.
 */
export function pageOf(
  candidates: Prisma.Sql,
  columns: readonly string[],
  order: string,
  { maxCharacters = PAGE_CHARACTERS, atLeast = order } = {},
): Prisma.Sql {
  const octets = columns
    .map(
      (column) =>
        `coalesce(pg_column_size(${column})
         * CASE WHEN pg_column_compression(${column}) IS NULL THEN 1 ELSE ${COMPRESSION} END, 0)`,
    )
    .join(' + ');
  // One frame for both: PostgreSQL goes through the rows once.
  const before = (columnsOfOrder: string) =>
    Prisma.raw(`OVER (ORDER BY ${columnsOfOrder} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)`);
  return Prisma.sql`
    SELECT *
      FROM (SELECT *, count(*) OVER () AS candidates, rank() ${before(atLeast)} = 1 AS is_first,
                   sum(${Prisma.raw(octets)}) ${before(order)} AS octets_before
              FROM (${candidates}) AS candidate) AS measured
     WHERE is_first OR octets_before < ${maxCharacters}
     ORDER BY ${Prisma.raw(order)}`;
}
