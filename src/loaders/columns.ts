import { Prisma } from '../database/generated/client.js';
import { PLANNED_EACH_TIME } from '../database/query-limits.js';
import type { Instant } from '../model/instant.js';

/**
 * A history is sent by columns, a text or an array for each field of all its rows: half as long as an object
 * for each row, and faster for PostgreSQL to write. Texts are joined by commas, which none of them (times,
 * types, classes, names of header fields) can contain.
 */
export function splitColumn(joined: string): readonly string[] {
  return joined.split(',');
}

/** Begins a statement for a page whose plan depends on what is asked for. */
export const PLANNED = Prisma.raw(PLANNED_EACH_TIME);

/** A time in SQL as of an instant: null where it is later, and so not known. @param at undefined: now. */
export function knownAt(time: string, at: Instant | undefined): Prisma.Sql {
  return at === undefined
    ? Prisma.raw(time)
    : Prisma.sql`CASE WHEN ${Prisma.raw(time)} <= ${at} THEN ${Prisma.raw(time)} END`;
}

/** The condition, after others, that a row is not later than an instant. @param at undefined: now. */
export function upTo(time: string, at: Instant | undefined): Prisma.Sql {
  return at === undefined ? Prisma.empty : Prisma.sql`AND ${Prisma.raw(time)} <= ${at}`;
}

/** A time from its digits, if there is one. */
export function instantOrNull(digits: string | null): Instant | null {
  return digits === null || digits === '' ? null : BigInt(digits);
}

/** A column of times: microseconds since the Unix epoch in decimal digits, since JSON has no such number. */
export function splitInstants(joined: string): readonly Instant[] {
  return splitColumn(joined).map(BigInt);
}

/**
 * The value of a column in a row.
 *
 * @throws Error where the column is too short: what is stored breaks a rule of the recorder.
 */
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
 * Limits a page to so many characters, about, and to one row at the least: rows that follow each other may
 * differ in size a thousand times. The values themselves are not read for that.
 *
 * @param candidates Rows of the table in their order, at most as many as are wanted.
 * @param columns That have the size of a row.
 * @param order The columns by which the rows are in order.
 * @param most How long a page is, in characters.
 * @param atLeast Columns of the order: rows that are equal to the first by these are all in the page.
 */
export function pageOf(
  candidates: Prisma.Sql,
  columns: readonly string[],
  order: string,
  { most = PAGE_CHARACTERS, atLeast = order } = {},
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
     WHERE is_first OR octets_before < ${most}
     ORDER BY ${Prisma.raw(order)}`;
}
