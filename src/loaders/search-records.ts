import { Prisma, type PrismaClient } from '../database/generated/client.js';
import { EARLIEST_INSTANT, type Instant } from '../model/instant.js';
import type { NamePattern } from '../model/name-pattern.js';
import { LENGTH_OF_DIGEST } from '../model/node-id.js';
import { knownAt, PLANNED, pageOf } from './columns.js';
import { COLUMNS_SQL, type DnsEntry, parseDnsEntries } from './dns-entries.js';
import { latestOfTypeSql, seenUpTo } from './observed-parts.js';
import {
  allOf,
  hashesOfTexts,
  hasTrigram,
  literal,
  lookUp,
  MOST_ROWS_BY_VALUE,
  MOST_VALUES,
  meetsPattern,
  namesMeeting,
  type Page,
  pageOfMatches,
  readMatches,
  reversed,
  type SearchKey,
  startsWith,
  within,
} from './search.js';

/** Which DNS records. All that is given has to be met. */
export interface RecordFilter {
  /** A domain's name, in canonical form. */
  readonly domain?: string | undefined;
  /** The address of an A or AAAA record, in canonical form. */
  readonly ip?: string | undefined;
  /** The first and the last address of a network. */
  readonly network?: { readonly first: string; readonly last: string } | undefined;
  /** A host name that the rdata has. */
  readonly target?: NamePattern | undefined;
  /** A part of the text of a TXT record. */
  readonly text?: string | undefined;
  /** The owner name. */
  readonly host?: NamePattern | undefined;
  readonly types?: readonly string[] | undefined;
  readonly present?: boolean | undefined;
  /** As of when; absent: now. */
  readonly at?: Instant | undefined;
  /** The stay overlaps the time after `seenFrom`, up to `seenTo`. */
  readonly seenFrom?: Instant | undefined;
  readonly seenTo?: Instant | undefined;
  /** First seen after `firstSeenFrom`, up to `firstSeenTo`. */
  readonly firstSeenFrom?: Instant | undefined;
  readonly firstSeenTo?: Instant | undefined;
  /** That of digestOfRecord(). */
  readonly digest?: string | undefined;
}

/** The place of a match: by domain, then as Get domain orders records. */
export interface RecordPlace {
  readonly domain: string;
  readonly firstSeen: Instant;
  readonly type: string;
  readonly position: number;
}

/** A record of a domain. */
export interface RecordMatch {
  readonly record: DnsEntry;
  /** Who observed it first. */
  readonly source: string | null;
  readonly place: RecordPlace;
}

export interface RecordSearchKey extends SearchKey<RecordFilter, RecordPlace> {
  /** Whether `lastSeen` of what is present is needed. */
  readonly lastSeen: boolean;
}

export type RecordMatches = Page<RecordMatch, RecordPlace>;

/**
 * Searches DNS records.
 *
 * @param key Its filter has a condition besides types and times.
 */
export async function searchRecords(prisma: PrismaClient, key: RecordSearchKey): Promise<RecordMatches> {
  const source = sourceOf(key);
  return readMatches<RecordMatches>(key.first, {
    byValue: source && ((rows) => readByValue(prisma, key, source, rows)),
    isOneValue: source?.isOneValue === true,
    inOrder: (rows) => readInOrder(prisma, key, rows),
  });
}

const ADDRESS_TYPES = Prisma.raw(`type IN ('A', 'AAAA')`);
const ADDRESS = Prisma.raw('address_of(rdata)');
const TEXT = Prisma.raw(`rdata ->> 'txt'`);
export const TEXT_HASH = Prisma.raw(`hashtextextended(rdata ->> 'txt', 0)`);
const PLACE = Prisma.raw('domain, first_seen, type, position');
const DIGEST = Prisma.raw(
  `left(encode(sha256(convert_to(concat_ws(' ', type, class, host, rdata::text), 'UTF8')), 'hex'), ${LENGTH_OF_DIGEST})`,
);

/** A host name that the rdata of some types has, reversed: each has an index. */
interface TargetColumn {
  readonly types: Prisma.Sql;
  readonly name: Prisma.Sql;
}

const TARGET: TargetColumn = {
  types: Prisma.raw(`type IN ('NS', 'CNAME', 'PTR', 'MX', 'SRV', 'SOA')`),
  name: Prisma.raw(`reverse(coalesce(rdata ->> 'target', rdata ->> 'mname')) COLLATE "C"`),
};
const MAILBOX: TargetColumn = {
  types: Prisma.raw(`type = 'SOA'`),
  name: Prisma.raw(`reverse(rdata ->> 'rname') COLLATE "C"`),
};
const HOST_NAME: TargetColumn = {
  types: Prisma.raw(
    `type IN ('AFSDB', 'CAA', 'DNAME', 'HTTPS', 'KX', 'LP', 'NAPTR', 'RT', 'SVCB') AND host_name_of(type, rdata) IS NOT NULL`,
  ),
  name: Prisma.raw(`reverse(host_name_of(type, rdata)) COLLATE "C"`),
};
export const TARGETS = [TARGET, MAILBOX, HOST_NAME];

/** What is looked up, value by value. */
interface Source {
  /** The values, as rows with one column `value`. */
  readonly values: Prisma.Sql;
  /** Conditions of the rows that have `sought.value`, each by an index: their rows are joined. */
  readonly lookups: readonly Prisma.Sql[];
  readonly isOneValue: boolean;
}

/** The condition that leaves the fewest rows, as far as can be told from the question. */
function sourceOf({ filter, after }: RecordSearchKey): Source | null {
  const { domain, ip, network, target, text, host } = filter;
  if (domain !== undefined) return domainSource(domain, filter);
  const ofHost = host && hostSource(host, after);
  const ofTarget = target && targetSource(target);
  if (ip !== undefined) return addressSource(Prisma.sql`SELECT ${ip}::inet AS value`, true);
  if (ofHost && isName(host)) return ofHost;
  if (ofTarget) return ofTarget;
  if (network !== undefined) {
    const inNetwork = Prisma.sql`${ADDRESS} <= ${network.last}::inet`;
    return addressSource(
      distinctValues('inet', ADDRESS, Prisma.sql`${ADDRESS_TYPES} AND ${inNetwork}`, network.first),
      false,
    );
  }
  if (text !== undefined && hasTrigram(text)) {
    return {
      values: textHashes(text),
      lookups: [Prisma.sql`type = 'TXT' AND ${TEXT_HASH} = sought.value`],
      isOneValue: false,
    };
  }
  return ofHost ?? null;
}

function isName({ parts }: NamePattern = { parts: [] }): boolean {
  return parts.length === 1;
}

function addressSource(values: Prisma.Sql, isOneValue: boolean): Source {
  return { isOneValue, values, lookups: [Prisma.sql`${ADDRESS_TYPES} AND ${ADDRESS} = sought.value`] };
}

/** The rows of a domain, by the index that has the fewest others. What is removed now may have been present at an instant. */
function domainSource(domain: string, { types, present, at }: RecordFilter): Source {
  const isOfDomain = Prisma.sql`domain = ${domain}`;
  const isPresent = Prisma.sql`${isOfDomain} AND type = sought.value AND removed IS NULL`;
  const isRemoved = Prisma.sql`${isOfDomain} AND type = sought.value AND removed IS NOT NULL`;
  const onlyPresent = present === true && at === undefined;
  if (types !== undefined) {
    const values = Prisma.sql`SELECT type COLLATE "C" AS value FROM unnest(${[...types]}::text[]) AS type`;
    return { isOneValue: true, values, lookups: onlyPresent ? [isPresent] : [isPresent, isRemoved] };
  }
  if (onlyPresent) {
    const type = Prisma.raw('type');
    const values = distinctValues('text', type, Prisma.sql`${isOfDomain} AND removed IS NULL`, '');
    return { isOneValue: true, values, lookups: [isPresent] };
  }
  const values = Prisma.sql`SELECT ${domain}::text COLLATE "C" AS value`;
  return { isOneValue: true, values, lookups: [Prisma.sql`domain = sought.value`] };
}

function hostSource(pattern: NamePattern, after: RecordPlace | undefined): Source | null {
  const names = namesMeeting(pattern, MOST_ROWS_BY_VALUE, MOST_VALUES);
  if (names === null) return null;
  return {
    isOneValue: isName(pattern),
    values: Prisma.sql`SELECT name AS value FROM (${names}) AS name`,
    lookups: [
      Prisma.sql`domain = sought.value AND host = domain ${beginsAt(after)}`,
      Prisma.sql`host = sought.value AND host <> domain`,
    ],
  };
}

/** Where an index of one domain's rows is entered, for what follows a place. */
function beginsAt(after: RecordPlace | undefined): Prisma.Sql {
  if (after === undefined) return Prisma.empty;
  return Prisma.sql`AND first_seen >= (CASE WHEN sought.value = ${after.domain} THEN ${after.firstSeen}::bigint ELSE ${EARLIEST_INSTANT}::bigint END)`;
}

function targetSource(pattern: NamePattern): Source {
  const { parts } = pattern;
  const lookups = TARGETS.map((column) => {
    const lookup = Prisma.sql`${column.types} AND ${column.name} = sought.value`;
    // One that both fields of SOA have is among those of the first.
    return column === MAILBOX ? Prisma.sql`${lookup} AND NOT ${meetsTarget(TARGET, pattern)}` : lookup;
  });
  if (isName(pattern)) {
    return {
      isOneValue: true,
      values: Prisma.sql`SELECT ${reversed(parts[0] ?? '')}::text COLLATE "C" AS value`,
      lookups,
    };
  }
  const prefix = reversed(parts[1] ?? '');
  const below = TARGETS.map(({ types, name }) => {
    const names = distinctValues('text', name, Prisma.sql`${types} AND ${startsWith(name, prefix)}`, prefix);
    return Prisma.sql`(${names})`;
  });
  return { isOneValue: false, values: Prisma.join(below, ' UNION '), lookups };
}

/** The values of a column from one on, each once: each found by one step in its index. */
function distinctValues(type: string, column: Prisma.Sql, condition: Prisma.Sql, from: string): Prisma.Sql {
  const next = (comparison: Prisma.Sql) => Prisma.sql`
    SELECT ${column} AS value FROM dns_record WHERE ${condition} AND ${column} ${comparison} ORDER BY ${column} LIMIT 1`;
  const cast = Prisma.raw(type);
  return Prisma.sql`
    WITH RECURSIVE step AS (
      (${next(Prisma.sql`>= CAST(${from} AS ${cast})`)})
      UNION ALL
      SELECT (${next(Prisma.sql`> step.value`)}) FROM step WHERE step.value IS NOT NULL
    )
    SELECT value FROM step WHERE value IS NOT NULL LIMIT ${literal(MOST_VALUES + 1)}`;
}

function meetsTarget(column: TargetColumn, pattern: NamePattern): Prisma.Sql {
  return Prisma.sql`coalesce(${hasTarget(column, pattern)}, false)`;
}

/** Null for a row of another type. */
export function hasTarget({ types, name }: TargetColumn, { parts }: NamePattern): Prisma.Sql {
  const [first = '', suffix = ''] = parts;
  const meets =
    parts.length === 1 ? Prisma.sql`${name} = ${reversed(first)}` : startsWith(name, reversed(suffix));
  return Prisma.sql`(${types} AND ${meets})`;
}

/** The hashes of the texts of TXT records with a part, as a query: see hashesOfTexts(). */
export function textHashes(part: string): Prisma.Sql {
  return hashesOfTexts('TXT', Prisma.sql`hashtextextended(text, 0)`, part);
}

/** Whether a row of table `dns_record` meets all that the filter has. */
export function conditionsOf(filter: RecordFilter): Prisma.Sql {
  const { domain, ip, network, target, text, host, types, present, at } = filter;
  const removed = Prisma.sql`(${knownAt('removed', at)})`;
  return allOf([
    domain !== undefined && Prisma.sql`domain = ${domain}`,
    ip !== undefined && Prisma.sql`(${ADDRESS_TYPES} AND ${ADDRESS} = ${ip}::inet)`,
    network !== undefined &&
      Prisma.sql`(${ADDRESS_TYPES} AND ${ADDRESS} BETWEEN ${network.first}::inet AND ${network.last}::inet)`,
    target !== undefined &&
      Prisma.sql`(${Prisma.join(
        TARGETS.map((column) => meetsTarget(column, target)),
        ' OR ',
      )})`,
    text !== undefined && Prisma.sql`(type = 'TXT' AND strpos(${TEXT}, ${text}) > 0)`,
    host !== undefined && meetsPattern(Prisma.raw('host'), host),
    types !== undefined && Prisma.sql`type = ANY (${[...types]})`,
    at !== undefined && Prisma.sql`first_seen <= ${at}`,
    present !== undefined && Prisma.sql`(${removed} IS NULL) = ${present}`,
    filter.seenFrom !== undefined && Prisma.sql`(${removed} IS NULL OR ${removed} > ${filter.seenFrom})`,
    filter.seenTo !== undefined && Prisma.sql`first_seen <= ${filter.seenTo}`,
    filter.firstSeenFrom !== undefined && Prisma.sql`first_seen > ${filter.firstSeenFrom}`,
    filter.firstSeenTo !== undefined && Prisma.sql`first_seen <= ${filter.firstSeenTo}`,
    filter.digest !== undefined && Prisma.sql`${DIGEST} = ${filter.digest}`,
  ]);
}

/**
 * The condition that rows come after a place. With an equality of `domain` beside it, an index is not entered by a row that begins
 * with `domain`, but at the domain's first row: so the columns after it have conditions of their own.
 */
export function follows({ after, filter }: RecordSearchKey): Prisma.Sql {
  if (after === undefined) return Prisma.empty;
  const { domain, firstSeen, type, position } = after;
  if (filter.domain === undefined) {
    return Prisma.sql`AND (${PLACE}) > (${domain}, ${firstSeen}, ${type}, ${position})`;
  }
  const ofTypes = filter.types !== undefined || filter.present === true;
  // Their indexes have the type before the time.
  const begin = ofTypes ? Prisma.sql`AND first_seen >= ${firstSeen}` : Prisma.empty;
  return Prisma.sql`${begin} AND (first_seen, type, position) > (${firstSeen}, ${type}, ${position})`;
}

/** Looks the values up; null where there are too many. */
async function readByValue(
  prisma: PrismaClient,
  key: RecordSearchKey,
  { values, lookups }: Source,
  most: number,
): Promise<RecordMatches | null> {
  const rows = lookups.map(
    (lookup) => Prisma.sql`
      SELECT ${PLACE}, ${conditionsOf(key.filter)} AS matches FROM dns_record WHERE ${lookup} ${follows(key)}`,
  );
  const { queries, overflow } = lookUp({ values, rows, place: PLACE, first: key.first, most });
  return readPage(prisma, key, queries, overflow);
}

/** Reads up to so many rows in the order of matches, until there are enough of them. */
async function readInOrder(prisma: PrismaClient, key: RecordSearchKey, rows: number): Promise<RecordMatches> {
  const { domain } = key.filter;
  const isOfDomain = domain === undefined ? Prisma.sql`true` : Prisma.sql`domain = ${domain}`;
  const inOrder = Prisma.sql`FROM dns_record WHERE ${isOfDomain} ${follows(key)} ORDER BY ${PLACE}`;
  const found = Prisma.sql`
    found AS MATERIALIZED (
      SELECT ${PLACE} FROM (SELECT * ${inOrder} LIMIT ${literal(rows)}) AS row
       WHERE ${conditionsOf(key.filter)} ORDER BY ${PLACE} LIMIT ${literal(key.first + 1)}),
    last AS MATERIALIZED (
      SELECT ${PLACE} FROM (SELECT ${PLACE} ${inOrder} LIMIT 1 OFFSET ${literal(rows - 1)}) AS row
       WHERE (SELECT count(*) FROM found) <= ${literal(key.first)})`;
  return within(await readPage(prisma, key, found, Prisma.sql`false`));
}

interface PageRow {
  readonly overflow: boolean;
  readonly columns: string | null;
  readonly domains: readonly string[] | null;
  readonly positions: readonly number[] | null;
  readonly sources: readonly (string | null)[] | null;
  readonly lastSeen: readonly (string | null)[] | null;
  readonly candidates: number | null;
  /** Where the rows end that were read; null: there are no others. */
  readonly end: readonly [domain: string, firstSeen: string, type: string, position: number] | null;
}

/**
 * Reads the records of a page.
 *
 * @param found Queries in WITH: `found` has the places of matches, one more than the page, and `last` the place up to which they are all,
 * if there may be others.
 */
export async function readPage(
  prisma: PrismaClient,
  { filter, first, lastSeen }: RecordSearchKey,
  found: Prisma.Sql,
  overflow: Prisma.Sql,
): Promise<RecordMatches | null> {
  const { at } = filter;
  const candidates = Prisma.sql`
    SELECT ${PLACE}, class, host, rdata, source, ${knownAt('removed', at)} AS removed,
           ${knownAt('last_seen', at)} AS last_seen
      FROM found JOIN dns_record USING (${PLACE})`;
  const [page] = await prisma.$queryRaw<readonly PageRow[]>`
    ${PLANNED} WITH ${found},
    entry AS MATERIALIZED (${pageOf(candidates, ['rdata'], 'domain, first_seen, type, position')}),
    -- Once for each type of a domain: as of an instant, it takes all of its records.
    part AS MATERIALIZED (
      SELECT domain, type, ${lastSeen ? latestOfTypeSql(at, 'part') : Prisma.sql`NULL`} AS latest
        FROM (SELECT DISTINCT domain, type, NULL::bigint AS removed FROM entry WHERE removed IS NULL) AS part)
    SELECT ${overflow} AS overflow, ${COLUMNS_SQL} AS columns, json_agg(domain) AS domains, json_agg(position) AS positions,
           json_agg(source) AS sources,
           json_agg((SELECT latest FROM part WHERE part.domain = entry.domain AND part.type = entry.type)) AS "lastSeen",
           max(candidates)::int AS candidates,
           (SELECT json_build_array(domain, first_seen::text, type, position) FROM last) AS end
      FROM entry`;
  if (page === undefined || page.overflow) return null;
  const domainOf = (row: number) => ({ domain: page.domains?.[row] ?? '', at });
  const matches = parseDnsEntries(page.columns ?? '', domainOf).map((record, row): RecordMatch => {
    const { domain } = record.of;
    const latest = page.lastSeen?.[row];
    if (record.removed === null && lastSeen)
      record.lastSeen = seenUpTo(record, latest == null ? null : BigInt(latest));
    const { firstSeen, type } = record;
    const place = { domain, firstSeen, type, position: page.positions?.[row] ?? 0 };
    return { record, source: page.sources?.[row] ?? null, place };
  });
  const end = page.end && {
    ...{ domain: page.end[0], firstSeen: BigInt(page.end[1]), type: page.end[2], position: page.end[3] },
  };
  return pageOfMatches<RecordMatch, RecordPlace>(matches, first, page.candidates, end, ({ place }) => place);
}
