import { Prisma } from '../database/generated/client.js';
import { type Instant, LATEST_INSTANT } from '../model/instant.js';
import { instantOrNull, literal, pageOf, upTo } from './columns.js';
import { latestOfHttpSql } from './observed-parts.js';
import {
  allGiven,
  allOf,
  EVERY_ROW,
  type Finding,
  type Found,
  hashesOfTexts,
  hasTrigram,
  type Question,
  type SearchKey,
  type SearchReader,
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

export function searchHeaders(reader: SearchReader, key: HeaderSearchKey) {
  return search(reader, headerQuestion(key));
}

function headerQuestion(key: HeaderSearchKey): Question<Row, HeaderMatch, HeaderPlace> {
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
    table: 'header_change',
    place: PLACE,
    columns: 'domain text COLLATE "C", observed_at bigint',
    conditions: (part) => Prisma.sql`(value IS NOT NULL AND ${conditionsOf(filter, part)})`,
    follows: followsSql(key),
    sought: soughtHeaders(filter),
    inOrder: (finding, rows) => queriesByDomain(key, finding, rows),
    reading: {
      needed: {
        // When a value was last seen is known from the times of all headers of its domain.
        header_change: Prisma.sql`
          SELECT domain, name, observed_at, last_seen, source, CASE WHEN name = ${name} THEN value END AS value
            FROM header_change
           WHERE domain IN (SELECT domain FROM found) AND ${key.lastSeen ? EVERY_ROW : Prisma.sql`name = ${name}`}`,
        domain: Prisma.sql`SELECT * FROM domain WHERE name IN (SELECT domain FROM found)`,
      },
      queries: Prisma.sql`
        entry AS MATERIALIZED (
        SELECT entry.*, gone, ending.last_seen
           FROM (${pageOf(candidates, ['value'], PLACE.sql)}) AS entry
           LEFT JOIN LATERAL (
                  SELECT later.observed_at AS gone, later.last_seen FROM header_change AS later
                   WHERE later.domain = entry.domain AND later.name = ${name}
                     AND later.observed_at > entry.observed_at ${upTo('later.observed_at', at)}
                   ORDER BY later.observed_at LIMIT 1) AS ending ON true
          ORDER BY ${PLACE})`,
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
    const values = () => Prisma.sql`SELECT hashtextextended(${`${name}\n${value}`}, 0) AS value`;
    return { isOneValue: true, values, lookups };
  }
  if (contains === undefined || !hasTrigram(contains)) return null;
  const hash = Prisma.sql`hashtextextended(kind || E'\\n' || text, 0)`;
  const given = { query: hashesOfTexts(name, hash, contains), type: 'bigint[]' } as const;
  return { isOneValue: false, given, values: allGiven, lookups };
}

function conditionsOf(filter: HeaderFilter, part: Prisma.Sql): Prisma.Sql {
  const { name, value, contains, present, at, seenFrom, seenTo } = filter;
  // When the header had another value or was gone; null if it was not.
  const end = Prisma.sql`
    (SELECT min(later.observed_at) FROM ${part} AS later
      WHERE later.domain = header_change.domain AND later.name = header_change.name
        AND later.observed_at > header_change.observed_at ${upTo('later.observed_at', at)})`;
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
function queriesByDomain({ filter, after, first }: HeaderSearchKey, finding: Finding, rows: number): Found {
  const { follows, conditions } = finding;
  const domains = literal(Math.ceil(rows * DOMAINS_OF_ROW));
  const visited = Prisma.sql`
    SELECT name AS value FROM domain WHERE name >= ${after?.domain ?? ''} ORDER BY name LIMIT ${domains}`;
  // A lateral query with a limit is read row by row, in the order of domains: ORDER BY would read all first.
  const read = (part: Prisma.Sql, given: Prisma.Sql) => Prisma.sql`
    (SELECT header_change.*
       FROM ${given}
      CROSS JOIN LATERAL (
             SELECT ${PLACE}, name, value FROM ${part} AS header_change
              WHERE domain = given.value AND name = ${filter.name} AND value IS NOT NULL ${follows}
              ORDER BY observed_at LIMIT ${literal(rows)}) AS header_change
      LIMIT ${literal(rows)}) AS header_change`;
  const query: Found['query'] = (part, given) => Prisma.sql`
    WITH found AS MATERIALIZED (
      SELECT ${PLACE} FROM ${read(part, given)} WHERE ${conditions(part)} LIMIT ${literal(first + 1)})
    SELECT ${PLACE}, NULL AS content, 'match' AS outcome FROM found UNION ALL
    SELECT ${PLACE}, NULL, 'end' FROM (
        (SELECT ${PLACE} FROM ${read(part, given)} LIMIT 1 OFFSET ${literal(rows - 1)})
        UNION ALL
        (SELECT value, ${LATEST_INSTANT} FROM ${given} ORDER BY value LIMIT 1 OFFSET ${domains} - 1)) AS row
     WHERE (SELECT count(*) FROM found) <= ${literal(first)}`;
  return { given: { query: visited, type: 'text[] COLLATE "C"' }, query };
}
