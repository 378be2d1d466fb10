import { isDatabaseFailure } from '../database/database-failure.js';
import { Prisma, type PrismaClient } from '../database/generated/client.js';
import { FEED_LOCK } from '../database/locks.js';
import { routineOf } from '../history/routine.js';
import { PLANNED } from '../loaders/columns.js';
import { COLUMNS_SQL, parseDnsEntries } from '../loaders/dns-entries.js';
import {
  added,
  type Change,
  evidenceOf,
  type HeaderRow,
  headerChange,
  KIND_OF_HEADER,
  LAST_SEEN_OF_HEADER,
  removed,
} from '../loaders/domain-changes.js';
import {
  type FirstTimesRow,
  firstTimesOf,
  firstTimesSql,
  latestOfTypeSql,
  seenUpTo,
} from '../loaders/observed-parts.js';
import { literal, readFewThenMany } from '../loaders/search.js';
import { CHANGE_KINDS, type ChangeKind } from '../model/change-kinds.js';
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
export interface FeedPage {
  readonly changes: readonly FeedChange[];
  /** Where the page ends, also if it is empty. */
  readonly end: FeedPlace;
  /** The same where there may be more; otherwise null. */
  readonly next: FeedPlace | null;
  /** Of the observations that were read for it, approximately. */
  readonly octets: number;
  /** How many changes more the last observation has. */
  readonly leftOfRow: number;
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

/** What the feed is read from as it is recorded. */
export interface FeedSource {
  /** As loadEnd(). */
  end(): Promise<FeedPlace>;
  /** As loadFeed(). */
  load(key: FeedKey): Promise<FeedPage | null>;
}

/**
 * The primary, which has what is recorded at once; a replica while the primary is away. Where the replica does not have a place,
 * it may be later than what the replica has: that is an error, as without a replica.
 *
 * @param spare The replica; undefined: there is none.
 */
export function feedSource(
  primary: PrismaClient,
  spare: () => PrismaClient | undefined = () => undefined,
  acrossShards = false,
): FeedSource {
  const orFromSpare = async <Found>(
    found: Promise<Found>,
    read: (prisma: PrismaClient) => Promise<Found>,
  ): Promise<Found> => {
    try {
      return await found;
    } catch (error) {
      const prisma = isDatabaseFailure(error) ? spare() : undefined;
      const others = prisma && (await read(prisma));
      if (others == null) throw error;
      return others;
    }
  };
  return {
    end: () => orFromSpare(loadEnd(primary), loadEnd),
    load: (key) =>
      orFromSpare(loadFeed(primary, key, acrossShards), (prisma) => loadFeed(prisma, key, acrossShards)),
  };
}

/** How many rows of the feed a page reads. */
const MOST_EXAMINED = 10_000;
/** What a page has of records and values, in octets. */
const MOST_OCTETS = 262_144;

/** An observation that changed something. */
interface StoredRow {
  readonly number: bigint;
  readonly domain: string | null;
  readonly observedAt: Instant;
  /** Joined by commas. */
  readonly types: string;
  readonly counts: string;
  readonly octets: bigint;
  readonly recordedAt: Instant;
}

interface FeedRow extends Omit<StoredRow, 'counts'> {
  /** How many changes it has of each kind, in the order of CHANGE_KINDS. */
  readonly counts: readonly number[];
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
  return readFewThenMany(
    key.first,
    (rows) => readPage(prisma, key, rows, readTables),
    ({ changes }) => changes.length,
    MOST_EXAMINED,
  );
}

async function readPage(
  prisma: PrismaClient,
  key: FeedKey,
  rows: number,
  readTables: TablesOf,
): Promise<FeedPage | null> {
  const after = key.after?.number === NO_PLACE.number ? undefined : key.after;
  const found = await readRows(prisma, { ...key, after }, rows);
  const [begin] = found;
  if (begin === undefined) return after === undefined ? emptyPage(NO_PLACE) : pageOfAbsent(prisma, after);
  if (after !== undefined && !isAt(begin, after)) return pageOfAbsent(prisma, after);
  const isLimited = begin.examined === BigInt(rows);
  const chosen = chooseRows(found, key);
  // An observation is read as a whole for each page of it.
  const octets = chosen.reduce((sum, { row }) => sum + Number(row.octets), 0);
  const lastChosen = chosen.at(-1);
  const changes = await readChanges(prisma, chosen, key, readTables);
  const page = changes.slice(0, key.first);
  const isCut =
    changes.length > key.first || changes.length < chosen.reduce((sum, { wanted }) => sum + wanted, 0);
  const end = page.at(-1)?.feedPlace;
  if (isCut && end !== undefined) {
    return { changes: page, end, next: end, octets, leftOfRow: leftAfter(end, chosen) };
  }
  // All that there is of the chosen rows was given: the page ends there, or at the last row that was examined.
  const isWhole = lastChosen === undefined || lastChosen.isLast;
  const last = endOf(isWhole ? (found.at(-1) ?? begin) : lastChosen.row);
  return { changes: page, end: last, next: isLimited || !isWhole ? last : null, octets, leftOfRow: 0 };
}

function emptyPage(end: FeedPlace): FeedPage {
  return { changes: [], end, next: null, octets: 0, leftOfRow: 0 };
}

/**
 * The page after a place that a database does not have: empty where it may be one that is not shown yet, otherwise null. A
 * replica may be behind; and while a commit waits for a synchronous standby, other standbys show it before the primary does. What
 * was recorded before the server started is shown since then, or lost.
 */
async function pageOfAbsent(prisma: PrismaClient, place: FeedPlace): Promise<FeedPage | null> {
  const { number, recordedAt } = place;
  const [found] = await prisma.$queryRaw<readonly { readonly isAhead: boolean }[]>`
    SELECT NOT EXISTS (SELECT FROM change_feed WHERE number >= ${number}) AND (pg_is_in_recovery() OR
             (current_setting('synchronous_standby_names') <> '' AND
              ${recordedAt}::bigint > extract(epoch FROM pg_postmaster_start_time()) * 1000000)) AS "isAhead"`;
  return found?.isAhead === true ? emptyPage(place) : null;
}

/** How many changes the row of a place has after it. */
function leftAfter({ number, given }: FeedPlace, rows: readonly ChosenRow[]): number {
  const last = rows.find(({ row }) => row.number === number);
  return last === undefined ? 0 : sumOf(last.row.counts) - given;
}

/**
 * Of so many rows, reads the first, those with changes of the question until there are enough for a page, and the last.
 */
async function readRows(prisma: PrismaClient, key: FeedKey, rows: number) {
  const { after, newestFirst, first } = key;
  const from = newestFirst ? Prisma.sql`number <= ${after?.number}` : Prisma.sql`number >= ${after?.number}`;
  const direction = newestFirst ? Prisma.sql`DESC` : Prisma.sql`ASC`;
  const isOfDomains =
    key.domains === undefined
      ? Prisma.sql`domain IS NOT NULL`
      : Prisma.sql`domain = ANY (${[...key.domains]})`;
  const places = [...key.kinds].map((kind) => literal(CHANGE_KINDS.indexOf(kind) + 1));
  // A kind may be newer than the row.
  const kinds = places.map((place) => Prisma.sql`coalesce(counts[${place}], 0)`);
  const ofKinds = kinds.length === 0 ? Prisma.sql`0` : Prisma.join(kinds, ' + ');
  const found = await prisma.$queryRaw<readonly (StoredRow & { readonly examined: bigint })[]>`
    ${PLANNED} WITH examined AS MATERIALIZED (
      SELECT *, row_number() OVER (ORDER BY number ${direction}) AS place,
             CASE WHEN ${isOfDomains} THEN ${ofKinds} ELSE 0 END AS wanted
        FROM (SELECT * FROM change_feed WHERE ${after === undefined ? Prisma.sql`true` : from}
               ORDER BY number ${direction} LIMIT ${literal(rows)}) AS row)
    SELECT number, domain, observed_at AS "observedAt", array_to_string(types, ',') AS types,
           array_to_string(counts, ',') AS counts, octets, recorded_at AS "recordedAt",
           (SELECT count(*) FROM examined) AS examined
      FROM (SELECT *, -- Of the first row, some may have been given.
                   coalesce(sum(wanted) FILTER (WHERE place > 1)
                              OVER (ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before
              FROM examined) AS row
     WHERE place = 1 OR place = (SELECT count(*) FROM examined) OR (wanted > 0 AND before <= ${literal(first)})
     ORDER BY place`;
  return found.map((row) => ({ ...row, counts: row.counts.split(',').map(Number) }));
}

/** The feed has a row from its beginning on: that of the migration which made it. */
function isAt(row: FeedRow, { number, recordedAt }: FeedPlace): boolean {
  return row.number === number && row.recordedAt === recordedAt;
}

function endOf(row: Pick<FeedRow, 'number' | 'recordedAt' | 'counts'>): FeedPlace {
  return { number: row.number, recordedAt: row.recordedAt, given: sumOf(row.counts) };
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

interface ChosenRow {
  readonly row: FeedRow;
  /** How many of its changes were given before. */
  readonly given: number;
  /** How many changes of the kinds it still has. */
  readonly wanted: number;
  /** Whether no other row that was examined has any. */
  readonly isLast: boolean;
}

/** The rows with as many changes as a page has, as far as their octets allow. */
function chooseRows(rows: readonly FeedRow[], key: FeedKey): ChosenRow[] {
  const domains = key.domains && new Set(key.domains);
  const matching = rows.flatMap((row) => {
    if (row.domain === null || domains?.has(row.domain) === false) return [];
    const given = row.number === key.after?.number ? key.after.given : 0;
    const wanted = wantedOf(row.counts, given, key);
    return wanted === 0 ? [] : [{ row, given, wanted }];
  });
  let [changes, octets] = [0, 0];
  const chosen: ChosenRow[] = [];
  for (const [at, match] of matching.entries()) {
    if (changes > key.first || (octets > 0 && octets + Number(match.row.octets) > MOST_OCTETS)) break;
    changes += match.wanted;
    // Where there are more than a page has, others may not have been read.
    chosen.push({ ...match, isLast: at === matching.length - 1 && changes <= key.first });
    octets += Number(match.row.octets);
  }
  return chosen;
}

/** How many changes of the kinds a row has after those that were given. */
function wantedOf(counts: readonly number[], given: number, { kinds, newestFirst }: FeedKey): number {
  let [left, wanted] = [given, 0];
  const ranks = newestFirst ? [...CHANGE_KINDS.keys()].reverse() : [...CHANGE_KINDS.keys()];
  for (const rank of ranks) {
    const count = counts[rank] ?? 0;
    const skipped = Math.min(left, count);
    left -= skipped;
    const kind = CHANGE_KINDS[rank];
    if (kind !== undefined && kinds.has(kind)) wanted += count - skipped;
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

/** Reads the changes of rows, in their order. */
async function readChanges(
  prisma: PrismaClient,
  rows: readonly ChosenRow[],
  key: FeedKey,
  readTables: TablesOf,
): Promise<FeedChange[]> {
  if (rows.length === 0) return [];
  const given = await readTables(prisma, rows);
  const [tables] = await prisma.$queryRaw<readonly Tables[]>`
    ${PLANNED} WITH ${given} feed AS (
      SELECT * FROM unnest(${rows.map(({ row }) => row.domain)}::text[], ${rows.map(({ row }) => row.observedAt)}::bigint[],
                           ${rows.map(({ row }) => row.types)}::text[])
             WITH ORDINALITY AS feed (domain, observed_at, types, place))
    SELECT ${recordsSql('first_seen', 'source')} AS added, ${recordsSql('removed', 'removed_source')} AS removed,
           (SELECT json_agg(json_build_array(place, json_build_array(name, observed_at::text, value, old, (${LAST_SEEN_OF_HEADER})::text, source, ${KIND_OF_HEADER}, false,
                                                                                 (SELECT http_first::text FROM domain WHERE domain.name = change.domain)))
                            ORDER BY place, name)
              FROM (SELECT place, change.*, before.value AS old, before.observed_at AS old_date
                      FROM feed JOIN header_change AS change USING (domain, observed_at)
                      LEFT JOIN LATERAL (
                             SELECT value, observed_at FROM header_change AS before
                              WHERE before.domain = change.domain AND before.name = change.name
                                AND before.observed_at < change.observed_at AND before.value IS NOT NULL
                              ORDER BY before.observed_at DESC LIMIT 1) AS before ON true) AS change) AS headers`;
  const found = changesByRow(rows, tables);
  return rows.flatMap((chosen, at) => changesOfRow(chosen, found[at] ?? [], key));
}

interface RecordRows {
  readonly columns: string | null;
  readonly places: readonly number[] | null;
  readonly positions: readonly number[] | null;
  readonly sources: readonly (string | null)[] | null;
  readonly latest: readonly (string | null)[] | null;
  readonly firsts: readonly (FirstTimesRow | null)[] | null;
}

interface Tables {
  readonly added: RecordRows;
  readonly removed: RecordRows;
  readonly headers: readonly (readonly [place: number, row: HeaderRow])[] | null;
}

function recordsSql(date: 'first_seen' | 'removed', source: 'source' | 'removed_source'): Prisma.Sql {
  return Prisma.sql`
    (SELECT json_build_object('columns', ${COLUMNS_SQL}, 'places', json_agg(place), 'positions', json_agg(position),
                              'sources', json_agg(${Prisma.raw(source)}), 'latest', json_agg(${latestOfTypeSql(undefined)}),
                              'firsts', json_agg(${firstTimesSql(Prisma.sql`entry.domain`)}))
       FROM (SELECT place, entry.*
               FROM feed JOIN dns_record AS entry
                 ON entry.domain = feed.domain AND entry.${Prisma.raw(date)} = feed.observed_at
                AND entry.type = ANY (string_to_array(feed.types, ','))
              ORDER BY place, entry.first_seen, entry.type, entry.position) AS entry)`;
}

function changesOfRow(
  { row, given }: ChosenRow,
  changes: readonly Change[],
  { kinds, newestFirst }: FeedKey,
): FeedChange[] {
  const all = newestFirst ? changes.toReversed() : changes;
  const { number, recordedAt } = row;
  return all
    .map((change, at) => ({ ...change, feedPlace: { number, recordedAt, given: at + 1 } }))
    .slice(given)
    .filter(({ kind }) => kinds.has(kind));
}

/** Its place in CHANGE_KINDS. */
const EXTENDED = CHANGE_KINDS.indexOf('HISTORY_EXTENDED');

function extension({ domain, recordedAt, observedAt, number }: FeedRow): Change {
  // Its place is among those of the feed.
  const at = { date: recordedAt, kind: EXTENDED, firstSeen: number, type: '', position: 0 };
  const [name, kind] = [domain ?? '', 'HISTORY_EXTENDED' as const];
  const routine = routineOf(kind, recordedAt, firstTimesOf());
  return { domain: name, kind, date: recordedAt, source: null, routine, earliest: observedAt, at };
}

/** The changes of each row, in their order. */
function changesByRow(rows: readonly ChosenRow[], tables: Tables | undefined): readonly Change[][] {
  const found: Change[][] = rows.map(() => []);
  const addRecords = (table: RecordRows | undefined, changeOf: typeof added) => {
    for (const [at, entry] of parseDnsEntries(table?.columns ?? '').entries()) {
      const place = Number(table?.places?.[at]) - 1;
      const latest = table?.latest?.[at];
      if (entry.removed === null) entry.lastSeen = seenUpTo(entry, latest == null ? null : BigInt(latest));
      found[place]?.push(changeOf(rows[place]?.row.domain ?? '', entry, evidenceOf(table, at)));
    }
  };
  addRecords(tables?.added, added);
  addRecords(tables?.removed, removed);
  const headers = (tables?.headers ?? []).flatMap(([number, header]) => {
    const { row } = rows[number - 1] ?? {};
    // Another observation of the same time may have changed the headers: theirs is another row.
    const hasAny = row?.counts.slice(2, EXTENDED).some((count) => count > 0) === true;
    return hasAny ? [{ place: number - 1, change: headerChange(row.domain ?? '', header) }] : [];
  });
  headers.sort(
    ({ change: { at: one } }, { change: { at: other } }) =>
      one.kind - other.kind || (one.type < other.type ? -1 : 1),
  );
  for (const { place, change } of headers) found[place]?.push(change);
  for (const [place, { row }] of rows.entries()) {
    if ((row.counts[EXTENDED] ?? 0) > 0) found[place]?.push(extension(row));
  }
  return found;
}
