import { Prisma, type PrismaClient } from '../database/generated/client.js';
import type { Instant } from '../model/instant.js';
import { retryOnContention } from './contention.js';

/**
 * Erases everything that is recorded of domains, in one transaction.
 *
 * The domains' rows go first: a recorder at work on the same domain holds its row, so that the later
 * statements see, and erase, all that it wrote. A domain that is recorded for the first time between two of
 * the statements has a row when the later one runs, and keeps all that was written with it.
 *
 * What was known of them alone is erased from the tables of names and texts, too. They are locked for that: a recorder that
 * has found its texts there would otherwise lose them. Whether one is still used is asked for one after the other, since
 * each is found by the first row that has it; and each statement that writes has one table, but for those that belong to a domain: a
 * Citus cluster takes no others.
 *
 * @param names canonical names, each once.
 * @param only Which of the domains; absent: all.
 * @returns those that were erased, sorted.
 */
export function forget(
  prisma: PrismaClient,
  names: readonly string[],
  only: { readonly recordedAt?: { readonly lt: Instant } } = {},
): Promise<string[]> {
  // In the recorder's order: rows locked in different orders would be a deadlock.
  const sorted = [...names].sort();
  return retryOnContention(() => prisma.$transaction((transaction) => erase(transaction, sorted, only)));
}

async function erase(
  transaction: Transaction,
  names: readonly string[],
  only: { readonly recordedAt?: { readonly lt: Instant } },
): Promise<string[]> {
  const erased: string[] = [];
  for (const name of names) {
    const { count } = await transaction.domain.deleteMany({ where: { name, ...only } });
    if (count === 1) erased.push(name);
  }
  const texts = await textsOf(transaction, names, erased);
  for (const table of ['dns_record', 'header_change', 'site_response'].map(Prisma.raw)) {
    await transaction.$executeRaw`
      DELETE FROM ${table} AS row
       WHERE domain = ANY (${names}) AND NOT EXISTS (SELECT FROM domain WHERE name = row.domain AND name = ANY (${names}))`;
  }
  await eraseInFeed(transaction, names, only.recordedAt?.lt);
  // Recorders wait for the lock: under it, only what was not used before it is looked for again.
  const unused = await unusedAmong(transaction, texts);
  if (unused.length === 0) return erased;
  await transaction.$executeRaw`LOCK TABLE known_name, known_text IN SHARE ROW EXCLUSIVE MODE`;
  for (const text of await unusedAmong(transaction, unused)) await deleteText(transaction, text);
  return erased;
}

/** In microseconds, more than any transaction takes: it writes the rows of the feed after those of their domains. */
const LONGEST_TRANSACTION = 86_400_000_000n;

/**
 * Not what is recorded meanwhile, of a domain that has a row then. The feed has no index by domain: it is read as a whole, unless it
 * does not go back as far as the domains.
 *
 * @param before The domains were not recorded from then on; undefined: it is not known.
 */
async function eraseInFeed(
  transaction: Transaction,
  names: readonly string[],
  before: Instant | undefined,
): Promise<void> {
  const oldest = await transaction.changeFeed.findFirst({
    orderBy: { number: 'asc' },
    select: { recordedAt: true },
  });
  if (oldest === null) return;
  if (before !== undefined && oldest.recordedAt > before + LONGEST_TRANSACTION) return;
  const last = await transaction.changeFeed.findFirst({
    orderBy: { number: 'desc' },
    select: { number: true },
  });
  // Arrays: a list of values has as many parameters, of which a statement takes 32,767.
  const found = await transaction.$queryRaw<{ name: string }[]>`
    SELECT name FROM domain WHERE name = ANY (${names})`;
  const present = new Set(found.map(({ name }) => name));
  await transaction.$executeRaw`
    UPDATE change_feed SET domain = NULL
     WHERE domain = ANY (${names.filter((name) => !present.has(name))}) AND number <= ${last?.number ?? 0n}`;
}

type Transaction = Omit<PrismaClient, '$connect' | '$disconnect' | '$on' | '$transaction' | '$extends'>;

/** A name, whose kind is empty, or a text. */
interface ErasedText {
  readonly kind: string;
  readonly text: string;
}

/** @param erased Of the domains, those that had a row: the names of the others are not known by them. */
async function textsOf(
  transaction: Transaction,
  names: readonly string[],
  erased: readonly string[],
): Promise<readonly ErasedText[]> {
  const found = await Promise.all([
    transaction.$queryRaw<readonly ErasedText[]>`
      SELECT DISTINCT '' AS kind, host AS text FROM dns_record WHERE domain = ANY (${names})`,
    transaction.$queryRaw<readonly ErasedText[]>`
      SELECT DISTINCT 'TXT' AS kind, rdata ->> 'txt' AS text FROM dns_record
       WHERE domain = ANY (${names}) AND type = 'TXT' AND rdata ->> 'txt' IS NOT NULL`,
    transaction.$queryRaw<readonly ErasedText[]>`
      SELECT DISTINCT name AS kind, value AS text FROM header_change WHERE domain = ANY (${names}) AND value IS NOT NULL`,
  ]);
  const ofRows = found.flat();
  const hosts = new Set(ofRows.flatMap(({ kind, text }) => (kind === '' ? [text] : [])));
  return [...ofRows, ...erased.flatMap((text) => (hosts.has(text) ? [] : [{ kind: '', text }]))];
}

async function unusedAmong(transaction: Transaction, texts: readonly ErasedText[]): Promise<ErasedText[]> {
  const unused: ErasedText[] = [];
  for (const text of texts) if (!(await isUsed(transaction, text))) unused.push(text);
  return unused;
}

async function isUsed(transaction: Transaction, { kind, text }: ErasedText): Promise<boolean> {
  const rows =
    kind === ''
      ? Prisma.sql`dns_record WHERE host = ${text} AND host <> domain`
      : kind === 'TXT'
        ? Prisma.sql`dns_record
           WHERE type = 'TXT' AND rdata ->> 'txt' = ${text} AND hashtextextended(rdata ->> 'txt', 0) = hashtextextended(${text}, 0)`
        : Prisma.sql`header_change
           WHERE value IS NOT NULL AND name = ${kind} AND value = ${text}
             AND hashtextextended(name || E'\n' || value, 0) = hashtextextended(${`${kind}\n${text}`}, 0)`;
  const found = await transaction.$queryRaw<readonly object[]>`SELECT 1 AS found FROM ${rows} LIMIT 1`;
  if (found.length > 0 || kind !== '') return found.length > 0;
  return (await transaction.domain.count({ where: { name: text } })) > 0;
}

async function deleteText(transaction: Transaction, { kind, text }: ErasedText): Promise<void> {
  if (kind === '') await transaction.knownName.deleteMany({ where: { name: text } });
  else {
    await transaction.$executeRaw`
      DELETE FROM known_text WHERE kind = ${kind} AND digest = substring(sha256(convert_to(${text}, 'UTF8')) FOR 16)`;
  }
}
