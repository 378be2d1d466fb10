import { Prisma, type PrismaClient } from '../database/generated/client.js';
import { type Instant, LATEST_INSTANT } from '../model/instant.js';
import { PLANNED, pageOf, upTo } from './columns.js';
import { latestOfHttpSql } from './observed-parts.js';
import {
  allOf,
  hashesOfTexts,
  hasTrigram,
  literal,
  lookUp,
  type Page,
  pageOfMatches,
  readMatches,
  type SearchKey,
  within,
} from './search.js';

/** Which headers, with their whole value or a part of it. */
export interface HeaderFilter {
  /** Field name in lower case. */
  readonly name: string;
  readonly value?: string | undefined;
  readonly contains?: string | undefined;
  /** Whether the header still has the value. */
  readonly present?: boolean | undefined;
  /** As of when; absent: now. */
  readonly at?: Instant | undefined;
  /** The header had the value at some time after `seenFrom`, up to `seenTo`. */
  readonly seenFrom?: Instant | undefined;
  readonly seenTo?: Instant | undefined;
}

/** The place of a match: by domain, then by time. */
export interface HeaderPlace {
  readonly domain: string;
  readonly from: Instant;
}

/** A time at which a header of a domain had a value. */
export interface HeaderMatch extends HeaderPlace {
  readonly name: string;
  readonly value: string;
  /** Null: it has the value. */
  readonly to: Instant | null;
  /** Null: not known, or not asked for. */
  readonly lastSeen: Instant | null;
  /** Who observed it first. */
  readonly source: string | null;
}

export interface HeaderSearchKey extends SearchKey<HeaderFilter, HeaderPlace> {
  /** Whether `lastSeen` is needed. */
  readonly lastSeen: boolean;
}
export type HeaderMatches = Page<HeaderMatch, HeaderPlace>;

/** Searches the values of headers. */
export async function searchHeaders(prisma: PrismaClient, key: HeaderSearchKey): Promise<HeaderMatches> {
  const values = valuesOf(key.filter);
  return readMatches<HeaderMatches>(key.first, {
    byValue: values && ((rows) => readByValue(prisma, key, values, rows)),
    isOneValue: key.filter.value !== undefined,
    inOrder: (rows) => readInOrder(prisma, key, rows),
  });
}

export const HASH = Prisma.raw(`hashtextextended(name || E'\\n' || value, 0)`);
const PLACE = Prisma.raw('domain, observed_at');

/** What is looked up, value by value; null where a part cannot be found by an index. */
export function valuesOf({ name, value, contains }: HeaderFilter): Prisma.Sql | null {
  if (value !== undefined) return Prisma.sql`SELECT hashtextextended(${`${name}\n${value}`}, 0) AS value`;
  if (contains === undefined || !hasTrigram(contains)) return null;
  return hashesOfTexts(name, Prisma.sql`hashtextextended(kind || E'\\n' || text, 0)`, contains);
}

/** Whether a row of table `header_change` meets all that the filter has. */
export function conditionsOf({
  name,
  value,
  contains,
  present,
  at,
  seenFrom,
  seenTo,
}: HeaderFilter): Prisma.Sql {
  const end = endSql('change', at);
  return allOf([
    Prisma.sql`name = ${name}`,
    value !== undefined && Prisma.sql`value = ${value}`,
    contains !== undefined && Prisma.sql`strpos(value, ${contains}) > 0`,
    at !== undefined && Prisma.sql`observed_at <= ${at}`,
    seenTo !== undefined && Prisma.sql`observed_at <= ${seenTo}`,
    present !== undefined && Prisma.sql`(${end} IS NULL) = ${present}`,
    seenFrom !== undefined && Prisma.sql`coalesce(${end} > ${seenFrom}, true)`,
  ]);
}

/** When the header had another value or was gone, as of an instant; null if it was not. */
function endSql(table: string, at: Instant | undefined): Prisma.Sql {
  const [domain, name, from] = ['domain', 'name', 'observed_at'].map((column) =>
    Prisma.raw(`${table}.${column}`),
  );
  return Prisma.sql`
    (SELECT min(later.observed_at) FROM header_change AS later
      WHERE later.domain = ${domain} AND later.name = ${name} AND later.observed_at > ${from} ${upTo('later.observed_at', at)})`;
}

/** Looks the values up; null where there are too many. */
async function readByValue(
  prisma: PrismaClient,
  key: HeaderSearchKey,
  values: Prisma.Sql,
  most: number,
): Promise<HeaderMatches | null> {
  const rows = Prisma.sql`
    SELECT ${PLACE}, ${conditionsOf(key.filter)} AS matches FROM header_change AS change
     WHERE value IS NOT NULL AND ${HASH} = sought.value ${follows(key)}`;
  const { queries, overflow } = lookUp({ values, rows: [rows], place: PLACE, first: key.first, most });
  return readPage(prisma, key, withTimes(queries), overflow);
}

/** The condition that rows come after the place of the question. */
export function follows({ after }: Pick<HeaderSearchKey, 'after'>): Prisma.Sql {
  if (after === undefined) return Prisma.empty;
  return Prisma.sql`AND (${PLACE}) > (${after.domain}, ${after.from})`;
}

/** With the times of all headers, for readPage(). */
function withTimes(queries: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`${queries}, header_time AS NOT MATERIALIZED (SELECT domain, observed_at, last_seen FROM header_change)`;
}

/** In so many domains the header is looked for: for each row that is read. */
const DOMAINS_OF_ROW = 0.2;

/** Reads the header of one domain after the other, until there are enough matches. */
async function readInOrder(prisma: PrismaClient, key: HeaderSearchKey, rows: number): Promise<HeaderMatches> {
  const { filter, after, first } = key;
  const domains = literal(Math.ceil(rows * DOMAINS_OF_ROW));
  const from = after === undefined ? Prisma.empty : Prisma.sql`WHERE name >= ${after.domain}`;
  // A lateral query with a limit is read row by row, in the order of the domains: ORDER BY would read all of them first.
  const read = Prisma.sql`
    (SELECT change.*
       FROM (SELECT name FROM domain ${from} ORDER BY name LIMIT ${domains}) AS visited
      CROSS JOIN LATERAL (
             SELECT ${PLACE}, name, value FROM header_change
              WHERE domain = visited.name AND name = ${filter.name} AND value IS NOT NULL ${follows(key)}
              ORDER BY observed_at LIMIT ${literal(rows)}) AS change
      LIMIT ${literal(rows)}) AS change`;
  const found = Prisma.sql`
    found AS MATERIALIZED (
      SELECT ${PLACE} FROM ${read} WHERE ${conditionsOf(filter)} LIMIT ${literal(first + 1)}),
    last AS MATERIALIZED (
      SELECT ${PLACE} FROM (
        (SELECT ${PLACE} FROM ${read} LIMIT 1 OFFSET ${literal(rows - 1)})
        UNION ALL
        (SELECT name, ${LATEST_INSTANT} FROM domain ${from} ORDER BY name LIMIT 1 OFFSET ${domains} - 1)) AS row
       WHERE (SELECT count(*) FROM found) <= ${literal(first)}
       ORDER BY ${PLACE} LIMIT 1)`;
  return within(await readPage(prisma, key, withTimes(found), Prisma.sql`false`));
}

/** Times as digits. */
type Row = readonly [
  domain: string,
  from: string,
  value: string,
  source: string | null,
  to: string | null,
  lastSeen: string | null,
];

interface PageRow {
  readonly overflow: boolean;
  readonly rows: readonly Row[] | null;
  readonly candidates: number | null;
  /** Where the rows end that were read; null: there are no others. */
  readonly end: readonly [domain: string, from: string] | null;
}

/**
 * Reads the values of a page.
 *
 * @param queries Queries in WITH: `found` has the places of matches, one more than the page, `last` the place up to which they are all,
 * if there may be others, and `header_time` the times of all headers of their domains.
 */
export async function readPage(
  prisma: PrismaClient,
  { filter, first, lastSeen }: HeaderSearchKey,
  queries: Prisma.Sql,
  overflow: Prisma.Sql,
): Promise<HeaderMatches | null> {
  const { name, at } = filter;
  const candidates = Prisma.sql`
    SELECT change.domain, change.observed_at, change.value, change.source
      FROM found
      JOIN header_change AS change USING (${PLACE})
     WHERE change.name = ${name}`;
  const seen = lastSeen
    ? Prisma.sql`(CASE WHEN ending.observed_at IS NOT NULL THEN ending.last_seen
                       ELSE ${latestOfHttpSql(at, Prisma.raw('entry.domain'), 'header_time')} END)::text`
    : Prisma.sql`NULL`;
  const [page] = await prisma.$queryRaw<readonly PageRow[]>`
    ${PLANNED} WITH ${queries}
    SELECT ${overflow} AS overflow, max(candidates)::int AS candidates,
           json_agg(json_build_array(entry.domain, entry.observed_at::text, value, source, ending.observed_at::text,
                                     ${seen}) ORDER BY entry.domain, entry.observed_at) AS rows,
           (SELECT json_build_array(domain, observed_at::text) FROM last) AS end
      FROM (${pageOf(candidates, ['value'], 'domain, observed_at')}) AS entry
      LEFT JOIN LATERAL (
             SELECT later.observed_at, later.last_seen FROM header_change AS later
              WHERE later.domain = entry.domain AND later.name = ${name} AND later.observed_at > entry.observed_at ${upTo('later.observed_at', at)}
              ORDER BY later.observed_at LIMIT 1) AS ending ON true`;
  if (page === undefined || page.overflow) return null;
  const found = (page.rows ?? []).map(([domain, from, value, source, to, last]) => ({
    ...{ domain, name, value, source, from: BigInt(from) },
    to: to === null ? null : BigInt(to),
    lastSeen: last === null ? null : BigInt(last),
  }));
  const end = page.end && { domain: page.end[0], from: BigInt(page.end[1]) };
  return pageOfMatches<HeaderMatch, HeaderPlace>(found, first, page.candidates, end, ({ domain, from }) => ({
    ...{ domain, from },
  }));
}
