import { Prisma, type PrismaClient } from '../database/generated/client.js';
import type { Instant } from '../model/instant.js';
import type { NamePattern } from '../model/name-pattern.js';
import { type DomainRow, NUMBERS_SQL, parseDomainRow } from './domain-row.js';
import {
  allOf,
  endingWith,
  type Found,
  type FoundPage,
  firstOf,
  isFull,
  literal,
  MOST_ROWS,
  meetsPattern,
  namesMeeting,
  type Page,
  queriesInOrder,
  ROWS_OF_MATCH,
  readFound,
  reversed,
  type Searched,
  type SearchKey,
  startsWith,
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
  const inOrder = (rows: number) => {
    const queries = queriesInOrder(domainsSearched(key), first, rows, Prisma.raw('*'));
    return readDomains(prisma, key, { queries });
  };
  const byNames = async (most: number) => {
    for (const names of sourcesOf(filter, most)) {
      const page = await readDomains(prisma, key, lookUp(key, names, most));
      if (!page.isTooMuch) return page;
    }
    return null;
  };
  // Where many domains match, the first ones do.
  const page = (await byNames(FEW_SORTED)) ?? (await inOrder(ROWS_OF_MATCH * (first + 1)));
  return isFull(page, first) ? page : ((await byNames(MOST_SORTED)) ?? inOrder(MOST_ROWS));
}

/** Finds the domains of names, if there are at most so many of these. */
function lookUp({ filter, after, first }: DomainSearchKey, names: Prisma.Sql, most: number): Found {
  // With a limit of its own, a domain is looked up when it is its turn: those that follow the page are not.
  return {
    queries: Prisma.sql`
      named AS MATERIALIZED (SELECT name FROM (${names}) AS name LIMIT ${literal(most + 1)}),
      found AS MATERIALIZED (
        SELECT domain.*
          FROM (SELECT name FROM named
                 WHERE name > ${after?.name ?? ''} AND (SELECT count(*) FROM named) <= ${literal(most)}
                 ORDER BY name) AS next
         CROSS JOIN LATERAL (
                 SELECT * FROM domain WHERE domain.name = next.name AND ${conditionsOf(filter)} LIMIT 1) AS domain
         LIMIT ${literal(first + 1)}),
      last AS (SELECT name FROM found WHERE false)`,
    isTooMuch: Prisma.sql`(SELECT count(*) FROM named) > ${literal(most)}`,
  };
}

type Row = readonly [name: string, numbers: string];

/** Reads the domains of a page. @param rows The table with the rows of `found`. */
export function readDomains(
  prisma: PrismaClient,
  { first }: DomainSearchKey,
  found: Found,
  rows = 'found',
): Promise<FoundPage<DomainRow, DomainPlace>> {
  return readFound(prisma, first, found, {
    table: Prisma.sql`(SELECT *, NULL::int AS candidates FROM ${Prisma.raw(rows)} ORDER BY name) AS domain`,
    place: Prisma.raw('name'),
    placeOf: ([name]: Row) => ({ name }),
    rest: NUMBERS_SQL,
    matchOf: ([name, numbers]) => parseDomainRow(name, numbers),
  });
}

const LAST_CHANGE = Prisma.raw('coalesce(last_change, created)');

/** What finds the names by an index, each a query of its own. */
export function sourcesOf({ match, registrableDomain, ...times }: DomainFilter, most: number): Prisma.Sql[] {
  const ofMatch = match === undefined ? null : namesMeeting(match, most, most);
  const within = (column: Prisma.Sql, from: Instant | undefined, to: Instant | undefined) =>
    (from ?? to) !== undefined &&
    firstOf('domain', { condition: isWithin(column, from, to), order: column }, most);
  const sources: (Prisma.Sql | false)[] = [
    registrableDomain !== undefined &&
      Prisma.sql`
        (SELECT name FROM known_name WHERE name = ${registrableDomain})
        UNION ALL (${firstOf('known_name', endingWith(`.${registrableDomain}`), most)})`,
    ofMatch !== null && ofMatch,
    within(LAST_CHANGE, times.changedFrom, times.changedTo),
    within(Prisma.raw('created'), times.createdFrom, times.createdTo),
  ];
  return sources.filter((source) => source !== false);
}

function isWithin(column: Prisma.Sql, from: Instant | undefined, to: Instant | undefined): Prisma.Sql {
  return allOf([
    from !== undefined && Prisma.sql`${column} > ${from}`,
    to !== undefined && Prisma.sql`${column} <= ${to}`,
  ]);
}

/** The rows that a question is about. */
export function domainsSearched({ filter, after }: DomainSearchKey): Searched {
  return {
    table: Prisma.raw('domain'),
    place: Prisma.raw('name'),
    conditions: conditionsOf(filter),
    follows: Prisma.sql`AND name > ${after?.name ?? ''}`,
  };
}

/** Whether a row of table `domain` meets all that the filter has. */
function conditionsOf({ match, registrableDomain, ...times }: DomainFilter): Prisma.Sql {
  return allOf([
    match !== undefined && meetsPattern(Prisma.raw('domain.name'), match),
    registrableDomain !== undefined &&
      Prisma.sql`(domain.name = ${registrableDomain} OR ${startsWith(Prisma.sql`reverse(domain.name)`, `${reversed(registrableDomain)}.`)})`,
    isWithin(Prisma.raw('created'), times.createdFrom, times.createdTo),
    isWithin(LAST_CHANGE, times.changedFrom, times.changedTo),
  ]);
}
