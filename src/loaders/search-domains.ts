import { Prisma } from '../database/generated/client.js';
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
  KNOWN_NAME,
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
  type SearchReader,
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
const MAX_SORTED = 50_000;

/** Without any condition it lists all. */
export async function searchDomains(
  reader: SearchReader,
  key: DomainSearchKey,
): Promise<Page<DomainRow, DomainPlace>> {
  const { filter, first } = key;
  const question = domainQuestion(key);
  const inOrder = (rows: number) => readFound(reader, question, question.inOrder(question, rows));
  const byNames = async (most: number) => {
    for (const names of queriesOfNames(filter, most)) {
      const page = await readFound(reader, question, lookUp(question, names, most));
      if (!page.isTooMuch) return page;
    }
    return null;
  };
  // Where many domains match, the first ones do.
  const page = (await byNames(FEW_SORTED)) ?? (await inOrder(ROWS_OF_MATCH * (first + 1)));
  return isFull(page, first) ? page : ((await byNames(MAX_SORTED)) ?? inOrder(MAX_ROWS));
}

/** Finds the domains of names, if there are at most so many of these. */
function lookUp({ conditions, follows, content, first }: Finding, names: Found, most: number): Found {
  // With a limit of its own, a domain is looked up when it is its turn: those that follow the page are not.
  const query: Found['query'] = (part, given) => Prisma.sql`
    WITH named AS MATERIALIZED (${names.query(part, given)}),
    size AS MATERIALIZED (SELECT count(*) > ${literal(most)} AS is_too_much FROM named)
    (SELECT domain.name, content, 'match' AS outcome
       FROM (SELECT name FROM named WHERE NOT (SELECT is_too_much FROM size) ${follows} ORDER BY name) AS next
      CROSS JOIN LATERAL (
              SELECT name, ${content} AS content FROM ${part} AS domain
               WHERE domain.name = next.name AND ${conditions(part)} LIMIT 1) AS domain
      LIMIT ${literal(first + 1)})
    UNION ALL
    SELECT NULL, NULL, 'too much' FROM size WHERE is_too_much`;
  return { given: names.given, query };
}

type Row = readonly [name: string, numbers: string];

function domainQuestion({ filter, after, first }: DomainSearchKey): Question<Row, DomainRow, DomainPlace> {
  const name = Prisma.raw('name');
  const conditions = conditionsOf(filter);
  return {
    first,
    table: 'domain',
    place: name,
    columns: 'name text COLLATE "C"',
    content: NUMBERS_SQL,
    conditions: () => conditions,
    follows: Prisma.sql`AND name > ${after?.name ?? ''}`,
    sought: null,
    inOrder: queriesInOrder,
    reading: {
      needed: {},
      queries: Prisma.sql`entry AS (SELECT *, NULL::int AS candidates FROM found ORDER BY name)`,
      place: name,
      placeOf: ([name]) => ({ name }),
      rest: Prisma.sql`content`,
      matchOf: ([name, numbers]) => parseDomainRow(name, numbers),
    },
  };
}

const CREATED = Prisma.raw('created');
const LAST_CHANGE = Prisma.raw('coalesce(last_change, created)');

/** What finds up to so many names by an index, and one more, each by itself. */
function queriesOfNames({ match, registrableDomain, ...times }: DomainFilter, most: number): Found[] {
  const known = (names: Prisma.Sql): Found => ({
    given: {
      query: Prisma.sql`SELECT name AS value FROM (${names}) AS name LIMIT ${literal(most + 1)}`,
      type: 'text[] COLLATE "C"',
    },
    query: (_part, given) => Prisma.sql`SELECT value AS name FROM ${given}`,
  });
  const within = (order: Prisma.Sql, from: Time, to: Time): Found | false =>
    (from ?? to) != null && {
      query: (part) => firstOf(part, { condition: isWithin(order, from, to), order }, most),
    };
  const matching = match && namesMeeting(match, most, most);
  return [
    registrableDomain !== undefined &&
      known(Prisma.sql`
        (SELECT name FROM known_name WHERE name = ${registrableDomain})
        UNION ALL (${firstOf(KNOWN_NAME, endingWith(`.${registrableDomain}`), most)})`),
    matching != null && known(matching),
    within(LAST_CHANGE, times.changedFrom, times.changedTo),
    within(CREATED, times.createdFrom, times.createdTo),
  ].filter((names) => names !== false);
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
