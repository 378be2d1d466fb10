import type { PrismaClient } from '../database/generated/client.js';
import { domainTest } from '../model/change-filter.js';
import { PublicError } from '../model/errors.js';
import { formatInstant, type Instant, parseInstant } from '../model/instant.js';
import { parseNameOrSubdomains } from '../model/name-pattern.js';
import type { QueryParameters } from '../model/request-target.js';
import type { DomainChange, Page, Questions, RestChange } from './changes.js';
import type { WatchedState } from './messages.js';
import type { Notification } from './notifications.js';

/** The first change of a page that has not settled, and when it has. */
export async function firstUnsettled(
  prisma: PrismaClient,
  { readTo, settle }: Notification,
  changes: readonly RestChange[],
  now: Instant,
) {
  if (settle === null) return undefined;
  const isOfPage = { domain: { in: changes.map(({ domain }) => domain) } };
  const found = await prisma.changeFeed.findMany({
    where: { number: { gt: readTo }, recordedAt: { gt: now - settle }, ...isOfPage },
  });
  const times = new Map(
    found.map((row) => [`${row.domain} ${formatInstant(row.observedAt)}`, row.recordedAt + settle]),
  );
  for (const [index, { domain, date }] of changes.entries()) {
    const settledAt = times.get(`${domain} ${date}`);
    if (settledAt !== undefined) return { index, settledAt };
  }
  return undefined;
}

/**
 * Those that stand: the latest of each record or header. Changes that follow each other within the time to
 * settle are one, since nothing between has stood so long; none, if what was there before is there again.
 */
export async function standing(
  questions: Questions,
  { settle, filter: { types, headers, notable } }: Notification,
  changes: readonly RestChange[],
): Promise<readonly RestChange[]> {
  if (settle === null) return changes;
  const stands = new Set<RestChange>();
  for (const domain of new Set(changes.map((change) => change.domain))) {
    const ofDomain = changes.filter((change) => change.domain === domain);
    // By a routine change, such as that of a nonce, nothing is undone that was told without routine changes.
    const history = newestFirst(questions, { types, headers, notable, domain });
    const runs = await latestRuns(history, ofDomain, settle);
    for (const change of ofDomain) {
      const run = runs.get(keyOf(change));
      if (run === undefined || (run.last.id === change.id && isOther(run))) stands.add(change);
    }
  }
  return changes.filter((change) => stands.has(change));
}

/** Changes of one record or header, each within the time to settle after the one before it. */
interface Run {
  readonly first: DomainChange;
  readonly last: DomainChange;
}

/**
 * The latest runs that have changed something, by what was changed; one that has not only where there is none.
 *
 * @param changes Of one domain: which records and headers.
 */
async function latestRuns(
  history: AsyncIterable<DomainChange>,
  changes: readonly DomainChange[],
  settle: bigint,
): Promise<ReadonlyMap<string, Run>> {
  const runs = new Map<string, Run>();
  const keys = new Set(changes.map(keyOf));
  // What is older by the time to settle does not matter.
  let begin = changes
    .map(({ date }) => parseInstant(date))
    .reduce((one, other) => (one < other ? one : other));
  for await (const change of history) {
    const time = parseInstant(change.date);
    if (begin - time >= settle) break;
    const key = keyOf(change);
    const run = runs.get(key);
    const isOne = run !== undefined && parseInstant(run.first.date) - time < settle;
    if (!keys.has(key) || (run !== undefined && !isOne && isOther(run))) continue;
    runs.set(key, { first: change, last: isOne ? run.last : change });
    if (time < begin) begin = time;
  }
  return runs;
}

/** Something else is there after it than before it. */
function isOther({ first, last }: Run): boolean {
  if (last.data !== undefined) return first.kind === last.kind;
  return first.old !== last.new || first.oldStatus !== last.newStatus;
}

function keyOf({ data, name, kind }: DomainChange): string {
  return JSON.stringify(data ?? name ?? kind);
}

/** None of a domain that is erased. */
async function* newestFirst({ ask }: Questions, selected: QueryParameters): AsyncGenerator<DomainChange> {
  try {
    for (let after: string | null | undefined; after !== null; ) {
      const parameters: QueryParameters = { ...selected, order: 'NEWEST_FIRST', first: '500', after };
      const page: Page<DomainChange> = await ask({ operation: 'getDomainChanges', parameters });
      yield* page.changes;
      after = page.next;
    }
  } catch (error) {
    if (!(error instanceof PublicError && error.code === 'DOMAIN_NOT_FOUND')) throw error;
  }
}

const MAX_DOMAINS = 100;

/**
 * Which watched domains, at most 100, have begun to fail, or recovered, since what was told.
 *
 * @param least How many failures in a row are told.
 * @returns `failing`: those that are told as failing then.
 */
export async function watchedNews(
  prisma: PrismaClient,
  { filter: { domains: names, registrableDomain }, failing: told }: Notification,
  least: number,
) {
  const domains = names === undefined ? names : [names].flat().map(parseDomains);
  const isSelected = domainTest({ domains, registrableDomain: registrableDomain?.toString() });
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
    .slice(0, MAX_DOMAINS)
    .map(({ name: domain, failures }): WatchedState => {
      failing[failures === 0 ? 'delete' : 'add'](domain);
      return { domain, state: failures === 0 ? 'recovered' : 'failing', failures };
    });
  return { domains: news, failing: [...failing] };
}

function parseDomains(text: string) {
  return parseNameOrSubdomains('domains', text);
}
