import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../src/database/client.js';
import { migrate } from '../../src/database/migrate.js';
import { watchDomains } from '../../src/observer/schedule/watch-list.js';
import { createTestHome, type TestHome } from '../support/database.js';
import { type DnsTestServer, startDnsServer } from '../support/dns-server.js';
import { repeats } from '../support/long-form.js';
import { REJECTING_PORT, startHttpServer, type WebServer } from '../support/web-server.js';
import { type DmsCommand, startDms } from './dms-command.js';

const DOMAINS = Array.from({ length: repeats(2000, 400) }, (_, number) => `d${number}.example`);
const DAY = 86_400_000_000n;
const LEASE_SECONDS = 8;
/** How many domains each worker has leased, and how many times the third one is killed. */
const CONCURRENCY = 20;
const KILLS = repeats(4, 2);

let home: TestHome;
let database: Database;
let dns: DnsTestServer;
let site: WebServer;
const workers: DmsCommand[] = [];
/** By domain, when its site was looked at, in milliseconds: once at each look. */
const looks = new Map<string, number[]>();

beforeAll(async () => {
  home = await createTestHome();
  database = await openDatabase(home.options);
  await migrate(database.pool);
  dns = await startDnsServer();
  dns.generate((_name, type) => (type === 'A' ? ['127.0.0.1'] : []));
  site = await startHttpServer();
  site.serve(({ fields }) => {
    const host = fields.find(([name]) => /^host$/i.test(name))?.[1].replace(/:.*/, '') ?? '';
    looks.set(host, [...(looks.get(host) ?? []), performance.now()]);
    return { fields: [['server', 'one']] };
  });
});

afterAll(async () => {
  for (const { child } of workers) child.kill('SIGKILL');
  await Promise.all(workers.map(({ result }) => result));
  await Promise.all([dns.close(), site.close()]);
  await database.close();
  await home.remove();
});

function startWorker(): DmsCommand {
  const worker = startDms(['worker'], {
    ...home.environment,
    DNS_SERVERS: `127.0.0.1:${dns.port}`,
    OBSERVE_DNS_TIMEOUT: '1s',
    OBSERVE_DNS_TRIES: '3',
    // Together no more than fit into the buffer of the server's socket.
    OBSERVE_QUESTIONS_PER_RESOLVER: '50',
    OBSERVE_PRIVATE: 'allow',
    OBSERVE_HTTPS_PORT: String(REJECTING_PORT),
    OBSERVE_HTTP_PORT: String(site.port),
    OBSERVE_CONCURRENCY: String(CONCURRENCY),
    OBSERVE_CONNECTIONS_PER_ADDRESS: '1000',
    OBSERVE_LEASE: `${LEASE_SECONDS}s`,
  });
  workers.push(worker);
  return worker;
}

async function countObserved(): Promise<number> {
  const { rows } = await database.pool.query<{ count: bigint }>(
    'SELECT count(*) FROM watched_domain WHERE observed_at IS NOT NULL AND lease IS NULL',
  );
  return Number(rows[0]?.count);
}

/** Starts a third worker again and again, and kills it when it has had some time to take domains. */
async function killThird(): Promise<void> {
  for (let kill = 0; kill < KILLS; kill += 1) {
    const third = startWorker();
    const before = looks.size;
    await expect
      .poll(() => looks.size, { timeout: 60_000, interval: 5 })
      .toBeGreaterThan(Math.min(before, DOMAINS.length - 1));
    await pause(Math.random() * 600);
    third.child.kill('SIGKILL');
    await third.result;
  }
}

test('workers share the domains: each is observed once, whichever worker is killed, and none while another has it', async () => {
  await watchDomains(database.writingPrisma, DOMAINS, DAY, BigInt(Date.now()) * 1000n);
  startWorker();
  startWorker();
  await killThird();
  await expect.poll(countObserved, { timeout: 90_000, interval: 250 }).toBe(DOMAINS.length);

  const again = [...looks.values()].filter((times) => times.length > 1);
  // Only what the killed ones had leased is observed twice, and only after its lease has ended.
  expect(again.length).toBeLessThanOrEqual(KILLS * CONCURRENCY);
  // A look ends at half of its lease: the site was looked at before that, and then not before the lease's end.
  const gaps = again.flatMap((times) => times.slice(1).map((time, at) => time - (times[at] ?? 0)));
  expect(gaps.filter((gap) => gap < (LEASE_SECONDS * 1000) / 2)).toEqual([]);
  const { rows } = await database.pool.query(
    `SELECT count(*) AS recorded, count(*) FILTER (WHERE w.failures > 0) AS failed
       FROM domain AS d JOIN watched_domain AS w ON w.name = d.name`,
  );
  expect(rows).toEqual([{ recorded: BigInt(DOMAINS.length), failed: 0n }]);
});

test('a stopped worker ends without leased domains', async () => {
  const running = workers.filter(({ child }) => child.exitCode === null && child.signalCode === null);
  await watchDomains(database.writingPrisma, DOMAINS, DAY / 2n, 0n);
  for (const { child } of running) child.kill('SIGTERM');
  const results = await Promise.all(running.map(({ result }) => result));
  expect(results.map(({ code }) => code)).toEqual([0, 0]);
  const { rows } = await database.pool.query('SELECT count(*) FROM watched_domain WHERE lease IS NOT NULL');
  expect(rows).toEqual([{ count: 0n }]);
});
