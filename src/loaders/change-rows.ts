import { Prisma } from '../database/generated/client.js';
import { CHANGE_KINDS, type ChangeKind, HEADER_CHANGES, type RoutineReason } from '../model/change-kinds.js';
import type { Instant } from '../model/instant.js';
import { knownAt } from './columns.js';
import type { DnsEntry } from './dns-entries.js';

/**
 * The place of a change among those of its domain: by date, by kind, then as Get domain orders records and
 * headers. For a record `firstSeen`, the type and the position; for a header its name as `type`.
 */
export interface ChangePosition {
  readonly date: Instant;
  /** In CHANGE_KINDS. */
  readonly kind: number;
  readonly firstSeen: Instant;
  readonly type: string;
  readonly position: number;
}

/** A change of a domain. */
export interface Change {
  readonly domain: string;
  readonly kind: ChangeKind;
  readonly date: Instant;
  /** Who observed it. */
  readonly source: string | null;
  /** Null: it is notable. */
  readonly routine: RoutineReason | null;
  readonly at: ChangePosition;
  /** As of when its domain was asked for; absent: now. */
  readonly asOf?: Instant | undefined;
  /** The stay of a DNS record. */
  readonly record?: DnsEntry;
  /** When what is gone, or the value before, was last seen. */
  readonly lastSeen?: Instant;
  /** A header's name, and its values before and after. */
  readonly name?: string;
  readonly old?: string | null;
  readonly new?: string | null;
  /** Of an extended history: the time from which on it differs. */
  readonly earliest?: Instant;
  /** Of the site. */
  readonly oldStatus?: number;
  readonly newStatus?: number;
}

/** Changes that are in one table, in the order of one index. */
export interface ChangeSource {
  readonly kinds: readonly ChangeKind[];
  /** A query for the changes of all domains, as rows of one form. */
  readonly rows: Prisma.Sql;
  /** The columns by which the changes of a domain are in order: those of the index after `domain`. */
  readonly order: readonly ('date' | 'kind' | 'first_seen' | 'type' | 'position')[];
}

/** The places of kinds in CHANGE_KINDS, as they are in SQL. */
const [ADDED, REMOVED, CREATED, UPDATED, GONE, RETURNED, , STATUS] = CHANGE_KINDS.map((_kind, rank) =>
  Prisma.raw(String(rank)),
);

/**
 * The rows of changes, whoever reads them. This is no view: of a view that unites tables, PostgreSQL up to 18
 * reads all changes of a domain and sorts them for a page of its first; and on a Citus cluster, the feed puts
 * other queries in the place of the tables.
 *
 * @param domain The domain's name in SQL: where there is one, itself, by which a cluster finds the shard.
 */
export function changeSources(domain = Prisma.raw('change.domain')): readonly ChangeSource[] {
  const ofRecords = (
    date: string,
    kind: Prisma.Sql | undefined,
    source: string,
    routine: string,
  ) => Prisma.sql`
    SELECT domain, ${Prisma.raw(date)} AS date, ${kind} AS kind, first_seen, type, position,
           ${Prisma.raw(source)} AS source, ${Prisma.raw(routine)} AS routine, class, host,
           rdata, removed, last_seen, NULL::text AS value, NULL::text AS old
      FROM dns_record WHERE ${Prisma.raw(date)} IS NOT NULL`;
  // A header that returns with another value is updated. When the value before was last seen may not be
  // recorded: then it is the date at which it was new. Of an absence it always is.
  const ofHeaders = Prisma.sql`
    SELECT change.domain, change.observed_at AS date,
           CASE WHEN change.value IS NULL THEN ${GONE} WHEN before.value IS NULL THEN ${CREATED}
                WHEN before.value = change.value THEN ${RETURNED} ELSE ${UPDATED} END AS kind,
           0::bigint AS first_seen, change.name AS type, 0 AS position, change.source, change.routine,
           NULL::text AS class, NULL::text AS host, NULL::json AS rdata, NULL::bigint AS removed,
           CASE WHEN change.value IS NULL OR before.value <> change.value
                THEN coalesce(change.last_seen, before.observed_at) END AS last_seen,
           change.value, before.value AS old
      FROM header_change AS change
      LEFT JOIN LATERAL (
             SELECT before.value, before.observed_at FROM header_change AS before
              WHERE before.domain = ${domain} AND before.name = change.name
                AND before.observed_at < change.observed_at AND before.value IS NOT NULL
              ORDER BY before.observed_at DESC LIMIT 1) AS before ON true`;
  const ofSite = Prisma.sql`
    SELECT change.domain, change.observed_at AS date, ${STATUS} AS kind, 0::bigint AS first_seen, '' AS type,
           0 AS position, change.source, change.routine, NULL::text AS class, NULL::text AS host,
           NULL::json AS rdata, NULL::bigint AS removed, NULL::bigint AS last_seen,
           change.status::text AS value, before.status::text AS old
      FROM site_response AS change
      JOIN LATERAL (
             SELECT before.status FROM site_response AS before
              WHERE before.domain = ${domain} AND before.observed_at < change.observed_at
              ORDER BY before.observed_at DESC LIMIT 1) AS before ON before.status <> change.status`;
  return [
    {
      kinds: ['DNS_RECORD_ADDED'],
      rows: ofRecords('first_seen', ADDED, 'source', 'routine'),
      order: ['date', 'type', 'position'],
    },
    {
      kinds: ['DNS_RECORD_REMOVED'],
      rows: ofRecords('removed', REMOVED, 'removed_source', 'removed_routine'),
      order: ['date', 'first_seen', 'type', 'position'],
    },
    { kinds: HEADER_CHANGES, rows: ofHeaders, order: ['date', 'kind', 'type'] },
    { kinds: ['SITE_STATUS_CHANGED'], rows: ofSite, order: ['date'] },
  ];
}

/** Whether a row `change` is of a record. */
export const IS_OF_RECORD = Prisma.sql`kind <= ${REMOVED}`;

/** The columns that have the size of a row. */
export const SIZED_COLUMNS = ['rdata', 'value', 'old'];

/** A row `change` as changeRowSql() selects it. What is only of records is null for a header. */
export interface ChangeRow
  extends ChangePosition,
    Pick<Change, 'source' | 'routine'>,
    Pick<DnsEntry, 'class' | 'host' | 'removed' | 'lastSeen'> {
  readonly rdata: object | null;
  readonly value: string | null;
  readonly old: string | null;
}

/**
 * The columns of a row `change`, for changeOfRow().
 *
 * @param at As of when, later removals are not known; undefined: now.
 */
export function changeRowSql(at: Instant | undefined): Prisma.Sql {
  return Prisma.sql`
    date, kind, first_seen AS "firstSeen", type, position, source, routine, class, host, rdata,
    ${knownAt('removed', at)} AS removed, ${knownAt('last_seen', at)} AS "lastSeen", value, old`;
}

/** @param at As of when its domain was asked for; undefined: now. */
export function changeOfRow(domain: string, at: Instant | undefined, row: ChangeRow): Change {
  const { date, kind: rank, firstSeen, type, position, source, routine, rdata, removed, value, old } = row;
  const kind = CHANGE_KINDS[rank] ?? 'HEADER_UPDATED';
  const place = { date, kind: rank, firstSeen, type, position };
  const change = { domain, asOf: at, kind, date, source, routine, at: place };
  if (kind === 'SITE_STATUS_CHANGED') return { ...change, oldStatus: Number(old), newStatus: Number(value) };
  if (rdata === null) {
    const values = kind === 'HEADER_RETURNED' ? { new: value } : { new: value, old };
    return { ...change, name: type, ...values, ...(row.lastSeen !== null && { lastSeen: row.lastSeen }) };
  }
  const lastSeen = row.lastSeen ?? (removed === null ? null : firstSeen);
  const { host, class: ofClass } = row;
  const of = { domain, at };
  const record = { host, class: ofClass, type, of, firstSeen, removed, lastSeen, ...rdata };
  return { ...change, record, ...(kind === 'DNS_RECORD_REMOVED' && lastSeen !== null && { lastSeen }) };
}
