import type { PrismaClient } from '../database/generated/client.js';
import { domainTest } from '../model/change-filter.js';
import { parseNameOrSubdomains } from '../model/name-pattern.js';
import type { WatchedState } from './messages.js';
import type { Notification } from './notifications.js';

/** How many domains a message has at most. */
const MOST_DOMAINS = 100;

/**
 * Which watched domains have begun to fail, or recovered, since what was told.
 *
 * @param least How many failures in a row are told.
 * @returns `failing`: those that are told as failing then.
 */
export async function watchedNews(
  prisma: PrismaClient,
  { filter, failing: told }: Pick<Notification, 'filter' | 'failing'>,
  least: number,
): Promise<{ readonly domains: readonly WatchedState[]; readonly failing: string[] }> {
  const { domains: names, registrableDomain } = filter;
  const isSelected = domainTest({
    domains:
      names === undefined ? names : [names].flat().map((text) => parseNameOrSubdomains('domains', text)),
    registrableDomain: registrableDomain?.toString(),
  });
  const found = await prisma.watchedDomain.findMany({
    select: { name: true, failures: true },
    where: { OR: [{ failures: { gte: least } }, { name: { in: told } }] },
    orderBy: [{ failures: 'asc' }, { name: 'asc' }],
  });
  const watched = new Set(found.map(({ name }) => name));
  // What is not watched any more has not recovered, and is told anew once it is watched again.
  const failing = new Set(told.filter((name) => watched.has(name)));
  const news = found
    .filter(({ name, failures }) => (failing.has(name) ? failures === 0 : isSelected(name)))
    .slice(0, MOST_DOMAINS);
  for (const { name, failures } of news) failing[failures === 0 ? 'delete' : 'add'](name);
  const domains = news.map(
    ({ name: domain, failures }) =>
      ({ domain, state: failures === 0 ? 'recovered' : 'failing', failures }) as const,
  );
  return { domains, failing: [...failing] };
}
