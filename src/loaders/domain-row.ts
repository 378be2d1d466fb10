import { Prisma } from '../database/generated/client.js';
import type { Instant } from '../model/instant.js';
import { knownAt } from './columns.js';

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

/** All keys of a batch have the same instant. */
export interface DomainRowKey {
  /** In canonical form. */
  readonly name: string;
  /** As of when, in microseconds since the Unix epoch; absent: now, with all that is recorded. */
  readonly at?: Instant | undefined;
}

/** Domains in one statement. PostgreSQL works on one while this process does on another; with 64 they wait. */
export const BATCH_SIZE = 8;

export const NUMBERS_SQL = Prisma.raw(
  `created || ',' || last_update || ',' || coalesce(last_change, created) || ',' || recorded_at
   || ',' || version`,
);

/** What is read of table `domain`, and of others by subqueries for its rows. */
export interface Batch {
  readonly at: Instant | undefined;
  /** Whether a row of table `domain` is one of the batch, and recorded up to the instant. */
  readonly isIncluded: Prisma.Sql;
  /**
   * The name of a row's domain, for the subqueries. Of a single domain it is the name itself, and not the row's
   * column: a Citus cluster finds the shard of a statement by what each table's column is compared with, and a
   * column of another table tells it none.
   */
  readonly name: Prisma.Sql;
}

/** @param keys Up to BATCH_SIZE. */
export function batchOf(keys: readonly DomainRowKey[]): Batch {
  const [{ name, at } = { name: '', at: undefined }] = keys;
  const isSingle = keys.length === 1;
  const isNamed = isSingle ? Prisma.sql`name = ${name}` : Prisma.sql`name IN (${namesOfBatch(keys)})`;
  return {
    at,
    isIncluded: at === undefined ? isNamed : Prisma.sql`${isNamed} AND created <= ${at}`,
    name: isSingle ? Prisma.sql`${name}` : Prisma.sql`domain.name`,
  };
}

/** The numbers of a row of table `domain` as of the batch's instant, for parseDomainRow. */
export function domainRowSql({ at, name }: Batch): Prisma.Sql {
  if (at === undefined) return NUMBERS_SQL;
  return Prisma.sql`
    created || ',' || CASE WHEN last_update <= ${at} THEN last_update ELSE ${knownUpdateSql(at, name)} END
            || ',' || CASE WHEN last_change <= ${at} THEN last_change ELSE ${knownChangeSql(at, name)} END
            || ',' || recorded_at || ',' || version`;
}

/** The latest change that is not after the instant; `created` if there was none. */
function knownChangeSql(at: Instant, name: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`greatest(created,
    (SELECT max(first_seen) FROM dns_record WHERE domain = ${name} AND first_seen <= ${at}),
    (SELECT max(removed) FROM dns_record WHERE domain = ${name} AND removed <= ${at}),
    (SELECT max(observed_at) FROM header_change WHERE domain = ${name} AND observed_at <= ${at}))`;
}

const OBSERVED = ['dns_first', 'dns_latest', 'http_first', 'http_latest', 'https_latest'];

/**
 * The latest observation that is not after the instant, of those whose times are still known. Those that found
 * HTTPS declined are not among them: alone, they are not recorded.
 */
function knownUpdateSql(at: Instant, name: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`greatest(${knownChangeSql(at, name)},
    (SELECT max(last_seen) FROM dns_record WHERE domain = ${name} AND last_seen <= ${at}),
    (SELECT max(last_seen) FROM header_change WHERE domain = ${name} AND last_seen <= ${at}),
    ${Prisma.join(OBSERVED.map((column) => knownAt(column, at)))},
    (SELECT max(time::bigint)
       FROM jsonb_array_elements_text(jsonb_path_query_array(dns_types, '$.*.first')
                                 || jsonb_path_query_array(dns_types, '$.*.latest'))
         AS time
      WHERE time::bigint <= ${at}))`;
}

/** @param joined What domainRowSql() gives. */
export function parseDomainRow(name: string, joined: string): DomainRow {
  const numbers = joined.split(',').map(BigInt);
  const [created = 0n, lastUpdate = 0n, lastChange = 0n, recordedAt = 0n, version = 0n] = numbers;
  return { name, created, lastUpdate, lastChange, recordedAt, version };
}

/**
 * Eight names for every batch of several, the last repeated, so that there is one text of the statement,
 * prepared once. An array would do, but PostgreSQL keeps a plan for every batch only if it costs at most as
 * much as one for a single batch: an array of unknown length counts as one of ten, and each would be planned.
 */
function namesOfBatch(keys: readonly DomainRowKey[]): Prisma.Sql {
  const last = keys.length - 1;
  return Prisma.join(Array.from({ length: BATCH_SIZE }, (_, place) => keys[Math.min(place, last)]?.name));
}
