import { Prisma, type PrismaClient } from '../database/generated/client.js';
import { ON_SERVER, type PartQuery, requireAnswers, type Tables } from '../database/tables.js';
import type { Instant } from '../model/instant.js';
import type { NamePattern } from '../model/name-pattern.js';
import { literal, PLANNED } from './columns.js';

/**
 * Searching: matches come by domain, while what is searched for is found by its value. What has few values (one
 * address, the hosts below one name) is looked up value by value, each by a range of an index in the order of
 * matches. What has too many is found by reading rows in the order of matches, which finds some soon. Either
 * way a question reads a bounded number of rows; a page is shorter where it ends at that.
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

/** An index that has the values of a column in the order of matches, and the condition of its rows. */
export interface Lookup {
  readonly column: Prisma.Sql;
  readonly condition: Prisma.Sql;
}

/** What is looked up, value by value. */
export interface SoughtValues extends Pick<PartQuery, 'given'> {
  /** Rows with one column `value`: of a part of the table, or those that are given. */
  readonly values: PartQuery['query'];
  /** Where rows have a value: those of each are joined. */
  readonly lookups: readonly Lookup[];
  readonly isOneValue: boolean;
}

/** The values that are given, and none of the table. */
export const allGiven: SoughtValues['values'] = (_part, given) => Prisma.sql`SELECT value FROM ${given}`;

export const EVERY_ROW = Prisma.sql`true`;

/** Which rows of a table match. */
export interface Finding {
  readonly first: number;
  readonly table: string;
  /** The columns of a place. */
  readonly place: Prisma.Sql;
  /** Their types. */
  readonly columns: string;
  /** A text of the row, for its match: its rows are read once then. */
  readonly content?: Prisma.Sql;
  /** Where all are of one domain: the condition by which they are read. */
  readonly within?: Prisma.Sql | undefined;
  /** @param part The table, where others of its rows count. */
  readonly conditions: (part: Prisma.Sql) => Prisma.Sql;
  /** After other conditions: that rows come after the place of the question. */
  readonly follows: Prisma.Sql;
}

/** Which rows of a table match, and how they are read. */
export interface Question<Row, Match, Place> extends Finding {
  /** Null where there is no index for the values. */
  readonly sought: SoughtValues | null;
  /** Finds matches among so many rows in their order. */
  readonly inOrder: (finding: Finding, rows: number) => Found;
  /** Each match is read as a JSON array, which begins with its place. */
  readonly reading: {
    /** The rows that are needed of each table, where these cannot be joined with what was found. */
    readonly needed: Readonly<Record<string, Prisma.Sql>>;
    /** In WITH: `entry` is what was found, in its order, with `candidates`, how many they are where not all are read. */
    readonly queries: Prisma.Sql;
    /** The items of a place. */
    readonly place: Prisma.Sql;
    readonly placeOf: (row: Row) => Place;
    /** The items that follow. */
    readonly rest: Prisma.Sql;
    readonly matchOf: (row: Row, place: Place) => Match;
  };
}

export async function search<Row, Match, Place>(
  reader: SearchReader,
  question: Question<Row, Match, Place>,
): Promise<Page<Match, Place>> {
  const { first, sought, inOrder } = question;
  const readInOrder = (rows: number) => readFound(reader, question, inOrder(question, rows));
  if (sought?.isOneValue !== true) {
    // Where many rows match, the first ones do.
    const page = await readInOrder(ROWS_OF_MATCH * (first + 1));
    if (isFull(page, first)) return page;
  }
  const byValue = async (rows: number) => {
    const page = sought && (await readFound(reader, question, lookUp(question, sought, rows)));
    return page?.isTooMuch === false ? page : null;
  };
  return (await readFewThenMany(first, byValue, MAX_ROWS_BY_VALUE)) ?? readInOrder(MAX_ROWS);
}

/**
 * What finds matches in a part of a table, for readFound(): the places of the first ones, one more than the page,
 * with the outcome `match`; with `end`, the place up to which they are all, if there may be others; `too much`
 * where there are too many values or rows.
 */
export type Found = Pick<PartQuery, 'given' | 'query'>;

const NO_CONTENT = Prisma.sql`NULL`;

/** Finds matches among up to so many rows in their order. */
export function queriesInOrder(
  { first, table, place, content = NO_CONTENT, within = EVERY_ROW, conditions, follows }: Finding,
  rows: number,
): Found {
  const query = (part: Prisma.Sql) => {
    const inOrder = Prisma.sql`
      FROM ${part} AS ${Prisma.raw(table)} WHERE ${within} ${follows} ORDER BY ${place}`;
    return Prisma.sql`
      WITH found AS MATERIALIZED (
        SELECT ${place}, ${content} AS content FROM (SELECT * ${inOrder} LIMIT ${literal(rows)}) AS ${Prisma.raw(table)}
         WHERE ${conditions(part)} ORDER BY ${place} LIMIT ${literal(first + 1)})
      SELECT ${place}, content, 'match' AS outcome FROM found UNION ALL
      SELECT ${place}, NULL, 'end' FROM (SELECT ${place} ${inOrder} LIMIT 1 OFFSET ${literal(rows - 1)}) AS row
       WHERE (SELECT count(*) FROM found) <= ${literal(first)}`;
  };
  return { query };
}

/**
 * Finds rows by their values.
 *
 * @param most How many rows are read in all, where there are few values; of many, of each as a page has.
 */
function lookUp(
  { first, table, place, conditions, follows }: Finding,
  { given, values, lookups }: SoughtValues,
  most: number,
): Found {
  const [page, maxValues, maxRows] = [first + 1, MAX_VALUES, MAX_ROWS_BY_VALUE + first + 1].map(literal);
  const size = Prisma.sql`(SELECT rows FROM size)`;
  const rowsOf = (part: Prisma.Sql) =>
    lookups.map(
      ({ column, condition }) => Prisma.sql`
      (SELECT ${place}, ${conditions(part)} AS matches
         FROM ${part} AS ${Prisma.raw(table)} WHERE ${condition} AND ${column} = sought.value ${follows}
        ORDER BY ${place} LIMIT ${size})`,
    );
  const query: Found['query'] = (part, list) => Prisma.sql`
    WITH sought AS MATERIALIZED (
      SELECT DISTINCT value FROM (SELECT value FROM (${values(part, list)}) AS found LIMIT ${maxValues} + 1) AS found),
    size AS MATERIALIZED (
      SELECT greatest(${page}, ${literal(most)} / greatest(count(*), 1)) AS rows FROM sought),
    examined AS MATERIALIZED (
      SELECT found.*
        FROM sought CROSS JOIN LATERAL (
               SELECT *, row_number() OVER (ORDER BY ${place}) = ${size} AS is_last
                 FROM (SELECT * FROM (${Prisma.join(rowsOf(part), ' UNION ALL ')}) AS looked_up
                        ORDER BY ${place} LIMIT ${size}) AS row) AS found
       WHERE (SELECT count(*) FROM sought) <= ${maxValues}
       LIMIT ${maxRows} + 1)
    (SELECT ${place}, NULL AS content, 'match' AS outcome FROM examined WHERE matches ORDER BY ${place} LIMIT ${page})
    UNION ALL
    (SELECT ${place}, NULL, 'end' FROM examined WHERE is_last ORDER BY ${place} LIMIT 1)
    UNION ALL
    SELECT ${place}, NULL, 'too much' FROM (SELECT) AS one LEFT JOIN examined ON false
     WHERE (SELECT count(*) FROM sought) > ${maxValues} OR (SELECT count(*) FROM examined) > ${maxRows}`;
  const few = given && {
    ...given,
    query: Prisma.sql`SELECT value FROM (${given.query}) AS given LIMIT ${maxValues} + 1`,
  };
  return { given: few, query };
}

/** Where searches read. */
export interface SearchReader {
  readonly prisma: PrismaClient;
  readonly tables: Tables;
}

interface PageRow<Row> {
  /** Null: no part has anything. */
  readonly outcomes: readonly string[] | null;
  readonly rows: readonly Row[] | null;
  readonly candidates: number | null;
  /** Up to where `rows` has all; null: there are no others. */
  readonly end: Row | null;
}

/**
 * Reads a page of what was found. It ends before that where the matches are long.
 *
 * @throws Error as requireAnswers().
 */
export async function readFound<Row, Match, Place>(
  { prisma, tables }: SearchReader,
  question: Question<Row, Match, Place>,
  found: Found,
): Promise<Page<Match, Place> & { readonly isTooMuch: boolean }> {
  const { first, table, place: places, columns, within, reading } = question;
  // The rows of one domain are in one part, to which the whole statement goes.
  const parts = within === undefined ? tables : ON_SERVER;
  const { needed, queries, place, placeOf, rest, matchOf } = reading;
  const [page] = await prisma.$queryRaw<readonly PageRow<Row>[]>`
    ${PLANNED} WITH ${parts.eachPart({ table, columns: `${columns}, content text`, ...found })},
    bound AS MATERIALIZED (SELECT ${places} FROM answer WHERE outcome = 'end' ORDER BY ${places} LIMIT 1),
    found AS MATERIALIZED (
      SELECT ${places}, content FROM answer
       WHERE outcome = 'match' AND (NOT EXISTS (SELECT FROM bound) OR (${places}) <= (SELECT ${places} FROM bound))
       ORDER BY ${places} LIMIT ${literal(first + 1)}),
    -- What was found by another snapshot than it is read by may be gone: its page ends where it would have.
    last AS MATERIALIZED (
      (SELECT ${places} FROM found ORDER BY ${places} LIMIT 1 OFFSET ${literal(first)})
       UNION ALL SELECT * FROM bound ORDER BY ${places} LIMIT 1),
    ${tables.replaced(needed)} ${queries}
    SELECT (SELECT array_agg(DISTINCT outcome) FROM answer) AS outcomes,
           json_agg(json_build_array(${place}, ${rest})) AS rows, max(candidates)::int AS candidates,
           (SELECT json_build_array(${place}) FROM last) AS end
      FROM entry`;
  if (page === undefined) throw new Error('An aggregate of all rows gives a row.');
  const outcomes = page.outcomes ?? [];
  requireAnswers(outcomes);
  const rows = page.rows ?? [];
  const items = rows.slice(0, first).map((row) => matchOf(row, placeOf(row)));
  const isWhole = rows.length <= first && rows.length >= (page.candidates ?? 0);
  const next = isWhole ? page.end : (rows[items.length - 1] ?? null);
  return { items, next: next === null ? null : placeOf(next), isTooMuch: outcomes.includes('too much') };
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
    WITH near AS MATERIALIZED (${firstOf(KNOWN_NAME, known, looked)})
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
  part: Prisma.Sql,
  column: Prisma.Sql,
  condition: Prisma.Sql,
  from = Prisma.sql`''`,
): Prisma.Sql {
  const next = (comparison: Prisma.Sql) => Prisma.sql`
    (SELECT ${column} AS value FROM ${part}
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

export const KNOWN_NAME = Prisma.raw('known_name');

/** Rows that an index finds, and what it is sorted by, if it is. */
interface Indexed {
  readonly condition: Prisma.Sql;
  readonly order?: Prisma.Sql;
}

/**
 * The names of so many rows, and of one more. In the order of the index, no others are read: without it,
 * PostgreSQL may read all that meet the condition, and then those.
 */
export function firstOf(table: Prisma.Sql, { condition, order }: Indexed, most: number): Prisma.Sql {
  const sorted = order === undefined ? Prisma.empty : Prisma.sql`ORDER BY ${order}`;
  return Prisma.sql`SELECT name FROM ${table} WHERE ${condition} ${sorted} LIMIT ${literal(most + 1)}`;
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
