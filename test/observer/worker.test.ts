import { setTimeout as pause } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { afterAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { readSettings } from '../../src/config/env.js';
import { createCheckReport } from '../../src/observer/record-checks.js';
import { listWatched, unwatchDomains, watchDomains } from '../../src/observer/schedule/watch-list.js';
import { Worker } from '../../src/observer/worker.js';
import { createObserver } from '../../src/observing.js';
import { createRecorder } from '../../src/recorder/recorder.js';
import { createLogger } from '../../src/telemetry/logging.js';
import { databaseOfFile, emptyTestDatabase } from '../support/database.js';
import { type Behaviour, rcode, silence } from '../support/dns-behaviours.js';
import { startDnsServer } from '../support/dns-server.js';
import { REJECTING_PORT, settingsToObserve } from '../support/web-server.js';

const SERVFAIL = 2;
const HOUR = 3_600_000_000n;
const DAY = 24n * HOUR;
/** Longer than any test: what is silent ends by being stopped. */
const PATIENT = '60s';

/** Even on a busy machine. */
const SOON = { timeout: 60_000 };

const database = databaseOfFile();
const dns = await startDnsServer();
const settings = readSettings({
  ...settingsToObserve(dns.port, REJECTING_PORT),
  OBSERVE_DNS_TIMEOUT: PATIENT,
  OBSERVE_DNS_TRIES: '1',
});
const observer = createObserver(settings, now);
let logged: Record<string, unknown>[];

beforeEach(async () => {
  await emptyTestDatabase(database);
  dns.generate((_name, type) => (type === 'A' ? ['127.0.0.1'] : []));
  dns.behave('*', undefined);
  dns.forgetQuestions();
  logged = [];
});

afterAll(() => dns.close());

function now(): bigint {
  return BigInt(Date.now()) * 1000n;
}

function start(lease = 120_000, checking = observer, { concurrency = 12, idle = 20, time = now } = {}) {
  const log = createLogger({ level: 'info', stream: { write: (line) => logged.push(JSON.parse(line)) } });
  return new Worker({
    prisma: database.writingPrisma,
    observer: checking,
    recorder: createRecorder(database.pool),
    report: createCheckReport(log, new Registry()),
    ...{ log, now: time, concurrency, lease, idle },
  });
}

function watch(names: readonly string[], every: bigint, from: bigint) {
  return watchDomains(database.writingPrisma, names, every, from);
}

async function watched() {
  const pages = [];
  for await (const page of listWatched(database.writingPrisma)) pages.push(...page);
  return pages;
}

/** Until the watched domains are so. */
const becomes = (...expected: readonly object[]) => expect.poll(watched, SOON).toMatchObject(expected);

const makeDue = () => database.pool.query('UPDATE watched_domain SET due = 0, scheduled = 0');

/** All questions wait until the function returned is called. */
function holdAnswers(then: Behaviour): () => void {
  const held: (() => void)[] = [];
  dns.behave('*', (question) => new Promise((resolve) => held.push(() => resolve(then(question)))));
  return () => {
    dns.behave('*', then);
    for (const answer of held) answer();
  };
}

const messages = () => logged.map(({ msg }) => msg);
const faults = () => messages().filter((msg) => String(msg).startsWith('The clock says'));

test('a check that is stopped is handed back as it was, and nothing of it is recorded', async () => {
  dns.behave('*', silence);
  await watch(['a.example', 'b.example'], DAY, 1_000n);
  const worker = start();
  await expect.poll(() => dns.asked('b.example', 'A'), SOON).toBe(1);
  await worker.stop(0);
  const before = { leased: false, next: 1_000n, observedAt: null };
  expect(await watched()).toMatchObject([before, before]);
  expect(messages()).toEqual([]);
});

test('a check ends at half of its lease: what is silent fails, and is observed less and less often', async () => {
  dns.behave('*', silence);
  await watch(['a.example'], HOUR, now());
  const worker = start(400);
  await becomes({ failures: 1, leased: false, outcome: { dns: { answered: [] } } });
  await worker.stop(1_000);
  const [domain] = await watched();
  const failure = { code: 'timeout', message: 'no answer in the time for one check' };
  expect(domain?.outcome?.dns.failures['A']).toEqual(failure);
  expect((domain?.next ?? 0n) - now()).toBeGreaterThan(2n * HOUR - 60_000_000n);
});

test('a clock that steps back, or is before 2000, observes nothing, and the log says so once', async () => {
  let clock = now();
  const time = () => clock;
  const worker = start(120_000, createObserver(settings, time), { time });
  await watch(['a.example'], HOUR, 0n);
  await becomes({ failures: 0, leased: false, observedAt: clock });
  const right = clock;
  clock = 0n;
  // What was leased at the right time may still be observed.
  await expect.poll(() => faults().length, SOON).toBe(1);
  dns.forgetQuestions();
  await watch(['b.example'], HOUR, 0n);
  for (const wrong of [10_000_000n, right - HOUR]) {
    clock = wrong;
    await makeDue();
    await pause(200);
    expect(dns.questions).toBe(0);
    expect(faults()).toEqual([expect.stringContaining('Nothing is observed')]);
  }
  clock = right + 1n;
  await becomes({ observedAt: clock }, { observedAt: clock });
  await worker.stop(1_000);
  expect(messages()).toContain('the worker continues: the clock is right again');
  expect(faults()).toHaveLength(1);
});

test('failures in a row are counted, and one success ends them', async () => {
  dns.behave('*', rcode(SERVFAIL));
  await watch(['a.example'], HOUR, now());
  const worker = start();
  for (const failures of [1, 2]) {
    await becomes({ failures, leased: false });
    if (failures === 2) dns.behave('*', undefined);
    await makeDue();
  }
  await becomes({ failures: 0, leased: false });
  await worker.stop(1_000);
  expect(logged.map(({ recording }) => recording)).toEqual(['nothing', 'nothing', 'changed']);
});

test('silent domains, new ones and such that failed before, leave places to those that answer', async () => {
  const dead = Array.from({ length: 40 }, (_, number) => `dead${number}.example`);
  const healthy = ['a.example', 'b.example', 'c.example'];
  for (const name of dead) dns.behave(name, silence);
  await watch([...dead, ...healthy], 200_000n, 0n);
  await database.pool.query(
    `UPDATE watched_domain SET observed_at = 0, outcome = '{}', failures = (name LIKE 'dead%')::int
      WHERE name = ANY($1) OR name LIKE 'dead1%'`,
    [healthy],
  );
  const worker = start();
  await expect.poll(() => Math.min(...healthy.map((name) => dns.asked(name, 'A')))).toBeGreaterThanOrEqual(5);
  // Those that are checked have been silent since they were taken: three quarters of twelve places.
  expect(dead.filter((name) => dns.asked(name) > 0)).toHaveLength(9);
  await worker.stop(0);
});

test('domains that fill their share cost no statements, and when one is finished the next is taken soon', async () => {
  const dead = Array.from({ length: 40 }, (_, number) => `failing${number}.example`);
  const fail = holdAnswers(rcode(SERVFAIL));
  await watch(dead, DAY, 0n);
  const statements = vi.spyOn(database.pool, 'query');
  onTestFinished(() => statements.mockRestore());
  const worker = start(120_000, observer, { idle: 60_000 });
  const asked = () => dead.filter((name) => dns.asked(name) > 0).length;
  await expect.poll(asked, SOON).toBe(9);
  const before = statements.mock.calls.length;
  await pause(300);
  expect(statements.mock.calls.length - before).toBeLessThanOrEqual(1);
  fail();
  await expect.poll(asked).toBe(40);
  await worker.stop(1_000);
});

test('two workers observe each domain once per interval, over many intervals, and leave none out', async () => {
  const interval = 300;
  const names = Array.from({ length: 30 }, (_, number) => `d${number}.example`);
  const asked = new Map<string, number[]>(names.map((name) => [name, []]));
  dns.generate((name, type) => {
    if (type === 'SOA') asked.get(name)?.push(performance.now());
    return type === 'A' ? ['127.0.0.1'] : [];
  });
  await watch(names, BigInt(interval) * 1000n, now());
  const workers = [start(), start()];
  const fewest = () => Math.min(...[...asked.values()].map(({ length }) => length));
  await expect.poll(fewest, SOON).toBeGreaterThanOrEqual(4);
  await Promise.all(workers.map((worker) => worker.stop(10_000)));
  const gaps = [...asked.values()].flatMap((times) =>
    times.slice(1).map((time, at) => time - (times[at] ?? 0)),
  );
  expect(gaps.filter((gap) => gap < interval)).toEqual([]);
});

test('an outage of the resolver is no failure of the domains: they are observed at their pace', async () => {
  const away = createObserver(readSettings({ DNS_SERVERS: `127.0.0.1:${REJECTING_PORT}` }), now);
  await watch(['a.example'], HOUR, now());
  const worker = start(120_000, away);
  const outcome = { dns: { failures: { A: { code: 'unreachable' } } } };
  await becomes({ failures: 0, leased: false, outcome });
  await worker.stop(1_000);
});

test('where the database fails the worker waits for it, reports it once, and continues by itself', async () => {
  await database.pool.query('ALTER TABLE watched_domain RENAME TO away');
  const worker = start();
  await expect.poll(messages, SOON).toContain('the worker waits for the database');
  await database.pool.query('ALTER TABLE away RENAME TO watched_domain');
  await watch(['a.example'], DAY, now());
  await becomes({ name: 'a.example', observedAt: expect.any(BigInt) });
  await worker.stop(1_000);
  expect(messages()).toEqual([
    'the worker waits for the database',
    'the worker continues: the database is right again',
    'observed',
  ]);
});

test('a domain that is watched no longer when its check ends is not recorded', async () => {
  const answer = holdAnswers((question) => ({ messages: [question.answer()] }));
  await watch(['a.example', 'b.example'], DAY, now());
  const worker = start();
  await expect.poll(() => dns.asked('a.example') + dns.asked('b.example'), SOON).toBe(2);
  await unwatchDomains(database.writingPrisma, ['a.example']);
  answer();
  await worker.stop(10_000);
  const { rows } = await database.pool.query('SELECT name FROM domain');
  expect(rows).toEqual([{ name: 'b.example' }]);
});

test('an observation that the database rejects does not keep others from being recorded, and is observed less often', async () => {
  await database.pool.query("ALTER TABLE domain ADD CONSTRAINT odd CHECK (name <> 'b.example')");
  await watch(['a.example', 'b.example', 'c.example'], HOUR, now());
  const worker = start();
  await becomes({ failures: 0, observedAt: expect.any(BigInt) }, { failures: 1 }, { failures: 0 });
  await worker.stop(1_000);
  await database.pool.query('ALTER TABLE domain DROP CONSTRAINT odd');
  const { rows } = await database.pool.query('SELECT name FROM domain ORDER BY name');
  expect(rows).toEqual([{ name: 'a.example' }, { name: 'c.example' }]);
  expect(messages().sort()).toEqual(['an observation could not be recorded', 'observed', 'observed']);
});

test('a worker that is stopped while the database is unreachable ends nevertheless', async () => {
  dns.behave('*', silence);
  await watch(['a.example'], DAY, now());
  const worker = start();
  await expect.poll(() => dns.asked('a.example', 'A'), SOON).toBe(1);
  await database.pool.query('ALTER TABLE watched_domain RENAME TO away');
  await worker.stop(0);
  await database.pool.query('ALTER TABLE away RENAME TO watched_domain');
  expect(await watched()).toMatchObject([{ name: 'a.example', observedAt: null }]);
});
