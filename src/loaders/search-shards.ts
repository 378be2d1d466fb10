import { Prisma, type PrismaClient } from '../database/generated/client.js';
import { PLANNED } from './columns.js';
import { hasTrigram, literal, MOST_ROWS, MOST_ROWS_BY_VALUE, MOST_VALUES, namesMeeting } from './search.js';
import {
  type DomainMatches,
  type DomainSearchKey,
  conditionsOf as domainConditions,
  MOST_COUNTED,
  MOST_SORTED,
  readPage as readDomains,
  SAMPLE,
  type Statistics,
  type StatisticsRow,
  sourcesOf,
  statisticsOf,
} from './search-domains.js';
import {
  HASH,
  type HeaderMatches,
  type HeaderSearchKey,
  conditionsOf as headerConditions,
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
 * The tables are then replaced by what was found: a query in WITH with the name of a table takes its place in what follows.
 */

const NOTHING = { matches: [], next: null };

/** Searches DNS records. */
export async function searchRecordsOfShards(
  prisma: PrismaClient,
  key: RecordSearchKey,
): Promise<RecordMatches> {
  const { filter, first } = key;
  // Those of one domain are in one shard.
  if (filter.domain === undefined) await key.onMany?.(MOST_ROWS);
  const lookup = await recordLookup(prisma, filter);
  if (lookup === null) return NOTHING;
  const place = Prisma.raw('domain, first_seen, type, position');
  const found = Prisma.sql`
    found AS MATERIALIZED (
      SELECT ${place} FROM dns_record WHERE ${lookup} AND ${recordConditions(filter)} ${follows(key)}
       ORDER BY ${place} LIMIT ${literal(first + 1)}),
    last AS MATERIALIZED (SELECT ${place} FROM found WHERE false),
    dns_record AS MATERIALIZED (SELECT * FROM dns_record WHERE domain IN (SELECT domain FROM found)),
    domain AS MATERIALIZED (SELECT * FROM domain WHERE name IN (SELECT domain FROM found))`;
  return (await readRecords(prisma, key, found, Prisma.sql`false`)) ?? NOTHING;
}

/** A condition by which an index finds the records of a filter, where another table has to be read for it; null: there are none. */
async function recordLookup(prisma: PrismaClient, filter: RecordFilter): Promise<Prisma.Sql | null> {
  const { domain, ip, network, target, text, host } = filter;
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
  if (text === undefined || !hasTrigram(text)) return Prisma.sql`true`;
  return valuesIn(
    prisma,
    textHashes(text),
    (found) => Prisma.sql`(type = 'TXT' AND ${TEXT_HASH} = ANY (${found}::bigint[]))`,
  );
}

/** Reads values from the tables of the coordinator. @returns null where there is none; what is always true where there are too many. */
async function valuesIn(
  prisma: PrismaClient,
  values: Prisma.Sql,
  condition: (values: readonly (string | bigint)[]) => Prisma.Sql,
  most = MOST_VALUES,
): Promise<Prisma.Sql | null> {
  const rows = await prisma.$queryRaw<readonly { readonly value: string | bigint }[]>`
    ${PLANNED} SELECT DISTINCT value FROM (SELECT value FROM (${values}) AS found LIMIT ${literal(most + 1)}) AS found`;
  if (rows.length === 0) return null;
  return rows.length > most ? Prisma.sql`true` : condition(rows.map(({ value }) => value));
}

/** Searches the values of headers. */
export async function searchHeadersOfShards(
  prisma: PrismaClient,
  key: HeaderSearchKey,
): Promise<HeaderMatches> {
  const { filter, first, after } = key;
  await key.onMany?.(MOST_ROWS);
  const values = valuesOf(filter);
  const lookup =
    values === null
      ? Prisma.sql`true`
      : await valuesIn(
          prisma,
          values,
          (found) => Prisma.sql`(value IS NOT NULL AND ${HASH} = ANY (${found}::bigint[]))`,
        );
  if (lookup === null) return NOTHING;
  const follows =
    after === undefined
      ? Prisma.empty
      : Prisma.sql`AND (domain, observed_at) > (${after.domain}, ${after.from})`;
  const found = Prisma.sql`
    found AS MATERIALIZED (
      SELECT domain, observed_at FROM header_change AS change
       WHERE value IS NOT NULL AND ${lookup} AND ${headerConditions(filter)} ${follows}
       ORDER BY domain, observed_at LIMIT ${literal(first + 1)}),
    last AS MATERIALIZED (SELECT domain, observed_at FROM found WHERE false),
    header_change AS MATERIALIZED (
      SELECT * FROM header_change WHERE name = ${filter.name} AND domain IN (SELECT domain FROM found))`;
  return (await readHeaders(prisma, key, found, Prisma.sql`false`)) ?? NOTHING;
}

/** Searches domains. */
export async function searchDomainsOfShards(
  prisma: PrismaClient,
  key: DomainSearchKey,
): Promise<DomainMatches> {
  const { filter, after = '', first } = key;
  await key.onMany?.(MOST_ROWS);
  // By times, each node has an index.
  const { match, registrableDomain } = filter;
  const [names] = sourcesOf({ match, registrableDomain }, MOST_SORTED);
  const lookup =
    names === undefined
      ? Prisma.sql`true`
      : await valuesIn(
          prisma,
          Prisma.sql`SELECT name AS value FROM (${names}) AS name`,
          (found) => Prisma.sql`domain.name = ANY (${found}::text[])`,
          MOST_SORTED,
        );
  if (lookup === null) return NOTHING;
  const queries = Prisma.sql`
    found AS MATERIALIZED (
      SELECT * FROM domain WHERE name > ${after} AND ${lookup} AND ${domainConditions(filter)}
       ORDER BY name LIMIT ${literal(first + 1)})`;
  return (
    (await readDomains(prisma, key, { queries, overflow: Prisma.sql`false`, end: Prisma.sql`NULL` })) ??
    NOTHING
  );
}

/** How much there is: see loadStatistics(). */
export async function loadStatisticsOfShards(prisma: PrismaClient): Promise<Statistics> {
  const domains = await count(prisma, Prisma.sql`domain`);
  const records = await count(prisma, Prisma.sql`dns_record`);
  const removed = await count(prisma, Prisma.sql`dns_record WHERE removed IS NOT NULL`);
  const changes = await count(prisma, Prisma.sql`header_change`);
  const [row] = await prisma.$queryRaw<
    readonly Pick<StatisticsRow, 'headerShare' | 'firstObserved' | 'lastRecordedAt' | 'lastChangedAt'>[]
  >`
    WITH header AS MATERIALIZED (SELECT domain, name FROM header_change LIMIT ${literal(SAMPLE)}),
    recorded AS MATERIALIZED (SELECT recorded_at FROM domain LIMIT ${literal(MOST_COUNTED)}),
    created AS MATERIALIZED (SELECT min(created) AS earliest FROM domain)
    SELECT (SELECT count(DISTINCT (domain, name))::float8 / greatest(count(*), 1) FROM header) AS "headerShare",
           (SELECT earliest FROM created) AS "firstObserved", (SELECT max(recorded_at) FROM recorded) AS "lastRecordedAt",
           (SELECT recorded_at FROM change_feed WHERE domain IS NOT NULL ORDER BY number DESC LIMIT 1) AS "lastChangedAt"`;
  const counts = {
    ...{ domains, estimatedDomains: await estimate(prisma, domains, 'domain') },
    ...{ records, estimatedRecords: await estimate(prisma, records, 'dns_record') },
    ...{ removed, estimatedRemoved: await estimate(prisma, removed, 'dns_record', 'dns_record_removed') },
    ...{ changes, estimatedChanges: await estimate(prisma, changes, 'header_change') },
  };
  if (row === undefined) throw new Error('A query without FROM gives a row.');
  return statisticsOf({ ...row, ...counts });
}

/** Counts rows, up to MOST_COUNTED. */
async function count(prisma: PrismaClient, rows: Prisma.Sql): Promise<number> {
  const [found] = await prisma.$queryRaw<readonly { readonly count: number }[]>`
    SELECT count(*)::int AS count FROM (SELECT 1 FROM ${rows} LIMIT ${literal(MOST_COUNTED)}) AS row`;
  return found?.count ?? 0;
}

/**
 * About how many rows a table has, or a partial index of it, by what the nodes estimate of their shards.
 *
 * @param counted How many there are at least.
 */
async function estimate(
  prisma: PrismaClient,
  counted: number,
  table: string,
  index?: string,
): Promise<number> {
  if (counted < MOST_COUNTED) return counted;
  // The index of a shard has its name, and the shard's number.
  const relation =
    index === undefined
      ? `SELECT greatest(reltuples, 0) FROM pg_class WHERE oid = '%s'::regclass`
      : `SELECT coalesce(max(reltuples), 0) FROM pg_index JOIN pg_class ON oid = indexrelid
          WHERE indrelid = '%s'::regclass AND relname ~ '^${index}_[0-9]+$'`;
  const [found] = await prisma.$queryRaw<readonly { readonly rows: number | null }[]>`
    SELECT sum(result::float8) AS rows FROM run_command_on_shards(${table}::regclass, ${relation}) WHERE success`;
  return Math.max(found?.rows ?? 0, counted);
}
