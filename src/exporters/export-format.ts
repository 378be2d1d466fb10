import { type HeaderPeriod, headerPeriods, type KnownStay, staysAsOf } from '../history/stays-as-of.js';
import type { StoredHistory } from '../history/stored-history.js';
import { attempt } from '../model/attempt.js';
import type { Instant } from '../model/instant.js';
import { presentRdata } from '../model/rdata-text.js';

export interface Selection {
  /** What was known at that instant; absent: everything. */
  readonly at?: Instant | undefined;
  /** Only records of these types, and no headers; absent: all. */
  readonly types?: ReadonlySet<string> | undefined;
  /** Only what was present at the instant, or is present. */
  readonly present?: boolean;
}

/** @param type Null: of a header. */
export function isSelected(selection: Selection, type: string | null, removed: Instant | null): boolean {
  const { types, present = false } = selection;
  return (types === undefined || (type !== null && types.has(type))) && (!present || removed === null);
}

export type Omission =
  | 'unpresentable' // a record whose data has no text in a master file
  | 'class' // a record of another class than IN, in a format without classes
  | 'header'; // an HTTP header, in a format of DNS records

/** Called for what is left out, once or with the number. */
export type Omit = (reason: Omission, count?: number) => void;

export interface ExportFormat {
  readonly head: string;
  /** The lines of a domain, each with its end. */
  linesOf(history: StoredHistory, selection: Selection, omit: Omit): Iterable<string>;
}

export interface PresentedStay extends KnownStay {
  readonly rdata: string;
}

/** Stays that are not selected are not counted as left out either. */
export function* presentStays(history: StoredHistory, selection: Selection, omit: Omit) {
  for (const stay of staysAsOf(history, selection.at)) {
    if (!isSelected(selection, stay.record.type, stay.removed)) continue;
    const rdata = attempt(() => presentRdata(stay.record));
    if (rdata === undefined) omit('unpresentable');
    else yield { ...stay, rdata };
  }
}

export function selectedPeriods(history: StoredHistory, selection: Selection): HeaderPeriod[] {
  return headerPeriods(history, selection.at).filter(({ removed }) => isSelected(selection, null, removed));
}

/** Of each header that is selected, whatever values it had. */
export function omitHeaders(history: StoredHistory, selection: Selection, omit: Omit): void {
  omit('header', new Set(selectedPeriods(history, selection).map(({ name }) => name)).size);
}
