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

/**
 * About how many rows a table has, or a partial index, by its row of pg_class: as the planner estimates them, by its density when it was
 * analyzed last. One that never had rows then is taken for one with 60 in a page.
 */
const ESTIMATED_ROWS =
  'pg_relation_size(oid) / 8192 * CASE WHEN reltuples > 0 AND relpages > 0 THEN reltuples / relpages ELSE 60 END';

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

/** How many rows there are, up to MOST_COUNTED, and about how many: in SQL. */
interface Count {
  readonly counted: Prisma.Sql;
  readonly estimated: Prisma.Sql;
}

/** How much there is in the database: exact for up to MOST_COUNTED rows of each, otherwise estimated by PostgreSQL. */
export function loadStatistics(prisma: PrismaClient): Promise<Statistics> {
  return readStatistics(
    prisma,
    COUNTED.map((rows) => ({
      counted: Prisma.raw(`(SELECT count(*)::int FROM (${rowsSql(rows.table, rows.condition)}) AS row)`),
      // With their partitions; a table that has some is empty itself.
      estimated: Prisma.sql`
        (SELECT sum(${Prisma.raw(ESTIMATED_ROWS)})::float8 FROM pg_class
          WHERE oid IN (SELECT ${rows.index ?? rows.table}::regclass
                         UNION SELECT relid FROM pg_partition_tree(${rows.index ?? rows.table}::regclass) WHERE isleaf))`,
    })),
    Prisma.raw(
      `SELECT max(recorded_at) AS latest FROM (SELECT recorded_at FROM domain LIMIT ${MOST_COUNTED}) AS domain`,
    ),
  );
}

/** The same where the tables of domains are distributed over a Citus cluster: each shard counts up to MOST_COUNTED by itself. */
export async function loadStatisticsOfShards(prisma: PrismaClient): Promise<Statistics> {
  const counts: Count[] = [];
  let isCounted = true;
  for (const { table, index, condition } of COUNTED) {
    const rows = rowsSql('%s', condition);
    const counted = await sumOfShards(prisma, table, `SELECT count(*) FROM (${rows}) AS row`);
    const ofShard =
      index === undefined
        ? `SELECT ${ESTIMATED_ROWS} FROM pg_class WHERE oid = '%s'::regclass`
        : // The index of a shard has its name, and the shard's number.
          `SELECT coalesce(max(${ESTIMATED_ROWS}), 0) FROM pg_index JOIN pg_class ON oid = indexrelid
            WHERE indrelid = '%s'::regclass AND relname ~ '^${index}_[0-9]+$'`;
    if (table === 'domain') isCounted = counted < MOST_COUNTED;
    const estimated = counted < MOST_COUNTED ? counted : await sumOfShards(prisma, table, ofShard);
    counts.push({ counted: Prisma.sql`${counted}::int`, estimated: Prisma.sql`${estimated}::float8` });
  }
  // Of more, it is the time of the latest change: each shard would send as many.
  const recorded = Prisma.raw(
    `SELECT ${isCounted ? 'max(recorded_at)' : 'NULL::bigint'} AS latest ${isCounted ? 'FROM domain' : ''}`,
  );
  return readStatistics(prisma, counts, recorded);
}

function rowsSql(table: string, condition = 'true'): string {
  return `SELECT FROM ${table} WHERE ${condition} LIMIT ${MOST_COUNTED}`;
}

/**
 * The sum of what a statement gives for each shard of a table, whose name takes the place of `%s`.
 *
 * @throws UnavailableError if a shard does not respond.
 */
async function sumOfShards(prisma: PrismaClient, table: string, statement: string): Promise<number> {
  const [found] = await prisma.$queryRaw<
    readonly { readonly sum: number | null; readonly isComplete: boolean }[]
  >`
    SELECT sum(CASE WHEN success THEN result::float8 END) AS sum, bool_and(success) AS "isComplete"
      FROM run_command_on_shards(${table}::regclass, ${statement})`;
  if (found?.isComplete !== true) throw new UnavailableError();
  return found.sum ?? 0;
}

interface Row {
  readonly counted: readonly number[];
  readonly estimated: readonly number[];
  /** Of the changes, those that are the first of a header. */
  readonly headerShare: number;
  readonly firstObserved: Instant | null;
  readonly lastRecordedAt: Instant | null;
  readonly lastChangedAt: Instant | null;
}

/**
 * Each table is read by a query of its own, as a cluster can answer it.
 *
 * @param recorded A query for `latest`, when a domain was recorded last, of MOST_COUNTED.
 */
async function readStatistics(
  prisma: PrismaClient,
  counts: readonly Count[],
  recorded: Prisma.Sql,
): Promise<Statistics> {
  const list = (part: keyof Count) => Prisma.join(counts.map((count) => count[part]));
  const [row] = await prisma.$queryRaw<readonly Row[]>`
    WITH count AS MATERIALIZED (SELECT ARRAY[${list('counted')}] AS counted, ARRAY[${list('estimated')}] AS estimated),
    -- Each header has one first change. An empty sample, by an estimate that is much too high, shows nothing: then there are at most as
    -- many headers as changes.
    header AS MATERIALIZED (
      SELECT coalesce(count(*) FILTER (WHERE is_first)::float8 / nullif(count(*), 0), 1) AS share
        FROM (SELECT NOT EXISTS (SELECT FROM header_change AS earlier
                                  WHERE earlier.domain = change.domain AND earlier.name = change.name
                                    AND earlier.observed_at < change.observed_at) AS is_first
                FROM header_change AS change
                     TABLESAMPLE SYSTEM (least(100, 100.0 * ${SAMPLE}::int / greatest(1, ${counts.at(-1)?.estimated})))) AS change),
    created AS MATERIALIZED (SELECT min(created) AS earliest FROM domain),
    recorded AS MATERIALIZED (${recorded})
    SELECT count.*, header.share AS "headerShare", created.earliest AS "firstObserved", recorded.latest AS "lastRecordedAt",
           (SELECT recorded_at FROM change_feed WHERE domain IS NOT NULL ORDER BY number DESC LIMIT 1) AS "lastChangedAt"
      FROM count, header, created, recorded`;
  if (row === undefined) throw new Error('A query of single rows gives a row.');
  const [domains = 0, dnsRecords = 0, removed = 0, changes = 0] = row.counted.map((exact, table) =>
    exact < MOST_COUNTED ? exact : Math.max(exact, Math.round(row.estimated[table] ?? 0)),
  );
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
