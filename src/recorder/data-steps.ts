import type { MigrationSteps } from '../database/migrate.js';
import type { ShowStep } from './canonicalize-stored.js';

/**
 * What the migrations do to the rows besides their SQL. Imported lazily: few starts run such a migration.
 *
 * The step was that of 0006, of 0010, and of 0015, in earlier versions. It reads and writes columns of 0009, 0012 and 0017, and tables
 * of 0014, so what a database of any version needs of it is done after these.
 */
export function dataSteps(show?: ShowStep): MigrationSteps {
  return new Map([
    [
      '0018_canonical_rows',
      async (pool) => (await import('./canonicalize-stored.js')).canonicalizeStored(pool, show),
    ],
  ]);
}

/** The same, without progress. */
export const DATA_STEPS: MigrationSteps = dataSteps();
