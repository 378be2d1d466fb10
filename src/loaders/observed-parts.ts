import { Prisma, type PrismaClient } from '../database/generated/client.js';
import { OTHER_TYPES, type PartTimes } from '../history/state.js';
import { compareInstants, type Instant } from '../model/instant.js';
import { isJsonObject } from '../model/json-values.js';
import { knownAt, upTo } from './columns.js';
import type { DnsEntry } from './dns-entries.js';
import type { Batch } from './domain-row.js';

export interface TimesOfParts {
  /** Of the observations of every DNS type at once. */
  readonly everyType: PartTimes | null;
  /** By DNS type: of each that had records, or was observed by name. */
  readonly types: ReadonlyMap<string, PartTimes>;
  readonly http: PartTimes | null;
}

/**
 * The times of the parts of a row of table `domain`, for parsePartTimes. As of an instant, the stored times may
 * be later: then the latest time of which an observation is still known is that of a record or a change.
 */
export function partTimesSql({ at, name }: Batch): Prisma.Sql {
  const known =
    at === undefined
      ? Prisma.empty
      : Prisma.sql`,
      (SELECT json_object_agg(type, latest::text)
         FROM (SELECT type, max(CASE WHEN removed <= ${at} THEN removed
                                 WHEN last_seen <= ${at} THEN last_seen ELSE first_seen END) AS latest
                 FROM dns_record
                WHERE dns_record.domain = ${name} AND first_seen <= ${at} GROUP BY type) AS of_type),
      (${latestOfChangesSql(at, name)})::text`;
  return Prisma.sql`
    json_build_array(dns_first::text, dns_latest::text, http_first::text, http_latest::text,
                     dns_types ${known})::text`;
}

/**
 * The latest observation of a DNS type of a domain: as of an instant, of those whose times are known. It is
 * null where there is none: seenUpTo() has an entry's own times.
 *
 * @param table Has the columns `domain` and `type`.
 */
export function latestOfTypeSql(at: Instant | undefined, table: string): Prisma.Sql {
  const entry = Prisma.raw(table);
  const named = (end: string) => knownAt(`(dns_types -> ${table}.type ->> '${end}')::bigint`, at);
  const ofRows =
    at === undefined
      ? Prisma.empty
      : Prisma.sql`,
        (SELECT greatest(max(other.first_seen) FILTER (WHERE NOT other.first_sighted),
                         max(${knownAt('other.removed', at)}),
                         max(${knownAt('other.last_seen', at)}) FILTER (WHERE NOT other.last_sighted))
           FROM dns_record AS other
          WHERE other.domain = ${entry}.domain AND other.type = ${entry}.type AND other.first_seen <= ${at})`;
  return Prisma.sql`
    (SELECT greatest(${knownAt('dns_first', at)}, ${knownAt('dns_latest', at)},
                     ${named('first')}, ${named('latest')} ${ofRows})
       FROM domain WHERE domain.name = ${entry}.domain)`;
}

export function latestOfHttpSql(at: Instant | undefined, domain: Prisma.Sql): Prisma.Sql {
  const ofChanges = at === undefined ? Prisma.empty : Prisma.sql`, ${latestOfChangesSql(at, domain)}`;
  return Prisma.sql`
    (SELECT greatest(${knownAt('http_first', at)}, ${knownAt('http_latest', at)} ${ofChanges})
       FROM domain WHERE domain.name = ${domain})`;
}

/** The latest time up to an instant that changes of headers tell: of one that went later, its last sight. */
function latestOfChangesSql(at: Instant, domain: Prisma.Sql): Prisma.Sql {
  const latest = (time: string) => Prisma.sql`
    (SELECT max(${Prisma.raw(time)}) FROM header_change AS other
      WHERE other.domain = ${domain} ${upTo(time, at)})`;
  return Prisma.sql`greatest(${latest('other.observed_at')}, ${latest('other.last_seen')})`;
}

type Stored = readonly [
  dnsFirst: string | null,
  dnsLatest: string | null,
  httpFirst: string | null,
  httpLatest: string | null,
  types: Readonly<Record<string, StoredType>>,
  latestOfRecords?: Readonly<Record<string, string>> | null,
  latestOfHeaders?: string | null,
];

interface StoredType {
  readonly first?: string;
  readonly latest?: string;
  /** Its records may have been sighted. */
  readonly sightedFirst?: string;
}

/**
 * As of an instant, the latest observation is the latest of which the time is still known; a part that was not
 * observed up to it is left out.
 *
 * @param text What partTimesSql() gives.
 */
export function parsePartTimes(text: string, at: Instant | undefined): TimesOfParts {
  const [dnsFirst, dnsLatest, httpFirst, httpLatest, stored, ofRecords, ofHeaders]: Stored = JSON.parse(text);
  const instants = (...times: readonly (string | null | undefined)[]) =>
    times.flatMap((time) => (time == null ? [] : BigInt(time)));
  const every = instants(dnsFirst, dnsLatest);
  const types = Object.entries(stored).flatMap(([type, { first, latest, sightedFirst }]) => {
    if (type === OTHER_TYPES) return [];
    // A record's times tell when its type was observed, unless they may be those of sightings.
    const shown = sightedFirst === undefined ? ofRecords?.[type] : undefined;
    const times = between([...every, ...instants(first, latest, shown)], at);
    return times === null ? [] : [[type, times] as const];
  });
  return {
    everyType: between(every, at),
    types: new Map(types),
    http: between(instants(httpFirst, httpLatest, ofHeaders), at),
  };
}

/** The first and the last of times that are not after the instant; null where there are none. */
function between(times: readonly Instant[], at: Instant | undefined): PartTimes | null {
  const known = times.filter((time) => at === undefined || time <= at).sort(compareInstants);
  const [first, latest] = [known[0], known.at(-1)];
  return first === undefined || latest === undefined ? null : { first, latest };
}

/**
 * When a record that is present was last seen: by the latest observation of its type, if that is not before its
 * first sight, or by a sighting of its own.
 */
export function seenUpTo({ firstSeen, lastSeen }: DnsEntry, latest: Instant | null | undefined): Instant {
  const own = lastSeen ?? firstSeen;
  return latest != null && latest > own ? latest : own;
}

interface Attempt {
  readonly at: Instant;
  /** Why each part that was attempted failed, by its name; null: it did not. */
  readonly failures: ReadonlyMap<string, string | null>;
}

/** In each place null where there was none. */
export async function loadAttempts(
  prisma: PrismaClient,
  keys: readonly { readonly name: string }[],
): Promise<(Attempt | null)[]> {
  const rows = await prisma.watchedDomain.findMany({
    select: { name: true, observedAt: true, outcome: true },
    where: { name: { in: keys.map(({ name }) => name) } },
  });
  return keys.map(({ name }) => {
    const { observedAt: at, outcome } = rows.find((row) => row.name === name) ?? {};
    return at == null ? null : { at, failures: failuresOf(outcome) };
  });
}

/** @param outcome A CheckOutcome of the observer, as it is stored. */
function failuresOf(outcome: unknown): ReadonlyMap<string, string | null> {
  const { dns, http } = jsonObject(outcome);
  const { answered, failures } = jsonObject(dns);
  const { failure, heldBack } = jsonObject(http);
  const codeOf = (failed: unknown) => String(jsonObject(failed)['code']);
  return new Map([
    ...(Array.isArray(answered) ? answered : []).map((type) => [String(type), null] as const),
    ...Object.entries(jsonObject(failures)).map(([type, failed]) => [type, codeOf(failed)] as const),
    [HTTP, failure !== undefined ? codeOf(failure) : heldBack === undefined ? null : 'held-back'],
  ]);
}

function jsonObject(value: unknown) {
  return isJsonObject(value) ? value : {};
}

const [EVERY_TYPE, HTTP] = ['DNS', 'HTTP'];

/** The parts that were observed or attempted: every type at once, types by name, HTTP. */
export function observedParts({ everyType, types, http }: TimesOfParts, attempt: Attempt | null) {
  const { at, failures } = attempt ?? { at: null, failures: new Map<string, string | null>() };
  const part = (name: string, known: PartTimes | null | undefined) => {
    const times = [known, name === HTTP ? null : everyType];
    const isObservedSince = times.some((each) => each != null && each.latest > (at ?? 0n));
    return {
      name,
      firstObserved: known?.first ?? null,
      lastObserved: known?.latest ?? null,
      lastAttempt: failures.has(name) ? at : null,
      failure: isObservedSince ? null : (failures.get(name) ?? null),
    };
  };
  const names = [...new Set([...types.keys(), ...failures.keys()])].filter((name) => name !== HTTP);
  return [
    ...(everyType === null ? [] : [part(EVERY_TYPE, everyType)]),
    ...names.sort().map((type) => part(type, types.get(type))),
    ...(http === null && !failures.has(HTTP) ? [] : [part(HTTP, http)]),
  ];
}
