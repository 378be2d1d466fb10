import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../src/database/client.js';
import { migrate } from '../../src/database/migrate.js';
import { watchDomains } from '../../src/observer/schedule/watch-list.js';
import { createTestHome, type TestHome } from '../support/database.js';
import { rcode, silence } from '../support/dns-behaviours.js';
import { type DnsTestServer, startDnsServer } from '../support/dns-server.js';
import { repeats } from '../support/long-form.js';
import { REJECTING_PORT } from '../support/web-server.js';
import { type DmsCommand, startDms } from './dms-command.js';

const SERVFAIL = 2;
const SECONDS = 2;
/** How long, in milliseconds, a try may take, and how long the resolver tries itself. */
const TIMEOUT = 300;
const SERVFAIL_AFTER = 500;

const numbered = (zone: string, count: number) =>
  Array.from({ length: count }, (_, number) => `d${number}.${zone}`);
const HEALTHY = numbered('healthy.example', repeats(20, 6));
const SILENT = numbered('silent.example', 5 * HEALTHY.length);
const FAILING = numbered('servfail.example', 5 * HEALTHY.length);

let home: TestHome;
let database: Database;
let dns: DnsTestServer;
let worker: DmsCommand;

beforeAll(async () => {
  home = await createTestHome();
  database = await openDatabase(home.options);
  await migrate(database.pool);
  dns = await startDnsServer();
  dns.generate((_name, type) => (type === 'A' ? ['127.0.0.1'] : []));
  for (const name of SILENT) dns.behave(name, silence);
  for (const name of FAILING) {
    dns.behave(name, async (question) => {
      await new Promise((resolve) => setTimeout(resolve, SERVFAIL_AFTER));
      return rcode(SERVFAIL)(question);
    });
  }
});

afterAll(async () => {
  worker.child.kill('SIGKILL');
  await worker.result;
  await dns.close();
  await database.close();
  await home.remove();
});

function startWorker(): DmsCommand {
  return startDms(['worker'], {
    ...home.environment,
    DNS_SERVERS: `127.0.0.1:${dns.port}`,
    OBSERVE_DNS_TIMEOUT: `${TIMEOUT}ms`,
    OBSERVE_PRIVATE: 'allow',
    OBSERVE_HTTPS_PORT: String(REJECTING_PORT),
    OBSERVE_HTTP_PORT: String(REJECTING_PORT),
    OBSERVE_CONCURRENCY: String(HEALTHY.length),
    OBSERVE_QUESTIONS_PER_RESOLVER: String(HEALTHY.length),
  });
}

test('ten times as many dead domains neither keep the others from their pace nor are forgotten themselves', async () => {
  const all = [...SILENT, ...FAILING, ...HEALTHY];
  await watchDomains(database.writingPrisma, all, BigInt(SECONDS) * 1_000_000n, BigInt(Date.now()) * 1000n);
  worker = startWorker();
  const looks = (name: string) => dns.asked(name, 'A');
  await expect.poll(() => Math.min(...HEALTHY.map(looks)), { timeout: 60_000 }).toBeGreaterThan(0);
  const began = performance.now();
  const before = new Map(HEALTHY.map((name) => [name, looks(name)]));
  const further = () => Math.min(...HEALTHY.map((name) => looks(name) - (before.get(name) ?? 0)));
  await expect.poll(further).toBeGreaterThanOrEqual(repeats(4, 2));
  expect(further()).toBeGreaterThanOrEqual(Math.floor((performance.now() - began) / 1000 / SECONDS / 2));
  await expect
    .poll(() => [...SILENT, ...FAILING].filter((name) => looks(name) === 0), { timeout: 60_000 })
    .toEqual([]);
  const { rows } = await database.pool.query('SELECT count(*) FROM domain');
  expect(rows).toEqual([{ count: BigInt(HEALTHY.length) }]);
});
