import { Prisma, type PrismaClient } from '../database/generated/client.js';
import { LATEST_INSTANT } from '../model/instant.js';
import { PLANNED } from './columns.js';
import { hasTrigram, literal, MOST_ROWS_BY_VALUE, MOST_VALUES, namesMeeting } from './search.js';
import {
  type DomainMatches,
  type DomainSearchKey,
  conditionsOf as domainConditions,
  MOST_SORTED,
  readPage as readDomains,
  sourcesOf,
} from './search-domains.js';
import {
  HASH,
  type HeaderMatches,
  type HeaderSearchKey,
  conditionsOf as headerConditions,
  follows as headersFollow,
  readPage as readHeaders,
  valuesOf,
} from './search-headers.js';
import {
  follows,
  hasTarget,
  type RecordFilter,
  type RecordMatches,
  type RecordSearchKey,
  readPage as readRecords,
  conditionsOf as recordConditions,
  TARGETS,
  TEXT_HASH,
  textHashes,
} from './search-records.js';

/**
 * Searching where the tables of domains are distributed over the nodes of a Citus cluster (docs/scaling.md). Each table is read by a
 * query of its own, whose rows the coordinator merges: Citus can neither look values up one by one in other nodes nor join by
 * anything but the domain. So a search reads, on each node, all rows that have the values, and not the first of each.
 *
 * The tables are then replaced by what was found: a query in WITH with the name of a table takes its place in what follows. Each of
 * these queries has its own snapshot of each node: where a page ends depends on which matches were found, not on which of them are
 * still there when their rows are read.
 */

const NOTHING = { items: [], next: null };

/** What has no index is looked for in so many rows, in their order: each shard sends the keys of as many. */
const ROWS_IN_ORDER = 10_000;
/** The headers of so many domains. */
const DOMAINS_IN_ORDER = 2_000;

/** Searches DNS records. */
export async function searchRecordsOfShards(
  prisma: PrismaClient,
  key: RecordSearchKey,
): Promise<RecordMatches> {
  const { filter, first, lastSeen } = key;
  // Those of one domain are in one shard.
  const lookup = await recordLookup(prisma, filter);
  if (lookup === 'none') return NOTHING;
  const place = Prisma.raw('domain, first_seen, type, position');
  const inOrder = lookup === 'any';
  const conditions = recordConditions(filter);
  const isExamined = inOrder ? Prisma.sql`true` : Prisma.sql`${lookup} AND ${conditions}`;
  const isFound = (column: Prisma.Sql) =>
    filter.domain === undefined
      ? Prisma.sql`${column} IN (SELECT domain FROM found)`
      : Prisma.sql`${column} = ${filter.domain}`;
  // As of an instant, when a record was last seen is known from all records of its domain.
  const isOfPage =
    filter.at !== undefined && lastSeen
      ? isFound(Prisma.sql`domain`)
      : Prisma.sql`${isFound(Prisma.sql`domain`)} AND (${place}) IN (SELECT ${place} FROM found)`;
  const found = Prisma.sql`
    examined AS MATERIALIZED (
      SELECT ${place}, ${inOrder ? conditions : Prisma.sql`true`} AS matches FROM dns_record WHERE ${isExamined} ${follows(key)}
       ORDER BY ${place} LIMIT ${literal(inOrder ? ROWS_IN_ORDER : first + 1)}),
    found AS MATERIALIZED (
      SELECT ${place} FROM examined WHERE matches ORDER BY ${place} LIMIT ${literal(first + 1)}),
    last AS MATERIALIZED (
      SELECT ${place} FROM (
        (SELECT ${place} FROM found ORDER BY ${place} LIMIT 1 OFFSET ${literal(first)})
        UNION ALL
        (SELECT ${place} FROM examined ORDER BY ${place} LIMIT 1 OFFSET ${literal(ROWS_IN_ORDER - 1)})) AS row
       ORDER BY ${place} LIMIT 1),
    dns_record AS MATERIALIZED (SELECT * FROM dns_record WHERE ${isOfPage}),
    domain AS MATERIALIZED (SELECT * FROM domain WHERE ${isFound(Prisma.sql`name`)})`;
  return (await readRecords(prisma, key, found, Prisma.sql`false`)) ?? NOTHING;
}

/** A condition by which an index finds rows. `none`: there are no such rows. `any`: no index finds them, or there are too many values. */
type Lookup = Prisma.Sql | 'none' | 'any';

/** Where another table has to be read for the condition, it has been. */
async function recordLookup(prisma: PrismaClient, filter: RecordFilter): Promise<Lookup> {
  const { domain, ip, network, target, text, host } = filter;
  // The filter's own conditions have an index.
  if (domain !== undefined || ip !== undefined || network !== undefined) return Prisma.sql`true`;
  if (target !== undefined) {
    return Prisma.sql`(${Prisma.join(
      TARGETS.map((column) => hasTarget(column, target)),
      ' OR ',
    )})`;
  }
  const names = host && namesMeeting(host, MOST_ROWS_BY_VALUE, MOST_VALUES);
  if (names) {
    return valuesIn(prisma, Prisma.sql`SELECT name AS value FROM (${names}) AS name`, (found) => {
      const list = Prisma.sql`ANY (${found}::text[])`;
      return Prisma.sql`(domain = ${list} AND host = domain OR host = ${list} AND host <> domain)`;
    });
  }
  if (text === undefined || !hasTrigram(text)) return 'any';
  return valuesIn(
    prisma,
    textHashes(text),
    (found) => Prisma.sql`(type = 'TXT' AND ${TEXT_HASH} = ANY (${found}::bigint[]))`,
  );
}

/** Reads values from the tables of the coordinator. */
async function valuesIn(
  prisma: PrismaClient,
  values: Prisma.Sql,
  condition: (values: readonly (string | bigint)[]) => Prisma.Sql,
  most = MOST_VALUES,
): Promise<Lookup> {
  const rows = await prisma.$queryRaw<readonly { readonly value: string | bigint }[]>`
    ${PLANNED} SELECT DISTINCT value FROM (SELECT value FROM (${values}) AS found LIMIT ${literal(most + 1)}) AS found`;
  if (rows.length === 0) return 'none';
  return rows.length > most ? 'any' : condition(rows.map(({ value }) => value));
}

/** Searches the values of headers. */
export async function searchHeadersOfShards(
  prisma: PrismaClient,
  key: HeaderSearchKey,
): Promise<HeaderMatches> {
  const { filter } = key;
  const values = valuesOf(filter);
  const lookup =
    values === null
      ? 'any'
      : await valuesIn(
          prisma,
          values,
          (found) => Prisma.sql`(value IS NOT NULL AND ${HASH} = ANY (${found}::bigint[]))`,
        );
  if (lookup === 'none') return NOTHING;
  const queries = lookup === 'any' ? headersInOrder(key) : headersByValue(key, lookup);
  return (await readHeaders(prisma, key, queries, Prisma.sql`false`)) ?? NOTHING;
}

function headersByValue(key: HeaderSearchKey, lookup: Prisma.Sql): Prisma.Sql {
  const { filter, first } = key;
  return Prisma.sql`
    found AS MATERIALIZED (
      SELECT domain, observed_at FROM header_change AS change
       WHERE value IS NOT NULL AND ${lookup} AND ${headerConditions(filter)} ${headersFollow(key)}
       ORDER BY domain, observed_at LIMIT ${literal(first + 1)}),
    last AS MATERIALIZED (
      SELECT domain, observed_at FROM found ORDER BY domain, observed_at LIMIT 1 OFFSET ${literal(first)}),
    ${timesOfShards(key, Prisma.sql`SELECT domain FROM found`)}
    header_change AS MATERIALIZED (
      SELECT * FROM header_change WHERE name = ${filter.name} AND domain IN (SELECT domain FROM found))`;
}

/** What readHeaders() needs of domains to tell when values were last seen. */
function timesOfShards({ lastSeen }: HeaderSearchKey, domains: Prisma.Sql): Prisma.Sql {
  if (!lastSeen) return Prisma.empty;
  return Prisma.sql`
    header_time AS MATERIALIZED (
      SELECT domain, observed_at, last_seen FROM header_change WHERE domain IN (${domains})),
    domain AS MATERIALIZED (SELECT * FROM domain WHERE name IN (${domains})),`;
}

/** The headers of domains in their order. */
function headersInOrder(key: HeaderSearchKey): Prisma.Sql {
  const { filter, first, after } = key;
  return Prisma.sql`
    visited AS MATERIALIZED (
      SELECT name FROM domain WHERE ${after === undefined ? Prisma.sql`true` : Prisma.sql`name >= ${after.domain}`}
       ORDER BY name LIMIT ${literal(DOMAINS_IN_ORDER)}),
    ${timesOfShards(key, Prisma.sql`SELECT name FROM visited`)}
    header_change AS MATERIALIZED (
      SELECT * FROM header_change WHERE name = ${filter.name} AND domain IN (SELECT name FROM visited)),
    found AS MATERIALIZED (
      SELECT domain, observed_at FROM header_change AS change
       WHERE value IS NOT NULL AND ${headerConditions(filter)} ${headersFollow(key)}
       ORDER BY domain, observed_at LIMIT ${literal(first + 1)}),
    last AS MATERIALIZED (
      SELECT name AS domain, ${LATEST_INSTANT}::bigint AS observed_at FROM visited
       WHERE (SELECT count(*) FROM found) <= ${literal(first)}
       ORDER BY name LIMIT 1 OFFSET ${literal(DOMAINS_IN_ORDER - 1)})`;
}

/** Searches domains. */
export async function searchDomainsOfShards(
  prisma: PrismaClient,
  key: DomainSearchKey,
): Promise<DomainMatches> {
  const { filter, first } = key;
  const after = key.after?.name ?? '';
  const { match, registrableDomain, ...times } = filter;
  const [names] = sourcesOf({ match, registrableDomain }, MOST_SORTED);
  const lookup =
    names === undefined
      ? 'any'
      : await valuesIn(
          prisma,
          Prisma.sql`SELECT name AS value FROM (${names}) AS name`,
          (found) => Prisma.sql`domain.name = ANY (${found}::text[])`,
          MOST_SORTED,
        );
  if (lookup === 'none') return NOTHING;
  // By times, each node has an index.
  const inOrder = lookup === 'any' && Object.values(times).every((time) => time === undefined);
  const isNamed = lookup === 'any' ? Prisma.sql`true` : lookup;
  const conditions = domainConditions(filter);
  const queries = Prisma.sql`
    examined AS MATERIALIZED (
      SELECT name, ${inOrder ? conditions : Prisma.sql`true`} AS matches FROM domain
       WHERE name > ${after} AND ${isNamed} AND ${inOrder ? Prisma.sql`true` : conditions}
       ORDER BY name LIMIT ${literal(inOrder ? ROWS_IN_ORDER : first + 1)}),
    matching AS MATERIALIZED (SELECT name FROM examined WHERE matches ORDER BY name LIMIT ${literal(first + 1)}),
    found AS MATERIALIZED (SELECT * FROM domain WHERE name IN (SELECT name FROM matching))`;
  const end = Prisma.sql`
    least((SELECT name FROM matching ORDER BY name LIMIT 1 OFFSET ${literal(first)}),
          (SELECT name FROM examined ORDER BY name LIMIT 1 OFFSET ${literal(ROWS_IN_ORDER - 1)}))`;
  return (await readDomains(prisma, key, { queries, overflow: Prisma.sql`false`, end })) ?? NOTHING;
}
