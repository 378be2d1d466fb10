import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { CheckOutcome } from '../../../src/observer/outcome.js';
import { type Completion, completeLeases, leaseDue } from '../../../src/observer/schedule/leases.js';
import { listWatched, unwatchDomains, watchDomains } from '../../../src/observer/schedule/watch-list.js';
import type { Failure } from '../../../src/observer/verdict.js';
import { databaseOfFile, emptyTestDatabase, TEST_SERVER } from '../../support/database.js';

const NOW = 1_700_000_000_000_000n;
const MINUTE = 60_000_000n;
const HOUR = 60n * MINUTE;

const REFUSED: Failure = { code: 'refused', message: 'REFUSED from 192.0.2.53:53' };
const OUTCOME: CheckOutcome = {
  dns: { answered: [], failures: { A: REFUSED }, nameExists: null },
  http: { failure: REFUSED },
};

const database = databaseOfFile();
beforeEach(() => emptyTestDatabase(database));

function watch(names: readonly string[], every = HOUR, now = NOW) {
  return watchDomains(database.writingPrisma, names, every, now);
}

async function lease(now = NOW, most = 100) {
  // The low priority may have all that are free.
  const room = { places: 4 * most, free: most, low: 0 };
  return (await leaseDue(database.writingPrisma, now, now + 2n * MINUTE, room)).domains;
}

/** Ends leases, as observations that failed do unless something else is given. */
function complete(domains: Awaited<ReturnType<typeof lease>>, done: Partial<Completion> = {}) {
  const completion = { observedAt: NOW, outcome: OUTCOME, failures: 0, next: NOW + HOUR, ...done };
  return completeLeases(
    database.writingPrisma,
    domains.map((domain) => ({ ...completion, domain })),
  );
}

async function watched() {
  const pages = [];
  for await (const page of listWatched(database.writingPrisma)) pages.push(...page);
  return pages;
}

const namesOf = (domains: readonly { readonly name: string }[]) => domains.map(({ name }) => name).sort();

describe('watching', () => {
  test('a domain that is added is due at once', async () => {
    expect(await watch(['b.example', 'a.example'])).toEqual({ added: 2, changed: 0 });
    expect(namesOf(await lease())).toEqual(['a.example', 'b.example']);
  });

  test('a domain that is added again continues as before, or at the new interval', async () => {
    await watch(['a.example', 'b.example']);
    expect(await watch(['a.example'])).toEqual({ added: 0, changed: 0 });
    expect(await watch(['a.example', 'c.example'], 2n * HOUR)).toEqual({ added: 1, changed: 1 });
    expect((await watched()).map(({ every }) => every / HOUR)).toEqual([2n, 1n, 2n]);
  });

  test('a shorter pace brings the next observation forward, to one interval from now at the latest', async () => {
    await watch(['a.example'], 24n * HOUR);
    await complete(await lease(), { next: NOW + 24n * HOUR });
    await watch(['a.example'], HOUR, NOW + MINUTE);
    expect(await watched()).toMatchObject([{ next: NOW + MINUTE + HOUR }]);
  });

  test('removing tells which were watched, and a removed domain is not taken up again when its check ends', async () => {
    await watch(['a.example', 'b.example']);
    const held = await lease();
    expect(await unwatchDomains(database.writingPrisma, ['a.example', 'x.example'])).toBe(1);
    await complete(held);
    expect(namesOf(await watched())).toEqual(['b.example']);
  });

  test('the list tells next time, last outcome and failures in a row', async () => {
    await watch(['a.example', 'b.example']);
    const isNew = { next: NOW, leased: false, observedAt: null, outcome: null, failures: 0 };
    expect(await watched()).toMatchObject(['a.example', 'b.example'].map((name) => ({ name, ...isNew })));
    const held = (await lease()).filter(({ name }) => name === 'a.example');
    await complete(held, { observedAt: NOW + 1n, failures: 3, next: NOW + 8n * HOUR });
    expect(await watched()).toMatchObject([
      { next: NOW + 8n * HOUR, leased: false, observedAt: NOW + 1n, outcome: OUTCOME, failures: 3 },
      { name: 'b.example', next: NOW, leased: true },
    ]);
  });
});

describe('leases', () => {
  test('what is leased is not leased again until the lease ends', async () => {
    await watch(['a.example']);
    expect(await lease(NOW)).toMatchObject([{ name: 'a.example', first: true, failures: 0, scheduled: NOW }]);
    expect(await lease(NOW + 2n * MINUTE - 1n)).toEqual([]);
    expect(await lease(NOW + 2n * MINUTE)).toMatchObject([{ name: 'a.example', scheduled: NOW }]);
  });

  test('a lease that has ended completes nothing: the domain is its next holder’s', async () => {
    await watch(['a.example']);
    const lost = await lease(NOW);
    const held = await lease(NOW + 2n * MINUTE);
    await complete(lost, { next: NOW + 9n * HOUR });
    expect(await watched()).toMatchObject([{ leased: true, outcome: null }]);
    await complete(held, { next: NOW + 9n * HOUR });
    expect(await watched()).toMatchObject([{ leased: false, next: NOW + 9n * HOUR }]);
  });

  test('an interval that is set while the domain is leased counts from the observation in progress', async () => {
    await watch(['a.example'], 24n * HOUR);
    const held = await lease();
    await watch(['a.example'], MINUTE, NOW + 1n);
    await complete(held, { next: NOW + 30n * HOUR });
    expect(await watched()).toMatchObject([{ every: MINUTE, next: NOW + MINUTE }]);
  });

  test('where new and failing domains have their whole share, they are not queried, and more may be due', async () => {
    await watch(['new.example']);
    const full = { places: 8, free: 2, low: 6 };
    const nothing = { domains: [], mayBeMore: true, isOutrun: false };
    expect(await leaseDue(database.writingPrisma, NOW, NOW + MINUTE, full)).toEqual(nothing);
  });

  test('at most the requested number is taken, the longest due among the first', async () => {
    await watch(['new.example'], HOUR, NOW);
    await watch(['old.example'], HOUR, NOW - HOUR);
    await watch(['later.example'], HOUR, NOW + 1n);
    expect(namesOf(await lease(NOW, 10))).toEqual(['new.example', 'old.example']);
    await emptyTestDatabase(database);
    await watch(Array.from({ length: 50 }, (_, number) => `d${number}.example`));
    expect(await lease(NOW, 7)).toHaveLength(7);
  });
});

/** Beside a transaction that has a.example and b.example in the other order: the work is a deadlock's victim. */
async function besideDeadlock(work: () => Promise<unknown>): Promise<void> {
  const other = await database.pool.connect();
  const lock = (name: string) =>
    other.query('UPDATE watched_domain SET failures = failures WHERE name = $1', [name]);
  try {
    await other.query("BEGIN; SET LOCAL deadlock_timeout = '60s'");
    await lock('b.example');
    const done = work();
    const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    await vi.waitUntil(async () => (await database.pool.query(waiting)).rows.length > 0, 10_000);
    await lock('a.example');
    await other.query('COMMIT');
    await done;
  } finally {
    other.release();
  }
}

// Clients of the embedded database never wait for each other's rows: a transaction holds all others off.
test.skipIf(TEST_SERVER === undefined)(
  'a deadlock with another writer neither loses a domain that is added nor a lease that is ended',
  async () => {
    const names = ['a.example', 'b.example'];
    await watch(names);
    await besideDeadlock(() => watch(names, 2n * HOUR));
    const held = (await lease()).toSorted((left, right) => (left.name < right.name ? -1 : 1));
    await besideDeadlock(() => complete(held, { next: NOW + 2n * HOUR }));
    const expected = names.map((name) => ({ name, every: 2n * HOUR, next: NOW + 2n * HOUR, leased: false }));
    expect(await watched()).toMatchObject(expected);
  },
);
