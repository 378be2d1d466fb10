import { Prisma } from '../database/generated/client.js';
import type { Instant } from '../model/instant.js';
import { cell, splitColumn, upTo } from './columns.js';
import type { OfDomain } from './dns-entries.js';
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
  /** The latest observation of HTTP headers that held it. Of one that is present it is set where needed. */
  lastSeen: Instant | null;
  /** When it was gone, oldest first. */
  readonly absences: readonly Absence[];
  readonly history: readonly HeaderHistoryItem[];
  /** The domain that it is of, and as of when. */
  readonly of: OfDomain;
}

/** From when a header was gone until when it was back, with whichever value; null: it is gone. */
interface Absence {
  readonly from: Instant;
  to: Instant | null;
  /** The last observation of HTTP headers that still held it. */
  readonly lastSeen: Instant;
}

/**
 * Rows of table `header_change` in their order, as columns; null for none. After the date of an absence follow
 * a space and when the header was last seen.
 */
export const HEADER_COLUMNS_SQL = Prisma.sql`
  '["' || string_agg(name, ',') || '","'
      || string_agg(CASE WHEN value IS NULL THEN observed_at || ' ' || coalesce(last_seen, observed_at)
                         ELSE observed_at::text END, ',')
      || '",' || json_agg(value) || ']'`;

/**
 * The header changes of a row of table `domain`, for parseHeaderEntries; null for none. By the primary key.
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

/** What the changes of one header tell. */
interface Changes {
  readonly name: string;
  readonly history: HeaderHistoryItem[];
  readonly absences: Absence[];
}

/** A domain's headers by name, from what headerEntriesSql() gives; from an empty text none. */
export function parseHeaderEntries(text: string, of: OfDomain): readonly HeaderEntry[] {
  if (text === '') return [];
  const [joinedNames, joinedDates, values]: Columns = JSON.parse(text);
  const [names, dates] = [splitColumn(joinedNames), splitColumn(joinedDates)];
  const headers = new Map<string, Changes>();
  for (const [row, value] of values.entries()) {
    const name = cell(names, row);
    const header = headers.get(name) ?? { name, history: [], absences: [] };
    headers.set(name, header);
    addChange(header, cell(dates, row), value);
  }
  return [...headers.values()].flatMap((header) => headerOf(header, of));
}

/** @param dates When the header had the value; of an absence, two times. */
function addChange({ history, absences }: Changes, dates: string, value: string | null): void {
  const [digits = '', lastSeen = ''] = value === null ? dates.split(' ') : [dates];
  const date = BigInt(digits);
  // An absence ends with the change that follows it.
  const absence = absences.at(-1);
  if (absence?.to === null) absence.to = date;
  if (value === null) absences.push({ from: date, to: null, lastSeen: BigInt(lastSeen) });
  const old = history.at(-1)?.new ?? null;
  // What returned with the value of before is no change of the value.
  if (value === null || value === old) return;
  history.push({ event: old === null ? 'created' : 'updated', date, new: value, old });
}

/** None without a value. */
function headerOf({ name, history, absences }: Changes, of: OfDomain): readonly HeaderEntry[] {
  const value = history.at(-1)?.new;
  if (value === undefined) return [];
  const last = absences.at(-1);
  const present = last?.to !== null;
  return [{ name, value, present, lastSeen: present ? null : last.lastSeen, absences, history, of }];
}
