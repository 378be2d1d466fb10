import { Prisma } from '../database/generated/client.js';
import type { Instant } from '../model/instant.js';
import type { Batch } from './domain-row.js';
import { latestOfHttpSql } from './observed-parts.js';

/** How a site responds: the scheme and status of the latest response that is known. */
export interface Site {
  /** `https` or `http`. */
  readonly scheme: string;
  readonly status: number;
  /** Since when it has had both. */
  readonly firstSeen: Instant;
  readonly lastSeen: Instant;
}

/**
 * The site of a row of table `domain`, for parseSite; null where no response is known. As of an instant, it was
 * last seen by the latest observation of HTTP whose time is known.
 */
export function siteSql({ at, name }: Batch): Prisma.Sql {
  if (at === undefined) {
    return Prisma.sql`
      CASE WHEN site_scheme IS NOT NULL
           THEN json_build_array(site_scheme, site_status, site_first::text,
                                 coalesce(site_latest, http_latest)::text)::text END`;
  }
  const ofDomain = (table: string) =>
    Prisma.sql`FROM site_response AS ${Prisma.raw(table)} WHERE ${Prisma.raw(table)}.domain = ${name}`;
  return Prisma.sql`
    (SELECT json_build_array(scheme, status,
              (SELECT min(same.observed_at) ${ofDomain('same')}
                  AND same.observed_at > coalesce((SELECT max(other.observed_at) ${ofDomain('other')}
                       AND other.observed_at < latest.observed_at
                       AND (other.scheme, other.status) <> (latest.scheme, latest.status)),
                   ${BEFORE_ALL}))::text,
              greatest(observed_at, ${latestOfHttpSql(at, name)})::text)::text
       FROM (SELECT * ${ofDomain('response')} AND response.observed_at <= ${at}
              ORDER BY response.observed_at DESC LIMIT 1) AS latest)`;
}

const BEFORE_ALL = Prisma.raw('(-9223372036854775808)');

/** @param text What siteSql() gives. */
export function parseSite(text: string): Site {
  const [scheme, status, first, latest] = JSON.parse(text) as [string, number, string, string];
  return { scheme, status, firstSeen: BigInt(first), lastSeen: BigInt(latest) };
}
