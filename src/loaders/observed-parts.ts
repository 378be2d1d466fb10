import { Prisma, type PrismaClient } from '../database/generated/client.js';
import type { FirstTimes } from '../history/routine.js';
import { OTHER_TYPES } from '../history/state.js';
import { compareInstants, type Instant } from '../model/instant.js';
import { isJsonObject } from '../model/json-values.js';
import type { DnsEntry } from './dns-entries.js';
import type { Batch } from './domain-row.js';
import type { HeaderEntry } from './header-entries.js';

/** The first and the latest observation of a part of a domain: of one DNS type, or of the HTTP headers. */
export interface PartTimes {
  readonly first: Instant;
  readonly latest: Instant;
}

/** The times of a domain's parts. */
export interface TimesOfParts {
  /** Of the observations of every DNS type at once. */
  readonly everyType: PartTimes | null;
  /** By DNS type: of each that had records, or was observed by name. */
  readonly types: ReadonlyMap<string, PartTimes>;
  readonly http: PartTimes | null;
}

/** The times of the parts of a row of table `domain`, for parsePartTimes. */
export function partTimesSql({ at, name }: Batch): Prisma.Sql {
  const absence =
    at === undefined
      ? Prisma.sql`NULL`
      : Prisma.sql`(SELECT max(last_seen)::text FROM header_change
                     WHERE header_change.domain = ${name} AND last_seen <= ${at})`;
  return Prisma.sql`
    json_build_array(dns_first::text, dns_latest::text, http_first::text, http_latest::text, ${absence}, dns_types)::text`;
}

/**
 * The latest observation of the type of a row `entry` of table `dns_record` that is present, as digits: as of an instant, of those
 * whose times are known. Of what is removed it is null, and where there is none: seenUpTo() has the entry's own times.
 */
export function latestOfTypeSql(at: Instant | undefined, table = 'entry'): Prisma.Sql {
  const entry = Prisma.raw(table);
  const upTo = (time: Prisma.Sql) =>
    at === undefined ? time : Prisma.sql`CASE WHEN ${time} <= ${at} THEN ${time} END`;
  const named = (end: string) => Prisma.sql`(dns_types -> ${entry}.type ->> ${end})::bigint`;
  const ofRows =
    at === undefined
      ? Prisma.sql`NULL::bigint`
      : Prisma.sql`
        (SELECT greatest(max(other.first_seen) FILTER (WHERE NOT other.first_sighted), max(${upTo(Prisma.sql`other.removed`)}),
                         max(${upTo(Prisma.sql`other.last_seen`)}) FILTER (WHERE NOT other.last_sighted))
           FROM dns_record AS other
          WHERE other.domain = ${entry}.domain AND other.type = ${entry}.type AND other.first_seen <= ${at})`;
  return Prisma.sql`
    CASE WHEN ${entry}.removed IS NULL THEN
      (SELECT greatest(${upTo(Prisma.sql`dns_first`)}, ${upTo(Prisma.sql`dns_latest`)},
                       ${upTo(named('first'))}, ${upTo(named('latest'))}, ${ofRows})::text
         FROM domain WHERE domain.name = ${entry}.domain) END`;
}

/** What firstTimesSql() gives: times as digits. */
export type FirstTimesRow = readonly [observed: string | null, sighted: string | null];

/**
 * When the type of a row `entry` of table `dns_record` was first observed, and a record of it first sighted, as JSON.
 *
 * @param domain The name of the row's domain.
 */
export function firstTimesSql(domain: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`
    (SELECT json_build_array(least(dns_first, (dns_types -> entry.type ->> 'first')::bigint)::text,
                             dns_types -> entry.type ->> 'sightedFirst')
       FROM domain WHERE domain.name = ${domain})`;
}

export function firstTimesOf([observed, sighted]: FirstTimesRow = [null, null]): FirstTimes {
  const timeOf = (digits: string | null) => (digits === null ? null : BigInt(digits));
  return { observed: timeOf(observed), sighted: timeOf(sighted) };
}

type Stored = readonly [
  dnsFirst: string | null,
  dnsLatest: string | null,
  httpFirst: string | null,
  httpLatest: string | null,
  absence: string | null,
  types: Readonly<Record<string, StoredType>>,
];

interface StoredType {
  readonly first?: string;
  readonly latest?: string;
  /** Its records may have been sighted. */
  readonly sightedFirst?: string;
}

/** What parts are known from besides their stored times: the lists of a history, as of the same instant. */
interface Entries {
  readonly dnsRecords: readonly DnsEntry[] | null;
  readonly httpHeaders: readonly HeaderEntry[] | null;
}

/**
 * The times of the parts, as of an instant: the latest observation is then the latest of which the time is still known.
 * A part that was not observed up to it is left out.
 *
 * @param text What partTimesSql() gives.
 */
export function parsePartTimes(text: string, entries: Entries, at: Instant | undefined): TimesOfParts {
  const [dnsFirst, dnsLatest, httpFirst, httpLatest, absence, stored]: Stored = JSON.parse(text);
  const timesOf = (...times: readonly (string | null | undefined)[]) =>
    times.flatMap((time) => (time == null ? [] : BigInt(time)));
  const every = timesOf(dnsFirst, dnsLatest);
  const ofEntries = at === undefined ? new Map<string, Instant[]>() : timesOfTypes(entries.dnsRecords ?? []);
  const types = Object.entries(stored).flatMap(([type, { first, latest, sightedFirst }]) => {
    if (type === OTHER_TYPES) return [];
    // A record's times tell when its type was observed, unless they may be those of sightings.
    const shown = sightedFirst === undefined ? (ofEntries.get(type) ?? []) : [];
    const times = between([...every, ...timesOf(first, latest), ...shown], at);
    return times === null ? [] : [[type, times] as const];
  });
  const ofHeaders = at === undefined ? [] : (entries.httpHeaders ?? []).flatMap(timesOfHeader);
  return {
    everyType: between(every, at),
    types: new Map(types),
    http: between([...timesOf(httpFirst, httpLatest, absence), ...ofHeaders], at),
  };
}

/** The first and the last of times that are not after the instant; null where there are none. */
function between(times: readonly Instant[], at: Instant | undefined): PartTimes | null {
  const known = times.filter((time) => at === undefined || time <= at).sort(compareInstants);
  const [first] = known;
  const latest = known.at(-1);
  return first === undefined || latest === undefined ? null : { first, latest };
}

/** The latest time of each type that its records show, as they are as of an instant. */
function timesOfTypes(entries: readonly DnsEntry[]): Map<string, Instant[]> {
  const latest = new Map<string, Instant>();
  for (const { type, firstSeen, removed, lastSeen } of entries) {
    const time = removed ?? lastSeen ?? firstSeen;
    const before = latest.get(type);
    if (before === undefined || before < time) latest.set(type, time);
  }
  return new Map([...latest].map(([type, time]) => [type, [time]]));
}

function timesOfHeader({ history, absences }: HeaderEntry): Instant[] {
  return [
    ...history.map(({ date }) => date),
    ...absences.flatMap(({ from, to, lastSeen }) => [from, to ?? from, lastSeen]),
  ];
}

/**
 * When a record that is present was last seen: by the latest observation of its type, if that is not before its first sight,
 * or by a sighting of its own.
 */
export function seenUpTo({ firstSeen, lastSeen }: DnsEntry, latest: Instant | null | undefined): Instant {
  const own = lastSeen ?? firstSeen;
  return latest != null && latest > own ? latest : own;
}

/** Sets when the entries that are present were last seen: by the latest observation of their parts, or later. */
export function setLastSeen({ dnsRecords, httpHeaders }: Entries, { types, http }: TimesOfParts): void {
  for (const entry of dnsRecords ?? []) {
    if (entry.removed === null) entry.lastSeen = seenUpTo(entry, types.get(entry.type)?.latest);
  }
  for (const header of httpHeaders ?? []) {
    if (header.present) header.lastSeen = http?.latest ?? header.lastSeen;
  }
}

/** When a part of a domain was observed, and the latest attempt. */
export interface ObservedPart {
  /** A DNS type, `DNS` for every type at once, or `HTTP`. */
  readonly name: string;
  /** Null: never. */
  readonly firstObserved: Instant | null;
  readonly lastObserved: Instant | null;
  /** Null: the domain is not watched. */
  readonly lastAttempt: Instant | null;
  /** A code of observer/failure.ts, or `held-back` for a response that was not recorded; null: it did not fail, or was observed since. */
  readonly failure: string | null;
}

/** The latest attempt to observe a watched domain. */
export interface Attempt {
  readonly at: Instant;
  /** Why each part that was attempted failed, by its name; null: it did not. */
  readonly failures: ReadonlyMap<string, string | null>;
}

/** Loads the latest attempts to observe domains: in each place null where there was none. */
export async function loadAttempts(
  prisma: PrismaClient,
  keys: readonly { readonly name: string }[],
): Promise<(Attempt | null)[]> {
  const rows = await prisma.watchedDomain.findMany({
    select: { name: true, observedAt: true, outcome: true },
    where: { name: { in: keys.map(({ name }) => name) } },
  });
  const attempts = new Map(
    rows.map(({ name, observedAt, outcome }) => [
      name,
      observedAt === null ? null : { at: observedAt, failures: failuresOf(outcome) },
    ]),
  );
  return keys.map(({ name }) => attempts.get(name) ?? null);
}

/** @param outcome A CheckOutcome of the observer, as it is stored. */
function failuresOf(outcome: unknown): ReadonlyMap<string, string | null> {
  const failures = new Map<string, string | null>();
  const { dns, http } = isJsonObject(outcome) ? outcome : {};
  const { answered, failures: failed } = isJsonObject(dns) ? dns : {};
  for (const type of Array.isArray(answered) ? answered : []) failures.set(String(type), null);
  for (const [type, failure] of Object.entries(isJsonObject(failed) ? failed : {})) {
    failures.set(type, codeOf(failure));
  }
  const { failure, heldBack } = isJsonObject(http) ? http : {};
  failures.set(HTTP, failure === undefined ? (heldBack === undefined ? null : 'held-back') : codeOf(failure));
  return failures;
}

function codeOf(failure: unknown): string | null {
  return isJsonObject(failure) ? String(failure['code']) : null;
}

const [EVERY_TYPE, HTTP] = ['DNS', 'HTTP'];

/** The parts that were observed or attempted: every type at once, types by name, HTTP. */
export function observedParts(times: TimesOfParts, attempt: Attempt | null): ObservedPart[] {
  const failures = attempt?.failures ?? new Map<string, string | null>();
  const isObservedSince = (name: string, known: PartTimes | null | undefined) =>
    [known, name === HTTP ? null : times.everyType].some(
      (each) => each != null && each.latest > (attempt?.at ?? 0n),
    );
  const part = (name: string, known: PartTimes | null | undefined) => ({
    name,
    firstObserved: known?.first ?? null,
    lastObserved: known?.latest ?? null,
    lastAttempt: failures.has(name) ? (attempt?.at ?? null) : null,
    failure: isObservedSince(name, known) ? null : (failures.get(name) ?? null),
  });
  const types = [...new Set([...times.types.keys(), ...failures.keys()])].filter((name) => name !== HTTP);
  return [
    ...(times.everyType === null ? [] : [part(EVERY_TYPE, times.everyType)]),
    ...types.sort().map((type) => part(type, times.types.get(type))),
    ...(times.http === null && !failures.has(HTTP) ? [] : [part(HTTP, times.http)]),
  ];
}
