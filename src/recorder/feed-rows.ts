import { FEED_LOCK } from '../database/transaction.js';
import type { Changes } from '../history/apply-observation.js';
import { isStatusChange } from '../history/state.js';
import { CHANGE_KINDS, type ChangeKind, type RoutineReason } from '../model/change-kinds.js';
import type { Instant } from '../model/instant.js';
import { type Columns, DATABASE_NOW, type WriteRows } from './bulk-write.js';
import { historyOctets } from './history-octets.js';

/** An observation that changed something, or that what was told of a domain has moved from a time on. */
interface FeedRow {
  readonly domain: string;
  readonly observedAt: Instant;
  /** Null: the history was extended. */
  readonly changes: Changes | null;
  readonly counts: ReturnType<typeof countsOf>;
}

/**
 * The rows of table `change_feed` for what was written, in the order in which each domain's observations were
 * applied.
 */
export function feedRows(
  domains: readonly {
    readonly name: string;
    readonly observed?: readonly Changes[];
    readonly extendedFrom?: Instant | null;
  }[],
): FeedRow[] {
  return domains.flatMap(({ name: domain, observed = [], extendedFrom = null }): FeedRow[] => [
    ...(extendedFrom === null
      ? []
      : [{ domain, observedAt: extendedFrom, changes: null, counts: countsOf(null) }]),
    ...observed.flatMap((changes) => {
      const observedAt = timeOf(changes);
      return observedAt === undefined ? [] : [{ domain, observedAt, changes, counts: countsOf(changes) }];
    }),
  ]);
}

const NONE: Changes = { added: [], removed: [], headers: [], responses: [], earlier: [] };

/** All changes of an observation have its time; undefined: there is none. */
function timeOf({ added, removed, headers, responses }: Changes): Instant | undefined {
  const [status] = responses.filter(isStatusChange);
  return added[0]?.firstSeen ?? removed[0]?.removal?.removed ?? headers[0]?.observedAt ?? status?.observedAt;
}

function typesOf({ added, removed }: Changes): string[] {
  return [...new Set([...added, ...removed].map(({ record }) => record.type))].sort();
}

/** How many changes of each kind an observation has. */
function countsOf(changes: Changes | null): { readonly all: number[]; readonly notable: number[] } {
  const [all, notable] = [CHANGE_KINDS.map(() => 0), CHANGE_KINDS.map(() => 0)];
  const add = (kind: ChangeKind, routine: RoutineReason | null | undefined) => {
    const index = CHANGE_KINDS.indexOf(kind);
    all[index] = (all[index] ?? 0) + 1;
    if (routine === null) notable[index] = (notable[index] ?? 0) + 1;
  };
  if (changes === null) add('HISTORY_EXTENDED', 'BACKFILL');
  const { added, removed, headers, responses } = changes ?? NONE;
  for (const { routine } of added) add('DNS_RECORD_ADDED', routine);
  for (const { removal } of removed) add('DNS_RECORD_REMOVED', removal?.routine);
  for (const { kind, routine } of headers) add(KIND_OF_HEADER[kind], routine);
  for (const response of responses) {
    if (isStatusChange(response)) add('SITE_STATUS_CHANGED', response.routine);
  }
  return { all, notable };
}

const KIND_OF_HEADER = {
  created: 'HEADER_CREATED',
  updated: 'HEADER_UPDATED',
  gone: 'HEADER_GONE',
  returned: 'HEADER_RETURNED',
} as const;

function octetsOf({ added, removed, headers }: Changes): number {
  const octets = historyOctets(
    [...added, ...removed].map(({ record }) => record),
    headers,
  );
  return octets.records + octets.headers;
}

/** Arrays are given as their text: unnest() would take an array of arrays apart. */
export const FEED_COLUMNS: Columns<FeedRow> = [
  ['domain', 'text', ({ domain }) => domain],
  ['observed_at', 'bigint', ({ observedAt }) => observedAt],
  ['types', 'text', ({ changes }) => `{${typesOf(changes ?? NONE)}}`],
  ['counts', 'text', ({ counts }) => `{${counts.all}}`],
  ['notable', 'text', ({ counts }) => `{${counts.notable}}`],
  ['headers', 'text', ({ changes }) => `{${(changes ?? NONE).headers.map(({ name }) => name)}}`],
  ['octets', 'bigint', ({ changes }) => octetsOf(changes ?? NONE)],
];

/** Numbers the rows in the order of commits: the lock is kept until the transaction ends. */
export const INSERT_FEED: WriteRows = ({ from, value }) => `
  WITH lock AS MATERIALIZED (SELECT pg_advisory_xact_lock(${FEED_LOCK}))
  INSERT INTO change_feed (domain, observed_at, types, counts, notable, headers, octets, recorded_at)
  SELECT ${value('domain')}, ${value('observed_at')}, ${value('types')}::text[], ${value('counts')}::integer[],
         ${value('notable')}::integer[], ${value('headers')}::text[], ${value('octets')}, ${DATABASE_NOW}
    FROM lock, ${from}`;
