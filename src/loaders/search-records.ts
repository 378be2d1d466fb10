import { Prisma } from '../database/generated/client.js';
import { EARLIEST_INSTANT, type Instant } from '../model/instant.js';
import type { NamePattern } from '../model/name-pattern.js';
import { LENGTH_OF_DIGEST } from '../model/node-id.js';
import { instantOrNull, knownAt, literal, pageOf } from './columns.js';
import type { DnsEntry } from './dns-entries.js';
import { latestOfTypeSql } from './observed-parts.js';
import {
  allGiven,
  allOf,
  distinctValues,
  EVERY_ROW,
  hashesOfTexts,
  hasTrigram,
  isWithin,
  type Lookup,
  MAX_ROWS_BY_VALUE,
  MAX_VALUES,
  meetsPattern,
  namesMeeting,
  type Question,
  queriesInOrder,
  reversed,
  type SearchKey,
  type SearchReader,
  type SoughtValues,
  search,
  startsWith,
} from './search.js';

/** Which DNS records. All that is given has to be met. Names and addresses are in canonical form. */
interface RecordFilter {
  readonly domain?: string | undefined;
  readonly ip?: string | undefined;
  /** The first and the last address of a network. */
  readonly network?: { readonly first: string; readonly last: string } | undefined;
  /** A host name that the rdata has. */
  readonly target?: NamePattern | undefined;
  /** A part of the text of a TXT record. */
  readonly text?: string | undefined;
  readonly host?: NamePattern | undefined;
  readonly types?: readonly string[] | undefined;
  readonly present?: boolean | null | undefined;
  /** As of when; absent: now. */
  readonly at?: Instant | undefined;
  /** The stay overlaps the time after `seenFrom`, up to `seenTo`. */
  readonly seenFrom?: Instant | null | undefined;
  readonly seenTo?: Instant | null | undefined;
  /** First seen after `firstSeenFrom`, up to `firstSeenTo`. */
  readonly firstSeenFrom?: Instant | null | undefined;
  readonly firstSeenTo?: Instant | null | undefined;
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

export interface RecordMatch {
  readonly record: DnsEntry;
  readonly source: string | null;
  readonly place: RecordPlace;
}

/** Its filter has a condition besides types and times. */
export type RecordSearchKey = SearchKey<RecordFilter, RecordPlace>;

export function searchRecords(reader: SearchReader, key: RecordSearchKey) {
  return search(reader, recordQuestion(key));
}

/** Times as digits. */
type Row = readonly [
  ...[domain: string, firstSeen: string, type: string, position: number, source: string | null],
  ...[host: string, className: string, removed: string | null, lastSeen: string | null, rdata: object],
];

function recordQuestion(key: RecordSearchKey): Question<Row, RecordMatch, RecordPlace> {
  const { filter, first, lastSeen } = key;
  const { domain: name, at } = filter;
  const candidates = Prisma.sql`
    SELECT ${PLACE}, class, host, rdata, source, ${knownAt('removed', at)} AS removed,
           ${knownAt('last_seen', at)} AS last_seen
      FROM found JOIN dns_record USING (${PLACE})`;
  const queries = Prisma.sql`
    entry AS MATERIALIZED (${pageOf(candidates, ['rdata'], PLACE.sql)}),
    -- Once for each type of a domain: as of an instant, it takes all of its records.
    part AS MATERIALIZED (
      SELECT domain, type, ${lastSeen ? latestOfTypeSql(at, 'part') : Prisma.sql`NULL::bigint`} AS latest
        FROM (SELECT DISTINCT domain, type FROM entry WHERE removed IS NULL) AS part)`;
  const latest = Prisma.sql`
    (SELECT latest FROM part WHERE part.domain = entry.domain AND part.type = entry.type)`;
  // What is present was last seen by the latest observation of its type, as seenUpTo() has it.
  const seen = Prisma.sql`
    CASE WHEN removed IS NULL THEN greatest(first_seen, last_seen, ${latest})
         ELSE coalesce(last_seen, first_seen) END`;
  const isFound = name === undefined ? Prisma.sql`IN (SELECT domain FROM found)` : Prisma.sql`= ${name}`;
  // As of an instant, when a record was last seen is known from all records of its domain.
  const isNeeded =
    at !== undefined && lastSeen ? EVERY_ROW : Prisma.sql`(${PLACE}) IN (SELECT ${PLACE} FROM found)`;
  const conditions = conditionsOf(filter);
  return {
    first,
    table: 'dns_record',
    place: PLACE,
    columns: 'domain text COLLATE "C", first_seen bigint, type text COLLATE "C", position int',
    within: name === undefined ? undefined : Prisma.sql`domain = ${name}`,
    conditions: () => conditions,
    follows: followsSql(key),
    sought: soughtBy(key),
    inOrder: queriesInOrder,
    reading: {
      needed: {
        dns_record: Prisma.sql`SELECT * FROM dns_record WHERE domain ${isFound} AND ${isNeeded}`,
        domain: Prisma.sql`SELECT * FROM domain WHERE name ${isFound}`,
      },
      queries,
      place: Prisma.raw('domain, first_seen::text, type, position'),
      placeOf: ([domain, time, type, position]) => ({ domain, firstSeen: BigInt(time), type, position }),
      rest: Prisma.sql`source, host, class, removed::text, (${seen})::text, rdata`,
      matchOf: ([domain, , type, , source, host, className, removed, last, rdata], place) => {
        const { firstSeen } = place;
        const times = { firstSeen, removed: instantOrNull(removed), lastSeen: instantOrNull(last) };
        const record = { host, class: className, type, ...times, of: { domain, at }, ...rdata };
        return { record, source, place };
      },
    },
  };
}

const ADDRESS_TYPES = Prisma.raw(`type IN ('A', 'AAAA')`);
const ADDRESS = Prisma.raw('address_of(rdata)');
const TEXT_HASH = Prisma.raw(`hashtextextended(rdata ->> 'txt', 0)`);
const PLACE = Prisma.raw('domain, first_seen, type, position');
const DIGEST = Prisma.raw(
  `left(encode(sha256(convert_to(concat_ws(' ', type, class, host, rdata::text), 'UTF8')), 'hex'),
        ${LENGTH_OF_DIGEST})`,
);

/** Of a host name that the rdata of some types has. */
function targetLookup(types: string, name: string): Lookup {
  return { condition: Prisma.raw(types), column: Prisma.raw(`reverse(${name}) COLLATE "C"`) };
}

const TARGET = targetLookup(
  `type IN ('NS', 'CNAME', 'PTR', 'MX', 'SRV', 'SOA')`,
  `coalesce(rdata ->> 'target', rdata ->> 'mname')`,
);
const MAILBOX = targetLookup(`type = 'SOA'`, `rdata ->> 'rname'`);
const HOST_NAME = targetLookup(
  `type IN ('AFSDB', 'CAA', 'DNAME', 'HTTPS', 'KX', 'LP', 'NAPTR', 'RT', 'SVCB')
   AND host_name_of(type, rdata) IS NOT NULL`,
  'host_name_of(type, rdata)',
);
const TARGETS = [TARGET, MAILBOX, HOST_NAME];

/** The condition that leaves the fewest rows, as far as can be told from the question. */
function soughtBy({ filter, after }: RecordSearchKey): SoughtValues | null {
  const { domain, ip, network, target, text, host } = filter;
  if (domain !== undefined) return soughtDomain(domain, filter);
  const addresses = [{ column: ADDRESS, condition: ADDRESS_TYPES }];
  if (ip !== undefined) {
    return { isOneValue: true, values: () => Prisma.sql`SELECT ${ip}::inet AS value`, lookups: addresses };
  }
  const ofHost = soughtHosts(host, after);
  if (ofHost?.isOneValue) return ofHost;
  if (target) return soughtTargets(target);
  if (network !== undefined) {
    const inNetwork = Prisma.sql`${ADDRESS_TYPES} AND ${ADDRESS} <= ${network.last}::inet`;
    const from = Prisma.sql`${network.first}::inet`;
    const values = (part: Prisma.Sql) => valuesOf(part, ADDRESS, inNetwork, from);
    return { isOneValue: false, values, lookups: addresses };
  }
  return soughtTexts(text) ?? ofHost;
}

/** The rows of a domain, by the index with the fewest others. */
function soughtDomain(domain: string, { types, present, at }: RecordFilter): SoughtValues {
  const ofDomain = Prisma.sql`domain = ${domain}`;
  // As of an instant, what is removed may have been present.
  const onlyPresent = present === true && at === undefined;
  if (types === undefined && !onlyPresent) {
    const values = () => Prisma.sql`SELECT ${domain}::text COLLATE "C" AS value`;
    return { isOneValue: true, values, lookups: [{ column: Prisma.raw('domain'), condition: ofDomain }] };
  }
  const column = Prisma.raw('type');
  const isPresent = Prisma.sql`${ofDomain} AND removed IS NULL`;
  const isRemoved = Prisma.sql`${ofDomain} AND removed IS NOT NULL`;
  const conditions = onlyPresent ? [isPresent] : [isPresent, isRemoved];
  const values = (part: Prisma.Sql) =>
    types === undefined
      ? valuesOf(part, column, isPresent)
      : Prisma.sql`SELECT type COLLATE "C" AS value FROM unnest(${types}::text[]) AS type`;
  return { isOneValue: true, values, lookups: conditions.map((condition) => ({ column, condition })) };
}

function soughtHosts(pattern: NamePattern | undefined, after?: RecordPlace): SoughtValues | null {
  const names = pattern && namesMeeting(pattern, MAX_ROWS_BY_VALUE, MAX_VALUES);
  if (!names) return null;
  // Where an index of one domain's rows is entered, for what follows a place.
  const begin =
    after === undefined
      ? Prisma.empty
      : Prisma.sql`AND first_seen >= (CASE WHEN sought.value = ${after.domain} THEN ${after.firstSeen}::bigint
                                           ELSE ${EARLIEST_INSTANT}::bigint END)`;
  return {
    isOneValue: pattern.parts.length === 1,
    given: { query: Prisma.sql`SELECT name AS value FROM (${names}) AS name`, type: 'text[] COLLATE "C"' },
    values: allGiven,
    lookups: [
      { column: Prisma.raw('domain'), condition: Prisma.sql`host = domain ${begin}` },
      { column: Prisma.raw('host'), condition: Prisma.raw('host <> domain') },
    ],
  };
}

function soughtTexts(text: string | undefined): SoughtValues | null {
  if (text === undefined || !hasTrigram(text)) return null;
  return {
    given: { query: hashesOfTexts('TXT', Prisma.sql`hashtextextended(text, 0)`, text), type: 'bigint[]' },
    values: allGiven,
    lookups: [{ column: TEXT_HASH, condition: Prisma.raw(`type = 'TXT'`) }],
    isOneValue: false,
  };
}

function soughtTargets(pattern: NamePattern): SoughtValues {
  const [name = '', suffix] = pattern.parts.map(reversed);
  // One that both fields of SOA have is among those of the first.
  const isOther = Prisma.sql`${MAILBOX.condition} AND NOT coalesce(${hasTarget(TARGET, pattern)}, false)`;
  const lookups = [TARGET, { ...MAILBOX, condition: isOther }, HOST_NAME];
  if (suffix === undefined) {
    return { isOneValue: true, values: () => Prisma.sql`SELECT ${name}::text COLLATE "C" AS value`, lookups };
  }
  const below = (part: Prisma.Sql) =>
    TARGETS.map(({ condition, column }) => {
      const isBelow = Prisma.sql`${condition} AND ${startsWith(column, suffix)}`;
      return Prisma.sql`(${valuesOf(part, column, isBelow, Prisma.sql`${suffix}::text`)})`;
    });
  return { isOneValue: false, values: (part) => Prisma.join(below(part), ' UNION '), lookups };
}

function valuesOf(
  part: Prisma.Sql,
  column: Prisma.Sql,
  condition: Prisma.Sql,
  from?: Prisma.Sql,
): Prisma.Sql {
  return Prisma.sql`${distinctValues(part, column, condition, from)} LIMIT ${literal(MAX_VALUES + 1)}`;
}

/** Null for a row of another type. */
function hasTarget({ condition, column }: Lookup, { parts }: NamePattern): Prisma.Sql {
  const [name = '', suffix] = parts.map(reversed);
  const meets = suffix === undefined ? Prisma.sql`${column} = ${name}` : startsWith(column, suffix);
  return Prisma.sql`(${condition} AND ${meets})`;
}

function conditionsOf(filter: RecordFilter): Prisma.Sql {
  const { domain, ip, network, target, text, host, types, present, at } = filter;
  const removed = Prisma.sql`(${knownAt('removed', at)})`;
  const targets = target && TARGETS.map((lookup) => hasTarget(lookup, target));
  return allOf([
    domain !== undefined && Prisma.sql`domain = ${domain}`,
    ip !== undefined && Prisma.sql`(${ADDRESS_TYPES} AND ${ADDRESS} = ${ip}::inet)`,
    network !== undefined &&
      Prisma.sql`(${ADDRESS_TYPES} AND ${ADDRESS} BETWEEN ${network.first}::inet AND ${network.last}::inet)`,
    targets !== undefined && Prisma.join(targets, ' OR ', '(', ')'),
    text !== undefined && Prisma.sql`(type = 'TXT' AND strpos(rdata ->> 'txt', ${text}) > 0)`,
    host !== undefined && meetsPattern(Prisma.raw('host'), host),
    types !== undefined && Prisma.sql`type = ANY (${[...types]})`,
    at !== undefined && Prisma.sql`first_seen <= ${at}`,
    present != null && Prisma.sql`(${removed} IS NULL) = ${present}`,
    filter.seenFrom != null && Prisma.sql`(${removed} IS NULL OR ${removed} > ${filter.seenFrom})`,
    filter.seenTo != null && Prisma.sql`first_seen <= ${filter.seenTo}`,
    isWithin(Prisma.raw('first_seen'), filter.firstSeenFrom, filter.firstSeenTo),
    filter.digest !== undefined && Prisma.sql`${DIGEST} = ${filter.digest}`,
  ]);
}

/**
 * The condition that rows come after a place. With an equality of `domain` beside it, an index is not entered
 * by a row that begins with `domain`, but at its first row: so the columns after it have their own conditions.
 */
function followsSql({ after, filter }: RecordSearchKey): Prisma.Sql {
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
