import type { PrismaClient } from '../database/generated/client.js';
import type { Instant } from '../model/instant.js';

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
 * @param only Which of them; absent: all.
 * @returns those that were erased, sorted.
 */
export async function forget(
  prisma: PrismaClient,
  names: readonly string[],
  only: { readonly recordedAt?: { readonly lt: Instant } } = {},
): Promise<string[]> {
  // In the recorder's order: rows locked in different orders would be a deadlock.
  const sorted = [...names].sort();
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
