import type { Instant } from '../model/instant.js';
import type { EarlierChanges } from './routine.js';
import type { DomainState, RecordedResponse, RecordStay, StoredHeaderChange } from './state.js';

export interface StoredHistory extends History {
  readonly version: bigint;
  readonly recordedAt: Instant;
}

export interface History {
  readonly name: string;
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

/** By part: first observations that changed nothing, by observers with a name, and others beside sightings. */
export type KeptTimes = ReadonlyMap<string, readonly KeptTime[]>;

export interface KeptTime {
  readonly observedAt: Instant;
  readonly source: string | null;
}
