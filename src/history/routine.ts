import type { ChangeKind, RoutineReason } from '../model/change-kinds.js';
import type { Instant } from '../model/instant.js';

/** When a part of a domain was seen first. */
export interface FirstTimes {
  /** Its first observation; null: there was none. */
  readonly observed: Instant | null;
  /** The first sighting of a record of it; null: there was none. */
  readonly sighted: Instant | null;
}

/**
 * Why a change is routine; null: it is notable.
 *
 * What the first observation of a part showed was there before: nothing is known to have changed. The same holds for the first
 * sighting of a type that was not observed before it. Both depend on nothing later, unless it is put before them.
 *
 * @param first of the part that the change is of.
 */
export function routineOf(kind: ChangeKind, date: Instant, first: FirstTimes): RoutineReason | null {
  if (kind === 'HISTORY_EXTENDED') return 'BACKFILL';
  if (kind !== 'DNS_RECORD_ADDED' && kind !== 'HEADER_CREATED') return null;
  const { observed, sighted } = first;
  const isFirst = date === observed || (date === sighted && (observed === null || sighted < observed));
  return isFirst ? 'INITIAL' : null;
}
