import type { PrismaClient, WatchedDomain } from '../database/generated/client.js';
import { canonicalOrNull, isWritable, stayText, timeText } from '../history/violation-text.js';
import { findViolations } from '../history/violations.js';
import { parseDomainName } from '../model/domain-name.js';
import { octetsOfHeaderChange, octetsOfRecord } from './history-octets.js';
import { historyOfRows, type StoredRows } from './read-histories.js';
import { type DomainRow, isReadableTypes, type StayRow, stayOfRow } from './rows.js';

/**
 * Finds what breaks a rule in a domain's rows.
 *
 * @returns one line for each breach; none when the rows are sound.
 */
export function findStoredViolations(rows: StoredRows): string[] {
  if (!isReadableTypes(rows.domain.dns_types)) {
    return ['the column dns_types cannot be read'];
  }
  return [
    ...contradictionsOfDomain(rows.domain),
    ...contradictionOfSize(rows),
    ...rows.stays.flatMap((stay) => [...contradictionsOfStay(stay)]),
    ...findViolations(historyOfRows(rows)),
  ];
}

function* contradictionOfSize({ domain, stays, headers }: StoredRows): Generator<string> {
  const octets =
    stays.reduce((sum, stay) => sum + octetsOfRecord(stay), 0) +
    headers.reduce((sum, change) => sum + octetsOfHeaderChange(change), 0);
  if (domain.history_octets !== BigInt(octets)) {
    yield `history_octets is ${domain.history_octets}; the records and headers have ${octets}`;
  }
}

/**
 * What the columns of a domain's row say against each other: the rules of history never get to see it.
 *
 * @returns one line for each contradiction.
 */
function* contradictionsOfDomain(row: DomainRow): Generator<string> {
  if (!allOrNone([row.dns_first, row.dns_latest])) {
    yield 'of dns_first and dns_latest one is set, and the other is not';
  }
  if (!allOrNone([row.http_first, row.http_latest, row.http_digest])) {
    yield 'of http_first, http_latest and http_digest some are set, and others are not';
  }
  if (!allOrNone([row.https_declined_first, row.https_declined_latest, row.https_declined_count])) {
    yield 'of https_declined_first, https_declined_latest and https_declined_count some are set, and others are not';
  }
  if (row.https_latest === null && row.https_declined_first !== null) {
    yield 'HTTPS was declined, and there is no https_latest';
  }
}

/** What the columns of a record's row say against each other: one line for each contradiction. */
function* contradictionsOfStay(row: StayRow): Generator<string> {
  const text = () => stayText(stayOfRow(row));
  if (row.removed !== null && row.last_seen === null) {
    yield `${text()} was removed, and has no time at which it was last seen`;
  }
  if (row.removed === null && row.last_seen !== null) {
    yield `${text()} is present, and has a time at which it was last seen`;
  }
  if (row.removed === null && row.removed_source !== null) {
    yield `${text()} is present, and has a source of its removal`;
  }
}

function allOrNone(values: readonly unknown[]): boolean {
  const set = values.filter((value) => value !== null).length;
  return set === 0 || set === values.length;
}

const MAX_ORPHANS = 100;

/**
 * Finds the names in the tables of records, headers and responses that table `domain` does not have. The database
 * has no foreign keys: one check for each row written would cost more than the row.
 *
 * @returns at most 100 names, sorted.
 */
export async function findOrphans(prisma: PrismaClient): Promise<string[]> {
  const orphans = {
    by: ['domainName' as const],
    where: { domain: { isNot: {} } },
    orderBy: { domainName: 'asc' as const },
    take: MAX_ORPHANS,
  };
  const found = [
    ...(await prisma.dnsRecord.groupBy(orphans)),
    ...(await prisma.headerChange.groupBy(orphans)),
    ...(await prisma.siteResponse.groupBy(orphans)),
  ];
  const names = new Set(found.map(({ domainName }) => domainName));
  return [...names].sort().slice(0, MAX_ORPHANS);
}

const WATCHED_PAGE = 10_000;

/**
 * Finds what breaks a rule among the watched domains.
 *
 * @returns one line for each breach, which begins with the domain's name.
 */
export async function* findWatchViolations(prisma: PrismaClient): AsyncGenerator<string> {
  for (let after: string | undefined; ; ) {
    const rows = await prisma.watchedDomain.findMany({
      where: after === undefined ? {} : { name: { gt: after } },
      orderBy: { name: 'asc' },
      take: WATCHED_PAGE,
    });
    for (const row of rows) {
      for (const breach of breachesOf(row)) yield `${row.name}: ${breach}`;
    }
    after = rows.at(-1)?.name;
    if (after === undefined) return;
  }
}

function* breachesOf(row: WatchedDomain): Generator<string> {
  if (canonicalOrNull(() => parseDomainName(row.name)) !== row.name) {
    yield 'the name of the watched domain is not in canonical form';
  }
  if (row.every <= 0n) yield `it is watched every ${row.every} µs, which is not positive`;
  for (const [what, time] of [
    ['due', row.due],
    ['scheduled', row.scheduled],
  ] as const) {
    if (time < 0n || !isWritable(time)) yield `the observation is ${what} at ${timeText(time)}`;
  }
  if (row.observedAt !== null && !isWritable(row.observedAt)) {
    yield `it was observed last at ${timeText(row.observedAt)}`;
  }
  if ((row.observedAt === null) !== (row.outcome === null)) {
    yield 'of the time and the outcome of its latest observation one is there, and the other is not';
  }
  if (row.failures < 0) yield `${row.failures} observations have failed in a row, which is negative`;
}
