import { isDeepStrictEqual } from 'node:util';
import type { Pool } from 'pg';
import type { PrismaClient } from '../database/generated/client.js';
import type { StoredHistory } from '../history/stored-history.js';
import { findViolations } from '../history/violations.js';
import { quoted } from '../model/text.js';
import { write } from './bulk-write.js';
import { storedTypes } from './domain-rows.js';
import { headerOctets, recordOctets } from './history-octets.js';
import { loadDomainRows } from './load-known.js';
import { historyOfRows, type StoredRows } from './read-histories.js';
import { type KnownText, SELECT_UNKNOWN, TEXT_COLUMNS, textsIn } from './write-changes.js';

/** Finds what breaks a rule in a domain's rows: one line for each violation. */
export function findStoredViolations(rows: StoredRows): string[] {
  const { domain } = rows;
  let history: StoredHistory;
  try {
    history = historyOfRows(rows);
    const written: unknown = JSON.parse(storedTypes(history.state.types));
    if (!isDeepStrictEqual(written, domain.dnsTypes)) return UNREADABLE;
  } catch {
    return UNREADABLE;
  }
  const octets = [
    ['record_octets', domain.recordOctets, recordOctets(rows.stays)],
    ['header_octets', domain.headerOctets, headerOctets(rows.headers)],
  ] as const;
  return [
    ...octets
      .filter(([, stored, counted]) => stored !== BigInt(counted))
      .map(([column, stored, counted]) => `the column ${column} is ${stored}, and should be ${counted}`),
    ...findViolations(history),
  ];
}

const UNREADABLE = ['the column dns_types cannot be read, or the column sightings of a record'];

/** Finds rows from before a constraint of the database that break it: a line for each table. */
export async function findUnsound(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ table: string; name: string; condition: string }>(
    `SELECT conrelid::regclass::text AS table, conname AS name, pg_get_expr(conbin, conrelid) AS condition
       FROM pg_constraint JOIN pg_class ON pg_class.oid = conrelid
      WHERE contype = 'c' AND NOT convalidated AND NOT relispartition ORDER BY 1`,
  );
  const lines: string[] = [];
  for (const { table, name, condition } of rows) {
    const counting = `SELECT count(*)::int AS count FROM ${table} WHERE (${condition}) IS FALSE`;
    const { count } = (await pool.query<{ count: number }>(counting)).rows[0] ?? { count: 0 };
    if (count > 0) lines.push(`${count} rows of the table ${table} break its constraint ${name}`);
  }
  return lines;
}

const MAX_ORPHANS = 100;

/**
 * Finds the names in the tables of records, headers and responses that table `domain` does not have. The
 * database has no foreign keys: one check for each row written would cost more than the row.
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
 * Finds the names and texts that searches look in, and that these domains have and the tables `known_name` and
 * `known_text` do not: a line for each, which begins with the domain's name.
 */
export async function findUnsearchable(pool: Pool, domains: readonly StoredRows[]): Promise<string[]> {
  const sought = domains.flatMap((rows) =>
    soughtIn(rows).map((each) => ({ name: rows.domain.name, ...each })),
  );
  const unknown = await write<KnownText, KnownText>(pool, SELECT_UNKNOWN, TEXT_COLUMNS, sought);
  if (unknown.length === 0) return [];
  const missing = new Set(unknown.map(keyOf));
  // A domain may have been erased since its rows were read.
  const rows = domains.map(({ domain }) => domain);
  const recorded = await loadDomainRows(pool, rows);
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
