import { addTo } from '../model/groups.js';
import type { Instant } from '../model/instant.js';
import { laterOf, type RecordStay, timesOfStay } from './state.js';
import type { StoredHistory } from './stored-history.js';

export interface KnownStay extends Pick<RecordStay, 'record' | 'firstSeen' | 'source'> {
  /** The latest observation, or sighting, that is known to have held it. */
  readonly lastSeen: Instant;
  /** The observation that no longer held it; null while it is present. */
  readonly removed: Instant | null;
}

export interface HeaderPeriod extends Omit<KnownStay, 'record'> {
  readonly name: string;
  readonly value: string;
}

/** Those that began later are left out, and those that ended later are present. @param at Absent: now. */
export function staysAsOf({ state, stays }: StoredHistory, at: Instant | undefined): KnownStay[] {
  const known = stays.filter(({ firstSeen }) => isKnown(firstSeen, at));
  const timesByType = new Map<string, Instant[]>();
  for (const stay of known) for (const time of timesOfStay(stay)) addTo(timesByType, stay.record.type, time);
  const latestByType = new Map(
    Array.from(new Set(known.map(({ record }) => record.type)), (type) => {
      const named = state.types.get(type)?.named;
      const times = [state.everyType?.first, state.everyType?.latest, named?.first, named?.latest];
      return [type, latestOf([...times, ...(timesByType.get(type) ?? [])], at)];
    }),
  );
  return known.map((stay) => {
    const { record, firstSeen, source, removal, sightings = [] } = stay;
    const gone = removal !== null && isKnown(removal.removed, at) ? removal : null;
    // Of one that is present: also its own times, and the last one before a later removal.
    const own = [firstSeen, ...sightings.map(({ seenAt }) => seenAt), removal?.lastSeen];
    const lastSeen = gone?.lastSeen ?? latestOf([...own, latestByType.get(record.type)], at) ?? firstSeen;
    return { record, firstSeen, source, lastSeen, removed: gone?.removed ?? null };
  });
}

/** The periods of header values that are known at an instant, by name and time. @param at Absent: now. */
export function headerPeriods({ state, headers }: StoredHistory, at: Instant | undefined): HeaderPeriod[] {
  const known = headers.filter(({ observedAt }) => isKnown(observedAt, at));
  // Also of absences after the instant: the last observation before one.
  const ofChanges = headers.flatMap(({ observedAt, lastSeen }) => [observedAt, lastSeen]);
  const latest = latestOf([state.http?.first, state.http?.latest, ...ofChanges], at);
  return known.flatMap(({ name, value, observedAt: firstSeen, source }, index) => {
    if (value === null) return [];
    const next = known[index + 1];
    const end = next?.name === name ? next : undefined;
    const lastSeen = (end === undefined ? latest : end.lastSeen) ?? firstSeen;
    return [{ name, value, firstSeen, lastSeen, removed: end?.observedAt ?? null, source }];
  });
}

/** The latest of times up to an instant; null: there is none. */
function latestOf(times: readonly (Instant | null | undefined)[], at: Instant | undefined): Instant | null {
  let latest: Instant | null = null;
  for (const time of times) if (time != null && isKnown(time, at)) latest = laterOf(latest, time);
  return latest;
}

/** Whether a time is not after an instant. @param at Absent: now. */
export function isKnown(time: Instant, at: Instant | undefined): boolean {
  return at === undefined || time <= at;
}
