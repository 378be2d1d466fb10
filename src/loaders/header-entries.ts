import type { Instant } from '../model/instant.js';
import { cell, splitColumn } from './columns.js';

/** A change of a header's value (specification, 2.5). */
export interface HeaderHistoryItem {
  readonly event: 'created' | 'updated';
  readonly date: Instant;
  readonly new: string;
  /** Null for `created`; else the `new` of the change before. */
  readonly old: string | null;
}

/** A header with every value it has had, oldest first (specification, 2.4). */
export interface HeaderEntry {
  readonly name: string;
  /** The `new` of the newest change. */
  readonly value: string;
  /** Whether the latest observation of the HTTP headers held it. */
  readonly present: boolean;
  readonly history: readonly HeaderHistoryItem[];
}

/**
 * The header changes of the row of table `domain` at hand, for parseHeaderEntries; null for none. The
 * primary key is the order of the answer. An absence has no date: nobody asks for it.
 */
export const HEADER_ENTRIES_SQL = `
  SELECT '["' || string_agg(name, ',') || '","'
      || string_agg(CASE WHEN present THEN observed_at::text ELSE '' END, ',') || '",'
      || json_agg(value) || ']'
    FROM (SELECT name, observed_at, present, value
            FROM header_change
           WHERE header_change.domain = domain.name
           ORDER BY header_change.name, observed_at) AS change`;

type Columns = readonly [names: string, dates: string, values: readonly (string | null)[]];

/** A domain's headers by name, from what HEADER_ENTRIES_SQL gives: what is not stored is derived here. */
export function parseHeaderEntries(text: string | null): readonly HeaderEntry[] {
  if (text === null) return [];
  const [joinedNames, joinedDates, values]: Columns = JSON.parse(text);
  const names = splitColumn(joinedNames);
  const dates = splitColumn(joinedDates);
  const headers: HeaderEntry[] = [];
  for (let row = 0; row < values.length; ) {
    const name = cell(names, row);
    const history: HeaderHistoryItem[] = [];
    let old: string | null = null;
    let present = false;
    for (; row < values.length && names[row] === name; row += 1) {
      const date = cell(dates, row);
      const value = cell(values, row);
      present = date !== '';
      if (value === null) continue;
      history.push({ event: old === null ? 'created' : 'updated', date: BigInt(date), new: value, old });
      old = value;
    }
    if (old !== null) headers.push({ name, value: old, present, history });
  }
  return headers;
}
