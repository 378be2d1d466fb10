import type { PrismaClient } from '../database/generated/client.js';

/**
 * Erases everything that is recorded of domains.
 *
 * The domains' rows go first: a recorder at work on the same domain holds its row, so that the later
 * statements see, and erase, all that it wrote. A domain that is recorded for the first time between two of
 * the statements has a row when the later one runs, and keeps all that was written with it.
 *
 * @param names canonical names, each once.
 * @returns those of them that were recorded, sorted.
 */
export async function forget(prisma: PrismaClient, names: readonly string[]): Promise<string[]> {
  // In the recorder's order: rows locked in different orders would be a deadlock.
  const sorted = [...names].sort();
  const where = { domainName: { in: sorted }, domain: { isNot: {} } };
  const deleted = await prisma.$transaction([
    ...sorted.map((name) => prisma.domain.deleteMany({ where: { name } })),
    prisma.dnsRecord.deleteMany({ where }),
    prisma.headerChange.deleteMany({ where }),
    prisma.siteResponse.deleteMany({ where }),
  ]);
  return sorted.filter((_, place) => deleted[place]?.count === 1);
}
