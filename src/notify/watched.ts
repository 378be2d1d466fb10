import type { PrismaClient } from '../database/generated/client.js';
import type { WatchedState } from './messages.js';
import type { Filter } from './notifications.js';

/** How many domains a message has at most. */
const MOST_DOMAINS = 100;

/**
 * Which watched domains have begun to fail, or recovered.
 *
 * @param least How many failures in a row are told.
 * @param told Those that are told as failing.
 * @returns `failing`: those that are, after this is told.
 */
export async function watchedNews(
  prisma: PrismaClient,
  filter: Filter,
  least: number,
  told: readonly string[],
): Promise<{ readonly domains: readonly WatchedState[]; readonly failing: string[] }> {
  const select = { name: true, failures: true } as const;
  const failing = await prisma.watchedDomain.findMany({ select, where: { failures: { gte: least } } });
  // What is not watched any more has not recovered.
  const recovered = await prisma.watchedDomain.findMany({
    select,
    where: { name: { in: [...told] }, failures: 0 },
  });
  const known = new Set(told);
  const news: readonly WatchedState[] = [
    ...recovered.map(({ name: domain, failures }) => ({ domain, state: 'recovered', failures }) as const),
    ...failing
      .filter(({ name }) => !known.has(name) && isOf(filter, name))
      .map(({ name: domain, failures }) => ({ domain, state: 'failing', failures }) as const),
  ];
  const domains = news.slice(0, MOST_DOMAINS);
  for (const { domain, state } of domains) {
    if (state === 'failing') known.add(domain);
    else known.delete(domain);
  }
  return { domains, failing: [...known] };
}

/** Whether a domain is one of the filter's. */
function isOf({ domains, registrableDomain: of }: Filter, name: string): boolean {
  const isBelow = (text: string) => text.startsWith('*.') && name.endsWith(text.slice(1));
  return (
    (domains === undefined || [domains].flat().some((text) => text === name || isBelow(text))) &&
    (of === undefined || name === of || name.endsWith(`.${[of].flat().join()}`))
  );
}
