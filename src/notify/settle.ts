import type { PrismaClient } from '../database/generated/client.js';
import { PublicError } from '../model/errors.js';
import { addTo } from '../model/groups.js';
import { type Instant, parseInstant } from '../model/instant.js';
import type { ChangesSource } from './changes-source.js';
import type { RestChange } from './messages.js';

/**
 * Counts the first changes of a page that were recorded up to a time.
 *
 * @param readTo A row of the feed before them.
 * @returns `next`: when the row after that time was recorded.
 */
export async function countSettled(
  prisma: PrismaClient,
  changes: readonly RestChange[],
  readTo: bigint,
  until: Instant,
): Promise<{ readonly count: number; readonly next: Instant }> {
  const first = await prisma.changeFeed.findFirst({
    where: { number: { gt: readTo }, recordedAt: { gt: until } },
    orderBy: { number: 'asc' },
  });
  if (first === null) return { count: changes.length, next: until };
  const later = await prisma.changeFeed.findMany({
    select: { domain: true, observedAt: true },
    where: { number: { gte: first.number }, domain: { in: changes.map(({ domain }) => domain) } },
  });
  const known = new Set(later.map(({ domain, observedAt }) => `${domain} ${observedAt}`));
  const place = changes.findIndex(({ domain, date, kind }) => {
    const time = parseInstant(date);
    // Its date is when it was recorded.
    return kind === 'HISTORY_EXTENDED' ? time > until : known.has(`${domain} ${time}`);
  });
  return { count: place === -1 ? changes.length : place, next: first.recordedAt };
}

/** Of changes, those after which the same record or header was not changed to something else. */
export async function standing(
  source: ChangesSource,
  changes: readonly RestChange[],
): Promise<readonly RestChange[]> {
  const dates = new Map<string, string[]>();
  for (const { domain, date } of changes) addTo(dates, domain, date);
  const latest = new Map<string, Omit<RestChange, 'domain'>>();
  for (const [domain, ofDomain] of dates) {
    // Times of one form, which sort as texts.
    const from = [...ofDomain].sort()[0] ?? '';
    for await (const change of changesSince(source, domain, from)) latest.set(keyOf(domain, change), change);
  }
  return changes.filter((change) => {
    const last = latest.get(keyOf(change.domain, change));
    if (last === undefined) return true;
    if (change.data !== undefined) return last.kind === change.kind;
    return last.new === change.new && last.newStatus === change.newStatus;
  });
}

/** What has a value: a record, or a header. */
function keyOf(domain: string, { data, name, kind }: Omit<RestChange, 'domain'>): string {
  return JSON.stringify([domain, data ?? name ?? kind]);
}

/** The changes of a domain after a time, the oldest first; none once it is erased. */
async function* changesSince(source: ChangesSource, domain: string, from: string) {
  const parameters = { domain, from, order: 'OLDEST_FIRST', first: '500' };
  let after: string | null = null;
  do {
    const page: Awaited<ReturnType<ChangesSource['ofDomain']>> = await source
      .ofDomain({ ...parameters, ...(after !== null && { after }) })
      .catch((error: unknown) => {
        if (error instanceof PublicError && error.code === 'DOMAIN_NOT_FOUND')
          return { changes: [], next: null };
        throw error;
      });
    yield* page.changes;
    after = page.next;
  } while (after !== null);
}
