import { Prisma, type PrismaClient } from '../database/generated/client.js';
import type { Instant } from '../model/instant.js';
import { cell, splitInstants } from './columns.js';
import type { Requested } from './recipient.js';

/** The row of a domain: all that is known of it without its history. */
export interface DomainRow {
  readonly name: string;
  readonly created: Instant;
  readonly lastUpdate: Instant;
  readonly lastChange: Instant;
  /** Wall-clock time of the latest recording. */
  readonly recordedAt: Instant;
  /** Grows with every recorded observation and is never used twice. */
  readonly version: bigint;
}

/** A domain by its canonical name, the instant, and the recipient. All keys of a batch have the same instant. */
export interface DomainRowKey extends Requested {
  readonly name: string;
  /** As of when, in microseconds since the Unix epoch; absent: now, with all that is recorded. */
  readonly at?: Instant | undefined;
}

/**
 * Domains in one statement. Small batches let PostgreSQL work on one while this process works on another; with 64
 * the two wait for each other.
 */
export const BATCH_SIZE = 8;

const NUMBERS_SQL = Prisma.raw(
  "created || ',' || last_update || ',' || coalesce(last_change, created) || ',' || recorded_at || ',' || version",
);

/** The numbers of a row of table `domain` as of an instant, for parseDomainRow. */
export function domainRowSql(at: Instant | undefined): Prisma.Sql {
  if (at === undefined) return NUMBERS_SQL;
  return Prisma.sql`
    created || ',' || CASE WHEN last_update <= ${at} THEN last_update ELSE ${knownUpdateSql(at)} END
            || ',' || CASE WHEN last_change <= ${at} THEN last_change ELSE ${knownChangeSql(at)} END
            || ',' || recorded_at || ',' || version`;
}

/** The latest change that is not after the instant; `created` if there was none. */
function knownChangeSql(at: Instant): Prisma.Sql {
  return Prisma.sql`greatest(created,
    (SELECT max(first_seen) FROM dns_record WHERE domain = domain.name AND first_seen <= ${at}),
    (SELECT max(removed) FROM dns_record WHERE domain = domain.name AND removed <= ${at}),
    (SELECT max(observed_at) FROM header_change WHERE domain = domain.name AND observed_at <= ${at}))`;
}

const OBSERVED = ['dns_first', 'dns_latest', 'http_first', 'http_latest', 'https_latest'].map(Prisma.raw);

/**
 * The latest observation that is not after the instant, of those whose times are still known. Those that found HTTPS declined
 * are not among them: alone, they are not recorded. Citus rejects a subquery whose FROM has functions only and that has another in it.
 */
function knownUpdateSql(at: Instant): Prisma.Sql {
  return Prisma.sql`greatest(${knownChangeSql(at)},
    (SELECT max(last_seen) FROM dns_record WHERE domain = domain.name AND last_seen <= ${at}),
    (SELECT max(last_seen) FROM header_change WHERE domain = domain.name AND last_seen <= ${at}),
    ${Prisma.join(OBSERVED.map((column) => Prisma.sql`CASE WHEN ${column} <= ${at} THEN ${column} END`))},
    (SELECT max(time)
       FROM jsonb_path_query(dns_types, '$.*') AS type,
            unnest(ARRAY[(type ->> 'first')::bigint, (type ->> 'latest')::bigint]) AS time
      WHERE time <= ${at}))`;
}

/**
 * Loads the rows of up to BATCH_SIZE domains as of one instant by one SQL statement. Without an instant, it reads no other
 * table.
 *
 * @returns For each key in its place the row, or null where nothing is recorded of the domain up to the instant.
 */
export async function loadDomainRows(
  prisma: PrismaClient,
  keys: readonly DomainRowKey[],
): Promise<(DomainRow | null)[]> {
  const at = keys[0]?.at;
  const found = await prisma.$queryRaw<{ name: string; numbers: string }[]>`
    SELECT name, ${domainRowSql(at)} AS numbers FROM domain WHERE ${isOfBatch(at, keys)}`;
  const rows = new Map(found.map(({ name, numbers }) => [name, parseDomainRow(name, numbers)]));
  return keys.map(({ name }) => rows.get(name) ?? null);
}

/** Whether a row of table `domain` is one of a batch, and recorded up to the instant. */
export function isOfBatch(at: Instant | undefined, keys: readonly DomainRowKey[]): Prisma.Sql {
  const isNamed = Prisma.sql`name IN (${namesOfBatch(keys)})`;
  return at === undefined ? isNamed : Prisma.sql`${isNamed} AND created <= ${at}`;
}

/** The row from what domainRowSql() gives. */
export function parseDomainRow(name: string, joined: string): DomainRow {
  const numbers = splitInstants(joined);
  return {
    name,
    created: cell(numbers, 0),
    lastUpdate: cell(numbers, 1),
    lastChange: cell(numbers, 2),
    recordedAt: cell(numbers, 3),
    version: cell(numbers, 4),
  };
}

/**
 * Eight names for every batch, the last repeated, so that there is one text of the statement, prepared once. An array
 * would do, but PostgreSQL keeps a plan for every batch only if it costs at most as much as one for a single batch: it
 * takes an array of unknown length for one of ten, and would plan each batch again.
 */
function namesOfBatch(keys: readonly DomainRowKey[]): Prisma.Sql {
  const last = keys.length - 1;
  return Prisma.join(Array.from({ length: BATCH_SIZE }, (_, place) => keys[Math.min(place, last)]?.name));
}
