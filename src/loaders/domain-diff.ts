import { Prisma, type PrismaClient } from '../database/generated/client.js';
import type { Instant } from '../model/instant.js';
import { isJsonObject } from '../model/json-values.js';
import type { DnsEntry } from './dns-entries.js';
import type { DomainRowKey } from './domain-row.js';

/** A domain and two instants, the earlier first. */
export interface DomainDiffKey extends Pick<DomainRowKey, 'name' | 'recipient'> {
  readonly from: Instant;
  readonly to: Instant;
}

/** The net difference between the states of a domain at two instants, in the order of Get domain. */
export interface StateDiff extends Pick<DomainDiffKey, 'from' | 'to'> {
  /** Present at `to` only, as of `to`. */
  readonly dnsRecordsAdded: readonly DnsEntry[];
  /** Present at `from` only, as of `to`: with their removal. */
  readonly dnsRecordsRemoved: readonly DnsEntry[];
  readonly httpHeaders: readonly HeaderDifference[];
}

/** The difference between the states of one header. */
interface HeaderDifference {
  readonly name: string;
  readonly difference: 'ADDED' | 'CHANGED' | 'REMOVED';
  /** The value at `from`; null where the header was not there. */
  readonly old: string | null;
  /** The value at `to`; null where the header was not there. */
  readonly new: string | null;
}

/** About how many octets the history has that a domain's differences are read from. @returns 0 for an unknown domain. */
export async function historyOctets(prisma: PrismaClient, name: string): Promise<number> {
  const select = { recordOctets: true, headerOctets: true };
  const row = await prisma.domain.findUnique({ where: { name }, select });
  return row === null ? 0 : Number(row.recordOctets + row.headerOctets);
}

/** Reads the difference from one state of the database. What is present at both instants is not read. */
export async function loadDomainDiff(
  prisma: PrismaClient,
  { name, from, to }: DomainDiffKey,
): Promise<StateDiff> {
  const ended = { firstSeen: { lte: from }, removed: { gt: from, lte: to } };
  const begun = { firstSeen: { gt: from, lte: to }, OR: [{ removed: null }, { removed: { gt: to } }] };
  const records = (where: Prisma.DnsRecordWhereInput) =>
    prisma.dnsRecord.findMany({
      where: { domainName: name, ...where },
      select: { host: true, class: true, type: true, firstSeen: true, removed: true, rdata: true },
      orderBy: [{ firstSeen: 'asc' }, { type: 'asc' }, { position: 'asc' }],
    });
  const [removed, added, headers] = await prisma.$transaction(
    [records(ended), records(begun), prisma.$queryRaw<HeaderStates[]>(headerStatesSql(name, from, to))],
    { isolationLevel: Prisma.TransactionIsolationLevel.RepeatableRead },
  );
  // A record that went and returned is present at both.
  const before = new Set(removed.map(identityOf));
  const after = new Set(added.map(identityOf));
  return {
    from,
    to,
    dnsRecordsAdded: added
      .filter((row) => !before.has(identityOf(row)))
      .map((row) => entryOf({ ...row, removed: null })),
    dnsRecordsRemoved: removed.filter((row) => !after.has(identityOf(row))).map(entryOf),
    httpHeaders: headers.flatMap(differenceOf),
  };
}

type RecordRow = DnsEntry & { readonly rdata: Prisma.JsonValue };

/** Text that two rows share if and only if they are the same record. */
function identityOf({ host, class: ofClass, type, rdata }: RecordRow): string {
  return JSON.stringify([type, host, ofClass, rdata]);
}

function entryOf({ rdata, ...entry }: RecordRow): DnsEntry {
  return { ...entry, ...(isJsonObject(rdata) ? rdata : {}) };
}

/** What a header was at both instants. */
interface HeaderStates {
  readonly name: string;
  readonly presentBefore: boolean | null;
  readonly valueBefore: string | null;
  readonly presentAfter: boolean;
  readonly valueAfter: string | null;
}

/** The states of the headers that changed between the instants. */
function headerStatesSql(domain: string, from: Instant, to: Instant): Prisma.Sql {
  const latest = (column: 'present' | 'value', at: Instant) => {
    const known = Prisma.raw(`${column} IS NOT NULL`);
    return Prisma.sql`
      (SELECT ${Prisma.raw(column)} FROM header_change
        WHERE domain = ${domain} AND name = changed.name AND observed_at <= ${at} AND ${known}
        ORDER BY observed_at DESC LIMIT 1)`;
  };
  return Prisma.sql`
    SELECT name,
           ${latest('present', from)} AS "presentBefore", ${latest('value', from)} AS "valueBefore",
           ${latest('present', to)} AS "presentAfter", ${latest('value', to)} AS "valueAfter"
      FROM (SELECT DISTINCT name FROM header_change
             WHERE domain = ${domain} AND observed_at > ${from} AND observed_at <= ${to}) AS changed
     ORDER BY name`;
}

function differenceOf(states: HeaderStates): HeaderDifference[] {
  const { name, presentBefore, valueBefore, presentAfter, valueAfter } = states;
  const old = presentBefore === true ? valueBefore : null;
  const value = presentAfter ? valueAfter : null;
  if (old === value) return [];
  const difference = old === null ? 'ADDED' : value === null ? 'REMOVED' : 'CHANGED';
  return [{ name, difference, old, new: value }];
}
