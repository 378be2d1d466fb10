import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Database } from '../../src/database/client.js';
import type { Observation } from '../../src/model/observation.js';
import { createRecorder, type Recorder } from '../../src/recorder/recorder.js';
import { openMigrated, TEST_SERVER } from '../support/database.js';
import { keepUntilEnd } from '../support/keep.js';
import { IS_LONG } from '../support/long-form.js';
import { observation, timeText } from '../support/observations.js';
import { CONNECT_QUERY, HAS_PGBOUNCER, startPgbouncer } from '../support/pgbouncer.js';
import { PostgresqlCluster } from '../support/postgresql-cluster.js';
import { HAS_REDIS, type RedisServer, startRedis } from '../support/redis-server.js';
import { type Serving, serve } from './serving.js';

const SECOND = 1000;
/** A replica allows no fewer than its primary. */
const CONNECTIONS = { max_connections: '150' };
/** In milliseconds. */
const STEADY = 4 * SECOND;
const PRIMARY_AWAY = 10 * SECOND;
/** In seconds: how far a replica may be behind. */
const MOST_BEHIND = 5;
/** In milliseconds, after the primary is back, until writes are accepted again. */
const RECOVERY = 8 * SECOND;
const APIS = 3;
const CLIENTS = 6;
const DOMAINS = Array.from({ length: 30 }, (_, number) => `d${number}.example`);

/** What a client has of a domain: the entity tag of the answer, and the number of its latest observation. */
type Held = Readonly<{ tag: string; number: number }>;

type Reply = Readonly<{ status: number; headers: Headers; text: string }>;

describe.skipIf(!IS_LONG || !HAS_PGBOUNCER || !HAS_REDIS || TEST_SERVER !== undefined)(
  'a service of many processes on a replicated database',
  () => {
    const keep = keepUntilEnd();
    let primary: PostgresqlCluster;
    let replicas: readonly PostgresqlCluster[];
    let redis: RedisServer;
    let database: Database;
    let environment: Readonly<Record<string, string>>;
    const apis: (Serving | null)[] = [];
    /** By domain: the numbers of observations that were acknowledged, and when; and of the latest that was tried. */
    const acknowledged = new Map<string, { number: number; at: number }[]>();
    const tried = new Map<string, number>();
    /** When the primary was away, in milliseconds of the monotonic clock. */
    const away = { from: Number.POSITIVE_INFINITY, to: Number.POSITIVE_INFINITY };
    const counts = { answers: 0, unavailable: 0, repeated: 0, written: 0, notRecorded: 0 };
    const faults: string[] = [];
    let isOver = false;

    beforeAll(async () => {
      primary = keep(await PostgresqlCluster.start({ ...CONNECTIONS, wal_keep_size: '1GB' }));
      redis = keep(await startRedis());
      const startReplica = async () => keep(await primary.startReplica(CONNECTIONS));
      replicas = [await startReplica(), await startReplica()];
      const pooler = keep(await startPgbouncer(primary.url, CONNECT_QUERY));
      database = keep(await openMigrated(pooler.url));
      environment = {
        DATABASE_URL: pooler.url,
        DATABASE_READ_URLS: replicas.map(({ url }) => url).join(','),
        READ_MAX_LAG: `${MOST_BEHIND}s`,
        REDIS_URL: `redis://127.0.0.1:${redis.port}`,
        ROLE: 'api',
        LOG_LEVEL: 'silent',
      };
      apis.push(...(await Promise.all(Array.from({ length: APIS }, () => serve(environment)))));
    });

    afterAll(async () => {
      isOver = true;
      await Promise.all(apis.map((api) => api?.close()));
    });

    /** Records observations one after the other, each until it is acknowledged: before, it may be recorded or not. */
    async function write(recorder: Recorder, domains: readonly string[]): Promise<void> {
      for (let number = 1; !isOver; number += 1) {
        for (const domain of domains) tried.set(domain, number);
        const observed = domains.map((domain) => numbered(domain, number));
        const attempt = () => recorder.record(observed).then(() => null, String);
        for (let failure = await attempt(); failure !== null; failure = await attempt()) {
          counts.notRecorded += 1;
          noteUnlessAway(`Not recorded, though the primary is there: ${failure}`);
          await pause(100);
        }
        const at = performance.now();
        for (const domain of domains) {
          acknowledged.set(domain, [...(acknowledged.get(domain) ?? []), { number, at }]);
        }
        counts.written += domains.length;
        await pause(20);
      }
    }

    const noteUnlessAway = (fault: string) => isAway() || faults.push(fault);

    /** Whether the primary is away, or is not long enough back. */
    function isAway(): boolean {
      const now = performance.now();
      return now > away.from && now < away.to + RECOVERY;
    }

    /** Sends a request to one process, and to another where the connection is lost, as a load balancer does. */
    async function request(path: string, headers: Record<string, string> = {}): Promise<Reply> {
      for (;;) {
        const up = apis.filter((api) => api !== null);
        const api = up[Math.floor(Math.random() * up.length)];
        try {
          const response = await fetch(`${api?.url}${path}`, { headers });
          return { status: response.status, headers: response.headers, text: await response.text() };
        } catch (error) {
          if (api !== undefined && apis.includes(api)) throw error;
          counts.repeated += 1;
        }
      }
    }

    function isRejected({ status, headers, text }: Reply, path: string): boolean {
      if (status === 200 || status === 304) return false;
      counts.unavailable += 1;
      const isAllowed = status === 503 && Number(headers.get('retry-after')) > 0 && isAway();
      if (!isAllowed) faults.push(`${path}: ${status} ${text}`);
      return true;
    }

    /** Asks for domains, and checks what comes. */
    async function read(): Promise<void> {
      const has = new Map<string, Held>();
      for (; !isOver; await pause(5)) {
        const domain = DOMAINS[Math.floor(Math.random() * DOMAINS.length)] ?? '';
        await readDomain(domain, has);
      }
    }

    const conditionOn = (tag: string) => (tag === '' ? {} : { 'if-none-match': tag });

    async function readDomain(domain: string, has: Map<string, Held>): Promise<void> {
      const path = `/api/v1/domain/${domain}`;
      const longAgo = performance.now() - (MOST_BEHIND + 1) * SECOND;
      const written = acknowledged.get(domain)?.findLast(({ at }) => at < longAgo)?.number ?? 0;
      const held = has.get(domain) ?? { tag: '', number: 0 };
      const least = Math.max(held.number, written);
      const reply = await request(path, conditionOn(held.tag));
      if (isRejected(reply, path)) return;
      counts.answers += 1;
      const number = reply.status === 304 ? held.number : numberIn(reply.text);
      if (reply.status === 200 && reply.text !== bodyOf(domain, number))
        faults.push(`${domain}: ${reply.text}`);
      const isExpected = number >= least && number <= (tried.get(domain) ?? 0);
      if (!isExpected) faults.push(`${path}: ${number}, where ${least} to ${tried.get(domain)} are expected`);
      has.set(domain, { tag: reply.headers.get('etag') ?? '', number });
    }

    /** Reads the feed by its cursors, and keeps the numbers of each domain as they come: each once, in order. */
    async function follow(seen: Map<string, number>, end: AbortSignal): Promise<void> {
      for (let after = ''; !end.aborted; await pause(20)) {
        const path = `/api/v1/changes?first=200${after}`;
        const reply = await request(path);
        if (isRejected(reply, path)) continue;
        const { changes, next }: { changes: Record<string, string>[]; next: string } = JSON.parse(reply.text);
        for (const { domain = '', new: value } of changes.filter(({ name }) => name === 'x-number')) {
          const expected = (seen.get(domain) ?? 0) + 1;
          if (Number(value) !== expected) faults.push(`The feed has ${value} of ${domain}, not ${expected}.`);
          seen.set(domain, Number(value));
        }
        after = `&after=${next}`;
      }
    }

    test('loses a replica, Redis, an API process, and the primary for a while: nothing acknowledged is lost, no answer is wrong, and the only errors are 503 while the primary is away', async () => {
      const recorder = createRecorder(database.pool);
      const half = DOMAINS.length / 2;
      const writers = [write(recorder, DOMAINS.slice(0, half)), write(recorder, DOMAINS.slice(half))];
      await expect.poll(() => acknowledged.size, { timeout: 10_000 }).toBe(DOMAINS.length);
      const seen = [new Map<string, number>(), new Map<string, number>()];
      const ending = new AbortController();
      const followers = seen.map((each) => follow(each, ending.signal));
      const clients = Array.from({ length: CLIENTS }, read);
      await pause(STEADY);

      for (const server of [replicas[0], redis]) {
        await server?.kill();
        await pause(STEADY);
        await server?.start();
      }

      const [api] = apis.splice(1, 1, null);
      api?.child.kill('SIGKILL');
      await api?.result;
      await pause(STEADY);
      apis[1] = await serve(environment);

      const writtenBeforeLoss = counts.written;
      away.from = performance.now();
      await primary.stop();
      const answersBefore = counts.answers;
      await pause(PRIMARY_AWAY);
      const answersWithoutPrimary = counts.answers - answersBefore;
      expect(counts.written - writtenBeforeLoss).toBeLessThanOrEqual(2 * DOMAINS.length);
      expect(answersWithoutPrimary).toBeGreaterThan(0);
      await primary.start();
      away.to = performance.now();
      await expect
        .poll(() => counts.written, { timeout: RECOVERY })
        .toBeGreaterThan(writtenBeforeLoss + 2 * DOMAINS.length);
      await pause(STEADY);

      isOver = true;
      await Promise.all([...writers, ...clients]);
      const last = new Map(DOMAINS.map((domain) => [domain, acknowledged.get(domain)?.at(-1)?.number]));
      // A replica may have it later.
      for (const each of seen)
        await expect.poll(() => each, { timeout: MOST_BEHIND * 2 * SECOND }).toEqual(last);
      ending.abort();
      await Promise.all(followers);
      process.stderr.write(`${JSON.stringify(counts)}\n`);
      expect(faults.slice(0, 10)).toEqual([]);
      // Of every process, and whatever it reads from.
      for (const domain of DOMAINS) {
        for (const api of apis) {
          const isThere = async () => (await fetch(`${api?.url}/api/v1/domain/${domain}`)).text();
          await expect.poll(isThere, { timeout: 10_000 }).toBe(bodyOf(domain, last.get(domain) ?? 0));
        }
      }
    });
  },
);

function numbered(domain: string, number: number): Observation {
  const headers = { 'x-number': String(number) };
  return observation({ domain, at: number, records: [addressOf(number)], headers });
}

function addressOf(number: number): string {
  return `10.${number >> 16}.${(number >> 8) & 255}.${number & 255}`;
}

function numberIn(text: string): number {
  const { httpHeaders }: { httpHeaders: { value: string }[] } = JSON.parse(text);
  return Number(httpHeaders[0]?.value);
}

function bodyOf(domain: string, number: number): string {
  const at = (each: number) => timeText(each).replace('Z', '000Z');
  const numbers = Array.from({ length: number }, (_, place) => place + 1);
  const dnsRecords = numbers.map((each) => ({
    data: { host: domain, class: 'IN', type: 'A', ip: addressOf(each) },
    firstSeen: at(each),
    removed: each === number ? null : at(each + 1),
  }));
  const history = numbers.map((each) => ({
    event: each === 1 ? 'created' : 'updated',
    date: at(each),
    new: String(each),
    old: each === 1 ? null : String(each - 1),
  }));
  const httpHeaders = [{ name: 'x-number', value: String(number), history }];
  return JSON.stringify({ domain, created: at(1), lastUpdate: at(number), dnsRecords, httpHeaders });
}
