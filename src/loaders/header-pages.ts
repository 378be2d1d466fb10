import { Prisma, type PrismaClient } from '../database/generated/client.js';
import { PublicError } from '../model/errors.js';
import type { Instant } from '../model/instant.js';
import { PLANNED, pageOf, upTo } from './columns.js';
import type { OfDomain } from './dns-entries.js';
import { HEADER_COLUMNS_SQL, type HeaderEntry, parseHeaderEntries } from './header-entries.js';
import { latestOfHttpSql } from './observed-parts.js';
import { distinctValues, literal, type Page } from './search.js';

/** Which headers of a domain, and how many. */
export interface HeaderPageKey {
  readonly of: OfDomain;
  /** Field names in lower case; absent: all. */
  readonly names?: readonly string[] | undefined;
  readonly first: number;
  /** The place that they follow. */
  readonly after?: HeaderPlace | undefined;
  /** Whether the history of each header is needed. */
  readonly history: boolean;
}

/** A header's place among those of its domain. */
type HeaderPlace = Pick<HeaderEntry, 'name'>;

type HeaderPage = Page<HeaderEntry, HeaderPlace>;

/** So many changes may the headers of a page have, where their histories are needed. */
const MOST_CHANGES = 10_000;

/**
 * Loads a page of a domain's headers. Without their histories, only the latest changes are read.
 *
 * @throws PublicError TOO_LARGE where not even the first header's history is complete within a page.
 */
export async function loadHeaderPage(prisma: PrismaClient, key: HeaderPageKey): Promise<HeaderPage> {
  const { first } = key;
  const { domain, at } = key.of;
  const after = key.after?.name ?? '';
  const limit = literal(first + 1);
  const isKnown = upTo('observed_at', at);
  const isAfter = Prisma.sql`domain = ${domain} AND name > ${after}`;
  const names =
    key.names === undefined
      ? distinctValues('header_change', Prisma.raw('name'), isAfter)
      : Prisma.sql`
        SELECT DISTINCT name COLLATE "C" FROM unnest(${[...key.names]}::text[]) AS name
         WHERE name COLLATE "C" > ${after} ORDER BY 1`;
  const recent = (where: Prisma.Sql) => Prisma.sql`
    (SELECT * FROM header_change WHERE domain = ${domain} AND name = named.name ${isKnown} ${where}
      ORDER BY observed_at DESC LIMIT 1)`;
  const rows = key.history
    ? Prisma.sql`(SELECT * FROM header_change WHERE domain = ${domain} AND name = named.name ${isKnown}
                   ORDER BY observed_at LIMIT ${literal(MOST_CHANGES + 1)})`
    : Prisma.sql`(${recent(Prisma.sql`AND value IS NOT NULL`)} UNION ${recent(Prisma.empty)})`;
  // The latest changes of one header are few, however long its value is.
  const atLeast = key.history ? {} : { atLeast: 'name' };
  const [page] = await prisma.$queryRaw<readonly PageRow[]>`
    ${PLANNED} WITH named AS MATERIALIZED (
      -- The names are read in their order, up to the limit. EXISTS might become a join, in any order.
      SELECT name FROM (${names}) AS name (name)
       WHERE (SELECT true FROM header_change
               WHERE domain = ${domain} AND header_change.name = name.name ${isKnown} LIMIT 1)
       LIMIT ${limit}),
    change AS MATERIALIZED (
      SELECT change.* FROM (SELECT * FROM named ORDER BY name LIMIT ${literal(first)}) AS named
       CROSS JOIN LATERAL ${rows} AS change LIMIT ${literal(MOST_CHANGES + 1)}),
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
  if (history && (isAlone || rows > MOST_CHANGES)) throw new PublicError('TOO_LARGE', TOO_LONG);
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
