/**
 * The priority of a domain that waits for a place: normal if its latest observation had an answer, low if that
 * failed or there is none. Dead domains keep their places long: without a limit they would take all.
 */
export type Priority = 'normal' | 'low';

export type Counts = Readonly<Record<Priority, number>>;

/** The places that both priorities share. */
export interface Room {
  readonly places: number;
  readonly free: number;
  /** How many of those in use are of the low priority. */
  readonly low: number;
  /** The priority that got a place last; absent before the first. */
  readonly latest?: Priority | undefined;
}

/**
 * Shares free places between the priorities. A quarter of all places goes to the low priority first; the rest
 * goes to the normal one first, and the last quarter to it alone. They take turns at a single place.
 *
 * @param wanted how many wait for a place.
 * @returns how many of them get one.
 */
export function sharePlaces({ places, free, low, latest }: Room, wanted: Counts): Counts {
  const quarter = Math.max(Math.floor(places / 4), 1);
  const first = places === 1 && latest !== 'normal' ? 0 : quarter;
  const most = places === 1 ? 1 : places - quarter;
  const lowFirst = Math.min(wanted.low, free, Math.max(first - low, 0));
  const normal = Math.min(wanted.normal, free - lowFirst);
  return { normal, low: Math.min(wanted.low, free - normal, Math.max(most - low, 0)) };
}

export function hasRoom(room: Room, wanted: Counts): boolean {
  const { normal, low } = sharePlaces(room, wanted);
  return normal + low > 0;
}
