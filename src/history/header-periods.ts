import type { Instant } from '../model/instant.js';
import { isKnown, type KnownStay } from './stays-as-of.js';
import type { StoredHistory } from './stored-history.js';

export interface HeaderPeriod extends Omit<KnownStay, 'record'> {
  readonly name: string;
  readonly value: string;
}

/** The periods of header values that are known at an instant, by name and time. @param at Absent: now. */
export function headerPeriods({ state, headers }: StoredHistory, at: Instant | undefined): HeaderPeriod[] {
  const known = headers.filter(({ observedAt }) => isKnown(observedAt, at));
  const times = [state.http?.first, state.http?.latest];
  // Also of absences after the instant: the last observation before one.
  for (const { observedAt, lastSeen } of headers) times.push(observedAt, lastSeen ?? undefined);
  const latest = latestOf(times, at);
  return known.flatMap(({ name, value, observedAt: firstSeen, source }, index) => {
    if (value === null) return [];
    const next = known[index + 1];
    const end = next?.name === name ? next : undefined;
    const lastSeen = (end === undefined ? latest : end.lastSeen) ?? firstSeen;
    return [{ name, value, firstSeen, lastSeen, removed: end?.observedAt ?? null, source }];
  });
}

function latestOf(times: readonly (Instant | undefined)[], at: Instant | undefined): Instant | null {
  let latest: Instant | null = null;
  for (const time of times) {
    if (time !== undefined && isKnown(time, at) && (latest === null || latest < time)) latest = time;
  }
  return latest;
}
