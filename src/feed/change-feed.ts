import { Prisma, type PrismaClient } from '../database/generated/client.js';
import { FEED_LOCK } from '../database/locks.js';
import {
  type Change,
  type ChangeRow,
  changeRowSql,
  changeSources,
  IS_OF_RECORD,
  parseChange,
} from '../loaders/change-rows.js';
import { PLANNED } from '../loaders/columns.js';
import { latestOfTypeSql, seenUpTo } from '../loaders/observed-parts.js';
import { literal, type Page, readFewThenMany } from '../loaders/search.js';
import { CHANGE_KINDS, type ChangeKind, HEADER_CHANGES } from '../model/change-kinds.js';
import { PublicError } from '../model/errors.js';
import type { Instant } from '../model/instant.js';

/** A place in the feed: a row of table `change_feed`, and how many changes of it were given, from the end that is read first. */
export interface FeedPlace {
  readonly number: bigint;
  /** When the row was recorded: after a restore, another row may have its number. */
  readonly recordedAt: Instant;
  readonly given: number;
}

/** Which changes of all domains, and how many. */
export interface FeedKey {
  /** Of these domains, by canonical name; absent: of all. */
  readonly domains?: readonly string[] | undefined;
  readonly kinds: ReadonlySet<ChangeKind>;
  readonly newestFirst: boolean;
  readonly first: number;
  /** The place that they follow. */
  readonly after?: FeedPlace | undefined;
}

/** A change, and where it is in the feed. */
export interface FeedChange extends Change {
  readonly feedPlace: FeedPlace;
}

/** Where nothing was ever recorded. */
const NO_PLACE: FeedPlace = { number: 0n, recordedAt: 0n, given: 0 };

/** Changes in the order of recording. */
export interface FeedPage extends Page<FeedChange, FeedPlace> {
  /** Where the page ends, also if it is empty. */
  readonly end: FeedPlace;
  /** Of the observations that were read for it, approximately. */
  readonly octets: number;
}

/** Whether one place comes after another, from the oldest on. */
export function isAfter(one: FeedPlace, other: FeedPlace): boolean {
  return one.number > other.number || (one.number === other.number && one.given > other.given);
}

/** The error for a cursor of a place that is not in the feed. */
export function goneCursor(): PublicError {
  return new PublicError(
    'INVALID_CURSOR',
    'after: this place is not in the feed any more: it is older than what is kept, or the database was restored since. Read the present state, and begin without a cursor.',
  );
}

/** The place after all that is recorded. */
export async function loadEnd(prisma: PrismaClient): Promise<FeedPlace> {
  const row = await prisma.changeFeed.findFirst({ orderBy: { number: 'desc' } });
  return row === null ? NO_PLACE : endOf(row);
}

/** How many rows of the feed a page reads. */
const MOST_EXAMINED = 10_000;
/** What a page has of records and values, in octets. */
const MOST_OCTETS = 262_144;

/** An observation that changed something. */
interface FeedRow {
  readonly number: bigint;
  /** Null: it is erased. */
  readonly domain: string | null;
  readonly observedAt: Instant;
  /** Joined by commas. */
  readonly types: string;
  /** How many changes it has of each kind, in the order of CHANGE_KINDS. A kind may be newer than the row. */
  readonly counts: readonly number[];
  readonly octets: bigint;
  readonly recordedAt: Instant;
}

/**
 * Loads a page of the feed; null where `after` is not a place in it: it is from before a restore, or older than what is kept.
 *
 * @param acrossShards Whether the tables of domains are distributed over a Citus cluster.
 */
export async function loadFeed(
  prisma: PrismaClient,
  key: FeedKey,
  acrossShards = false,
): Promise<FeedPage | null> {
  const readTables = acrossShards ? tablesOfShards : async () => Prisma.empty;
  return readFewThenMany(key.first, (rows) => readPage(prisma, key, rows, readTables), MOST_EXAMINED);
}

async function readPage(
  prisma: PrismaClient,
  key: FeedKey,
  rows: number,
  readTables: TablesOf,
): Promise<FeedPage | null> {
  const after = key.after?.number === NO_PLACE.number ? undefined : key.after;
  const { found, isLimited } = await readRows(prisma, { ...key, after }, rows);
  const [begin] = found;
  // The feed has a row from its beginning on: that of the migration which made it.
  const isThere = begin?.number === after?.number && begin?.recordedAt === after?.recordedAt;
  if (after !== undefined && !isThere) return null;
  if (begin === undefined) return { items: [], end: NO_PLACE, next: null, octets: 0 };
  const { chosen, isAll } = chooseRows(found, key);
  const all = await readChanges(prisma, chosen, key, readTables);
  const items = all.slice(0, key.first);
  // An observation is read as a whole for each page of it.
  const octets = chosen.reduce((sum, { row }) => sum + Number(row.octets), 0);
  const last = items.at(-1)?.feedPlace;
  if (last !== undefined && all.length > key.first) return { items, end: last, next: last, octets };
  // All that there is of the chosen rows was given: the page ends there, or at the last row that was examined.
  const end = endOf((isAll ? found : chosen.map(({ row }) => row)).at(-1) ?? begin);
  return { items, end, next: isLimited || !isAll ? end : null, octets };
}

/**
 * Of so many rows, reads the first, those with changes of the question until there are enough for a page, and the last.
 *
 * @returns them, and whether there may be others after them.
 */
async function readRows(prisma: PrismaClient, key: FeedKey, rows: number) {
  const { after, newestFirst, first } = key;
  const order = Prisma.raw(newestFirst ? 'number DESC' : 'number');
  const from =
    after === undefined
      ? Prisma.empty
      : Prisma.sql`WHERE number ${Prisma.raw(newestFirst ? '<=' : '>=')} ${after.number}`;
  const isOfDomains =
    key.domains === undefined
      ? Prisma.sql`domain IS NOT NULL`
      : Prisma.sql`domain = ANY (${[...key.domains]})`;
  const counts = [...key.kinds].map((kind) => `coalesce(counts[${CHANGE_KINDS.indexOf(kind) + 1}], 0)`);
  const wanted = Prisma.raw(['0', ...counts].join(' + '));
  const found = await prisma.$queryRaw<readonly (FeedRow & { readonly examined: bigint })[]>`
    ${PLANNED} WITH examined AS MATERIALIZED (
      SELECT *, row_number() OVER (ORDER BY ${order}) AS place,
             CASE WHEN ${isOfDomains} THEN ${wanted} ELSE 0 END AS wanted
        FROM (SELECT * FROM change_feed ${from} ORDER BY ${order} LIMIT ${literal(rows)}) AS row)
    SELECT number, domain, observed_at AS "observedAt", array_to_string(types, ',') AS types, counts, octets,
           recorded_at AS "recordedAt", (SELECT count(*) FROM examined) AS examined
      FROM (SELECT *, -- Of the first row, some may have been given.
                   coalesce(sum(wanted) FILTER (WHERE place > 1)
                              OVER (ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before
              FROM examined) AS row
     WHERE place = 1 OR place = (SELECT count(*) FROM examined) OR (wanted > 0 AND before <= ${literal(first)})
     ORDER BY place`;
  return { found, isLimited: found[0]?.examined === BigInt(rows) };
}

function endOf({ number, recordedAt, counts }: Pick<FeedRow, 'number' | 'recordedAt' | 'counts'>): FeedPlace {
  return { number, recordedAt, given: counts.reduce((sum, count) => sum + count, 0) };
}

interface ChosenRow {
  readonly row: FeedRow;
  /** How many of its changes were given before. */
  readonly given: number;
}

/** The rows with as many changes as a page has, as far as their octets allow; and whether no other row that was examined has any. */
function chooseRows(rows: readonly FeedRow[], key: FeedKey): { chosen: ChosenRow[]; isAll: boolean } {
  const domains = key.domains && new Set(key.domains);
  const chosen: ChosenRow[] = [];
  let [changes, octets] = [0, 0];
  for (const row of rows) {
    if (row.domain === null || domains?.has(row.domain) === false) continue;
    const given = row.number === key.after?.number ? key.after.given : 0;
    const wanted = wantedOf(row.counts, given, key);
    if (wanted === 0) continue;
    const isTooMuch = octets > 0 && octets + Number(row.octets) > MOST_OCTETS;
    if (changes > key.first || isTooMuch) return { chosen, isAll: false };
    chosen.push({ row, given });
    changes += wanted;
    octets += Number(row.octets);
  }
  // Where there are more than a page has, others may not have been read.
  return { chosen, isAll: changes <= key.first };
}

/** How many changes of the kinds a row has after those that were given. */
function wantedOf(counts: readonly number[], given: number, { kinds, newestFirst }: FeedKey): number {
  const ranked = CHANGE_KINDS.map((kind, rank) => ({ kind, count: counts[rank] ?? 0 }));
  let [place, wanted] = [0, 0];
  for (const { kind, count } of newestFirst ? ranked.reverse() : ranked) {
    place += count;
    if (kinds.has(kind)) wanted += Math.max(0, Math.min(count, place - given));
  }
  return wanted;
}

/** Queries in WITH that take the place of the tables; none where these are on one server. */
type TablesOf = (prisma: PrismaClient, rows: readonly ChosenRow[]) => Promise<Prisma.Sql>;

/**
 * What the rows need of the tables, each by a query of its own, as the shards of a Citus cluster can answer it.
 *
 * The feed is on the coordinator, which commits a transaction before the nodes do. So a row may be there whose changes are not:
 * its writer holds the lock until they are.
 */
async function tablesOfShards(prisma: PrismaClient, rows: readonly ChosenRow[]): Promise<Prisma.Sql> {
  await prisma.$executeRaw`SELECT pg_advisory_xact_lock_shared(${FEED_LOCK})`;
  const domains = Prisma.sql`ANY (${rows.map(({ row }) => row.domain)}::text[])`;
  const times = rows.map(({ row }) => row.observedAt);
  const latest = times.reduce((one, other) => (other > one ? other : one));
  return Prisma.sql`
    domain AS MATERIALIZED (SELECT * FROM domain WHERE name = ${domains}),
    dns_record AS MATERIALIZED (
      SELECT * FROM dns_record
       WHERE domain = ${domains} AND (first_seen = ANY (${times}::bigint[]) OR removed = ANY (${times}::bigint[]))),
    header_change AS MATERIALIZED (
      SELECT * FROM header_change WHERE domain = ${domains} AND observed_at <= ${latest}),`;
}

/** Its place in CHANGE_KINDS. */
const EXTENDED = CHANGE_KINDS.indexOf('HISTORY_EXTENDED');

/** Reads the changes of rows, in their order. */
async function readChanges(
  prisma: PrismaClient,
  rows: readonly ChosenRow[],
  { kinds, newestFirst }: FeedKey,
  readTables: TablesOf,
): Promise<FeedChange[]> {
  if (rows.length === 0) return [];
  const observed = rows.map(({ row }) => row);
  // Another observation of the same time may have changed the headers: theirs is another row.
  const ofHeaders = observed.map(({ counts }) =>
    HEADER_CHANGES.some((kind) => (counts[CHANGE_KINDS.indexOf(kind)] ?? 0) > 0),
  );
  const changes = changeSources().map(
    (source) => Prisma.sql`
      SELECT place, change.* FROM feed JOIN (${source.rows}) AS change
          ON change.domain = feed.domain AND change.date = feed.observed_at
         AND ${
           source.kinds === HEADER_CHANGES
             ? Prisma.sql`feed.of_headers`
             : Prisma.sql`change.type = ANY (string_to_array(feed.types, ','))`
         }`,
  );
  const tables = await readTables(prisma, rows);
  const [found] = await prisma.$queryRaw<readonly { readonly changes: readonly Placed[] | null }[]>`
    ${PLANNED} WITH ${tables} feed AS (
      SELECT * FROM unnest(${observed.map(({ domain }) => domain)}::text[],
                           ${observed.map(({ observedAt }) => observedAt)}::bigint[],
                           ${observed.map(({ types }) => types)}::text[], ${ofHeaders}::boolean[])
             WITH ORDINALITY AS feed (domain, observed_at, types, of_headers, place))
    SELECT json_agg(json_build_array(place, ${changeRowSql(Prisma.raw('change.domain'), undefined)},
                                     CASE WHEN ${IS_OF_RECORD} THEN ${latestOfTypeSql(undefined, 'change')} END)
                    ORDER BY place, kind, first_seen, type, position) AS changes
      FROM (${Prisma.join(changes, ' UNION ALL ')}) AS change`;
  const ofRows: Change[][] = rows.map(() => []);
  for (const [place, stored, latest] of found?.changes ?? []) {
    const change = parseChange(rows[place - 1]?.row.domain ?? '', undefined, stored);
    const { record } = change;
    if (record?.removed === null) record.lastSeen = seenUpTo(record, latest === null ? null : BigInt(latest));
    ofRows[place - 1]?.push(change);
  }
  return rows.flatMap(({ row, given }, at) => {
    const { number, recordedAt, counts } = row;
    const all = [...(ofRows[at] ?? []), ...((counts[EXTENDED] ?? 0) > 0 ? [extension(row)] : [])];
    return (newestFirst ? all.reverse() : all)
      .map((change, place) => ({ ...change, feedPlace: { number, recordedAt, given: place + 1 } }))
      .slice(given)
      .filter(({ kind }) => kinds.has(kind));
  });
}

/** A change of the row in a place, and the latest observation of its record's type. */
type Placed = readonly [place: number, row: ChangeRow, latest: string | null];

function extension({ domain, recordedAt: date, observedAt: earliest, number }: FeedRow): Change {
  // Its place is among those of the feed.
  const at = { date, kind: EXTENDED, firstSeen: number, type: '', position: 0 };
  const routine = 'BACKFILL';
  return { domain: domain ?? '', kind: 'HISTORY_EXTENDED', date, source: null, routine, earliest, at };
}
