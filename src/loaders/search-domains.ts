import { Prisma, type PrismaClient } from '../database/generated/client.js';
import type { NamePattern } from '../model/name-pattern.js';
import { literal } from './columns.js';
import { type DomainRow, NUMBERS_SQL, parseDomainRow } from './domain-row.js';
import {
  allOf,
  endingWith,
  type Finding,
  type Found,
  firstOf,
  isFull,
  isWithin,
  MAX_ROWS,
  meetsPattern,
  namesMeeting,
  type Page,
  type Question,
  queriesInOrder,
  ROWS_OF_MATCH,
  readFound,
  reversed,
  type SearchKey,
  startsWith,
  type Time,
} from './search.js';

/** All that is given has to be met. Times are after the first of a pair, up to the second. */
interface DomainFilter {
  readonly match?: NamePattern | undefined;
  /** A registrable domain: it and all below it. */
  readonly registrableDomain?: string | undefined;
  readonly createdFrom?: Time;
  readonly createdTo?: Time;
  readonly changedFrom?: Time;
  readonly changedTo?: Time;
}

type DomainPlace = Pick<DomainRow, 'name'>;
export type DomainSearchKey = SearchKey<DomainFilter, DomainPlace>;

/** So many names are read and sorted for a page: few at first. */
const FEW_SORTED = 2_000;
export const MAX_SORTED = 50_000;

/** Without any condition it lists all. */
export async function searchDomains(
  prisma: PrismaClient,
  key: DomainSearchKey,
): Promise<Page<DomainRow, DomainPlace>> {
  const { filter, first } = key;
  const question = domainQuestion(key);
  const inOrder = (rows: number) => readFound(prisma, question, queriesInOrder(question, rows));
  const byNames = async (most: number) => {
    for (const names of queriesOfNames(filter, most)) {
      const page = await readFound(prisma, question, ...lookUp(question, names, most));
      if (!page.isTooMuch) return page;
    }
    return null;
  };
  // Where many domains match, the first ones do.
  const page = (await byNames(FEW_SORTED)) ?? (await inOrder(ROWS_OF_MATCH * (first + 1)));
  return isFull(page, first) ? page : ((await byNames(MAX_SORTED)) ?? inOrder(MAX_ROWS));
}

/** Finds the domains of names, if there are at most so many of these. */
function lookUp({ conditions, follows, first }: Finding, names: Prisma.Sql, most: number): Found {
  // With a limit of its own, a domain is looked up when it is its turn: those that follow the page are not.
  const queries = Prisma.sql`
    named AS MATERIALIZED (SELECT name FROM (${names}) AS name LIMIT ${literal(most + 1)}),
    found AS MATERIALIZED (
      SELECT domain.*
        FROM (SELECT name FROM named
               WHERE (SELECT count(*) FROM named) <= ${literal(most)} ${follows}
               ORDER BY name) AS next
       CROSS JOIN LATERAL (
               SELECT * FROM domain WHERE domain.name = next.name AND ${conditions} LIMIT 1) AS domain
       LIMIT ${literal(first + 1)}),
    last AS (SELECT name FROM found WHERE false)`;
  return [queries, Prisma.sql`(SELECT count(*) FROM named) > ${literal(most)}`];
}

type Row = readonly [name: string, numbers: string];

/** @param rows The table with the rows of `found`. */
export function domainQuestion(
  { filter, after, first }: DomainSearchKey,
  rows = 'found',
): Question<Row, DomainRow, DomainPlace> {
  const name = Prisma.raw('name');
  return {
    first,
    table: Prisma.raw('domain'),
    place: name,
    columns: Prisma.raw('*'),
    sought: null,
    conditions: conditionsOf(filter),
    follows: Prisma.sql`AND name > ${after?.name ?? ''}`,
    reading: {
      table: Prisma.sql`(SELECT *, NULL::int AS candidates FROM ${Prisma.raw(rows)} ORDER BY name) AS domain`,
      place: name,
      placeOf: ([name]) => ({ name }),
      rest: NUMBERS_SQL,
      matchOf: ([name, numbers]) => parseDomainRow(name, numbers),
    },
  };
}

const CREATED = Prisma.raw('created');
const LAST_CHANGE = Prisma.raw('coalesce(last_change, created)');

/** What finds the names by an index, each a query of its own. */
export function queriesOfNames(
  { match, registrableDomain, ...times }: DomainFilter,
  most: number,
): Prisma.Sql[] {
  const within = (order: Prisma.Sql, from: Time, to: Time) =>
    (from ?? to) != null && firstOf('domain', { condition: isWithin(order, from, to), order }, most);
  return [
    registrableDomain !== undefined &&
      Prisma.sql`
        (SELECT name FROM known_name WHERE name = ${registrableDomain})
        UNION ALL (${firstOf('known_name', endingWith(`.${registrableDomain}`), most)})`,
    match !== undefined && (namesMeeting(match, most, most) ?? false),
    within(LAST_CHANGE, times.changedFrom, times.changedTo),
    within(CREATED, times.createdFrom, times.createdTo),
  ].filter((query) => query !== false);
}

function conditionsOf({ match, registrableDomain, ...times }: DomainFilter): Prisma.Sql {
  return allOf([
    match !== undefined && meetsPattern(Prisma.raw('domain.name'), match),
    registrableDomain !== undefined &&
      Prisma.sql`(domain.name = ${registrableDomain}
        OR ${startsWith(Prisma.sql`reverse(domain.name)`, `${reversed(registrableDomain)}.`)})`,
    isWithin(CREATED, times.createdFrom, times.createdTo),
    isWithin(LAST_CHANGE, times.changedFrom, times.changedTo),
  ]);
}
