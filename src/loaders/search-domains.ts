import { Prisma, type PrismaClient } from '../database/generated/client.js';
import type { Instant } from '../model/instant.js';
import type { NamePattern } from '../model/name-pattern.js';
import { PLANNED } from './columns.js';
import { type DomainRow, NUMBERS_SQL, parseDomainRow } from './domain-row.js';
import {
  allOf,
  endingWith,
  firstOf,
  isFull,
  literal,
  MOST_ROWS,
  meetsPattern,
  namesMeeting,
  type Page,
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

/** The place of a match: by name. */
interface DomainPlace {
  readonly name: string;
}

export type DomainSearchKey = SearchKey<DomainFilter, DomainPlace>;
export type DomainMatches = Page<DomainRow, DomainPlace>;

/** So many names are read and sorted for a page: few at first. */
const FEW_SORTED = 2_000;
export const MOST_SORTED = 50_000;

/** Searches domains. Without any condition it lists all. */
export async function searchDomains(prisma: PrismaClient, key: DomainSearchKey): Promise<DomainMatches> {
  const { filter, first } = key;
  const after = key.after?.name ?? '';
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
  for (const names of sourcesOf(filter, FEW_SORTED)) {
    const found = await readByName(prisma, key, names, FEW_SORTED);
    if (found !== null) return found;
  }
  // Where many domains match, the first ones do.
  const page = within(await readInOrder(ROWS_OF_MATCH * (first + 1)));
  if (isFull(page, first)) return page;
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
  const { filter, first } = key;
  const after = key.after?.name ?? '';
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
  return allOf([
    from !== undefined && Prisma.sql`${column} > ${from}`,
    to !== undefined && Prisma.sql`${column} <= ${to}`,
  ]);
}

/** Whether a row of table `domain` meets all that the filter has. */
export function conditionsOf({ match, registrableDomain, ...times }: DomainFilter): Prisma.Sql {
  return allOf([
    match !== undefined && meetsPattern(Prisma.raw('domain.name'), match),
    registrableDomain !== undefined &&
      Prisma.sql`(domain.name = ${registrableDomain} OR ${startsWith(Prisma.sql`reverse(domain.name)`, `${reversed(registrableDomain)}.`)})`,
    isWithin(Prisma.raw('created'), times.createdFrom, times.createdTo),
    isWithin(LAST_CHANGE, times.changedFrom, times.changedTo),
  ]);
}

interface PageRow {
  readonly overflow: boolean;
  readonly rows: readonly (readonly [name: string, numbers: string])[] | null;
  /** Where the rows end that were read; null: there are no others. */
  readonly end: DomainPlace | null;
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
           (SELECT json_build_object('name', name) FROM (SELECT ${end} AS name) AS last WHERE name IS NOT NULL) AS end`;
  if (page === undefined || page.overflow) return null;
  const found = (page.rows ?? []).map(([name, numbers]) => parseDomainRow(name, numbers));
  const items = found.slice(0, first);
  return { items, next: found.length > first ? (items.at(-1) ?? null) : page.end };
}
