import type { Instant } from '../model/instant.js';
import { cell, splitColumn, splitInstants } from './columns.js';

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
  readonly history: readonly HeaderHistoryItem[];
}

/**
 * The header changes of the row of table `domain` at hand that brought a value, for parseHeaderEntries;
 * null for none. The primary key is the order of the answer.
 */
export const HEADER_ENTRIES_SQL = `
  SELECT '["' || string_agg(name, ',') || '","' || string_agg(observed_at::text, ',') || '",'
      || json_agg(value) || ']'
    FROM (SELECT name, observed_at, value
            FROM header_change
           WHERE header_change.domain = domain.name AND value IS NOT NULL
           ORDER BY header_change.name, observed_at) AS change`;

type Columns = readonly [names: string, dates: string, values: readonly string[]];

/** A domain's headers by name, from what HEADER_ENTRIES_SQL gives: what is not stored is derived here. */
export function parseHeaderEntries(text: string | null): readonly HeaderEntry[] {
  if (text === null) return [];
  const [joinedNames, joinedDates, values]: Columns = JSON.parse(text);
  const names = splitColumn(joinedNames);
  const dates = splitInstants(joinedDates);
  const headers: HeaderEntry[] = [];
  for (let row = 0; row < values.length; ) {
    const end = endOfHeader(names, row);
    headers.push(headerEntry(cell(names, row), dates.slice(row, end), values.slice(row, end)));
    row = end;
  }
  return headers;
}

function endOfHeader(names: readonly string[], first: number): number {
  let end = first + 1;
  while (end < names.length && names[end] === names[first]) end += 1;
  return end;
}

function headerEntry(name: string, dates: readonly Instant[], values: readonly string[]): HeaderEntry {
  const history = values.map((value, item): HeaderHistoryItem => {
    const date = cell(dates, item);
    if (item === 0) return { event: 'created', date, new: value, old: null };
    return { event: 'updated', date, new: value, old: cell(values, item - 1) };
  });
  return { name, value: cell(values, values.length - 1), history };
}
