import { Prisma, type PrismaClient } from '../database/generated/client.js';
import { ON_SERVER, requireAnswers } from '../database/tables.js';
import type { Instant } from '../model/instant.js';
import { literal } from './columns.js';

export interface Statistics {
  readonly domains: number;
  readonly dnsRecords: number;
  readonly httpHeaders: number;
  readonly changes: number;
  readonly firstObserved: Instant | null;
  /** When one was recorded last; null: none. Of more than MAX_COUNTED domains, one that changed something. */
  readonly lastRecordedAt: Instant | null;
}

const MAX_COUNTED = 100_000;
/** So many changes of headers are looked at. */
const SAMPLE = 50_000;

/**
 * About how many rows a table has, or an index of it: as the planner estimates them, by its density when it was
 * analyzed last. One that never had rows then is taken for one with 60 in a page. Partitions are counted.
 */
function estimateSql(part: Prisma.Sql, index: string | undefined): Prisma.Sql {
  const leaves = Prisma.sql`
    SELECT coalesce(relid, root) FROM (SELECT '${part}'::regclass AS root) AS whole
      LEFT JOIN LATERAL pg_partition_tree(root) ON isleaf`;
  const ofIndex = Prisma.sql`
    SELECT indexrelid FROM pg_index
     WHERE indrelid IN (${leaves}) AND strpos(pg_get_indexdef(indexrelid), ${index}) > 0`;
  return Prisma.sql`
    SELECT coalesce(sum(pg_relation_size(oid) / 8192
                        * CASE WHEN reltuples > 0 AND relpages > 0 THEN reltuples / relpages ELSE 60 END), 0)
      FROM pg_class WHERE oid IN (${index === undefined ? leaves : ofIndex})`;
}

interface Row {
  readonly headerShare: number;
  readonly firstObserved: Instant | null;
  readonly lastChangedAt: Instant | null;
}

/**
 * Exact for up to MAX_COUNTED rows of each table, or part of it, otherwise an estimate.
 *
 * @throws Error as requireAnswers().
 */
export async function loadStatistics(prisma: PrismaClient, tables = ON_SERVER): Promise<Statistics> {
  /** @param query For one number, of each part of the table. */
  const read = async (aggregate: string, table: string, query: (part: Prisma.Sql) => Prisma.Sql) => {
    const answer = tables.eachPart({
      table,
      columns: 'value float8',
      query: (part) => Prisma.sql`SELECT (${query(part)})::float8 AS value, 'match' AS outcome`,
    });
    const [found] = await prisma.$queryRaw<readonly { value: number | null; outcomes: string[] }[]>`
      WITH ${answer} SELECT ${Prisma.raw(aggregate)}(value) AS value, array_agg(outcome) AS outcomes FROM answer`;
    requireAnswers(found?.outcomes ?? []);
    return found?.value ?? 0;
  };
  const some = literal(MAX_COUNTED);
  /** @param index Of the rows with the condition, its first columns: its name is another on each shard. */
  const count = async (table: string, condition = 'true', index?: string) => {
    const rows = (part: Prisma.Sql) =>
      Prisma.sql`SELECT count(*) FROM (SELECT FROM ${part} WHERE ${Prisma.raw(condition)} LIMIT ${some}) AS row`;
    const counted = await read('sum', table, rows);
    if (counted < MAX_COUNTED) return counted;
    return Math.round(Math.max(counted, await read('sum', table, (part) => estimateSql(part, index))));
  };
  const domains = await count('domain');
  const dnsRecords = await count('dns_record');
  const removed = await count('dns_record', 'removed IS NOT NULL', '(domain, removed,');
  const changes = await count('header_change');
  const latest = (part: Prisma.Sql) =>
    Prisma.sql`SELECT coalesce(max(recorded_at), 0) FROM (SELECT recorded_at FROM ${part} LIMIT ${some}) AS row`;
  const lastRecordedAt = BigInt(await read('max', 'domain', latest));
  // Each table is read by a query of its own, as a cluster can answer it.
  const [row] = await prisma.$queryRaw<readonly Row[]>`
    -- Each header has one first change. An empty sample, by an estimate that is much too high, shows nothing:
    -- then there are at most as many headers as changes.
    WITH header AS MATERIALIZED (
      SELECT coalesce(count(*) FILTER (WHERE is_first)::float8 / nullif(count(*), 0), 1) AS share
        FROM (SELECT NOT EXISTS (SELECT FROM header_change AS earlier
                                  WHERE earlier.domain = change.domain AND earlier.name = change.name
                                    AND earlier.observed_at < change.observed_at) AS is_first
                FROM header_change AS change
                     TABLESAMPLE SYSTEM (least(100, 100.0 * ${SAMPLE}::int / greatest(1, ${changes}::float8)))
             ) AS change),
    created AS MATERIALIZED (SELECT min(created) AS earliest FROM domain)
    SELECT header.share AS "headerShare", created.earliest AS "firstObserved",
           (SELECT recorded_at FROM change_feed WHERE domain IS NOT NULL
             ORDER BY number DESC LIMIT 1) AS "lastChangedAt"
      FROM header, created`;
  if (row === undefined) throw new Error('A query of single rows gives a row.');
  const { headerShare, firstObserved, lastChangedAt } = row;
  // The feed's time of a transaction is a little later than that of its domains.
  const isChangeLater = domains >= MAX_COUNTED && lastChangedAt !== null && lastChangedAt > lastRecordedAt;
  return {
    domains,
    dnsRecords,
    httpHeaders: Math.round(headerShare * changes),
    changes: dnsRecords + removed + changes,
    firstObserved,
    lastRecordedAt: isChangeLater ? lastChangedAt : lastRecordedAt || null,
  };
}
