import { Prisma } from '../database/generated/client.js';
import type { Instant } from '../model/instant.js';
import { DATABASE_NOW } from './bulk-write.js';
import { type ForgettingDatabase, forget } from './forget.js';
import { HOUR, startRepeating } from './repeat.js';

/** By one statement. */
const EXAMINED_AT_ONCE = 1000;
/** In one transaction. */
const ERASED_AT_ONCE = 20;

/**
 * Erases domains of which nothing was recorded for a time, by the clock of the database, which has written the
 * times of recording. Watched domains are kept: an observer that fails for long, or is stopped, must not lose
 * what it has found.
 *
 * The time of recording has no index, so that an unchanged observation updates its row in place. So domains are
 * examined a part at a time, in the order of their names.
 *
 * @param after The name after which to begin; empty: the first.
 * @param kept In milliseconds.
 * @returns the last name that was examined, null if there is none after the one before, and those erased.
 */
export async function forgetUnobserved(
  database: ForgettingDatabase,
  after: string,
  kept: number,
): Promise<{ readonly last: string | null; readonly erased: readonly string[] }> {
  const [found] = await database.writingPrisma.$queryRaw<
    { readonly old: string[]; readonly last: string | null; readonly before: Instant }[]
  >`
    WITH clock AS (SELECT ${Prisma.raw(DATABASE_NOW)} - ${BigInt(kept) * 1000n}::bigint AS before),
         examined AS MATERIALIZED (
           SELECT domain.name, recorded_at, watched.name IS NOT NULL AS is_watched
             FROM domain LEFT JOIN watched_domain AS watched ON watched.name = domain.name
            WHERE domain.name > ${after} ORDER BY domain.name LIMIT ${EXAMINED_AT_ONCE})
    SELECT before, (SELECT max(name) FROM examined) AS last,
           ARRAY (SELECT name FROM examined
                   WHERE recorded_at < before AND NOT is_watched
                   ORDER BY name LIMIT ${ERASED_AT_ONCE}) AS old
      FROM clock`;
  if (found === undefined) return { last: null, erased: [] };
  const { old, last, before } = found;
  const erased = old.length === 0 ? [] : await forget(database, old, before);
  return { last: old.length < ERASED_AT_ONCE ? last : (old.at(-1) ?? last), erased };
}

/** In milliseconds, between two steps: four times as long as the step, and no less than this. */
const MIN_PAUSE = 250;

interface ForgettingOptions {
  /** In milliseconds. */
  readonly kept: number;
  readonly erased: (names: readonly string[]) => void;
  /** Called with why it could not be done; it is tried again. */
  readonly failed: (error: unknown) => void;
}

/**
 * Erases domains as forgetUnobserved() does, all the time and slowly. Several processes may do it at once.
 *
 * @returns a function that ends it, after the step in progress.
 */
export function startForgetting(
  database: ForgettingDatabase,
  { kept, erased, failed }: ForgettingOptions,
): () => Promise<void> {
  // A process that is restarted often would examine the first names only.
  let begin = Math.random().toString(36).charAt(2);
  let after = begin;
  const step = async () => {
    const since = performance.now();
    const found = await forgetUnobserved(database, after, kept);
    if (found.erased.length > 0) erased(found.erased);
    after = found.last ?? '';
    const isWhole = found.last === null && begin === '';
    if (found.last === null) begin = '';
    return isWhole ? HOUR : Math.max(MIN_PAUSE, 4 * (performance.now() - since));
  };
  return startRepeating(0, step, failed);
}
