import { Prisma, type PrismaClient } from '../database/generated/client.js';
import type { Tables } from '../database/tables.js';
import type { Instant } from '../model/instant.js';
import type { NamePattern } from '../model/name-pattern.js';
import { literal, PLANNED } from './columns.js';

/**
 * Searching: matches come by domain, while what is searched for is found by its value. What has one value or a
 * few (an address, a host name) is looked up value by value, each by a range of an index in the order of matches.
 * Of more values, all rows are read, where these are few. Otherwise rows are read in the order of matches, which
 * finds some soon. Either way a question reads a bounded number of rows; a page is shorter where it ends at that.
 *
 * A Citus cluster executes these statements, too (docs/scaling.md): each table is read by a query of its own, with
 * a limit, whose rows the coordinator merges, and values are read before.
 */

/** How many values are looked up. */
export const MAX_VALUES = 2_000;
/** How many rows a page reads in order. */
export const MAX_ROWS = 30_000;
/** How many rows a page reads by their values: they lie apart, and take several times as long. */
export const MAX_ROWS_BY_VALUE = 10_000;

/**
 * Reads a page from few rows, and where these are too few for it from many.
 *
 * @param read Null where the question is too wide for this way.
 */
export async function readFewThenMany<Read extends Page<unknown, unknown> | null>(
  first: number,
  read: (rows: number) => Promise<Read>,
  many: number,
): Promise<Read> {
  // Enough where most of them match.
  const few = Math.min(4 * (first + 1), many);
  const page = await read(few);
  if (page === null || isFull(page, first) || few === many) return page;
  return read(many);
}

export interface SearchKey<Filter, Place> {
  readonly filter: Filter;
  readonly first: number;
  readonly after?: Place | undefined;
  /** Whether `lastSeen` of what is present is needed. */
  readonly lastSeen?: boolean;
}

export interface Page<Item, Place> {
  readonly items: readonly Item[];
  /** The place after which the next page begins; null on the last one. */
  readonly next: Place | null;
}

export function isFull({ items, next }: Page<unknown, unknown>, first: number): boolean {
  return next === null || items.length >= first;
}

/** An index that has the values of a column, each in the order of matches, and the condition of its rows. */
export interface Lookup {
  readonly column: Prisma.Sql;
  readonly condition: Prisma.Sql;
  /** The condition of the rows of one value; absent: the index has the place after the column. */
  readonly rangeOf?: (value: Prisma.Sql) => Prisma.Sql;
}

/** What is looked up; the rows of all lookups are joined. */
export interface SoughtValues {
  readonly lookups: readonly Lookup[];
  /** In SQL. */
  readonly values?: readonly Prisma.Sql[];
  /** A query for them, with one column `value`. Both absent: the lookups' conditions limit them. */
  readonly query?: Prisma.Sql;
  readonly isOneValue: boolean;
}

export const EVERY_ROW = Prisma.sql`true`;

/** Ranges of indexes, of which the first rows are examined. */
interface Ranges {
  /** By their columns, if they have any, and then by place. */
  readonly ranges: readonly { readonly condition: Prisma.Sql; readonly column?: Prisma.Sql }[];
  /** How many values have ranges of their own; null: a range has several, one after the other. */
  readonly values: number | null;
  /** UNION ALL with the place up to which they have all rows; absent: there are no others. */
  readonly end?: Prisma.Sql | undefined;
}

/** Which rows of a table match, and how they are read. */
export interface Question<Row, Match, Place> {
  readonly first: number;
  /** In FROM. */
  readonly table: Prisma.Sql;
  /** The columns of a place. */
  readonly place: Prisma.Sql;
  /** Where all are of one domain: the condition by which they are read in order. */
  readonly within?: Prisma.Sql | undefined;
  readonly conditions: Prisma.Sql;
  /** The place of the question, in SQL, or one before all others. */
  readonly after: Prisma.Sql;
  /** After other conditions: that rows come after that place. */
  readonly follows: Prisma.Sql;
  /** Null where there is no index for the values. */
  readonly sought: SoughtValues | null;
  /** What is read for so many rows in the order of matches; absent: the table. */
  readonly inOrder?: (rows: number) => Promise<Ranges>;
  /** Each match is read as a JSON array, which begins with its place. */
  readonly reading: {
    /** The rows of tables that are read for what was found. */
    readonly rows: Readonly<Record<string, Prisma.Sql>>;
    /** Further queries in WITH. */
    readonly queries?: Prisma.Sql;
    /** In FROM: what was found, in its order, with `candidates`, how many they are where not all are read. */
    readonly table: Prisma.Sql;
    /** The items of a place. */
    readonly place: Prisma.Sql;
    readonly placeOf: (row: Row) => Place;
    /** The items that follow. */
    readonly rest: Prisma.Sql;
    readonly matchOf: (row: Row, place: Place) => Match;
  };
}

export async function search<Row, Match, Place>(
  prisma: PrismaClient,
  tables: Tables,
  question: Question<Row, Match, Place>,
): Promise<Page<Match, Place>> {
  const { first, sought, inOrder = () => rangeInOrder(question) } = question;
  const read = (ranges: Ranges, rows: number) => readPage(prisma, tables, question, ranges, rows);
  const readInOrder = async (rows: number) => read(await inOrder(rows), rows);
  if (sought?.isOneValue !== true) {
    // Where many rows match, the first ones do.
    const page = await readInOrder(ROWS_OF_MATCH * (first + 1));
    if (isFull(page, first)) return page;
  }
  const ranges = sought && (await rangesOf(prisma, sought, question));
  if (ranges === null) return readInOrder(MAX_ROWS);
  if (ranges.values !== null) return readFewThenMany(first, (rows) => read(ranges, rows), MAX_ROWS_BY_VALUE);
  const page = await read(ranges, MAX_ROWS_BY_VALUE);
  return page.isCut ? readInOrder(MAX_ROWS) : page;
}

export function rangeInOrder({ within = EVERY_ROW, follows }: Finding): Ranges {
  return { ranges: [{ condition: Prisma.sql`${within} ${follows}` }], values: 1 };
}

type Finding = Omit<Question<never, unknown, unknown>, 'reading'>;

/** So many ranges are read one by one: each takes PostgreSQL time to plan, and is a query to all shards of a cluster. */
const MAX_RANGES = 32;

/** Null where there are too many values. */
async function rangesOf(
  prisma: PrismaClient,
  { values, query, lookups }: SoughtValues,
  { place, after, follows }: Finding,
): Promise<Ranges | null> {
  // With an equality, PostgreSQL would expect few rows of any value, and might sort all of a common one.
  const rangesOfEach = (each: readonly Prisma.Sql[]) =>
    each.flatMap((value) =>
      lookups.map(({ column, condition, rangeOf }) => ({
        column,
        condition: rangeOf
          ? Prisma.sql`${condition} AND ${rangeOf(value)} ${follows}`
          : Prisma.sql`${condition} AND (${column}, ${place}) > (${value}, ${after}) AND ${column} <= ${value}`,
      })),
    );
  if (values !== undefined) return { ranges: rangesOfEach(values), values: values.length };
  // What follows a place is anywhere in a range of values.
  if (query === undefined) return { ranges: lookups, values: null };
  const rows = await prisma.$queryRaw<readonly { readonly value: string | bigint }[]>`
    ${PLANNED} SELECT DISTINCT value
      FROM (SELECT value FROM (${query}) AS found LIMIT ${literal(MAX_VALUES + 1)}) AS found`;
  if (rows.length > MAX_VALUES) return null;
  const found = rows.map(({ value }) => value);
  const type = Prisma.raw(typeof found[0] === 'bigint' ? 'bigint' : 'text');
  if (found.length * lookups.length <= MAX_RANGES) {
    return {
      ranges: rangesOfEach(found.map((value) => Prisma.sql`${value}::${type}`)),
      values: found.length,
    };
  }
  const ranges = lookups.map(({ column, condition }) => ({
    column,
    condition: Prisma.sql`${condition} AND ${column} = ANY (${found}::${type}[]) ${follows}`,
  }));
  return { ranges, values: null };
}

interface PageRow<Row> {
  readonly isCut: boolean;
  readonly rows: readonly Row[] | null;
  readonly candidates: number | null;
  /** Up to where `rows` has all; null: there are no others. */
  readonly end: Row | null;
}

/**
 * Reads a page of what matches among so many rows. It ends before that where the matches are long.
 *
 * @returns with `isCut` where there are more rows of several values, so that others may be before these.
 */
export async function readPage<Row, Match, Place>(
  prisma: PrismaClient,
  tables: Tables,
  { first, table, place, conditions, follows, reading }: Question<Row, Match, Place>,
  { ranges, values, end = Prisma.empty }: Ranges,
  rows: number,
): Promise<Page<Match, Place> & { readonly isCut: boolean }> {
  if (ranges.length === 0) return { items: [], next: null, isCut: false };
  const size = literal(values === null ? rows + 1 : Math.max(first + 1, Math.floor(rows / values)));
  const selects = ranges.map(
    ({ condition, column }, range) => Prisma.sql`
      (SELECT ${literal(range)} AS range, ${place}, ${conditions} AS matches FROM ${table} WHERE ${condition}
        ORDER BY ${Prisma.join(column === undefined ? [place] : [column, place])} LIMIT ${size})`,
  );
  // Of one range in the order of matches, no more is read than a page takes. Of several, all matches are known up
  // to the place where the first of them ends.
  const isInOrder = ranges.length === 1 && values !== null;
  const cut = isInOrder
    ? Prisma.sql`SELECT ${place} FROM examined LIMIT 1 OFFSET ${size} - 1`
    : Prisma.sql`
        SELECT ${place}
          FROM (SELECT *, row_number() OVER (PARTITION BY range ORDER BY ${place}) AS number FROM examined) AS row
         WHERE number = ${size} ORDER BY ${place} LIMIT 1`;
  const inOrder = isInOrder
    ? Prisma.empty
    : Prisma.sql`AND coalesce((${place}) <= (SELECT ${place} FROM cut), true) ORDER BY ${place}`;
  const isCut = values === null ? Prisma.sql`EXISTS (SELECT FROM cut)` : Prisma.sql`false`;
  const { table: entries, place: items, rest, placeOf, matchOf, queries = Prisma.empty } = reading;
  // On a cluster, what was found may be erased before it is read: a page ends at the last place that was found.
  const [page] = await prisma.$queryRaw<readonly PageRow<Row>[]>`
    ${PLANNED} WITH examined AS MATERIALIZED (${Prisma.join(selects, ' UNION ALL ')}),
    cut AS MATERIALIZED (${cut}),
    found AS MATERIALIZED (
      SELECT ${place} FROM examined WHERE matches ${follows} ${inOrder} LIMIT ${literal(first + 1)}),
    ${tables.replaced(reading.rows)}
    last AS MATERIALIZED (
      SELECT ${place} FROM (
        (SELECT ${place} FROM found LIMIT 1 OFFSET ${literal(first)}) UNION ALL
        (SELECT ${place} FROM (SELECT * FROM cut ${end}) AS row
          WHERE (SELECT count(*) FROM found) <= ${literal(first)})) AS row
       ORDER BY ${place} LIMIT 1)
    ${queries}
    SELECT ${isCut} AS "isCut", json_agg(json_build_array(${items}, ${rest})) AS rows,
           max(candidates)::int AS candidates, (SELECT json_build_array(${items}) FROM last) AS end
      FROM ${entries}`;
  if (page === undefined) throw new Error('An aggregate of all rows gives a row.');
  const read = page.rows ?? [];
  const matches = read.slice(0, first).map((row) => matchOf(row, placeOf(row)));
  const isWhole = read.length <= first && read.length >= (page.candidates ?? 0);
  const next = isWhole ? page.end : (read[matches.length - 1] ?? null);
  return { items: matches, next: next === null ? null : placeOf(next), isCut: page.isCut };
}

/** So many rows are read in order for each match at first. */
export const ROWS_OF_MATCH = 20;

/**
 * The known names that meet a pattern, as a query; null where no index finds them.
 *
 * @param looked How many names are looked at. Where there are more, the query gives more than `most` rows.
 */
export function namesMeeting(pattern: NamePattern, looked: number, most: number): Prisma.Sql | null {
  const known = knownNamesOf(pattern);
  if (known === null) return null;
  return Prisma.sql`
    WITH near AS MATERIALIZED (${firstOf('known_name', known, looked)})
    SELECT name FROM near WHERE ${meetsPattern(Prisma.raw('name'), pattern)}
    UNION ALL
    SELECT number::text COLLATE "C" FROM generate_series(0, ${literal(most)}) AS number
     WHERE (SELECT count(*) FROM near) > ${literal(looked)}`;
}

/** So many long texts, and octets of them, are read, which have no trigrams in an index. */
const MAX_LONG = 500;
const MAX_LONG_OCTETS = 4 * 1024 ** 2;

/**
 * The hashes of the known texts with a part, as a query.
 *
 * @param kind `TXT` or the name of a header.
 * @param hash Of a row of `known_text`.
 */
export function hashesOfTexts(kind: string, hash: Prisma.Sql, part: string): Prisma.Sql {
  const isKind = kind === 'TXT' ? Prisma.sql`kind = 'TXT'` : Prisma.sql`kind <> 'TXT' AND kind = ${kind}`;
  const pattern = `%${escapedLike(part)}%`;
  // Where there are more long texts than are read, there are more values than are looked up.
  return Prisma.sql`
    WITH long AS MATERIALIZED (
      SELECT kind, text FROM known_text WHERE kind = ${kind} AND octet_length(text) > 4096
       LIMIT ${literal(MAX_LONG + 1)}),
    too_many AS MATERIALIZED (
      SELECT count(*) > ${literal(MAX_LONG)} OR sum(octet_length(text)) > ${literal(MAX_LONG_OCTETS)} AS is_so
        FROM long)
    SELECT ${hash} AS value FROM known_text
     WHERE ${isKind} AND octet_length(text) <= 4096 AND text LIKE ${pattern}
       AND (SELECT is_so IS NOT TRUE FROM too_many)
    UNION ALL SELECT ${hash} FROM long WHERE text LIKE ${pattern} AND (SELECT is_so IS NOT TRUE FROM too_many)
    UNION ALL SELECT number FROM generate_series(0::bigint, ${literal(MAX_VALUES)}) AS number
     WHERE (SELECT is_so FROM too_many)`;
}

/** The values of a column from one on, each once: each found by one step in its index. */
export function distinctValues(
  table: string,
  column: Prisma.Sql,
  condition: Prisma.Sql,
  from = Prisma.sql`''`,
): Prisma.Sql {
  const next = (comparison: Prisma.Sql) => Prisma.sql`
    (SELECT ${column} AS value FROM ${Prisma.raw(table)}
      WHERE ${condition} AND ${column} ${comparison} ORDER BY ${column} LIMIT 1)`;
  return Prisma.sql`
    WITH RECURSIVE step AS (
      ${next(Prisma.sql`>= ${from}`)} UNION ALL
      SELECT ${next(Prisma.sql`> step.value`)} FROM step WHERE step.value IS NOT NULL)
    SELECT value FROM step WHERE value IS NOT NULL`;
}

/** All of the conditions that are given. */
export function allOf(conditions: readonly (Prisma.Sql | false)[]): Prisma.Sql {
  const given = conditions.filter((condition) => condition !== false);
  return Prisma.join([EVERY_ROW, ...given], ' AND ', '(', ')');
}

/** Whether a time is after `from`, up to `to`. */
export function isWithin(column: Prisma.Sql, from: Time, to: Time): Prisma.Sql {
  return allOf([
    from != null && Prisma.sql`${column} > ${from}`,
    to != null && Prisma.sql`${column} <= ${to}`,
  ]);
}

export type Time = Instant | null | undefined;

function escapedLike(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&');
}

/** Whether PostgreSQL finds the part by its trigrams: it has none without three letters or digits in a row. */
export function hasTrigram(part: string): boolean {
  return /[a-z0-9]{3}/i.test(part);
}

/** The texts that begin with a prefix, in a column that is sorted by octets. */
export function startsWith(column: Prisma.Sql, prefix: string): Prisma.Sql {
  const last = prefix.charCodeAt(prefix.length - 1);
  const end = prefix.slice(0, -1) + String.fromCharCode(last + 1);
  return Prisma.sql`(${column} >= ${prefix} AND ${column} < ${end})`;
}

/** A name from its end, as indexes have it. Names are ASCII. */
export function reversed(name: string): string {
  return [...name].reverse().join('');
}

export function meetsPattern(column: Prisma.Sql, { parts }: NamePattern): Prisma.Sql {
  if (parts.length === 1) return Prisma.sql`${column} = ${parts[0]}`;
  return Prisma.sql`${column} LIKE ${parts.map(escapedLike).join('%')}`;
}

/** Rows that an index finds, and what it is sorted by, if it is. */
interface Indexed {
  readonly condition: Prisma.Sql;
  readonly order?: Prisma.Sql;
}

/**
 * The names of so many rows, and of one more. In the order of the index, no others are read: without it,
 * PostgreSQL may read all that meet the condition, and then those.
 */
export function firstOf(table: string, { condition, order }: Indexed, most: number): Prisma.Sql {
  const sorted = order === undefined ? Prisma.empty : Prisma.sql`ORDER BY ${order}`;
  const of = Prisma.raw(table);
  return Prisma.sql`SELECT name FROM ${of} WHERE ${condition} ${sorted} LIMIT ${literal(most + 1)}`;
}

export function endingWith(text: string): Indexed {
  const order = Prisma.sql`reverse(name)`;
  return { condition: startsWith(order, reversed(text)), order };
}

/** The rows of `known_name` among which the names of a pattern are, by an index; null: none finds them. */
function knownNamesOf(pattern: NamePattern): Indexed | null {
  const { parts } = pattern;
  const [first = '', last = ''] = [parts[0], parts.at(-1)];
  const name = Prisma.sql`name`;
  const like = { condition: meetsPattern(name, pattern) };
  // What is in the middle is mostly rarer than an ending that many names have.
  if (parts.length === 1 || parts.slice(1, -1).some(hasTrigram)) return like;
  if (last.length >= 3) return endingWith(last);
  if (first.length >= 3) return { condition: startsWith(name, first), order: name };
  return parts.some(hasTrigram) ? like : null;
}
