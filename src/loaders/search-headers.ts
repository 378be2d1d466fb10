import { Prisma, type PrismaClient } from '../database/generated/client.js';
import { type Instant, LATEST_INSTANT } from '../model/instant.js';
import { instantOrNull, literal, pageOf, upTo } from './columns.js';
import { latestOfHttpSql } from './observed-parts.js';
import {
  allOf,
  hashesOfTexts,
  hasTrigram,
  type Question,
  type SearchKey,
  type SoughtValues,
  search,
} from './search.js';

interface HeaderFilter {
  /** In lower case. */
  readonly name: string;
  readonly value?: string | undefined;
  readonly contains?: string | undefined;
  readonly present?: boolean | null | undefined;
  /** As of when; absent: now. */
  readonly at?: Instant | undefined;
  /** The header had the value at some time after `seenFrom`, up to `seenTo`. */
  readonly seenFrom?: Instant | null | undefined;
  readonly seenTo?: Instant | null | undefined;
}

/** The place of a match: by domain, then by time. */
export interface HeaderPlace {
  readonly domain: string;
  readonly from: Instant;
}

/** A time at which a header had a value. */
export interface HeaderMatch extends HeaderPlace {
  readonly name: string;
  readonly value: string;
  /** Null: it has the value. */
  readonly to: Instant | null;
  /** Null: not known, or not asked for. */
  readonly lastSeen: Instant | null;
  readonly source: string | null;
  readonly at: Instant | undefined;
}

export type HeaderSearchKey = SearchKey<HeaderFilter, HeaderPlace>;

/** Times as digits. */
type Row = readonly [
  string,
  string,
  string,
  source: string | null,
  to: string | null,
  lastSeen: string | null,
];

export function searchHeaders(prisma: PrismaClient, key: HeaderSearchKey) {
  return search(prisma, headerQuestion(key));
}

export function headerQuestion(key: HeaderSearchKey): Question<Row, HeaderMatch, HeaderPlace> {
  const { filter, first } = key;
  const { name, at } = filter;
  const candidates = Prisma.sql`
    SELECT change.domain, change.observed_at, change.value, change.source
      FROM found
      JOIN header_change AS change USING (${PLACE})
     WHERE change.name = ${name}`;
  const seen = key.lastSeen
    ? Prisma.sql`(CASE WHEN gone IS NOT NULL THEN entry.last_seen
                       ELSE ${latestOfHttpSql(at, Prisma.raw('entry.domain'))} END)::text`
    : Prisma.sql`NULL`;
  return {
    first,
    table: Prisma.raw('header_change AS change'),
    place: PLACE,
    conditions: Prisma.sql`value IS NOT NULL AND ${conditionsOf(filter)}`,
    follows: followsSql(key),
    sought: soughtHeaders(filter),
    inOrder: (rows) => queriesInOrder(key, rows),
    reading: {
      table: Prisma.sql`
        (SELECT entry.*, gone, ending.last_seen
           FROM (${pageOf(candidates, ['value'], PLACE.sql)}) AS entry
           LEFT JOIN LATERAL (
                  SELECT later.observed_at AS gone, later.last_seen FROM header_change AS later
                   WHERE later.domain = entry.domain AND later.name = ${name}
                     AND later.observed_at > entry.observed_at ${upTo('later.observed_at', at)}
                   ORDER BY later.observed_at LIMIT 1) AS ending ON true
          ORDER BY ${PLACE}) AS entry`,
      place: Prisma.raw('domain, observed_at::text'),
      placeOf: ([domain, from]) => ({ domain, from: BigInt(from) }),
      rest: Prisma.sql`value, source, gone::text, ${seen}`,
      matchOf: ([, , value, source, end, last], place) => {
        const [to, lastSeen] = [instantOrNull(end), instantOrNull(last)];
        return { ...place, name, value, source, to, lastSeen, at };
      },
    },
  };
}

const HASH = Prisma.raw(`hashtextextended(name || E'\\n' || value, 0)`);
const PLACE = Prisma.raw('domain, observed_at');

/** Null where a part cannot be found by an index. */
function soughtHeaders({ name, value, contains }: HeaderFilter): SoughtValues | null {
  const lookups = [{ column: HASH, condition: Prisma.raw('value IS NOT NULL') }];
  if (value !== undefined) {
    const values = Prisma.sql`SELECT hashtextextended(${`${name}\n${value}`}, 0) AS value`;
    return { isOneValue: true, values, lookups };
  }
  if (contains === undefined || !hasTrigram(contains)) return null;
  const hash = Prisma.sql`hashtextextended(kind || E'\\n' || text, 0)`;
  return { isOneValue: false, values: hashesOfTexts(name, hash, contains), lookups };
}

function conditionsOf({ name, value, contains, present, at, seenFrom, seenTo }: HeaderFilter): Prisma.Sql {
  // When the header had another value or was gone; null if it was not.
  const end = Prisma.sql`
    (SELECT min(later.observed_at) FROM header_change AS later
      WHERE later.domain = change.domain AND later.name = change.name AND later.observed_at > change.observed_at
            ${upTo('later.observed_at', at)})`;
  return allOf([
    Prisma.sql`name = ${name}`,
    value !== undefined && Prisma.sql`value = ${value}`,
    contains !== undefined && Prisma.sql`strpos(value, ${contains}) > 0`,
    at !== undefined && Prisma.sql`observed_at <= ${at}`,
    seenTo != null && Prisma.sql`observed_at <= ${seenTo}`,
    present != null && Prisma.sql`(${end} IS NULL) = ${present}`,
    seenFrom != null && Prisma.sql`coalesce(${end} > ${seenFrom}, true)`,
  ]);
}

function followsSql({ after }: HeaderSearchKey): Prisma.Sql {
  if (after === undefined) return Prisma.empty;
  return Prisma.sql`AND (${PLACE}) > (${after.domain}, ${after.from})`;
}

/** In so many domains the header is looked for: for each row that is read. */
const DOMAINS_OF_ROW = 0.2;

/** Finds values of the header of one domain after the other, until there are enough. */
function queriesInOrder(key: HeaderSearchKey, rows: number): Prisma.Sql {
  const { filter, after, first } = key;
  const domains = literal(Math.ceil(rows * DOMAINS_OF_ROW));
  const from = Prisma.sql`WHERE name >= ${after?.domain ?? ''}`;
  // A lateral query with a limit is read row by row, in the order of domains: ORDER BY would read all first.
  const read = Prisma.sql`
    (SELECT change.*
       FROM (SELECT name FROM domain ${from} ORDER BY name LIMIT ${domains}) AS visited
      CROSS JOIN LATERAL (
             SELECT ${PLACE}, name, value FROM header_change
              WHERE domain = visited.name AND name = ${filter.name} AND value IS NOT NULL ${followsSql(key)}
              ORDER BY observed_at LIMIT ${literal(rows)}) AS change
      LIMIT ${literal(rows)}) AS change`;
  return Prisma.sql`
    found AS MATERIALIZED (
      SELECT ${PLACE} FROM ${read} WHERE ${conditionsOf(filter)} LIMIT ${literal(first + 1)}),
    last AS MATERIALIZED (
      SELECT ${PLACE} FROM (
        (SELECT ${PLACE} FROM ${read} LIMIT 1 OFFSET ${literal(rows - 1)})
        UNION ALL
        (SELECT name, ${LATEST_INSTANT} FROM domain ${from} ORDER BY name LIMIT 1 OFFSET ${domains} - 1)) AS row
       WHERE (SELECT count(*) FROM found) <= ${literal(first)}
       ORDER BY ${PLACE} LIMIT 1)`;
}
