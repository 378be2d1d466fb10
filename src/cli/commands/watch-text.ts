import { durationText } from '../../model/duration.js';
import { formatInstant } from '../../model/instant.js';
import { outcomeText } from '../../observer/outcome.js';
import type { WatchedDomain } from '../../observer/schedule/watch-list.js';
import { timeText } from '../table.js';
import { jsonLine } from '../write-text.js';

export const WATCHED_HEADINGS = ['domain', 'every', 'next', 'failures', 'last outcome'];

export function watchedRow({
  name,
  every,
  next,
  leased,
  failures,
  outcome,
  observedAt,
}: WatchedDomain): string[] {
  return [
    name,
    durationText(every),
    leased ? 'now' : timeText(next),
    String(failures),
    outcome === null || observedAt === null
      ? 'not yet by a worker'
      : `${timeText(observedAt)} ${outcomeText(outcome)}`,
  ];
}

/** How many domains are watched and, if there are none, how to add one. */
export function watchedText(count: number): string {
  if (count === 0) return 'no domain yet (dms watch add DOMAIN adds one)';
  return count === 1 ? '1 watched domain' : `${count} watched domains`;
}

export function watchedAsJson(domains: readonly WatchedDomain[]): string {
  return domains
    .map(({ name, every, next, leased, observedAt, outcome, failures }) => {
      const last = observedAt === null ? null : formatInstant(observedAt);
      const line = { domain: name, every: durationText(every), next: formatInstant(next), leased };
      return jsonLine({ ...line, observedAt: last, failures, outcome });
    })
    .join('');
}
