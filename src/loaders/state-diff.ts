import type { Instant } from '../model/instant.js';
import { fairTurns } from '../rates/fair-turns.js';
import type { DnsEntry } from './dns-entries.js';
import type { HeaderEntry } from './header-entries.js';

/** The net difference between the states of a domain at two instants, in the order of Get domain. */
export interface StateDiff {
  readonly from: Instant;
  readonly to: Instant;
  /** Present at `to` only. */
  readonly dnsRecordsAdded: readonly DnsEntry[];
  /** Present at `from` only. */
  readonly dnsRecordsRemoved: readonly DnsEntry[];
  readonly httpHeaders: readonly HeaderDifference[];
}

/** The difference between the states of one header. */
interface HeaderDifference {
  readonly name: string;
  readonly difference: 'ADDED' | 'CHANGED' | 'REMOVED';
  /** The value at `from`; null where the header was not there. */
  readonly old: string | null;
  /** The value at `to`; null where the header was not there. */
  readonly new: string | null;
}

/** The lists of a history. */
interface Entries {
  readonly dnsRecords: readonly DnsEntry[];
  readonly httpHeaders: readonly HeaderEntry[];
}

/** Two states are compared entry by entry. */
const ENTRIES_OF_MILLISECOND = 1_000;

/**
 * Compares the states of a history at two instants, the earlier first. Records are as of the later one.
 *
 * @param client That the response is for.
 */
export async function compareStates(
  { dnsRecords, httpHeaders }: Entries,
  from: Instant,
  to: Instant,
  client: string,
): Promise<StateDiff> {
  await fairTurns.take(client, (dnsRecords.length + httpHeaders.length) / ENTRIES_OF_MILLISECOND);
  const before = dnsRecords.filter((entry) => isPresent(entry, from));
  const after = dnsRecords.filter((entry) => isPresent(entry, to));
  const [known, kept] = [new Set(before.map(identityOf)), new Set(after.map(identityOf))];
  return {
    from,
    to,
    dnsRecordsAdded: after
      .filter((entry) => !known.has(identityOf(entry)))
      .map((entry) => ({ ...entry, removed: null })),
    dnsRecordsRemoved: before.filter((entry) => !kept.has(identityOf(entry))),
    httpHeaders: httpHeaders.flatMap((header) =>
      differenceOf(header.name, valueAt(header, from), valueAt(header, to)),
    ),
  };
}

function isPresent({ firstSeen, removed }: DnsEntry, at: Instant): boolean {
  return firstSeen <= at && (removed === null || removed > at);
}

/** Text that two entries share if and only if they are of the same record. */
function identityOf({ firstSeen: _firstSeen, removed: _removed, ...record }: DnsEntry): string {
  return JSON.stringify(record);
}

/** The value of a header at an instant; null where it was not there. */
function valueAt({ history, absences }: HeaderEntry, at: Instant): string | null {
  if (absences.some(({ from, to }) => from <= at && (to === null || to > at))) return null;
  return history.findLast(({ date }) => date <= at)?.new ?? null;
}

function differenceOf(name: string, old: string | null, value: string | null): HeaderDifference[] {
  if (old === value) return [];
  const difference = old === null ? 'ADDED' : value === null ? 'REMOVED' : 'CHANGED';
  return [{ name, difference, old, new: value }];
}
