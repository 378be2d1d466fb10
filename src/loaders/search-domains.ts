import { Prisma, type PrismaClient } from '../database/generated/client.js';
import type { Instant } from '../model/instant.js';
import type { NamePattern } from '../model/name-pattern.js';
import { PLANNED } from './columns.js';
import { type DomainRow, NUMBERS_SQL, parseDomainRow } from './domain-row.js';
import {
  endingWith,
  firstOf,
  literal,
  type Matches,
  MOST_ROWS,
  meetsPattern,
  namesMeeting,
  ROWS_OF_MATCH,
  reversed,
  type SearchKey,
  startsWith,
  within,
} from './search.js';

/** Which domains. All that is given has to be met. */
export interface DomainFilter {
  readonly match?: NamePattern | undefined;
  /** A registrable domain: it and all below it. */
  readonly registrableDomain?: string | undefined;
  /** Created after `createdFrom`, up to `createdTo`. */
  readonly createdFrom?: Instant | undefined;
  readonly createdTo?: Instant | undefined;
  /** Last changed after `changedFrom`, up to `changedTo`. */
  readonly changedFrom?: Instant | undefined;
  readonly changedTo?: Instant | undefined;
}

/** After a name. */
export type DomainSearchKey = SearchKey<DomainFilter, string>;
/** Domains by name. */
export type DomainMatches = Matches<DomainRow, string>;

/** So many names are read and sorted for a page: few at first. */
const FEW_SORTED = 2_000;
export const MOST_SORTED = 50_000;

/** Searches domains. Without any condition it lists all. */
export async function searchDomains(prisma: PrismaClient, key: DomainSearchKey): Promise<DomainMatches> {
  const { filter, after = '', first } = key;
  const limit = literal(first + 1);
  const readInOrder = (rows: number) =>
    readPage(prisma, key, {
      queries: Prisma.sql`
        found AS MATERIALIZED (
          SELECT * FROM (SELECT * FROM domain WHERE name > ${after} ORDER BY name LIMIT ${literal(rows)}) AS domain
           WHERE ${conditionsOf(filter)} LIMIT ${limit})`,
      overflow: Prisma.sql`false`,
      end: Prisma.sql`
        (SELECT name FROM (SELECT name FROM domain WHERE name > ${after} ORDER BY name LIMIT 1 OFFSET ${literal(rows - 1)}) AS domain
          WHERE (SELECT count(*) FROM found) <= ${literal(first)})`,
    });
  const isFull = ({ matches, next }: DomainMatches) => next === null || matches.length >= first;
  for (const names of sourcesOf(filter, FEW_SORTED)) {
    const found = await readByName(prisma, key, names, FEW_SORTED);
    if (found !== null) return found;
  }
  // Where many domains match, the first ones do.
  const page = within(await readInOrder(ROWS_OF_MATCH * (first + 1)));
  if (isFull(page)) return page;
  for (const names of sourcesOf(filter, MOST_SORTED)) {
    const found = await readByName(prisma, key, names, MOST_SORTED);
    if (found !== null) return found;
  }
  return within(await readInOrder(MOST_ROWS));
}

/** Reads the domains of so many names; null where there are more. */
function readByName(
  prisma: PrismaClient,
  key: DomainSearchKey,
  names: Prisma.Sql,
  most: number,
): Promise<DomainMatches | null> {
  const { filter, after = '', first } = key;
  // With a limit of its own, a domain is looked up when it is its turn: those that follow the page are not.
  return readPage(prisma, key, {
    queries: Prisma.sql`
      named AS MATERIALIZED (SELECT name FROM (${names}) AS name LIMIT ${literal(most + 1)}),
      found AS MATERIALIZED (
        SELECT domain.*
          FROM (SELECT name FROM named
                 WHERE name > ${after} AND (SELECT count(*) FROM named) <= ${literal(most)}
                 ORDER BY name) AS next
         CROSS JOIN LATERAL (
                 SELECT * FROM domain WHERE domain.name = next.name AND ${conditionsOf(filter)} LIMIT 1) AS domain
         LIMIT ${literal(first + 1)})`,
    overflow: Prisma.sql`(SELECT count(*) FROM named) > ${literal(most)}`,
    end: Prisma.sql`NULL`,
  });
}

const LAST_CHANGE = Prisma.raw('coalesce(last_change, created)');

/** What finds the names by an index, each a query of its own. */
export function sourcesOf({ match, registrableDomain, ...times }: DomainFilter, most: number): Prisma.Sql[] {
  const ofMatch = match === undefined ? null : namesMeeting(match, most, most);
  const isInterval = (from: Instant | undefined, to: Instant | undefined) =>
    from !== undefined || to !== undefined;
  const sources: (Prisma.Sql | false)[] = [
    registrableDomain !== undefined &&
      Prisma.sql`
        (SELECT name FROM known_name WHERE name = ${registrableDomain})
        UNION ALL (${firstOf('known_name', endingWith(`.${registrableDomain}`), most)})`,
    ofMatch !== null && ofMatch,
    isInterval(times.changedFrom, times.changedTo) &&
      firstOf('domain', inInterval(LAST_CHANGE, times.changedFrom, times.changedTo), most),
    isInterval(times.createdFrom, times.createdTo) &&
      firstOf('domain', inInterval(Prisma.raw('created'), times.createdFrom, times.createdTo), most),
  ];
  return sources.filter((source) => source !== false);
}

function inInterval(column: Prisma.Sql, from: Instant | undefined, to: Instant | undefined) {
  return { condition: isWithin(column, from, to), order: column };
}

function isWithin(column: Prisma.Sql, from: Instant | undefined, to: Instant | undefined): Prisma.Sql {
  const conditions = [
    ...(from === undefined ? [] : [Prisma.sql`${column} > ${from}`]),
    ...(to === undefined ? [] : [Prisma.sql`${column} <= ${to}`]),
  ];
  return conditions.length === 0 ? Prisma.sql`true` : Prisma.sql`(${Prisma.join(conditions, ' AND ')})`;
}

/** Whether a row of table `domain` meets all that the filter has. */
export function conditionsOf({ match, registrableDomain, ...times }: DomainFilter): Prisma.Sql {
  const conditions: (Prisma.Sql | false)[] = [
    match !== undefined && meetsPattern(Prisma.raw('domain.name'), match),
    registrableDomain !== undefined &&
      Prisma.sql`(domain.name = ${registrableDomain} OR ${startsWith(Prisma.sql`reverse(domain.name)`, `${reversed(registrableDomain)}.`)})`,
    isWithin(Prisma.raw('created'), times.createdFrom, times.createdTo),
    isWithin(LAST_CHANGE, times.changedFrom, times.changedTo),
  ];
  return Prisma.sql`(${Prisma.join(
    conditions.filter((condition) => condition !== false),
    ' AND ',
  )})`;
}

interface PageRow {
  readonly overflow: boolean;
  readonly rows: readonly (readonly [name: string, numbers: string])[] | null;
  /** Where the rows end that were read; null: there are no others. */
  readonly end: string | null;
}

/** How the rows of a page are found. */
interface Way {
  /** Queries in WITH: `found` has the rows, one more than the page. */
  readonly queries: Prisma.Sql;
  /** Whether there are too many for this way. */
  readonly overflow: Prisma.Sql;
  /** The name at which the rows end that were read; null: there are no others. */
  readonly end: Prisma.Sql;
}

export async function readPage(
  prisma: PrismaClient,
  { first }: DomainSearchKey,
  { queries, overflow, end }: Way,
): Promise<DomainMatches | null> {
  const [page] = await prisma.$queryRaw<readonly PageRow[]>`
    ${PLANNED} WITH ${queries}
    SELECT ${overflow} AS overflow,
           (SELECT json_agg(json_build_array(name, ${NUMBERS_SQL}) ORDER BY name) FROM found AS domain) AS rows,
           ${end} AS end`;
  if (page === undefined || page.overflow) return null;
  const found = (page.rows ?? []).map(([name, numbers]) => parseDomainRow(name, numbers));
  const matches = found.slice(0, first);
  return { matches, next: found.length > first ? (matches.at(-1)?.name ?? null) : page.end };
}

/** How much there is. */
export interface Statistics {
  readonly domains: number;
  readonly dnsRecords: number;
  readonly httpHeaders: number;
  readonly changes: number;
  /** The time of the earliest observation; null: none is recorded. */
  readonly firstObserved: Instant | null;
  /** When an observation was recorded last; null: none is recorded. Of more than MOST_COUNTED domains, it may be one that changed something. */
  readonly lastRecordedAt: Instant | null;
}

function later(one: Instant | null, other: Instant | null): Instant | null {
  return one === null || (other !== null && other > one) ? other : one;
}

/** Up to so many rows are counted; what is beyond is estimated. */
export const MOST_COUNTED = 100_000;

/**
 * About how many rows a table has, or a partial index, by its row of pg_class: as the planner estimates them, by its density when it was
 * analyzed last. One that never had rows then is taken for one with 60 in a page.
 */
export const ESTIMATED_ROWS =
  'pg_relation_size(oid) / 8192 * CASE WHEN reltuples > 0 AND relpages > 0 THEN reltuples / relpages ELSE 60 END';
/** So many changes of headers are looked at. */
export const SAMPLE = 50_000;

/**
 * The share of first sights among the changes of headers, by a sample: each header has one. An empty sample, by an estimate that is much
 * too high, shows nothing: then there are at most as many headers as changes.
 *
 * @param percent Of the table's pages.
 */
export function headerShareSql(percent: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`
    SELECT coalesce(count(*) FILTER (WHERE is_first)::float8 / nullif(count(*), 0), 1) AS share
      FROM (SELECT NOT EXISTS (SELECT FROM header_change AS earlier
                                WHERE earlier.domain = change.domain AND earlier.name = change.name
                                  AND earlier.observed_at < change.observed_at) AS is_first
              FROM header_change AS change TABLESAMPLE SYSTEM (${percent})) AS change`;
}

/** How much there is in the database: exact for up to MOST_COUNTED rows of each, otherwise estimated by PostgreSQL. */
export async function loadStatistics(prisma: PrismaClient): Promise<Statistics> {
  const counted = (rows: Prisma.Sql) => Prisma.sql`
    (SELECT count(*)::int FROM (${rows} LIMIT ${literal(MOST_COUNTED)}) AS row)`;
  // With their partitions; a table that has some is empty itself.
  const estimated = (relation: string) => Prisma.sql`
    (SELECT sum(${Prisma.raw(ESTIMATED_ROWS)})::float8 FROM pg_class
      WHERE oid IN (SELECT ${relation}::regclass UNION SELECT relid FROM pg_partition_tree(${relation}::regclass) WHERE isleaf))`;
  const percent = Prisma.sql`least(100, 100.0 * ${literal(SAMPLE)} / greatest(1, ${estimated('header_change')}))`;
  const [row] = await prisma.$queryRaw<readonly StatisticsRow[]>`
    SELECT ${counted(Prisma.sql`SELECT FROM domain`)} AS domains, ${estimated('domain')} AS "estimatedDomains",
           ${counted(Prisma.sql`SELECT FROM dns_record`)} AS records, ${estimated('dns_record')} AS "estimatedRecords",
           ${counted(Prisma.sql`SELECT FROM dns_record WHERE removed IS NOT NULL`)} AS removed,
           ${estimated('dns_record_removed')} AS "estimatedRemoved",
           ${counted(Prisma.sql`SELECT FROM header_change`)} AS changes, ${estimated('header_change')} AS "estimatedChanges",
           (${headerShareSql(percent)}) AS "headerShare",
           (SELECT min(created) FROM domain) AS "firstObserved",
           (SELECT max(recorded_at)
              FROM (SELECT recorded_at FROM domain LIMIT ${literal(MOST_COUNTED)}) AS domain) AS "lastRecordedAt",
           (SELECT recorded_at FROM change_feed WHERE domain IS NOT NULL ORDER BY number DESC LIMIT 1) AS "lastChangedAt"`;
  if (row === undefined) throw new Error('A query without FROM gives a row.');
  return statisticsOf(row);
}

/** The statistics from what was counted, and estimated of what is more. */
export function statisticsOf(row: StatisticsRow): Statistics {
  const number = (exact: number, estimate: number) =>
    exact < MOST_COUNTED ? exact : Math.max(exact, Math.round(estimate));
  const changes = number(row.changes, row.estimatedChanges);
  const dnsRecords = number(row.records, row.estimatedRecords);
  return {
    domains: number(row.domains, row.estimatedDomains),
    dnsRecords,
    httpHeaders: Math.round(row.headerShare * changes),
    firstObserved: row.firstObserved,
    changes: dnsRecords + number(row.removed, row.estimatedRemoved) + changes,
    // The feed's time of a transaction is a little later than that of its domains.
    lastRecordedAt:
      row.domains < MOST_COUNTED ? row.lastRecordedAt : later(row.lastRecordedAt, row.lastChangedAt),
  };
}

export interface StatisticsRow {
  readonly domains: number;
  readonly estimatedDomains: number;
  readonly records: number;
  readonly estimatedRecords: number;
  readonly removed: number;
  readonly estimatedRemoved: number;
  readonly changes: number;
  readonly estimatedChanges: number;
  /** Of the changes, those that are the first of a header. */
  readonly headerShare: number;
  readonly firstObserved: Instant | null;
  readonly lastRecordedAt: Instant | null;
  readonly lastChangedAt: Instant | null;
}
