import { Prisma } from '../database/generated/client.js';
import type { Instant } from '../model/instant.js';
import { cell, splitColumn, upTo } from './columns.js';
import type { Batch } from './domain-row.js';

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
  /** The latest observation of HTTP headers that held it. Of one that is present it is set where it is needed (setLastSeen). */
  lastSeen: Instant | null;
  /** When it was gone, oldest first. */
  readonly absences: readonly Absence[];
  readonly history: readonly HeaderHistoryItem[];
  /** Of a header whose history was not read: the domain that it is of. */
  readonly of?: HistoryOfHeader;
}

/** What the history of a header is read by: the domain, as of when it is, and whether it is of the primary. */
export interface HistoryOfHeader {
  readonly domain: string;
  readonly at: Instant | undefined;
  readonly isOfPrimary: boolean | undefined;
}

/** From when a header was gone until when it was back, with whichever value; null: it is gone. */
interface Absence {
  readonly from: Instant;
  readonly to: Instant | null;
  /** The last observation of HTTP headers that still held it. */
  readonly lastSeen: Instant;
}

const NO_ABSENCES: readonly Absence[] = [];

/**
 * Rows of table `header_change` in their order, as columns; null for none. After the date of an absence follow a space and
 * when the header was last seen.
 */
export const HEADER_COLUMNS_SQL = Prisma.sql`
  '["' || string_agg(name, ',') || '","'
      || string_agg(CASE WHEN value IS NULL THEN observed_at || ' ' || coalesce(last_seen, observed_at) ELSE observed_at::text END, ',')
      || '",' || json_agg(value) || ']'`;

/**
 * The header changes of a row of table `domain`, for parseHeaderEntries; null for none. The primary key is the order of
 * the answer.
 */
export function headerEntriesSql({ at, name }: Batch): Prisma.Sql {
  return Prisma.sql`
  SELECT ${HEADER_COLUMNS_SQL}
    FROM (SELECT name, observed_at, last_seen, value
            FROM header_change
           WHERE header_change.domain = ${name} ${upTo('observed_at', at)}
           ORDER BY header_change.name, observed_at) AS change`;
}

type Columns = readonly [names: string, dates: string, values: readonly (string | null)[]];

/**
 * A domain's headers by name, from what headerEntriesSql() gives; from an empty text none. What is not stored is
 * derived here.
 */
export function parseHeaderEntries(text: string): readonly HeaderEntry[] {
  return text === '' ? [] : headersOf(parseColumns(text));
}

interface HeaderColumns {
  readonly names: readonly string[];
  /** Of an absence, two times. */
  readonly dates: readonly string[];
  readonly values: readonly (string | null)[];
}

function parseColumns(text: string): HeaderColumns {
  const [names, dates, values]: Columns = JSON.parse(text);
  return { names: splitColumn(names), dates: splitColumn(dates), values };
}

function headersOf(columns: HeaderColumns): readonly HeaderEntry[] {
  const { names } = columns;
  const headers: HeaderEntry[] = [];
  for (let begin = 0, end = 0; begin < columns.values.length; begin = end) {
    const name = cell(names, begin);
    while (end < columns.values.length && names[end] === name) end += 1;
    const header = headerOf(name, columns, begin, end);
    if (header !== null) headers.push(header);
  }
  return headers;
}

/** The header whose changes are the rows from `begin` on, before `end`; null without a value. */
function headerOf(
  name: string,
  { dates, values }: HeaderColumns,
  begin: number,
  end: number,
): HeaderEntry | null {
  const history: HeaderHistoryItem[] = [];
  let wasGone = false;
  let old: string | null = null;
  for (let row = begin; row < end; row += 1) {
    const date = cell(dates, row);
    const value = cell(values, row);
    wasGone ||= value === null;
    // What returned with the value of before is no change of the value.
    if (value === null || value === old) continue;
    history.push({ event: old === null ? 'created' : 'updated', date: BigInt(date), new: value, old });
    old = value;
  }
  if (old === null) return null;
  const absences = wasGone ? absencesOf(dates.slice(begin, end)) : NO_ABSENCES;
  const last = absences.at(-1);
  const lastSeen = last?.to === null ? last.lastSeen : null;
  return { name, value: old, present: last?.to !== null, lastSeen, absences, history };
}

/** An absence ends with the change that follows it. */
function absencesOf(dates: readonly string[]): Absence[] {
  return dates.flatMap((date, at) => {
    const [from = '', lastSeen] = date.split(' ');
    if (lastSeen === undefined) return [];
    const next = dates[at + 1];
    const to = next === undefined ? null : BigInt(next);
    return [{ from: BigInt(from), to, lastSeen: BigInt(lastSeen) }];
  });
}
