import { Prisma, type PrismaClient } from '../database/generated/client.js';
import type { Instant } from '../model/instant.js';

interface ForgetOptions {
  /** Which of the domains; absent: all. */
  readonly only?: { readonly recordedAt?: { readonly lt: Instant } };
  /** Whether the tables of domains are distributed over a Citus cluster. */
  readonly acrossShards?: boolean;
}

/**
 * Erases everything that is recorded of domains.
 *
 * The domains' rows go first: a recorder at work on the same domain holds its row, so that the later
 * statements see, and erase, all that it wrote. A domain that is recorded for the first time between two of
 * the statements has a row when the later one runs, and keeps all that was written with it.
 *
 * What was known of them alone is erased from the tables of names and texts, too. They are locked for that: a recorder that
 * has found its texts there would otherwise lose them.
 *
 * @param names canonical names, each once.
 * @returns those that were erased, sorted.
 */
export async function forget(
  prisma: PrismaClient,
  names: readonly string[],
  { only = {}, acrossShards = false }: ForgetOptions = {},
): Promise<string[]> {
  // In the recorder's order: rows locked in different orders would be a deadlock.
  const sorted = [...names].sort();
  if (acrossShards) return forgetOnShards(prisma, sorted, only);
  const where = { domainName: { in: sorted }, domain: { isNot: {} } };
  const deleted = await prisma.$transaction([
    ...sorted.map((name) => prisma.domain.deleteMany({ where: { name, ...only } })),
    ...collectTexts(prisma, sorted),
    prisma.dnsRecord.deleteMany({ where }),
    prisma.headerChange.deleteMany({ where }),
    prisma.siteResponse.deleteMany({ where }),
    prisma.$executeRaw`
      UPDATE change_feed SET domain = NULL
       WHERE domain = ANY (${sorted}) AND NOT EXISTS (SELECT FROM domain WHERE name = change_feed.domain)`,
    ...deleteUnusedTexts(prisma),
  ]);
  return sorted.filter((_, place) => deletedRows(deleted[place]) === 1);
}

function deletedRows(result: unknown): unknown {
  return typeof result === 'object' && result !== null && 'count' in result ? result.count : null;
}

/** Notes the names and texts of domains; the kind of a name is empty. */
function collectTexts(prisma: PrismaClient, names: readonly string[]) {
  return [
    prisma.$executeRaw`CREATE TEMPORARY TABLE erased (kind text COLLATE "C", text text COLLATE "C") ON COMMIT DROP`,
    prisma.$executeRaw`
      INSERT INTO erased
      SELECT '', name FROM unnest(${names}::text[]) AS name
      UNION SELECT '', host FROM dns_record WHERE domain = ANY (${names})
      UNION SELECT 'TXT', rdata ->> 'txt' FROM dns_record WHERE domain = ANY (${names}) AND type = 'TXT'
      UNION SELECT name, value FROM header_change WHERE domain = ANY (${names})`,
  ];
}

/** Deletes those that no row has any longer. A recorder waits for the lock, or has committed what it found here. */
function deleteUnusedTexts(prisma: PrismaClient) {
  return [
    prisma.$executeRaw`LOCK TABLE known_name, known_text IN SHARE ROW EXCLUSIVE MODE`,
    prisma.$executeRaw`
      DELETE FROM known_name AS known USING erased
       WHERE erased.kind = '' AND known.name = erased.text
         AND NOT EXISTS (SELECT FROM domain WHERE domain.name = known.name)
         AND NOT EXISTS (SELECT FROM dns_record WHERE host = known.name AND host <> domain)`,
    prisma.$executeRaw`
      DELETE FROM known_text AS known USING erased
       WHERE known.kind = erased.kind AND known.digest = substring(sha256(convert_to(erased.text, 'UTF8')) FOR 16)
         AND NOT EXISTS (SELECT FROM header_change
                          WHERE value IS NOT NULL AND name = known.kind AND value = known.text
                            AND hashtextextended(name || E'\n' || value, 0)
                              = hashtextextended(known.kind || E'\n' || known.text, 0))
         AND NOT EXISTS (SELECT FROM dns_record
                          WHERE known.kind = 'TXT' AND type = 'TXT' AND rdata ->> 'txt' = known.text
                            AND hashtextextended(rdata ->> 'txt', 0) = hashtextextended(known.text, 0))`,
  ];
}

/**
 * The same by statements that each have one table, but for those that belong to a domain: a Citus cluster answers no others that
 * write. Whether a name or text is still used is asked for one after the other, since each is found by the first row that has it.
 */
function forgetOnShards(
  prisma: PrismaClient,
  names: readonly string[],
  only: ForgetOptions['only'],
): Promise<string[]> {
  return prisma.$transaction(async (transaction) => {
    const erased: string[] = [];
    for (const name of names) {
      const { count } = await transaction.domain.deleteMany({ where: { name, ...only } });
      if (count === 1) erased.push(name);
    }
    const texts = await textsOf(transaction, names);
    for (const table of ['dns_record', 'header_change', 'site_response'].map(Prisma.raw)) {
      await transaction.$executeRaw`
        DELETE FROM ${table} AS row
         WHERE domain = ANY (${names}) AND NOT EXISTS (SELECT FROM domain WHERE name = row.domain)`;
    }
    await transaction.$executeRaw`UPDATE change_feed SET domain = NULL WHERE domain = ANY (${erased})`;
    await transaction.$executeRaw`LOCK TABLE known_name, known_text IN SHARE ROW EXCLUSIVE MODE`;
    for (const text of texts) {
      if (!(await isUsed(transaction, text))) await deleteText(transaction, text);
    }
    return erased;
  });
}

type Transaction = Omit<PrismaClient, '$connect' | '$disconnect' | '$on' | '$transaction' | '$extends'>;

/** A name, whose kind is empty, or a text. */
interface ErasedText {
  readonly kind: string;
  readonly text: string;
}

async function textsOf(transaction: Transaction, names: readonly string[]): Promise<readonly ErasedText[]> {
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
  return [...ofRows, ...names.flatMap((text) => (hosts.has(text) ? [] : [{ kind: '', text }]))];
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
