import { afterAll, beforeAll, expect, test } from 'vitest';
import { completeLeases, leaseDue } from '../../../src/observer/schedule/leases.js';
import { listWatched, watchDomains } from '../../../src/observer/schedule/watch-list.js';
import { openTestDatabase, TEST_SERVER, type TestDatabase } from '../../support/database.js';
import { NOW } from '../../support/observations.js';

const HOUR = 3_600_000_000n;
const OUTCOME = {
  dns: { answered: ['A'], failures: {}, nameExists: true },
  http: { failure: { code: 'refused', message: '' } },
} as const;

let database: TestDatabase;

beforeAll(async () => {
  database = await openTestDatabase();
});

afterAll(async () => {
  await database.close();
});

/**
 * Runs some work that updates the domains a.example and b.example, in this order, beside a transaction that
 * has them in the other order: a deadlock, of which the work is the victim (it waits for less long).
 */
async function besideDeadlock(work: () => Promise<unknown>): Promise<void> {
  const other = await database.pool.connect();
  try {
    await other.query("BEGIN; SET LOCAL deadlock_timeout = '60s'");
    await other.query(`UPDATE watched_domain SET failures = failures WHERE name = 'b.example'`);
    const done = work();
    await waiting();
    await other.query(`UPDATE watched_domain SET failures = failures WHERE name = 'a.example'`);
    await other.query('COMMIT');
    await done;
  } finally {
    other.release();
  }
}

/** Settles when a statement in this database waits for a lock. */
async function waiting(): Promise<void> {
  for (;;) {
    const { rows } = await database.pool.query(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    if (rows.length > 0) return;
  }
}

// Clients of the embedded database never wait for each other's rows: a transaction holds all others off.
test.skipIf(TEST_SERVER === undefined)(
  'a deadlock with another writer neither loses a domain that is added nor a lease that is ended',
  async () => {
    const names = ['a.example', 'b.example'];
    await watchDomains(database.writingPrisma, names, HOUR, NOW);
    await besideDeadlock(() => watchDomains(database.writingPrisma, names, 2n * HOUR, NOW));
    const { domains } = await leaseDue(database.writingPrisma, NOW, NOW + HOUR, {
      places: 8,
      free: 2,
      low: 0,
    });
    const inOrder = domains.toSorted((left, right) => (left.name < right.name ? -1 : 1));
    const completions = inOrder.map((domain) => ({
      domain,
      observedAt: NOW,
      outcome: OUTCOME,
      failures: 0,
      next: NOW + 2n * HOUR,
    }));
    await besideDeadlock(() => completeLeases(database.writingPrisma, completions));
    const watched = [];
    for await (const page of listWatched(database.writingPrisma)) watched.push(...page);
    const expected = names.map((name) => ({ name, every: 2n * HOUR, next: NOW + 2n * HOUR, leased: false }));
    expect(watched).toMatchObject(expected);
  },
);
