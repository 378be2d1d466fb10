import { FEED_LOCK } from '../database/transaction.js';
import { type Changes, timeOf } from '../history/diff.js';
import { isStatusChange } from '../history/state.js';
import { CHANGE_KINDS, type ChangeKind, type RoutineReason } from '../model/change-kinds.js';
import type { Instant } from '../model/instant.js';
import { type Columns, DATABASE_NOW, type WriteRows } from './bulk-write.js';
import type { DomainChanges } from './domain-rows.js';
import { headerOctets, recordOctets } from './history-octets.js';

/** An observation that changed something, or that what was told of a domain has moved from a time on. */
interface FeedRow {
  readonly domain: string;
  readonly observedAt: Instant;
  readonly changes: Changes;
  readonly kinds: Kinds;
}

type Kinds = readonly (readonly [kind: ChangeKind, routine: RoutineReason | null | undefined])[];

/**
 * The rows of table `change_feed` for what was written, in the order in which each domain's observations were
 * applied.
 */
export function feedRows(domains: readonly DomainChanges[]): FeedRow[] {
  return domains.flatMap(({ name: domain, observed, extendedFrom = null }): FeedRow[] => [
    ...(extendedFrom === null
      ? []
      : [{ domain, observedAt: extendedFrom, changes: NOTHING, kinds: EXTENDED }]),
    ...observed.flatMap((changes) => {
      const [observedAt, kinds] = [timeOf(changes), kindsOf(changes)];
      return observedAt === undefined || kinds.length === 0 ? [] : [{ domain, observedAt, changes, kinds }];
    }),
  ]);
}

const NOTHING: Changes = { added: [], removed: [], headers: [], responses: [], earlier: [] };
const EXTENDED: Kinds = [['HISTORY_EXTENDED', 'BACKFILL']];

function kindsOf({ added, removed, headers, responses }: Changes): Kinds {
  return [
    ...added.map(({ routine }) => ['DNS_RECORD_ADDED', routine] as const),
    ...removed.map(({ removal }) => ['DNS_RECORD_REMOVED', removal?.routine] as const),
    ...headers.map(({ kind, routine }) => [KIND_OF_HEADER[kind], routine] as const),
    ...responses.filter(isStatusChange).map(({ routine }) => ['SITE_STATUS_CHANGED', routine] as const),
  ];
}

const KIND_OF_HEADER = {
  created: 'HEADER_CREATED',
  updated: 'HEADER_UPDATED',
  gone: 'HEADER_GONE',
  returned: 'HEADER_RETURNED',
} as const;

/** Arrays are given as their text: unnest() would take an array of arrays apart. */
export const FEED_COLUMNS: Columns<FeedRow> = [
  ['domain', 'text', ({ domain }) => domain],
  ['observed_at', 'bigint', ({ observedAt }) => observedAt],
  ['types', 'text', ({ changes }) => `{${[...new Set(recordsOf(changes).map(({ type }) => type))].sort()}}`],
  ['counts', 'text', ({ kinds }) => countsText(kinds)],
  ['notable', 'text', ({ kinds }) => countsText(kinds.filter(([, routine]) => routine === null))],
  ['headers', 'text', ({ changes }) => `{${changes.headers.map(({ name }) => name)}}`],
  ['octets', 'bigint', ({ changes }) => recordOctets(recordsOf(changes)) + headerOctets(changes.headers)],
];

function countsText(kinds: Kinds): string {
  const counts = CHANGE_KINDS.map(() => 0);
  for (const [kind] of kinds) {
    const index = CHANGE_KINDS.indexOf(kind);
    counts[index] = (counts[index] ?? 0) + 1;
  }
  return `{${counts}}`;
}

function recordsOf({ added, removed }: Changes) {
  return [...added, ...removed].map(({ record }) => record);
}

/** Numbers the rows in the order of commits: the lock is kept until the transaction ends. */
export const INSERT_FEED: WriteRows = ({ from, value }) => `
  WITH lock AS MATERIALIZED (SELECT pg_advisory_xact_lock(${FEED_LOCK}))
  INSERT INTO change_feed (domain, observed_at, types, counts, notable, headers, octets, recorded_at)
  SELECT ${value('domain')}, ${value('observed_at')}, ${value('types')}::text[], ${value('counts')}::integer[],
         ${value('notable')}::integer[], ${value('headers')}::text[], ${value('octets')}, ${DATABASE_NOW}
    FROM lock, ${from}`;
