import type { Instant } from '../model/instant.js';
import { type DomainState, type RecordStay, timesOfStay } from './state.js';
import type { StoredHistory } from './stored-history.js';

/** A record's stay as it is known at an instant. */
export interface KnownStay extends Pick<RecordStay, 'record' | 'firstSeen' | 'source'> {
  /** The latest observation, or sighting, that is known to have held it. */
  readonly lastSeen: Instant;
  /** The observation that no longer held it; null while it is present. */
  readonly removed: Instant | null;
}

/**
 * The stays that are known at an instant, in their order: those that began later are left out, and those that
 * ended later are present.
 *
 * @param at Absent: now.
 */
export function staysAsOf({ state, stays }: StoredHistory, at: Instant | undefined): KnownStay[] {
  const known = stays.filter(({ firstSeen }) => isKnown(firstSeen, at));
  const latest = latestByType(state, known, at);
  return known.map((stay) => {
    const { record, firstSeen, source, removal } = stay;
    const gone = removal !== null && isKnown(removal.removed, at) ? removal : null;
    const lastSeen = gone?.lastSeen ?? lastKnown(stay, latest.get(record.type), at);
    return { record, firstSeen, source, lastSeen, removed: gone?.removed ?? null };
  });
}

/**
 * The latest observation of the type, or a time of the stay itself: its first sight, a sighting, or the last
 * before a later removal.
 */
function lastKnown(
  { firstSeen, sightings = [], removal }: RecordStay,
  latest: Instant | undefined,
  at: Instant | undefined,
): Instant {
  const times = [...sightings.map(({ seenAt }) => seenAt), removal?.lastSeen, latest];
  return times.reduce<Instant>(
    (last, time) => (time != null && isKnown(time, at) && time > last ? time : last),
    firstSeen,
  );
}

/** The latest observation of each type, of those up to the instant whose times are known. */
function latestByType(
  { everyType, types }: DomainState,
  stays: readonly RecordStay[],
  at: Instant | undefined,
): ReadonlyMap<string, Instant> {
  const latest = new Map<string, Instant>();
  const take = (type: string, time: Instant | undefined) => {
    const before = latest.get(type);
    if (time !== undefined && isKnown(time, at) && (before === undefined || before < time))
      latest.set(type, time);
  };
  for (const stay of stays) {
    const { type } = stay.record;
    if (!latest.has(type)) {
      const named = types.get(type)?.named;
      for (const time of [everyType?.first, everyType?.latest, named?.first, named?.latest]) take(type, time);
    }
    for (const time of timesOfStay(stay)) take(type, time);
  }
  return latest;
}

/** Whether a time is not after an instant. @param at Absent: now. */
export function isKnown(time: Instant, at: Instant | undefined): boolean {
  return at === undefined || time <= at;
}
