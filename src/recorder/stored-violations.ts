import type { PrismaClient, WatchedDomain } from '../database/generated/client.js';
import { canonicalOrNull, isWritable, stayText, timeText } from '../history/violation-text.js';
import { findViolations } from '../history/violations.js';
import { parseDomainName } from '../model/domain-name.js';
import { historyOctets } from './history-octets.js';
import { historyOfRows, type StoredRows } from './read-histories.js';
import { isReadableTypes, type StayRow, stayOfRow } from './rows.js';

/**
 * Finds what breaks a rule in a domain's rows: one line for each violation.
 *
 * Constraints of the database would be checked at every write of the recorder, and an upgrade that adds one would
 * fail at a stored row that breaks it; `dms verify` names the row.
 */
export function findStoredViolations(rows: StoredRows): string[] {
  if (!isReadableTypes(rows.domain.dns_types)) return ['the column dns_types cannot be read'];
  return [
    ...contradictionsOfDomain(rows),
    ...rows.stays.flatMap(contradictionsOfStay),
    ...findViolations(historyOfRows(rows)),
  ];
}

/** The messages of the conditions that hold. */
function messagesOf(conditions: readonly (readonly [holds: boolean, message: string])[]): string[] {
  return conditions.filter(([holds]) => holds).map(([, message]) => message);
}

/** Contradictions between the columns of a domain's rows, which the rules of history do not see. */
function contradictionsOfDomain({ domain: row, stays, headers }: StoredRows): string[] {
  const octets = historyOctets(stays, headers);
  return messagesOf([
    [isPartial(row.dns_first, row.dns_latest), 'only one of dns_first and dns_latest is set'],
    [
      isPartial(row.http_first, row.http_latest, row.http_digest),
      'only some of http_first, http_latest and http_digest are set',
    ],
    [
      isPartial(row.https_declined_first, row.https_declined_latest, row.https_declined_count),
      'only some of https_declined_first, https_declined_latest and https_declined_count are set',
    ],
    [
      row.https_latest === null && row.https_declined_first !== null,
      'HTTPS was declined, and there is no https_latest',
    ],
    [
      row.record_octets !== BigInt(octets.records),
      `record_octets is ${row.record_octets}; the records have ${octets.records}`,
    ],
    [
      row.header_octets !== BigInt(octets.headers),
      `header_octets is ${row.header_octets}; the headers have ${octets.headers}`,
    ],
  ]);
}

function contradictionsOfStay(row: StayRow): string[] {
  const { removed, last_seen: lastSeen, removed_source: source } = row;
  return messagesOf([
    [removed !== null && lastSeen === null, 'was removed, and has no time at which it was last seen'],
    [removed === null && lastSeen !== null, 'is present, and has a time at which it was last seen'],
    [removed === null && source !== null, 'is present, and has a source of its removal'],
  ]).map((message) => `${stayText(stayOfRow(row))} ${message}`);
}

function isPartial(...values: readonly unknown[]): boolean {
  return values.includes(null) && values.some((value) => value !== null);
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

/** Finds what breaks a rule among the watched domains: a line for each violation, which begins with the domain's name. */
export async function* findWatchViolations(prisma: PrismaClient): AsyncGenerator<string> {
  for (let after: string | undefined; ; ) {
    const rows = await prisma.watchedDomain.findMany({
      where: after === undefined ? {} : { name: { gt: after } },
      orderBy: { name: 'asc' },
      take: WATCHED_PAGE,
    });
    for (const row of rows) {
      for (const violation of violationsOf(row)) yield `${row.name}: ${violation}`;
    }
    after = rows.at(-1)?.name;
    if (after === undefined) return;
  }
}

function violationsOf({ name, due, scheduled, observedAt, outcome, failures }: WatchedDomain): string[] {
  const isDue = (time: bigint) => time >= 0n && isWritable(time);
  return messagesOf([
    [
      canonicalOrNull(() => parseDomainName(name)) !== name,
      'the name of the watched domain is not in canonical form',
    ],
    [!isDue(due), `the observation is due at ${timeText(due)}`],
    [!isDue(scheduled), `the observation is scheduled at ${timeText(scheduled)}`],
    [observedAt !== null && !isWritable(observedAt), `it was observed last at ${timeText(observedAt)}`],
    [isPartial(observedAt, outcome), 'only one of the time and the outcome of its latest observation is set'],
    [failures < 0, `${failures} observations have failed in a row, which is negative`],
  ]);
}
