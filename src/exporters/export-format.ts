import { type KnownStay, staysAsOf } from '../history/stays-as-of.js';
import type { StoredHistory } from '../history/stored-history.js';
import { type DnsRecord, hasRdataText, isCanonicalRecord } from '../model/dns-record.js';
import { InvalidObservationError } from '../model/errors.js';
import type { Instant } from '../model/instant.js';
import { presentRdata } from '../model/rdata-presentation.js';

/** Why something that is recorded is not in the output. */
export type Omission =
  | 'unreadable' // a record stored by an earlier version, whose data no import takes
  | 'unpresentable' // a record whose data has no text in a master file
  | 'class' // a record of another class than IN, in a format without classes
  | 'header'; // an HTTP header, in a format of DNS records

/** Called for what is left out, once or with the number. */
export type Omit = (reason: Omission, count?: number) => void;

/** How histories are written. */
export interface ExportFormat {
  /** What the output begins with. */
  readonly head: string;
  /**
   * The lines of a domain, each with its end.
   *
   * @param at What was known at that instant; absent: everything.
   */
  linesOf(history: StoredHistory, at: Instant | undefined, omit: Omit): Iterable<string>;
}

/** A stay with the rdata of its record in the presentation of master files. */
export interface PresentedStay extends KnownStay {
  readonly rdata: string;
}

/**
 * The stays that are known at an instant and can be read, in their order.
 *
 * @param isWanted Others are neither yielded nor counted as left out.
 */
export function* presentStays(
  history: StoredHistory,
  at: Instant | undefined,
  omit: Omit,
  isWanted: (stay: KnownStay) => boolean = () => true,
): Generator<PresentedStay> {
  for (const stay of staysAsOf(history, at)) {
    if (!isWanted(stay)) continue;
    if (!isReadable(stay.record)) {
      omit('unreadable');
      continue;
    }
    const rdata = rdataOf(stay.record);
    if (rdata === null) omit('unpresentable');
    else yield { ...stay, rdata };
  }
}

/** Whether imports take the record: earlier versions stored any text as the data of a type without fields, and any word as a type. */
export function isReadable(record: DnsRecord): boolean {
  return !hasRdataText(record) || isCanonicalRecord(record);
}

function rdataOf(record: DnsRecord): string | null {
  try {
    return presentRdata(record);
  } catch (error) {
    if (error instanceof InvalidObservationError) return null;
    throw error;
  }
}

/** How many HTTP headers are known at an instant, whatever values they had. */
export function countHeaders({ headers }: StoredHistory, at: Instant | undefined): number {
  return new Set(
    headers.flatMap(({ name, observedAt }) => (at === undefined || observedAt <= at ? name : [])),
  ).size;
}
