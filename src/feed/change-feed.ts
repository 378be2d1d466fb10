import { Prisma, type PrismaClient } from '../database/generated/client.js';
import { ON_SERVER, type Tables } from '../database/tables.js';
import {
  type Change,
  type ChangeRow,
  changeOfRow,
  changeRowSql,
  changeSources,
  IS_OF_RECORD,
} from '../loaders/changes.js';
import { literal, PLANNED } from '../loaders/columns.js';
import { latestOfTypeSql, seenUpTo } from '../loaders/observed-parts.js';
import { allOf, type Page, readFewThenMany } from '../loaders/search.js';
import { type ChangesAnywhere, changeTest } from '../model/change-filter.js';
import { CHANGE_KINDS, type ChangeKind, HEADER_CHANGES } from '../model/change-kinds.js';
import { PublicError } from '../model/errors.js';
import type { Instant } from '../model/instant.js';

/** A row of table `change_feed`, and how many changes of it were given, from the end that is read first. */
export interface FeedPlace {
  readonly number: bigint;
  /** When the row was recorded: after a restore, another row may have its number. */
  readonly recordedAt: Instant;
  readonly given: number;
}

export interface FeedKey extends ChangesAnywhere {
  readonly newestFirst: boolean;
  readonly first: number;
  readonly after?: FeedPlace | undefined;
}

/** `watched`: whether its domain was, when it was read. */
type FeedChange = Change & { readonly feedPlace: FeedPlace; readonly watched: boolean };

const NO_PLACE: FeedPlace = { number: 0n, recordedAt: 0n, given: 0 };

export interface FeedPage extends Page<FeedChange, FeedPlace> {
  /** Where the page ends, also if it is empty. */
  readonly end: FeedPlace;
  /** Of the observations that were read for it, approximately. */
  readonly octets: number;
}

export function goneCursor(): PublicError {
  return new PublicError(
    'INVALID_CURSOR',
    'after: this place is not in the feed any more: it is older than what is kept, or the database was ' +
      'restored since. Read the present state, and begin without a cursor.',
  );
}

export async function loadEnd(prisma: PrismaClient): Promise<FeedPlace> {
  const row = await prisma.changeFeed.findFirst({ orderBy: { number: 'desc' } });
  return row === null ? NO_PLACE : endOf(row);
}

/** Rows of the feed, for a page. */
const MAX_EXAMINED = 10_000;
/** Of records and values, for a page. */
const MAX_OCTETS = 262_144;
/** In characters, of the values of a page: as JSON they may be six times as many. */
const MAX_CHARACTERS = 1_000_000;

/** An observation that changed something, and how many of its changes were given before. */
interface FeedRow extends FeedPlace {
  /** Null: it is erased. */
  readonly domain: string | null;
  readonly observedAt: Instant;
  /** Joined by commas. */
  readonly types: string;
  /** How many changes it has of each kind, in the order of CHANGE_KINDS. A kind may be newer than the row. */
  readonly counts: readonly number[];
  readonly octets: bigint;
  readonly watched: boolean;
  readonly isChosen: boolean;
  /** Of all that were read: how many, and how many of these have changes of the question. */
  readonly examined: bigint;
  readonly matching: bigint;
}

/** Null where `after` is not in the feed: it is older than what is kept, or than a restore. */
export function loadFeed(prisma: PrismaClient, key: FeedKey, tables = ON_SERVER): Promise<FeedPage | null> {
  return readFewThenMany(key.first, (rows) => readPage(prisma, key, rows, tables), MAX_EXAMINED);
}

async function readPage(prisma: PrismaClient, key: FeedKey, rows: number, tables: Tables) {
  const after = key.after?.number === NO_PLACE.number ? undefined : key.after;
  const found = await readRows(prisma, { ...key, after }, rows);
  const [begin] = found;
  // The feed has a row from its beginning on: that of the migration which made it.
  const isThere = begin?.number === after?.number && begin?.recordedAt === after?.recordedAt;
  if (after !== undefined && !isThere) return null;
  if (begin === undefined) return { items: [], end: NO_PLACE, next: null, octets: 0 };
  const chosen = found.filter(({ isChosen }) => isChosen);
  const all = (await readChanges(prisma, chosen, key, tables)).filter(changeTest(key));
  const items = fitting(all, key.first);
  // An observation is read as a whole for each page of it.
  const octets = chosen.reduce((sum, row) => sum + Number(row.octets), 0);
  const last = items.at(-1)?.feedPlace;
  if (last !== undefined && all.length > items.length) return { items, end: last, next: last, octets };
  // All that there is of the chosen rows was given: the page ends there, or at the last row that was examined.
  const isAll = begin.matching === BigInt(chosen.length);
  const end = endOf((isAll ? found : chosen).at(-1) ?? begin);
  return { items, end, next: isAll && begin.examined < rows ? null : end, octets };
}

/** The first ones, as far as their values allow, and at least one. */
function fitting(changes: readonly FeedChange[], first: number): readonly FeedChange[] {
  let characters = 0;
  const end = changes.findIndex((change, at) => {
    const { record, old, new: now } = change;
    const values = record === undefined ? [old, now] : Object.values(record).flat();
    for (const value of values) if (typeof value === 'string') characters += value.length;
    return at > 0 && (at === first || characters > MAX_CHARACTERS);
  });
  return end < 0 ? changes : changes.slice(0, end);
}

/** Of so many rows, reads the first, the last, and, as their octets allow, those with the changes of a page. */
function readRows(prisma: PrismaClient, key: FeedKey, rows: number) {
  const { after, newestFirst, first } = key;
  const { number, given } = after ?? NO_PLACE;
  const order = Prisma.raw(newestFirst ? 'number DESC' : 'number');
  const isFrom = Prisma.sql`number ${Prisma.raw(newestFirst ? '<=' : '>=')} ${number}`;
  const begin = after === undefined ? Prisma.empty : Prisma.sql`WHERE ${isFrom}`;
  return prisma.$queryRaw<readonly FeedRow[]>`
    ${PLANNED} WITH examined AS MATERIALIZED (
      SELECT *, row_number() OVER (ORDER BY ${order}) AS place,
             CASE WHEN ${mayMatch(key)} THEN ${wantedSql(key)} ELSE 0 END AS wanted
        FROM (SELECT *, CASE WHEN number = ${number} THEN ${given}::int ELSE 0 END AS given
                FROM change_feed ${begin} ORDER BY ${order} LIMIT ${literal(rows)}) AS row),
    measured AS (
      SELECT *, sum(wanted) OVER (ORDER BY place) - wanted AS before,
             sum(octets) FILTER (WHERE wanted > 0) OVER (ORDER BY place) AS octets_with
        FROM examined),
    chosen AS (
      SELECT *, wanted > 0 AND before <= ${literal(first)}
                AND (octets_with = octets OR octets_with <= ${literal(MAX_OCTETS)}) AS is_chosen
        FROM measured)
    SELECT number, domain, observed_at AS "observedAt", array_to_string(types, ',') AS types, counts, octets,
           recorded_at AS "recordedAt", ${IS_WATCHED} AS watched, given, is_chosen AS "isChosen",
           (SELECT count(*) FROM examined) AS examined,
           (SELECT count(*) FROM examined WHERE wanted > 0) AS matching
      FROM chosen
     WHERE is_chosen OR place = 1 OR place = (SELECT count(*) FROM examined)
     ORDER BY place`;
}

/** In rows from before these had headers: it is of any. */
const ANY_HEADER = '*';

const IS_WATCHED = Prisma.sql`EXISTS (SELECT FROM watched_domain WHERE watched_domain.name = domain)`;

function mayMatch({ domains, registrableDomain, watched, types, headers }: FeedKey): Prisma.Sql {
  const below = domains?.flatMap(({ parts: [, suffix] }) => suffix ?? []);
  const names = domains?.flatMap(({ parts: [name = '', suffix] }) => (suffix === undefined ? name : []));
  const isOfTypes = types && Prisma.sql`types && ${types}::text[]`;
  const isOfHeaders = headers && Prisma.sql`headers && ${[...headers, ANY_HEADER]}::text[]`;
  const isOfParts = [isOfTypes, isOfHeaders].filter((condition) => condition !== undefined);
  return allOf([
    Prisma.sql`domain IS NOT NULL`,
    domains !== undefined &&
      Prisma.sql`(domain = ANY (${names}::text[]) OR EXISTS (
        SELECT FROM unnest(${below}::text[]) AS suffix WHERE right(domain, length(suffix)) = suffix))`,
    registrableDomain !== undefined &&
      Prisma.sql`right('.' || domain, ${registrableDomain.length + 1}) = ${`.${registrableDomain}`}`,
    watched !== undefined && Prisma.sql`${IS_WATCHED} = ${watched}`,
    isOfParts.length > 0 && Prisma.join(isOfParts, ' OR ', '(', ')'),
  ]);
}

/** How many changes of the question a row has at most, as of their recording, after those that were given. */
function wantedSql({ kinds, notable }: FeedKey): Prisma.Sql {
  const sum = (column: string, of: Iterable<ChangeKind>) => {
    const counts = Array.from(of, (kind) => `coalesce(${column}[${CHANGE_KINDS.indexOf(kind) + 1}], 0)`);
    return ['0', ...counts].join(' + ');
  };
  const all = sum('counts', kinds);
  const ofNotable = sum('notable', kinds);
  const known = notable === true ? ofNotable : `${all} - (${ofNotable})`;
  const wanted = notable === undefined ? all : `CASE notable WHEN '{}' THEN ${all} ELSE ${known} END`;
  return Prisma.raw(`greatest(0, least(${wanted}, ${sum('counts', CHANGE_KINDS)} - given))`);
}

function endOf({ number, recordedAt, counts }: Pick<FeedRow, 'number' | 'recordedAt' | 'counts'>): FeedPlace {
  return { number, recordedAt, given: counts.reduce((sum, count) => sum + count, 0) };
}

function hasKind({ counts }: FeedRow, kind: ChangeKind): boolean {
  return (counts[CHANGE_KINDS.indexOf(kind)] ?? 0) > 0;
}

async function readChanges(prisma: PrismaClient, rows: readonly FeedRow[], key: FeedKey, tables: Tables) {
  if (rows.length === 0) return [];
  // Another observation of the same time may have changed the headers: theirs is another row.
  const ofHeaders = rows.map((row) => HEADER_CHANGES.some((kind) => hasKind(row, kind)));
  const ofSite = rows.map((row) => hasKind(row, 'SITE_STATUS_CHANGED'));
  const changes = changeSources().map(
    ({ kinds: [kind = 'DNS_RECORD_ADDED'], rows: changed }) => Prisma.sql`
      SELECT place, change.* FROM feed JOIN (${changed}) AS change
          ON change.domain = feed.domain AND change.date = feed.observed_at
         AND ${OF_OTHERS[kind] ?? OF_RECORDS}`,
  );
  await tables.awaitWriters(prisma);
  const names = rows.map(({ domain }) => domain);
  const domains = Prisma.sql`ANY (${names}::text[])`;
  const times = rows.map(({ observedAt }) => observedAt);
  const isUpToLatest = Prisma.sql`observed_at <= ${times.reduce((one, other) => (other > one ? other : one))}`;
  const replaced = tables.replaced({
    domain: Prisma.sql`SELECT * FROM domain WHERE name = ${domains}`,
    dns_record: Prisma.sql`SELECT * FROM dns_record WHERE domain = ${domains}
      AND (first_seen = ANY (${times}::bigint[]) OR removed = ANY (${times}::bigint[]))`,
    header_change: Prisma.sql`SELECT * FROM header_change WHERE domain = ${domains} AND ${isUpToLatest}`,
    site_response: Prisma.sql`SELECT * FROM site_response WHERE domain = ${domains} AND ${isUpToLatest}`,
  });
  const found = await prisma.$queryRaw<readonly (ChangeRow & { place: number; latest: Instant | null })[]>`
    ${PLANNED} WITH ${replaced} feed AS (
      SELECT * FROM unnest(${names}::text[], ${times}::bigint[], ${rows.map(({ types }) => types)}::text[],
                           ${ofHeaders}::boolean[], ${ofSite}::boolean[])
             WITH ORDINALITY AS feed (domain, observed_at, types, of_headers, of_site, place))
    SELECT place::int, ${changeRowSql(undefined)},
           CASE WHEN ${IS_OF_RECORD} AND removed IS NULL
                THEN ${latestOfTypeSql(undefined, 'change')} END AS latest
      FROM (${Prisma.join(changes, ' UNION ALL ')}) AS change
     ORDER BY change.place, kind, first_seen, type, position`;
  const ofRows: Change[][] = rows.map(() => []);
  for (const { place, latest, ...stored } of found) {
    const change = changeOfRow(names[place - 1] ?? '', undefined, stored);
    const { record } = change;
    if (record?.removed === null) record.lastSeen = seenUpTo(record, latest);
    ofRows[place - 1]?.push(change);
  }
  return rows.flatMap((row, at) => {
    const { number, recordedAt, watched, given } = row;
    const all = [...(ofRows[at] ?? []), ...(hasKind(row, 'HISTORY_EXTENDED') ? [extension(row)] : [])];
    return (key.newestFirst ? all.reverse() : all)
      .map((change, place) => ({ ...change, watched, feedPlace: { number, recordedAt, given: place + 1 } }))
      .slice(given);
  });
}

const OF_RECORDS = Prisma.sql`change.type = ANY (string_to_array(feed.types, ','))`;
const OF_OTHERS: Partial<Record<ChangeKind, Prisma.Sql>> = {
  HEADER_CREATED: Prisma.sql`feed.of_headers`,
  SITE_STATUS_CHANGED: Prisma.sql`feed.of_site`,
};

function extension({ domain, recordedAt: date, observedAt: earliest, number }: FeedRow): Change {
  const kind = 'HISTORY_EXTENDED';
  // Its place is among those of the feed.
  const at = { date, kind: CHANGE_KINDS.indexOf(kind), firstSeen: number, type: '', position: 0 };
  return { domain: domain ?? '', kind, date, source: null, routine: 'BACKFILL', earliest, at };
}
