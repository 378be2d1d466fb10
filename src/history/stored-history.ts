import type { RoutineReason } from '../model/change-kinds.js';
import type { Instant } from '../model/instant.js';
import type { EarlierChanges } from './routine.js';
import type { DomainState, RecordedResponse, RecordStay } from './state.js';

export interface StoredHistory {
  readonly name: string;
  readonly version: bigint;
  readonly recordedAt: Instant;
  readonly state: DomainState;
  /** By first sight, type and position. */
  readonly stays: readonly RecordStay[];
  /** By field name and time. */
  readonly headers: readonly StoredHeaderChange[];
  /** By time. */
  readonly responses: readonly RecordedResponse[];
  /** By DNS type, those of headers first, and name. */
  readonly earlier: readonly EarlierChanges[];
  /** Observations of which nothing else tells. */
  readonly keptTimes?: KeptTimes;
}

/** Parts of a domain, beside DNS types by name: all types at once, and the response headers. */
export const EVERY_TYPE = 'every type';
export const HTTP = 'HTTP headers';

/** An observation of a part that changed nothing in it. */
export interface KeptTime {
  readonly observedAt: Instant;
  readonly source: string | null;
}

/**
 * By part: first observations that changed nothing, by observers with a name, and those whose changes
 * were moved to an earlier time by sightings.
 */
export type KeptTimes = ReadonlyMap<string, readonly KeptTime[]>;

/** What kind of change it is follows from those before it. */
export interface StoredHeaderChange {
  readonly name: string;
  readonly observedAt: Instant;
  /** From then on; null when the header was gone. */
  readonly value: string | null;
  /**
   * Of an absence, and of a value in place of another one: the last observation of HTTP headers that held the
   * value before.
   */
  readonly lastSeen: Instant | null;
  readonly source: string | null;
  /** Why it is routine; null: it is notable. */
  readonly routine: RoutineReason | null;
}
