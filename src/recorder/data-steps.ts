import type { MigrationSteps } from '../database/migrate.js';
import type { ShowStep } from './canonicalize-stored.js';

/** What the migrations do to the rows besides their SQL. Imported lazily: few starts run such a migration. */
export function dataSteps(show?: ShowStep): MigrationSteps {
  return new Map([
    [
      '0006_canonical_rdata',
      async (pool) => (await import('./canonicalize-stored.js')).canonicalizeStored(pool, show),
    ],
  ]);
}

/** The same, without progress. */
export const DATA_STEPS: MigrationSteps = dataSteps();
