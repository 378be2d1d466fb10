import { createHash } from 'node:crypto';
import type { PrismaClient, WatchedDomain } from '../database/generated/client.js';
import { canonicalOrNull, isWritable, stayText, timeText } from '../history/violation-text.js';
import { findViolations } from '../history/violations.js';
import { parseDomainName } from '../model/domain-name.js';
import { quoted } from '../model/text.js';
import { historyOctets } from './history-octets.js';
import { historyOfRows, type StoredRows } from './read-histories.js';
import { isReadableTypes, type StayRow, stayOfRow } from './rows.js';
import { txtOf } from './write-changes.js';

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
  const { removed, last_seen: lastSeen, removed_source: source, last_sighted: isSighted } = row;
  return messagesOf([
    [removed !== null && lastSeen === null, 'was removed, and has no time at which it was last seen'],
    [
      removed === null && (lastSeen !== null) !== isSighted,
      'is present, and has a time at which it was last seen that is not of a sighting',
    ],
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

/**
 * Finds the names and texts that searches look in, and that these domains have and the tables `known_name` and `known_text`
 * do not: a line for each, which begins with the domain's name.
 */
export async function findUnsearchable(
  prisma: PrismaClient,
  domains: readonly StoredRows[],
): Promise<string[]> {
  const names = domains.map(namesIn);
  const texts = domains.map(textsIn);
  const [knownNames, knownTexts] = await Promise.all([
    knownNamesOf(prisma, new Set(names.flat())),
    knownTextsOf(prisma, texts.flat()),
  ]);
  const found = domains.flatMap(({ domain: { name } }, at) => [
    ...(names[at] ?? [])
      .filter((each) => !knownNames.has(each))
      .map((each) => ({ name, message: `searches do not find the name ${quoted(each)}` })),
    ...(texts[at] ?? [])
      .filter((each) => !knownTexts.has(keyOf(each)))
      .map(({ kind, text }) => ({ name, message: `searches do not find the ${kind} text ${quoted(text)}` })),
  ]);
  if (found.length === 0) return [];
  // A domain may have been erased since its rows were read.
  const kept = await prisma.domain.findMany({
    where: { name: { in: [...new Set(found.map(({ name }) => name))] } },
    select: { name: true },
  });
  const recorded = new Set(kept.map(({ name }) => name));
  return found.filter(({ name }) => recorded.has(name)).map(({ name, message }) => `${name}: ${message}`);
}

function namesIn({ domain, stays }: StoredRows): string[] {
  return [...new Set([domain.name, ...stays.map(({ host }) => host)])];
}

/** A text of a TXT record, or a value of the header `kind`. */
interface SearchedText {
  readonly kind: string;
  readonly text: string;
  /** As table `known_text` has it, in hexadecimal. */
  readonly digest: string;
}

function keyOf({ kind, digest }: Pick<SearchedText, 'kind' | 'digest'>): string {
  return `${kind} ${digest}`;
}

function textsIn({ stays, headers }: StoredRows): SearchedText[] {
  const texts = new Map<string, SearchedText>();
  const add = (kind: string, text: string) => {
    const digest = createHash('sha256').update(text).digest('hex').slice(0, 32);
    texts.set(keyOf({ kind, digest }), { kind, text, digest });
  };
  for (const { type, rdata } of stays) {
    const text = type === 'TXT' ? canonicalOrNull(() => txtOf(rdata)) : undefined;
    if (text != null) add('TXT', text);
  }
  for (const { name, value } of headers) if (value !== null) add(name, value);
  return [...texts.values()];
}

async function knownNamesOf(prisma: PrismaClient, names: ReadonlySet<string>): Promise<Set<string>> {
  const rows = await inParts([...names], (part) =>
    prisma.knownName.findMany({ where: { name: { in: [...part] } } }),
  );
  return new Set(rows.map(({ name }) => name));
}

/** The keys of those that there are. */
async function knownTextsOf(prisma: PrismaClient, texts: readonly SearchedText[]): Promise<Set<string>> {
  const rows = await inParts(texts, (part) =>
    prisma.knownText.findMany({
      where: {
        kind: { in: [...new Set(part.map(({ kind }) => kind))] },
        digest: { in: part.map(({ digest }) => Buffer.from(digest, 'hex')) },
      },
      select: { kind: true, digest: true },
    }),
  );
  return new Set(
    rows.map(({ kind, digest }) => keyOf({ kind, digest: Buffer.from(digest).toString('hex') })),
  );
}

/** How many values are looked up by one statement. */
const VALUES_AT_ONCE = 5_000;

async function inParts<Value, Row>(
  values: readonly Value[],
  load: (part: readonly Value[]) => Promise<readonly Row[]>,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (let from = 0; from < values.length; from += VALUES_AT_ONCE) {
    for (const row of await load(values.slice(from, from + VALUES_AT_ONCE))) rows.push(row);
  }
  return rows;
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
