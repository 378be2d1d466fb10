import { Prisma, type PrismaClient } from '../database/generated/client.js';
import { PublicError } from '../model/errors.js';
import type { Instant } from '../model/instant.js';
import { cell, literal, PLANNED, pageOf, upTo } from './columns.js';
import type { OfDomain } from './dns-entries.js';
import type { Batch } from './domain-row.js';
import { latestOfHttpSql } from './observed-parts.js';
import { distinctValues, type Page } from './search.js';

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
  readonly value: string;
  /** Whether the latest observation of the HTTP headers held it. */
  readonly present: boolean;
  /** The latest observation of HTTP headers that held it. Of one that is present it is set where needed. */
  lastSeen: Instant | null;
  readonly history: readonly HeaderHistoryItem[];
  readonly of: OfDomain;
}

/**
 * Rows of table `header_change` in the order of the primary key, by columns; null for none. After the date of an
 * absence follow a space and when the header was last seen.
 */
const HEADER_COLUMNS_SQL = Prisma.sql`
  '["' || string_agg(name, ',') || '","'
      || string_agg(CASE WHEN value IS NULL THEN observed_at || ' ' || coalesce(last_seen, observed_at)
                         ELSE observed_at::text END, ',')
      || '",' || json_agg(value) || ']'`;

/** The headers of a row of table `domain`, for parseHeaderEntries. */
export function headerEntriesSql({ at, name }: Batch): Prisma.Sql {
  return Prisma.sql`
  SELECT ${HEADER_COLUMNS_SQL}
    FROM (SELECT name, observed_at, last_seen, value
            FROM header_change
           WHERE header_change.domain = ${name} ${upTo('observed_at', at)}
           ORDER BY header_change.name, observed_at) AS change`;
}

/** A domain's headers by name, from what headerEntriesSql() gives; from an empty text none. */
export function parseHeaderEntries(text: string, of: OfDomain): readonly HeaderEntry[] {
  if (text === '') return [];
  const [joinedNames, joinedDates, values]: readonly [string, string, (string | null)[]] = JSON.parse(text);
  const [names, dates] = [joinedNames.split(','), joinedDates.split(',')];
  const headers = new Map<string, { history: HeaderHistoryItem[]; lastSeen: Instant | null }>();
  for (const [row, value] of values.entries()) {
    const name = cell(names, row);
    const header = headers.get(name) ?? { history: [], lastSeen: null };
    headers.set(name, header);
    const [date = '', lastSeen = ''] = cell(dates, row).split(' ');
    header.lastSeen = value === null ? BigInt(lastSeen) : null;
    const old = header.history.at(-1)?.new ?? null;
    // What returned with the value of before is no change of the value.
    if (value === null || value === old) continue;
    header.history.push({ event: old === null ? 'created' : 'updated', date: BigInt(date), new: value, old });
  }
  return Array.from(headers).flatMap(([name, { history, lastSeen }]) => {
    const value = history.at(-1)?.new;
    return value === undefined ? [] : { name, value, present: lastSeen === null, lastSeen, history, of };
  });
}

interface HeaderPageKey {
  readonly of: OfDomain;
  /** Field names in lower case; absent: all. */
  readonly names?: readonly string[] | undefined;
  readonly first: number;
  readonly after?: Pick<HeaderEntry, 'name'> | undefined;
  readonly history: boolean;
}

type HeaderPage = Page<HeaderEntry, Pick<HeaderEntry, 'name'>>;

/** So many changes may the headers of a page have, where their histories are needed. */
const MAX_CHANGES = 10_000;

/**
 * Loads a page of a domain's headers. Without their histories, only the latest changes are read.
 *
 * @throws PublicError TOO_LARGE where not even the first header's history is complete within a page.
 */
export async function loadHeaderPage(prisma: PrismaClient, key: HeaderPageKey): Promise<HeaderPage> {
  const { domain, at } = key.of;
  const after = key.after?.name ?? '';
  const isKnown = upTo('observed_at', at);
  const isAfter = Prisma.sql`domain = ${domain} AND name > ${after}`;
  const names =
    key.names === undefined
      ? distinctValues(Prisma.raw('header_change'), Prisma.raw('name'), isAfter)
      : Prisma.sql`
        SELECT DISTINCT name COLLATE "C" FROM unnest(${[...key.names]}::text[]) AS name
         WHERE name COLLATE "C" > ${after} ORDER BY 1`;
  const recent = (where: Prisma.Sql) => Prisma.sql`
    (SELECT * FROM header_change WHERE domain = ${domain} AND name = named.name ${isKnown} ${where}
      ORDER BY observed_at DESC LIMIT 1)`;
  const rows = key.history
    ? Prisma.sql`(SELECT * FROM header_change WHERE domain = ${domain} AND name = named.name ${isKnown}
                   ORDER BY observed_at LIMIT ${literal(MAX_CHANGES + 1)})`
    : Prisma.sql`(${recent(Prisma.sql`AND value IS NOT NULL`)} UNION ${recent(Prisma.empty)})`;
  // The latest changes of one header are few, however long its value is.
  const atLeast = key.history ? {} : { atLeast: 'name' };
  const [page] = await prisma.$queryRaw<readonly PageRow[]>`
    ${PLANNED} WITH named AS MATERIALIZED (
      -- The names are read in their order, up to the limit. EXISTS might become a join, in any order.
      SELECT name FROM (${names}) AS name (name)
       WHERE (SELECT true FROM header_change
               WHERE domain = ${domain} AND header_change.name = name.name ${isKnown} LIMIT 1)
       LIMIT ${literal(key.first + 1)}),
    change AS MATERIALIZED (
      SELECT change.* FROM (SELECT * FROM named ORDER BY name LIMIT ${literal(key.first)}) AS named
       CROSS JOIN LATERAL ${rows} AS change LIMIT ${literal(MAX_CHANGES + 1)}),
    page AS MATERIALIZED (${pageOf(Prisma.sql`SELECT * FROM change`, ['value'], 'name, observed_at', atLeast)})
    SELECT ${latestOfHttpSql(at, Prisma.sql`${domain}`)} AS latest, ${HEADER_COLUMNS_SQL} AS columns,
           count(*)::int AS rows, max(candidates)::int AS candidates,
           (SELECT count(*)::int FROM named) AS names FROM page`;
  return page === undefined ? { items: [], next: null } : pageOfRow(page, key);
}

function pageOfRow(page: PageRow, { of, first, history }: HeaderPageKey): HeaderPage {
  const { columns, rows, candidates, names, latest } = page;
  const headers = parseHeaderEntries(columns ?? '', of);
  const isWhole = rows === (candidates ?? 0);
  const isAlone = !isWhole && headers.length === 1;
  if (history && (isAlone || rows > MAX_CHANGES)) throw new PublicError('TOO_LARGE', TOO_LONG);
  // The last header of a page that ends by its octets may not be complete.
  const complete = isWhole || isAlone ? headers : headers.slice(0, -1);
  const isLast = isWhole && names <= first;
  return {
    items: complete.map((header) => ({ ...header, ...(header.present && { lastSeen: latest }) })),
    next: isLast ? null : (complete.at(-1) ?? null),
  };
}

interface PageRow {
  readonly latest: Instant | null;
  readonly columns: string | null;
  readonly rows: number;
  readonly candidates: number | null;
  readonly names: number;
}

const TOO_LONG =
  'The histories of these headers are too long for one page: request historyConnection in place of history.';
