/**
 * Who goes first where domains wait for places: those whose latest observation had an answer (normal), or
 * those whose latest one failed, and new ones (low). Dead domains hold their places for long: without a
 * limit they come to hold all.
 */
export type Priority = 'normal' | 'low';

/** How many of each priority. */
export type Counts = Readonly<Record<Priority, number>>;

/** The places that both priorities share. */
export interface Room {
  /** How many there are in all. */
  readonly places: number;
  readonly free: number;
  /** How many the low priority has in use. */
  readonly low: number;
}

/**
 * Shares free places out. The low priority has a quarter of all places first; beyond that the normal one
 * goes first, and has the last quarter for itself. A single place is for the low one when nobody else
 * wants it.
 *
 * @param wanted how many are asked for.
 * @returns how many may be taken.
 */
export function sharePlaces({ places, free, low }: Room, wanted: Counts): Counts {
  const kept = Math.min(Math.max(Math.floor(places / 4), 1), places - 1);
  const lowFirst = Math.min(wanted.low, free, Math.max(kept - low, 0));
  const normal = Math.min(wanted.normal, free - lowFirst);
  return { normal, low: Math.min(wanted.low, free - normal, Math.max(places - kept - low, 0)) };
}
