import { Prisma, type PrismaClient } from '../database/generated/client.js';
import type { Instant } from '../model/instant.js';
import { knownAt, literal, PLANNED, upTo } from './columns.js';
import type { DomainRowKey } from './domain-row.js';
import { latestOfTypeSql } from './observed-parts.js';

interface RRsetsKey extends DomainRowKey {
  /** Absent: of every type. */
  readonly types?: readonly string[] | undefined;
}

interface PoolValue {
  readonly rdata: object;
  readonly firstSeen: Instant;
  readonly lastSeen: Instant;
  readonly stays: number;
}

interface RRset {
  readonly host: string;
  readonly type: string;
  /** Whether its latest change was one of many. */
  readonly rotating: boolean;
  readonly poolSize: number;
  readonly pool: PoolValue[];
}

const MAX_VALUES = 1_000;
/** That are read of a domain. */
const MAX_STAYS = 30_000;

/** Loads the RRsets of a domain, by owner name and type; null: too many stays would have to be read. */
export async function loadRRsets(
  prisma: PrismaClient,
  { name, at, types }: RRsetsKey,
): Promise<readonly RRset[] | null> {
  const ofTypes = types === undefined ? Prisma.empty : Prisma.sql`AND type = ANY (${types})`;
  // A sighting may be later than the latest observation of the type.
  const rows = await prisma.$queryRaw<readonly (Omit<RRset, 'pool'> & PoolValue & { examined: bigint })[]>`
    ${PLANNED} WITH stay AS MATERIALIZED (
      SELECT domain, host, type, rdata::text AS rdata, first_seen, ${knownAt('removed', at)} AS removed,
             ${knownAt('last_seen', at)} AS last_seen, routine, removed_routine
        FROM dns_record WHERE domain = ${name} ${ofTypes} ${upTo('first_seen', at)}
       LIMIT ${literal(MAX_STAYS + 1)}),
    latest AS (
      SELECT DISTINCT ON (host, type) host, type, reason IS NOT DISTINCT FROM 'ROTATING' AS rotating
        FROM (SELECT host, type, first_seen AS date, routine AS reason FROM stay UNION ALL
              SELECT host, type, removed, removed_routine FROM stay WHERE removed IS NOT NULL) AS change
       ORDER BY host, type, date DESC, rotating DESC),
    value AS (
      SELECT host, type, rdata, min(first_seen) AS first_seen, bool_or(removed IS NULL) AS is_present,
             max(coalesce(last_seen, first_seen)) AS last_seen, count(*)::int AS stays
        FROM stay GROUP BY host, type, rdata),
    pool AS (
      SELECT *, count(*) OVER (PARTITION BY host, type) AS size,
             row_number() OVER (PARTITION BY host, type ORDER BY is_present DESC, last_seen DESC, rdata) AS rank
        FROM value),
    observed AS (
      SELECT type, ${latestOfTypeSql(at, 'present')} AS latest
        FROM (SELECT DISTINCT domain, type FROM stay) AS present)
    SELECT host, pool.type, rotating, size::int AS "poolSize", rdata::json AS rdata, first_seen AS "firstSeen",
           CASE WHEN is_present THEN greatest(last_seen, latest) ELSE last_seen END AS "lastSeen", stays,
           (SELECT count(*) FROM stay) AS examined
      FROM pool JOIN latest USING (host, type) JOIN observed ON observed.type = pool.type
     WHERE rank <= ${literal(MAX_VALUES)} ORDER BY host, pool.type, rank`;
  if ((rows[0]?.examined ?? 0n) > MAX_STAYS) return null;
  const rrsets = new Map<string, RRset>();
  for (const { host, type, rotating, poolSize, rdata, firstSeen, lastSeen, stays } of rows) {
    const key = `${host} ${type}`;
    const rrset = rrsets.get(key) ?? { host, type, rotating, poolSize, pool: [] };
    rrset.pool.push({ rdata, firstSeen, lastSeen, stays });
    rrsets.set(key, rrset);
  }
  return [...rrsets.values()];
}
