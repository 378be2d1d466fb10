import { Prisma, type PrismaClient } from '../database/generated/client.js';
import type { Tables } from '../database/tables.js';
import type { NamePattern } from '../model/name-pattern.js';
import { literal, PLANNED } from './columns.js';
import { type DomainRow, NUMBERS_SQL, parseDomainRow } from './domain-row.js';
import {
  allOf,
  endingWith,
  firstOf,
  isFull,
  isWithin,
  MAX_ROWS,
  MAX_ROWS_BY_VALUE,
  meetsPattern,
  namesMeeting,
  type Page,
  type Question,
  ROWS_OF_MATCH,
  rangeInOrder,
  readFewThenMany,
  readPage,
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
const [FEW_SORTED, MAX_SORTED] = [2_000, 50_000];

/** Without any condition it lists all. */
export async function searchDomains(
  prisma: PrismaClient,
  key: DomainSearchKey,
  tables: Tables,
): Promise<Page<DomainRow, DomainPlace>> {
  const { first } = key;
  const question = domainQuestion(key);
  const inOrder = (rows: number) => readPage(prisma, tables, question, rangeInOrder(question), rows);
  const byNames = async (most: number) => {
    const names = await firstNames(prisma, key, most);
    const among = async (rows: number) => {
      const next = names?.slice(0, rows);
      if (next === undefined) return null;
      const end = next.length < rows ? undefined : Prisma.sql`UNION ALL SELECT ${next.at(-1)}`;
      const ranges = [{ condition: Prisma.sql`name = ANY (${next}::text[])` }];
      return readPage(prisma, tables, question, { ranges, values: 1, end }, rows);
    };
    return readFewThenMany(first, among, MAX_ROWS_BY_VALUE);
  };
  // Where many domains match, the first ones do.
  const page = (await byNames(FEW_SORTED)) ?? (await inOrder(ROWS_OF_MATCH * (first + 1)));
  return isFull(page, first) ? page : ((await byNames(MAX_SORTED)) ?? inOrder(MAX_ROWS));
}

/** The next names that may match, in their order, by the first index that has at most so many; null: none has. */
async function firstNames(
  prisma: PrismaClient,
  { filter, after }: DomainSearchKey,
  most: number,
): Promise<readonly string[] | null> {
  for (const query of queriesOfNames(filter, most)) {
    const [found] = await prisma.$queryRaw<readonly { readonly names: string[] | null }[]>`
      ${PLANNED} WITH named AS MATERIALIZED (SELECT name FROM (${query}) AS name LIMIT ${literal(most + 1)})
      SELECT CASE WHEN (SELECT count(*) FROM named) <= ${literal(most)}
                  THEN array(SELECT name FROM named WHERE name > ${after?.name ?? ''}
                              ORDER BY name LIMIT ${literal(MAX_ROWS_BY_VALUE)}) END AS names`;
    if (found?.names) return found.names;
  }
  return null;
}

type Row = readonly [name: string, numbers: string];

function domainQuestion({ filter, after, first }: DomainSearchKey): Question<Row, DomainRow, DomainPlace> {
  const name = Prisma.raw('name');
  return {
    first,
    table: Prisma.raw('domain'),
    place: name,
    sought: null,
    conditions: conditionsOf(filter),
    after: Prisma.sql`${after?.name ?? ''}`,
    follows: Prisma.sql`AND name > ${after?.name ?? ''}`,
    reading: {
      rows: { domain: Prisma.raw('name IN (SELECT name FROM found)') },
      table: Prisma.sql`
        (SELECT domain.*, NULL::int AS candidates FROM found JOIN domain USING (name) ORDER BY name) AS domain`,
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
function queriesOfNames({ match, registrableDomain, ...times }: DomainFilter, most: number): Prisma.Sql[] {
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
