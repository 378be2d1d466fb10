import { Prisma, type PrismaClient } from '../database/generated/client.js';
import type { Instant } from '../model/instant.js';
import { knownAt, literal, PLANNED, pageOf } from './columns.js';
import { type DnsEntry, parseDnsEntries, RECORD_COLUMNS_SQL } from './dns-entries.js';
import { seenUpTo, type TimesOfParts } from './observed-parts.js';

/** The net difference between the states of a domain at two instants, in the order of Get domain. */
export interface StateDiff {
  readonly dnsRecordsAdded: readonly DnsEntry[];
  readonly dnsRecordsRemoved: readonly DnsEntry[];
  readonly httpHeaders: readonly HeaderDifference[];
  /** Whether there is more than was read, and what was read of it is not complete. */
  readonly isCut: boolean;
}

interface HeaderDifference {
  readonly name: string;
  readonly difference: 'ADDED' | 'CHANGED' | 'REMOVED';
  /** The value at the earlier one; null where the header was not there. */
  readonly old: string | null;
  readonly new: string | null;
}

interface DiffKey {
  readonly domain: string;
  readonly from: Instant;
  readonly to: Instant;
  /** Only records of these types, and headers of these names; absent: all. */
  readonly types: readonly string[] | undefined;
  readonly names: readonly string[] | undefined;
  /** Of the parts up to `to`; null: when records were last seen is not needed. */
  readonly times: TimesOfParts | null;
}

/** More rows are not read, and not more characters: a list has at most half as many entries. */
const MAX_ROWS = 10_000;
const MAX_CHARACTERS = 2 * 1024 ** 2;

/** Loads what is different at two instants: only stays and values that began or ended between them are read. */
export async function loadDiff(prisma: PrismaClient, key: DiffKey): Promise<StateDiff> {
  const { domain, from, to, types, names } = key;
  const ofTypes = types === undefined ? Prisma.empty : Prisma.sql`AND type = ANY (${[...types]})`;
  const ofNames = names === undefined ? Prisma.empty : Prisma.sql`AND name = ANY (${[...names]})`;
  const limit = literal(MAX_ROWS + 1);
  const records = pageOf(
    Prisma.sql`
      SELECT type, class, host, first_seen, ${knownAt('removed', to)} AS removed,
             ${knownAt('last_seen', to)} AS last_seen, rdata, position
        FROM dns_record
       WHERE domain = ${domain} ${ofTypes}
         AND (first_seen > ${from} AND first_seen <= ${to} AND (removed IS NULL OR removed > ${to})
              OR first_seen <= ${from} AND removed > ${from} AND removed <= ${to})
       ORDER BY first_seen, type, position LIMIT ${limit}`,
    ['rdata'],
    'first_seen, type, position',
    { maxCharacters: MAX_CHARACTERS },
  );
  const valueAt = (instant: Instant) => Prisma.sql`
    (SELECT value FROM header_change AS earlier
      WHERE earlier.domain = ${domain} AND earlier.name = changed.name AND earlier.observed_at <= ${instant}
      ORDER BY earlier.observed_at DESC LIMIT 1)`;
  const headers = pageOf(
    Prisma.sql`
      SELECT name, old, new
        FROM (SELECT name, ${valueAt(from)} AS old, ${valueAt(to)} AS new
                FROM (SELECT DISTINCT name FROM header_change
                       WHERE domain = ${domain} ${ofNames}
                         AND observed_at > ${from} AND observed_at <= ${to}) AS changed) AS states
       WHERE old IS DISTINCT FROM new ORDER BY name LIMIT ${limit}`,
    ['old', 'new'],
    'name',
    { maxCharacters: MAX_CHARACTERS },
  );
  const [found] = await prisma.$queryRaw<readonly { columns: string; rows: number; candidates: number }[]>`
    ${PLANNED} SELECT coalesce(${RECORD_COLUMNS_SQL}, '') AS columns, count(*)::int AS rows,
                      coalesce(max(candidates), 0)::int AS candidates
                 FROM (${records}) AS entry`;
  const differences = await prisma.$queryRaw<readonly (HeaderDifference & { candidates: number })[]>`
    ${PLANNED} SELECT name, CASE WHEN old IS NULL THEN 'ADDED' WHEN new IS NULL THEN 'REMOVED' ELSE 'CHANGED' END
                      AS difference, old, new, candidates::int AS candidates FROM (${headers}) AS states`;
  const { columns, ...ofRecords } = found ?? { columns: '', rows: 0, candidates: 0 };
  const ofHeaders = { rows: differences.length, candidates: differences[0]?.candidates ?? 0 };
  const isCut = [ofRecords, ofHeaders].some(({ rows, candidates }) => rows < candidates || rows > MAX_ROWS);
  const httpHeaders = differences.map(({ candidates: _, ...difference }) => difference);
  return { ...recordsOf(parseDnsEntries(columns, { domain, at: to }), key.times), httpHeaders, isCut };
}

/** The records that are at one of the instants only: of one that went and returned, one stay is at each. */
function recordsOf(stays: readonly DnsEntry[], times: TimesOfParts | null) {
  const different = new Map<string, DnsEntry>();
  for (const stay of stays) {
    const { firstSeen: _first, removed: _gone, lastSeen: _last, of: _of, ...record } = stay;
    const identity = JSON.stringify(record);
    if (!different.delete(identity)) different.set(identity, stay);
  }
  const [added, removed]: [DnsEntry[], DnsEntry[]] = [[], []];
  for (const entry of different.values()) {
    if (entry.removed !== null) removed.push(entry);
    else added.push({ ...entry, lastSeen: seenUpTo(entry, times?.types.get(entry.type)?.latest) });
  }
  return { dnsRecordsAdded: added, dnsRecordsRemoved: removed };
}
