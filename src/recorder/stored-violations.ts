import { isDeepStrictEqual } from 'node:util';
import type { Pool } from 'pg';
import type { PrismaClient, WatchedDomain } from '../database/generated/client.js';
import { isWritable, stayText, timeText } from '../history/history-text.js';
import { findViolations, isCanonical } from '../history/violations.js';
import { parseDomainName } from '../model/domain-name.js';
import { quoted } from '../model/text.js';
import { type Columns, write } from './bulk-write.js';
import { historyOctets } from './history-octets.js';
import { loadDomainRows } from './load-known.js';
import { historyOfRows, type StoredRows } from './read-histories.js';
import { storedTypes } from './rows.js';
import {
  type KnownText,
  SELECT_UNKNOWN,
  SITE_COLUMNS,
  STATE_COLUMNS,
  STAY_COLUMNS,
  TEXT_COLUMNS,
  textsIn,
} from './write-changes.js';

/**
 * Finds what breaks a rule in a domain's rows: one line for each violation.
 *
 * Constraints of the database would be checked at every write of the recorder, and an upgrade that adds one would
 * fail at a stored row that breaks it; `dms verify` names the row.
 */
export function findStoredViolations(rows: StoredRows): string[] {
  const { domain } = rows;
  const history = readableHistory(rows);
  if (history === null) return ['the column dns_types cannot be read, or the column sightings of a record'];
  const octets = historyOctets(rows.stays, rows.headers);
  return [
    ...contradictions([...STATE_COLUMNS, ...SITE_COLUMNS], history, domain),
    ...contradictions(OCTETS, octets, domain),
    ...history.stays.flatMap((item, at) =>
      Array.from(
        contradictions(STAY_COLUMNS, { domain: domain.name, item }, rows.stays[at] ?? {}),
        (line) => `${stayText(item)[0]}: ${line}`,
      ),
    ),
    ...findViolations(history),
  ];
}

/** Null where column `dns_types` is not as the recorder writes it. */
function readableHistory(rows: StoredRows) {
  try {
    const history = historyOfRows(rows);
    const written: unknown = JSON.parse(storedTypes(history.state.types));
    return isDeepStrictEqual(written, rows.domain.dns_types) ? history : null;
  } catch {
    return null;
  }
}

const OCTETS: Columns<ReturnType<typeof historyOctets>> = [
  ['record_octets', 'bigint', ({ records }) => BigInt(records)],
  ['header_octets', 'bigint', ({ headers }) => BigInt(headers)],
];

/** The columns of a row that are not what the recorder would write of what the rules see in it. */
function* contradictions<Row>(columns: Columns<Row>, seen: Row, stored: object): Generator<string> {
  for (const [name, , read] of columns) {
    const [found = null, written = null]: unknown[] = [Reflect.get(stored, name), read(seen)];
    if (found !== written) yield `the column ${name} is ${found}, and should be ${written}`;
  }
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
    ...(await prisma.earlierChanges.groupBy(orphans)),
  ];
  const names = new Set(found.map(({ domainName }) => domainName));
  return [...names].sort().slice(0, MAX_ORPHANS);
}

/**
 * Finds the names and texts that searches look in, and that these domains have and the tables `known_name` and `known_text`
 * do not: a line for each, which begins with the domain's name.
 */
export async function findUnsearchable(pool: Pool, domains: readonly StoredRows[]): Promise<string[]> {
  const sought = domains.flatMap((rows) =>
    soughtIn(rows).map((each) => ({ name: rows.domain.name, ...each })),
  );
  const unknown = await write<KnownText, KnownText>(pool, SELECT_UNKNOWN, TEXT_COLUMNS, sought);
  if (unknown.length === 0) return [];
  const missing = new Set(unknown.map(keyOf));
  // A domain may have been erased since its rows were read.
  const names = domains.map(({ domain }) => domain.name);
  const recorded = await loadDomainRows(pool, names);
  return sought
    .filter((each) => missing.has(keyOf(each)) && recorded.has(each.name))
    .map(
      ({ name, kind, text }) =>
        `${name}: searches do not find the ${kind || 'name'}${kind && ' text'} ${quoted(text)}`,
    );
}

/** Names have no kind. */
function soughtIn({ domain: { name: domain }, stays, headers }: StoredRows): KnownText[] {
  const names = new Set([domain, ...stays.map(({ host }) => host)]);
  return [...Array.from(names, (text) => ({ kind: '', text })), ...textsIn(stays, headers)];
}

function keyOf({ kind, text }: KnownText): string {
  return `${kind}\n${text}`;
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

function* violationsOf({
  name,
  due,
  scheduled,
  observedAt,
  outcome,
  failures,
}: WatchedDomain): Generator<string> {
  const isDue = (time: bigint) => time >= 0n && isWritable(time);
  if (!isCanonical(name, parseDomainName)) yield 'the name of the watched domain is not in canonical form';
  if (!isDue(due)) yield `the observation is due at ${timeText(due)}`;
  if (!isDue(scheduled)) yield `the observation is scheduled at ${timeText(scheduled)}`;
  if (observedAt !== null && !isWritable(observedAt)) yield `it was observed last at ${timeText(observedAt)}`;
  if ((observedAt === null) !== (outcome === null))
    yield 'only one of the time and the outcome of its latest observation is set';
  if (failures < 0) yield `${failures} observations have failed in a row, which is negative`;
}
