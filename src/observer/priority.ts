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
  /** Which priority the place that was given last was for; absent before the first. */
  readonly latest?: Priority | undefined;
}

/**
 * Shares free places out. The low priority has a quarter of all places first; beyond that the normal one
 * goes first, and has the last quarter for itself. Of a single place they have the use in turn.
 *
 * @param wanted how many are asked for.
 * @returns how many may be taken.
 */
export function sharePlaces({ places, free, low, latest }: Room, wanted: Counts): Counts {
  const quarter = Math.max(Math.floor(places / 4), 1);
  const first = places === 1 && latest !== 'normal' ? 0 : quarter;
  const most = places === 1 ? 1 : places - quarter;
  const lowFirst = Math.min(wanted.low, free, Math.max(first - low, 0));
  const normal = Math.min(wanted.normal, free - lowFirst);
  return { normal, low: Math.min(wanted.low, free - normal, Math.max(most - low, 0)) };
}

/** Whether any of the wanted may be taken. */
export function hasRoom(room: Room, wanted: Counts): boolean {
  const { normal, low } = sharePlaces(room, wanted);
  return normal + low > 0;
}
