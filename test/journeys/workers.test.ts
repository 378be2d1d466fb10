import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { watchDomains } from '../../src/observer/schedule/watch-list.js';
import { databaseOfFile, emptyTestDatabase } from '../support/database.js';
import { rcode, silence } from '../support/dns-behaviours.js';
import { type DnsTestServer, startDnsServer } from '../support/dns-server.js';
import { keepUntilEnd } from '../support/keep.js';
import { repeats } from '../support/long-form.js';
import { settingsToObserve, startHttpServer, type WebServer } from '../support/web-server.js';
import { type DmsCommand, startDms } from './dms-command.js';

const SECOND = 1_000_000n;
const DAY = 86_400n * SECOND;
const LEASE_SECONDS = 8;
const CONCURRENCY = 20;
const SERVFAIL = 2;

const numbered = (zone: string, count: number) =>
  Array.from({ length: count }, (_, number) => `d${number}.${zone}`);

const database = databaseOfFile();
const keep = keepUntilEnd();
let dns: DnsTestServer;
let site: WebServer;
const workers: DmsCommand[] = [];
/** By domain, when its site was looked at, in milliseconds: once at each look. */
const looks = new Map<string, number[]>();

beforeAll(async () => {
  [dns, site] = [keep(await startDnsServer()), keep(await startHttpServer())];
  dns.generate((_name, type) => (type === 'A' ? ['127.0.0.1'] : []));
  site.serve(({ fields }) => {
    const host = fields.find(([name]) => /^host$/i.test(name))?.[1].replace(/:.*/, '') ?? '';
    looks.set(host, [...(looks.get(host) ?? []), performance.now()]);
    return { fields: [['server', 'one']] };
  });
});

afterEach(async () => {
  for (const { child } of workers) child.kill('SIGKILL');
  await Promise.all(workers.splice(0).map(({ result }) => result));
  await emptyTestDatabase(database);
});

function startWorker(environment: Readonly<Record<string, string>>): DmsCommand {
  const worker = startDms(['worker'], {
    ...database.environment,
    ...settingsToObserve(dns.port, site.port),
    ...environment,
  });
  workers.push(worker);
  return worker;
}

const watch = (domains: readonly string[], interval: bigint, now = BigInt(Date.now()) * 1000n) =>
  watchDomains(database.writingPrisma, domains, interval, now);

test('workers share the domains: each is observed once, whichever worker is killed, and none while another has it; those that are stopped end without leased domains', async () => {
  const domains = numbered('example', repeats(2000, 200));
  const kills = repeats(4, 1);
  const environment = {
    OBSERVE_DNS_TIMEOUT: '1s',
    OBSERVE_DNS_TRIES: '3',
    // Together no more than fit into the buffer of the server's socket.
    OBSERVE_QUESTIONS_PER_RESOLVER: '50',
    OBSERVE_CONCURRENCY: String(CONCURRENCY),
    OBSERVE_CONNECTIONS_PER_ADDRESS: '1000',
    OBSERVE_LEASE: `${LEASE_SECONDS}s`,
  };
  await watch(domains, DAY);
  const steady = [startWorker(environment), startWorker(environment)];
  // A third one is killed again and again when it has had some time to take domains.
  for (let kill = 0; kill < kills; kill += 1) {
    const third = startWorker(environment);
    const before = Math.min(looks.size, domains.length - 1);
    await expect.poll(() => looks.size, { timeout: 60_000, interval: 5 }).toBeGreaterThan(before);
    await pause(Math.random() * 600);
    third.child.kill('SIGKILL');
    await third.result;
  }
  const countOf = async (condition: string) =>
    (await database.pool.query(`SELECT FROM watched_domain WHERE ${condition}`)).rows.length;
  const isDone = () => countOf('observed_at IS NOT NULL AND lease IS NULL AND failures = 0');
  await expect.poll(isDone, { timeout: 90_000, interval: 250 }).toBe(domains.length);

  const again = [...looks.values()].filter(({ length }) => length > 1);
  // Only what the killed ones had leased, running or not yet written, is observed twice, and only after its lease.
  expect(again.length).toBeLessThanOrEqual(kills * 2 * CONCURRENCY);
  // A look ends at half of its lease: the site was looked at before that, and then not before the lease's end.
  const gaps = again.flatMap((times) => times.slice(1).map((time, at) => time - (times[at] ?? 0)));
  expect(gaps.filter((gap) => gap < (LEASE_SECONDS * 1000) / 2)).toEqual([]);
  expect((await database.pool.query('SELECT FROM domain')).rows).toHaveLength(domains.length);

  await watch(domains, DAY / 2n, 0n);
  for (const { child } of steady) child.kill('SIGTERM');
  const results = await Promise.all(steady.map(({ result }) => result));
  expect(results.map(({ code }) => code)).toEqual([0, 0]);
  expect(await countOf('lease IS NOT NULL')).toBe(0);
});

test('ten times as many dead domains neither keep the others from their pace nor are forgotten themselves', async () => {
  const healthy = numbered('healthy.example', repeats(20, 4));
  const silent = numbered('silent.example', 5 * healthy.length);
  const failing = numbered('servfail.example', 5 * healthy.length);
  const dead = [...silent, ...failing];
  for (const name of silent) dns.behave(name, silence);
  for (const name of failing) {
    // A resolver tries itself before it gives up.
    dns.behave(name, (question) => pause(repeats(500, 200)).then(() => rcode(SERVFAIL)(question)));
  }
  const everySeconds = 2;
  await watch([...dead, ...healthy], BigInt(everySeconds) * SECOND);
  startWorker({
    OBSERVE_DNS_TIMEOUT: `${repeats(300, 150)}ms`,
    OBSERVE_CONCURRENCY: String(healthy.length),
    OBSERVE_QUESTIONS_PER_RESOLVER: String(healthy.length),
  });
  const asked = (name: string) => dns.asked(name, 'A');
  await expect.poll(() => Math.min(...healthy.map(asked)), { timeout: 60_000 }).toBeGreaterThan(0);
  const began = performance.now();
  const before = new Map(healthy.map((name) => [name, asked(name)]));
  const further = () => Math.min(...healthy.map((name) => asked(name) - (before.get(name) ?? 0)));
  await expect.poll(further).toBeGreaterThanOrEqual(repeats(4, 2));
  const seconds = (performance.now() - began) / 1000;
  expect(further()).toBeGreaterThanOrEqual(Math.floor(seconds / everySeconds / 2));
  await expect.poll(() => dead.filter((name) => asked(name) === 0), { timeout: 60_000 }).toEqual([]);
  expect((await database.pool.query('SELECT FROM domain')).rows).toHaveLength(healthy.length);
});
