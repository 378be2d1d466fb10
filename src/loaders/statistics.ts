import { Prisma, type PrismaClient } from '../database/generated/client.js';
import { UnavailableError } from '../model/errors.js';
import type { Instant } from '../model/instant.js';

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

/** Up to so many rows are counted; what is beyond is estimated. */
const MOST_COUNTED = 100_000;
/** So many changes of headers are looked at. */
const SAMPLE = 50_000;

/** Rows of a table, or of a partial index of it. */
interface Counted {
  readonly table: string;
  readonly index?: string;
  /** Of the index. */
  readonly condition?: string;
}

const COUNTED: readonly Counted[] = [
  { table: 'domain' },
  { table: 'dns_record' },
  { table: 'dns_record', index: 'dns_record_removed', condition: 'removed IS NOT NULL' },
  { table: 'header_change' },
];

/** The sum of what a statement gives for each shard of a table, or for the table: its name takes the place of the one `%s`. */
type SumOf = (table: string, statement: string) => Promise<number>;

/** How much there is in the database: exact for up to MOST_COUNTED rows of each, otherwise estimated by PostgreSQL. */
export function loadStatistics(prisma: PrismaClient): Promise<Statistics> {
  const sumOf: SumOf = async (table, statement) => {
    const text = Prisma.raw(statement.replace('%s', table));
    const [found] = await prisma.$queryRaw<readonly { readonly sum: number | null }[]>`
      SELECT (${text})::float8 AS sum`;
    return found?.sum ?? 0;
  };
  const some = `SELECT recorded_at FROM domain LIMIT ${MOST_COUNTED}`;
  return readStatistics(prisma, sumOf, () => `SELECT max(recorded_at) AS latest FROM (${some}) AS domain`);
}

/**
 * The same where the tables of domains are distributed over a Citus cluster: each shard counts up to MOST_COUNTED by itself.
 *
 * @throws UnavailableError if a shard does not respond.
 */
export function loadStatisticsOfShards(prisma: PrismaClient): Promise<Statistics> {
  const sumOf: SumOf = async (table, statement) => {
    const [found] = await prisma.$queryRaw<
      readonly { readonly sum: number | null; readonly isComplete: boolean }[]
    >`
      SELECT sum(CASE WHEN success THEN result::float8 END) AS sum, bool_and(success) AS "isComplete"
        FROM run_command_on_shards(${table}::regclass, ${statement})`;
    if (found?.isComplete !== true) throw new UnavailableError();
    return found.sum ?? 0;
  };
  // Of more, it is the time of the latest change: each shard would send as many.
  const recorded = (domains: number) =>
    domains < MOST_COUNTED
      ? 'SELECT max(recorded_at) AS latest FROM domain'
      : 'SELECT NULL::bigint AS latest';
  return readStatistics(prisma, sumOf, recorded);
}

/** How many rows there are; of more than MOST_COUNTED, about how many. */
async function count(sumOf: SumOf, { table, index, condition = 'true' }: Counted): Promise<number> {
  const rows = `SELECT FROM %s WHERE ${condition} LIMIT ${MOST_COUNTED}`;
  const counted = await sumOf(table, `SELECT count(*) FROM (${rows}) AS row`);
  if (counted < MOST_COUNTED) return counted;
  // The index of a shard has its number.
  const relation =
    index === undefined
      ? `'%s'::regclass`
      : `(SELECT indexrelid::regclass FROM pg_class JOIN pg_index ON oid = indexrelid
           WHERE indrelid = '%s'::regclass AND relname ~ '^${index}(_[0-9]+)?$')`;
  // With its partitions; a table that has some is empty itself. The planner's estimate: by the density when it was analyzed last. One
  // that never had rows then is taken for one with 60 in a page.
  const estimated = await sumOf(
    table,
    `SELECT sum(pg_relation_size(oid) / 8192
                * CASE WHEN reltuples > 0 AND relpages > 0 THEN reltuples / relpages ELSE 60 END)
       FROM (SELECT ${relation} AS root) AS whole,
            LATERAL (SELECT root AS relid UNION SELECT relid FROM pg_partition_tree(root) WHERE isleaf) AS part
       JOIN pg_class ON oid = part.relid`,
  );
  return Math.max(counted, Math.round(estimated));
}

interface Row {
  /** Of the changes, those that are the first of a header. */
  readonly headerShare: number;
  readonly firstObserved: Instant | null;
  readonly lastRecordedAt: Instant | null;
  readonly lastChangedAt: Instant | null;
}

/**
 * Each table is read by a query of its own, as a cluster can answer it.
 *
 * @param recorded A query for `latest`, when one of so many domains was recorded last.
 */
async function readStatistics(
  prisma: PrismaClient,
  sumOf: SumOf,
  recorded: (domains: number) => string,
): Promise<Statistics> {
  const counts: number[] = [];
  for (const rows of COUNTED) counts.push(await count(sumOf, rows));
  const [domains = 0, dnsRecords = 0, removed = 0, changes = 0] = counts;
  const [row] = await prisma.$queryRaw<readonly Row[]>`
    WITH -- Each header has one first change. An empty sample, by an estimate that is much too high, shows nothing: then there are at
    -- most as many headers as changes.
    header AS MATERIALIZED (
      SELECT coalesce(count(*) FILTER (WHERE is_first)::float8 / nullif(count(*), 0), 1) AS share
        FROM (SELECT NOT EXISTS (SELECT FROM header_change AS earlier
                                  WHERE earlier.domain = change.domain AND earlier.name = change.name
                                    AND earlier.observed_at < change.observed_at) AS is_first
                FROM header_change AS change
                     TABLESAMPLE SYSTEM (${Math.min(100, (100 * SAMPLE) / Math.max(1, changes))}::float8)) AS change),
    created AS MATERIALIZED (SELECT min(created) AS earliest FROM domain),
    recorded AS MATERIALIZED (${Prisma.raw(recorded(domains))})
    SELECT header.share AS "headerShare", created.earliest AS "firstObserved", recorded.latest AS "lastRecordedAt",
           (SELECT recorded_at FROM change_feed WHERE domain IS NOT NULL ORDER BY number DESC LIMIT 1) AS "lastChangedAt"
      FROM header, created, recorded`;
  if (row === undefined) throw new Error('A query of single rows gives a row.');
  const { lastRecordedAt, lastChangedAt } = row;
  const isChangeLater = lastRecordedAt === null || (lastChangedAt !== null && lastChangedAt > lastRecordedAt);
  return {
    domains,
    dnsRecords,
    httpHeaders: Math.round(row.headerShare * changes),
    changes: dnsRecords + removed + changes,
    firstObserved: row.firstObserved,
    // The feed's time of a transaction is a little later than that of its domains.
    lastRecordedAt: domains >= MOST_COUNTED && isChangeLater ? lastChangedAt : lastRecordedAt,
  };
}
