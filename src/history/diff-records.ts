import type { DnsRecord } from '../model/dns-record.js';
import type { Instant } from '../model/instant.js';
import type { Observation } from '../model/observation.js';
import type { ActingType } from './acting-parts.js';
import type { RecordStay } from './state.js';

/** The records that came, and those that went. */
export interface DnsChanges {
  readonly added: readonly RecordStay[];
  /** Stays that were open, with their removal. */
  readonly removed: readonly RecordStay[];
}

/**
 * Compares the records of one type that an observation holds with those known as present. One that is
 * not known begins a new stay; one that is no longer held ends its stay.
 *
 * @param present the type's open stays.
 * @param latest time of the type's observation before this one; null when there was none.
 */
export function diffRecords(
  { records }: ActingType,
  present: readonly RecordStay[],
  observation: Observation,
  latest: Instant | null,
): DnsChanges {
  const { observedAt } = observation;
  const source = observation.source ?? null;
  const known = new Set(present.map(({ record }) => identityOf(record)));
  const held = new Set(records.map(identityOf));
  return {
    added: records
      .filter((record) => !known.has(identityOf(record)))
      .map((record, position) => ({ firstSeen: observedAt, position, record, source, removal: null })),
    removed: present
      .filter(({ record }) => !held.has(identityOf(record)))
      .map((stay) => ({
        ...stay,
        removal: { removed: observedAt, lastSeen: latest ?? stay.firstSeen, source },
      })),
  };
}

/** Text that two records of one type share if and only if they are the same record. */
export function identityOf(record: DnsRecord): string {
  return `${record.host}\n${record.class}\n${record.rdata}`;
}
