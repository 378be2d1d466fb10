import type { PrismaClient } from '../database/generated/client.js';
import { PublicError } from '../model/errors.js';
import { addTo } from '../model/groups.js';
import { type Instant, parseInstant } from '../model/instant.js';
import type { ChangesSource } from './changes-source.js';
import type { DomainChange, RestChange } from './messages.js';
import type { Filter } from './notifications.js';

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

/**
 * Of changes, those that stand: the latest one of its record or header. Changes that follow each other within the time to settle are
 * one, since nothing between them has stood so long; none, if what was before the first is there again after the last.
 *
 * @param settle In microseconds.
 */
export async function standing(
  source: ChangesSource,
  changes: readonly RestChange[],
  settle: bigint,
  { types, headers, notable }: Filter,
): Promise<readonly RestChange[]> {
  const byDomain = new Map<string, RestChange[]>();
  for (const change of changes) addTo(byDomain, change.domain, change);
  // By a routine change, such as that of a nonce, nothing is undone that was told without routine changes.
  const selected = { ...(types && { types }), ...(headers && { headers }), ...(notable && { notable }) };
  const told = new Set<RestChange>();
  for (const [domain, ofDomain] of byDomain) {
    const runs = await latestRuns(newestFirst(source, { ...selected, domain }), ofDomain, settle);
    for (const change of ofDomain) {
      const run = runs.get(keyOf(change));
      if (run === undefined || (run.last.id === change.id && isOther(run))) told.add(change);
    }
  }
  return changes.filter((change) => told.has(change));
}

/** Changes of a record or header, each within the time to settle after the one before it. */
interface Run {
  readonly first: DomainChange;
  readonly last: DomainChange;
  readonly begin: Instant;
}

/**
 * The latest runs that have changed something, by what was changed; one that has not only where there is none.
 *
 * @param changes Of one domain, of whose records and headers they are.
 */
async function latestRuns(
  newestFirst: AsyncIterable<DomainChange>,
  changes: readonly DomainChange[],
  settle: bigint,
): Promise<ReadonlyMap<string, Run>> {
  const runs = new Map<string, Run>();
  const open = new Set(changes.map(keyOf));
  const times = changes.map(({ date }) => parseInstant(date));
  const earliest = times.reduce((one, other) => (one < other ? one : other));
  /** Nothing that is as old matters any more. */
  const isOver = (key: string, time: Instant) => {
    const run = runs.get(key);
    const begin = run === undefined || (run.begin > earliest && !isOther(run)) ? earliest : run.begin;
    return begin - time >= settle;
  };
  for await (const change of newestFirst) {
    const time = parseInstant(change.date);
    for (const key of open) if (isOver(key, time)) open.delete(key);
    if (open.size === 0) break;
    const key = keyOf(change);
    if (!open.has(key)) continue;
    const run = runs.get(key);
    const isOne = run !== undefined && run.begin - time < settle;
    runs.set(key, { first: change, last: isOne ? run.last : change, begin: time });
  }
  return runs;
}

/** Whether something else is there after it than before it. */
function isOther({ first, last }: Run): boolean {
  if (last.data !== undefined) return first.kind === last.kind;
  return first.old !== last.new || first.oldStatus !== last.newStatus;
}

/** What has a value: a record, or a header. */
function keyOf({ data, name, kind }: DomainChange): string {
  return JSON.stringify(data ?? name ?? kind);
}

/** The changes of a domain, the newest first; none once it is erased. */
async function* newestFirst(source: ChangesSource, parameters: Filter): AsyncGenerator<DomainChange> {
  let after: string | null = null;
  do {
    const page: Awaited<ReturnType<ChangesSource['ofDomain']>> = await source
      .ofDomain({ ...parameters, order: 'NEWEST_FIRST', first: '500', ...(after !== null && { after }) })
      .catch((error: unknown) => {
        if (error instanceof PublicError && error.code === 'DOMAIN_NOT_FOUND')
          return { changes: [], next: null };
        throw error;
      });
    yield* page.changes;
    after = page.next;
  } while (after !== null);
}
