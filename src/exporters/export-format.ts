import { type HeaderPeriod, headerPeriods } from '../history/header-periods.js';
import { type KnownStay, staysAsOf } from '../history/stays-as-of.js';
import type { StoredHistory } from '../history/stored-history.js';
import type { DnsRecord } from '../model/dns-record.js';
import { InvalidObservationError } from '../model/errors.js';
import { presentRdata } from '../model/rdata-text.js';
import { isSelected, type Selection } from './selection.js';

/** Why something that is recorded is not in the output. */
export type Omission =
  | 'unpresentable' // a record whose data has no text in a master file
  | 'class' // a record of another class than IN, in a format without classes
  | 'header'; // an HTTP header, in a format of DNS records

/** Called for what is left out, once or with the number. */
export type Omit = (reason: Omission, count?: number) => void;

/** How histories are written. */
export interface ExportFormat {
  /** What the output begins with. */
  readonly head: string;
  /** The lines of a domain, each with its end. */
  linesOf(history: StoredHistory, selection: Selection, omit: Omit): Iterable<string>;
}

/** A stay with the rdata of its record in the presentation of master files. */
export interface PresentedStay extends KnownStay {
  readonly rdata: string;
}

/** The stays that are selected, in their order. Others are neither yielded nor counted as left out. */
export function* presentStays(
  history: StoredHistory,
  selection: Selection,
  omit: Omit,
): Generator<PresentedStay> {
  for (const stay of staysAsOf(history, selection.at)) {
    if (!isSelected(selection, { type: stay.record.type, removed: stay.removed })) continue;
    const rdata = rdataOf(stay.record);
    if (rdata === null) omit('unpresentable');
    else yield { ...stay, rdata };
  }
}

function rdataOf(record: DnsRecord): string | null {
  try {
    return presentRdata(record);
  } catch (error) {
    if (error instanceof InvalidObservationError) return null;
    throw error;
  }
}

/** How many HTTP headers are selected, whatever values they had. */
export function countHeaders(history: StoredHistory, selection: Selection): number {
  return new Set(selectedPeriods(history, selection).map(({ name }) => name)).size;
}

/** The times in which headers had a value, of those that are selected, by name and time. */
export function selectedPeriods(history: StoredHistory, selection: Selection): HeaderPeriod[] {
  return headerPeriods(history, selection.at).filter(({ removed }) =>
    isSelected(selection, { type: null, removed }),
  );
}
