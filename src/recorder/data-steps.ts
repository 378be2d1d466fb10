import type { MigrationSteps } from '../database/migrate.js';
import type { ShowStep } from './canonicalize-stored.js';

/**
 * What the migrations do to the rows besides their SQL. Imported lazily: few starts run such a migration.
 *
 * The step was that of 0006, and of 0010, in earlier versions. It reads and writes columns of 0009 and 0012 and tables of 0014, so what a
 * database of any version needs of it is done after these.
 */
export function dataSteps(show?: ShowStep): MigrationSteps {
  return new Map([
    [
      '0015_search',
      async (pool) => (await import('./canonicalize-stored.js')).canonicalizeStored(pool, show),
    ],
  ]);
}

/** The same, without progress. */
export const DATA_STEPS: MigrationSteps = dataSteps();
