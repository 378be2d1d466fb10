import { Prisma, type PrismaClient } from '../database/generated/client.js';
import { LATEST_INSTANT } from '../model/instant.js';
import { literal, PLANNED } from './columns.js';
import { EVERY_ROW, type Finding, MAX_VALUES, readFound, type SoughtValues } from './search.js';
import { type DomainSearchKey, domainQuestion, MAX_SORTED, queriesOfNames } from './search-domains.js';
import { type HeaderSearchKey, headerQuestion } from './search-headers.js';
import { type RecordSearchKey, recordQuestion, soughtHosts, soughtTexts } from './search-records.js';

/**
 * Searching where the tables of domains are distributed over the nodes of a Citus cluster (docs/scaling.md).
 * Each table is read by a query of its own, whose rows the coordinator merges: Citus can neither look values up
 * one by one in other nodes nor join by anything but the domain. So a search reads, on each node, all rows that
 * have the values, and not the first of each.
 *
 * The tables are then replaced by what was found: a query in WITH with the name of a table takes its place in
 * what follows. Each of these queries has its own snapshot of each node: where a page ends depends on which
 * matches were found, not on which of them are still there when their rows are read.
 */

/** What has no index is looked for in so many rows, in their order: each shard sends the keys of as many. */
const ROWS_IN_ORDER = 10_000;
/** The headers of so many domains. */
const DOMAINS_IN_ORDER = 2_000;

export async function searchRecordsOfShards(prisma: PrismaClient, key: RecordSearchKey) {
  const { filter, lastSeen } = key;
  const { domain, ip, network, target, text, host } = filter;
  // Then the conditions have an index.
  const isIndexed = [domain, ip, network, target].some((condition) => condition !== undefined);
  const lookup = isIndexed ? EVERY_ROW : await lookupOf(prisma, soughtHosts(host) ?? soughtTexts(text));
  const question = recordQuestion(key);
  // Those of one domain are in one shard.
  const isFound = domain === undefined ? Prisma.sql`IN (SELECT domain FROM found)` : Prisma.sql`= ${domain}`;
  const { place } = question;
  // As of an instant, when a record was last seen is known from all records of its domain.
  const isOfPage =
    filter.at !== undefined && lastSeen ? EVERY_ROW : Prisma.sql`(${place}) IN (SELECT ${place} FROM found)`;
  const queries = Prisma.sql`
    ${firstMatches(question, lookup)},
    dns_record AS MATERIALIZED (SELECT * FROM dns_record WHERE domain ${isFound} AND ${isOfPage}),
    domain AS MATERIALIZED (SELECT * FROM domain WHERE name ${isFound})`;
  return readFound(prisma, question, queries);
}

/** Where no index finds values of headers, those of domains in their order are read. */
export async function searchHeadersOfShards(prisma: PrismaClient, key: HeaderSearchKey) {
  const { filter, after, lastSeen } = key;
  const question = headerQuestion(key);
  const lookup = await lookupOf(prisma, question.sought);
  const isNamed = Prisma.sql`name = ${filter.name}`;
  const isVisited = Prisma.sql`${isNamed} AND domain IN (SELECT name FROM visited)`;
  const found =
    lookup === null
      ? Prisma.sql`
        visited AS MATERIALIZED (
          SELECT name FROM domain WHERE name >= ${after?.domain ?? ''}
           ORDER BY name LIMIT ${literal(DOMAINS_IN_ORDER)}),
        ${firstMatches(question, isVisited, END_OF_VISITED)}`
      : firstMatches(question, lookup);
  // When a value was last seen is known from the times of all headers of its domain.
  const queries = Prisma.sql`
    ${found},
    header_change AS MATERIALIZED (
      SELECT domain, name, observed_at, last_seen, source, CASE WHEN ${isNamed} THEN value END AS value
        FROM header_change
       WHERE domain IN (SELECT domain FROM found) AND ${lastSeen ? EVERY_ROW : isNamed}),
    domain AS MATERIALIZED (SELECT * FROM domain WHERE name IN (SELECT domain FROM found))`;
  return readFound(prisma, question, queries);
}

const END_OF_VISITED = Prisma.sql`
  SELECT name AS domain, ${LATEST_INSTANT}::bigint AS observed_at FROM visited
   ORDER BY name LIMIT 1 OFFSET ${literal(DOMAINS_IN_ORDER - 1)}`;

export async function searchDomainsOfShards(prisma: PrismaClient, key: DomainSearchKey) {
  const { match, registrableDomain, ...times } = key.filter;
  const [names] = queriesOfNames({ match, registrableDomain }, MAX_SORTED);
  const sought = names && {
    values: Prisma.sql`SELECT name AS value FROM (${names}) AS name`,
    lookups: [{ column: Prisma.raw('domain.name'), condition: EVERY_ROW }],
  };
  // By times, each node has an index.
  const isIndexed = Object.values(times).some((time) => time != null);
  const lookup = (await lookupOf(prisma, sought ?? null, MAX_SORTED)) ?? (isIndexed ? EVERY_ROW : null);
  const question = domainQuestion(key, 'domain');
  const queries = Prisma.sql`
    ${firstMatches(question, lookup)},
    domain AS MATERIALIZED (SELECT * FROM domain WHERE name IN (SELECT name FROM found))`;
  return readFound(prisma, question, queries);
}

/**
 * The condition by which an index finds rows; null: none finds them, or there are too many values. These are in
 * a table of the coordinator, which is read before.
 */
async function lookupOf(
  prisma: PrismaClient,
  sought: Pick<SoughtValues, 'values' | 'lookups'> | null,
  most = MAX_VALUES,
): Promise<Prisma.Sql | null> {
  if (sought === null) return null;
  const rows = await prisma.$queryRaw<readonly { readonly value: string | bigint }[]>`
    ${PLANNED} SELECT DISTINCT value
      FROM (SELECT value FROM (${sought.values}) AS found LIMIT ${literal(most + 1)}) AS found`;
  if (rows.length > most) return null;
  if (rows.length === 0) return Prisma.sql`false`;
  const found = rows.map(({ value }) => value);
  const type = Prisma.raw(typeof found[0] === 'bigint' ? 'bigint' : 'text');
  const lookups = sought.lookups.map(
    ({ column, condition }) => Prisma.sql`${condition} AND ${column} = ANY (${found}::${type}[])`,
  );
  return Prisma.join(lookups, ' OR ', '(', ')');
}

/**
 * Finds the first matches on all nodes, for readFound().
 *
 * @param end A query for the place up to which rows are examined.
 */
function firstMatches(
  { first, table, place, conditions, follows }: Finding,
  lookup: Prisma.Sql | null,
  end = Prisma.sql`
    SELECT ${place} FROM examined ORDER BY ${place} LIMIT 1 OFFSET ${literal(ROWS_IN_ORDER - 1)}`,
): Prisma.Sql {
  const isExamined = lookup === null ? EVERY_ROW : Prisma.sql`${lookup} AND ${conditions}`;
  return Prisma.sql`
    examined AS MATERIALIZED (
      SELECT ${place}, ${lookup === null ? conditions : EVERY_ROW} AS matches
        FROM ${table} WHERE ${isExamined} ${follows}
       ORDER BY ${place} LIMIT ${literal(lookup === null ? ROWS_IN_ORDER : first + 1)}),
    found AS MATERIALIZED (
      SELECT ${place} FROM examined WHERE matches ORDER BY ${place} LIMIT ${literal(first + 1)}),
    last AS MATERIALIZED (
      SELECT ${place} FROM (
        (SELECT ${place} FROM found ORDER BY ${place} LIMIT 1 OFFSET ${literal(first)}) UNION ALL
        (${end})) AS row
       ORDER BY ${place} LIMIT 1)`;
}
