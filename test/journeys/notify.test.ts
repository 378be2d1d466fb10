import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAsking } from '../../src/asking.js';
import { type Database, openDatabase } from '../../src/database/client.js';
import { migrate } from '../../src/database/migrate.js';
import type { Observation } from '../../src/model/observation.js';
import { createRecorder } from '../../src/recorder/recorder.js';
import { TEST_SERVER } from '../support/database.js';
import { type DnsTestServer, startDnsServer } from '../support/dns-server.js';
import { IS_LONG, repeats } from '../support/long-form.js';
import { observation } from '../support/observations.js';
import { HAS_POSTGRESQL, PostgresqlCluster } from '../support/postgresql-cluster.js';
import { randomNumbers } from './changing-domains.js';
import { type DmsCommand, runDms, startDms } from './dms-command.js';
import {
  type Fault,
  type FaultyReceiver,
  startFaultyMailServer,
  startFaultyReceiver,
} from './faulty-receivers.js';

const SEED = Number(process.env['NOTIFY_SEED'] ?? Date.now() % 1_000_000);
const SECOND = 1000;
const SENDERS = 2;
/** How often all senders are killed. */
const KILLS = repeats(7, 1);
/** In milliseconds: for how long PostgreSQL is lost. */
const LOSS = repeats(60, 4) * SECOND;
/** In milliseconds. */
const LONGEST = repeats(360, 110) * SECOND;

/** A third of them is red. */
const DOMAINS = Array.from(
  { length: repeats(2400, 80) },
  (_, number) => `d${number}.${number % 3 === 0 ? 'red' : 'blue'}.example`,
);
/** The first observation of a domain is routine; a set that changes more than three times is taken for a rotating one. */
const ROUNDS = 4;
/** How many records of each type a domain has, all of them others in the next round. */
const RECORDS = { TXT: 4, MX: 3 };
const CHANGES = DOMAINS.length * (ROUNDS - 1) * 2 * (RECORDS.TXT + RECORDS.MX);
/** How many observations are recorded at a time. */
const BATCH = 20;

interface FeedItem {
  readonly id: string;
  readonly domain: string;
  readonly kind: string;
  readonly routine: string | null;
  readonly data: { readonly type: string };
  readonly rdata: string;
}

/** A notification, and what it is to tell. */
interface Told {
  readonly name: string;
  readonly receiver: FaultyReceiver;
  readonly tells: (item: FeedItem) => boolean;
  readonly text: (item: FeedItem) => string;
}

describe.skipIf(!HAS_POSTGRESQL || TEST_SERVER !== undefined)('notifications', () => {
  const random = randomNumbers(SEED);
  let cluster: PostgresqlCluster;
  let dns: DnsTestServer;
  let database: Database;
  let environment: Readonly<Record<string, string>>;
  let notifications: readonly Told[] = [];
  const senders: DmsCommand[] = [];
  /** When senders were killed, by the monotonic clock. */
  const kills: number[] = [];
  let isOver = false;
  let deadline = 0;

  beforeAll(async () => {
    say(`seed ${SEED} (set NOTIFY_SEED to repeat), ${CHANGES} changes`);
    [cluster, dns] = await Promise.all([PostgresqlCluster.start(), startDnsServer()]);
    database = await openDatabase({ databaseUrl: cluster.url, dataDirectory: '/nonexistent' });
    await migrate(database.pool);
    const secrets = { all: '', some: '' };
    const kinds: readonly Fault[] = ['fails', 'is gone', 'is busy', 'hangs', 'is slow'];
    const all = await startFaultyReceiver(
      { every: repeats(60, 7), kinds: kinds.slice(0, repeats(5, 3)) },
      () => secrets.all,
    );
    const some = await startFaultyReceiver(
      { every: repeats(15, 2), kinds: kinds.toReversed() },
      () => secrets.some,
    );
    const mail = await startFaultyMailServer({ every: repeats(90, 9), kinds: ['fails', 'is slow'] });
    environment = {
      DATABASE_URL: cluster.url,
      DNS_SERVERS: `127.0.0.1:${dns.port}`,
      NOTIFY_PRIVATE: 'allow',
      SMTP_URL: mail.url,
      LOG_LEVEL: 'warn',
    };
    const add = async (name: string, url: string, ...options: readonly string[]) => {
      const from = ['--from', '2000-01-01'];
      const { code, stdout } = await runDms(
        ['notify', 'add', name, '--url', url, ...from, ...options],
        environment,
      );
      expect(code).toBe(0);
      return stdout.trim();
    };
    secrets.all = await add('all', all.url);
    secrets.some = await add('some', some.url, '--domains', '*.red.example', '--types', 'MX');
    await add('mail', 'mailto:ops@team.example', '--domains', '*.blue.example');
    const idOf = ({ id }: FeedItem) => id;
    notifications = [
      { name: 'all', receiver: all, tells: () => true, text: idOf },
      {
        name: 'some',
        receiver: some,
        tells: ({ domain, data }) => domain.endsWith('.red.example') && data.type === 'MX',
        text: idOf,
      },
      {
        name: 'mail',
        receiver: mail,
        tells: ({ domain }) => domain.endsWith('.blue.example'),
        text: ({ domain, kind, data, rdata }) =>
          `${domain}: ${data.type} ${rdata} ${kind === 'DNS_RECORD_ADDED' ? 'added' : 'removed'}`,
      },
    ];
  });

  afterAll(async () => {
    isOver = true;
    for (const { child } of senders) child.kill('SIGKILL');
    await Promise.all(senders.map(({ result }) => result));
    for (const { receiver } of notifications) await receiver.close();
    await database?.close();
    await dns?.close();
    await cluster?.remove();
  });

  /** Starts a sender where there is none, as an init system does. */
  function startSenders(): void {
    for (let place = 0; place < SENDERS; place += 1) {
      const before = senders[place]?.child;
      if (before !== undefined && before.exitCode === null && before.signalCode === null) continue;
      senders[place] = startDms(['worker'], environment);
    }
  }

  /** Kills one sender at random; or all, whose leases end at once here, and not in two minutes. */
  async function kill(which: 'one' | 'all'): Promise<void> {
    const chosen = Math.floor(random() * SENDERS);
    const victims = which === 'all' ? senders : senders.slice(chosen, chosen + 1);
    for (const { child } of victims) child.kill('SIGKILL');
    kills.push(performance.now());
    await Promise.all(victims.map(({ result }) => result));
    if (which === 'all') await database.prisma.notification.updateMany({ data: { leasedUntil: 0n } });
    startSenders();
  }

  /** What a domain has in a round. */
  function observed(domain: string, round: number): Observation {
    const records = [
      ...Array.from({ length: RECORDS.TXT }, (_, at) => ({ type: 'TXT', txt: `${round}-${at}` })),
      ...Array.from({ length: RECORDS.MX }, (_, at) => ({
        type: 'MX',
        pri: at,
        target: `mail-${round}.example`,
      })),
    ];
    return observation({
      domain,
      at: round * 86_400,
      records: records.map((record) => ({ host: domain, class: 'IN', ...record })),
      types: ['TXT', 'MX'],
    });
  }

  /** Records what domains have, round after round. What fails is recorded again. */
  async function record(domains: readonly string[]): Promise<void> {
    const recorder = createRecorder(database.pool);
    for (let round = 0; round < ROUNDS; round += 1) {
      for (let at = 0; at < domains.length; at += BATCH) {
        const batch = domains.slice(at, at + BATCH).map((domain) => observed(domain, round));
        const isRecorded = () =>
          recorder.record(batch).then(
            () => true,
            () => false,
          );
        while (!isOver && !(await isRecorded())) await pause(100);
      }
    }
  }

  /** Resumes what a status of 410 has paused. */
  async function resume(): Promise<number> {
    let count = 0;
    while (!isOver) {
      const where = { paused: { startsWith: 'HTTP 410' } };
      const paused = await database.prisma.notification.findMany({ where }).catch(() => []);
      for (const { name } of paused) {
        const { code } = await runDms(['notify', 'resume', name], environment);
        if (code === 0) count += 1;
      }
      await pause(200);
    }
    return count;
  }

  const isToldTo = (receiver: FaultyReceiver, count: number) => receiver.inbox.told.length >= count;

  /** Waits until something is so. @throws Error after the longest time for the whole. */
  async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
    while (!(await isSo())) {
      if (performance.now() > deadline) {
        const told = notifications.map(({ name, receiver }) => `${name} ${receiver.inbox.told.length}`);
        throw new Error(`${what}: not in time; told: ${told.join(', ')}`);
      }
      await pause(10);
    }
  }
  /** All changes of the feed that are notable. */
  async function feed(): Promise<readonly FeedItem[]> {
    const { ask } = createAsking(database);
    const items: FeedItem[] = [];
    for (let next: string | null | undefined; ; ) {
      const parameters = { first: '500', ...(next && { after: next }) };
      const page: { changes: readonly FeedItem[]; next: string } = await ask({
        operation: 'getChanges',
        parameters,
      });
      items.push(...page.changes.filter(({ routine }) => routine === null));
      if (page.next === next || page.changes.length === 0) return items;
      next = page.next;
    }
  }

  test(
    'each notable change that matches arrives, in order, and twice only after a kill, with the same id and body: receivers fail, senders are killed, PostgreSQL is lost',
    async () => {
      deadline = performance.now() + LONGEST;
      startSenders();
      const [first] = notifications;
      if (first === undefined) return;
      const resuming = resume();
      const half = DOMAINS.length / 2;
      const recording = [record(DOMAINS.slice(0, half)), record(DOMAINS.slice(half))];
      const moments = Array.from({ length: KILLS + 1 }, () => Math.ceil(random() * CHANGES * 0.95)).sort(
        (one, other) => one - other,
      );
      const lostAt = Math.floor(random() * moments.length);
      for (const [place, moment] of moments.entries()) {
        await until(`${moment} changes are told`, () => isToldTo(first.receiver, moment));
        if (place === lostAt) {
          // The end of its lease is awaited: that takes too long for the short form.
          if (IS_LONG) await kill('one');
          await cluster.stop();
          await pause(LOSS);
          await cluster.start();
          say(`PostgreSQL lost after ${moment} changes`);
        } else {
          await kill('all');
          say(`all senders killed after ${moment} changes`);
        }
        startSenders();
      }
      await Promise.all(recording);
      say(`all recorded after ${Math.round((performance.now() - deadline + LONGEST) / SECOND)} s`);
      const items = await feed();
      expect(items).toHaveLength(CHANGES);
      for (const { name, receiver, tells } of notifications) {
        const { length } = items.filter(tells);
        await until(`${name} has told all`, () => isToldTo(receiver, length));
        say(`${name}: all told after ${Math.round((performance.now() - deadline + LONGEST) / SECOND)} s`);
      }
      await until('nothing is kept', async () => {
        const rows = await database.prisma.notification.findMany();
        return rows.every(({ messageId, paused }) => messageId === null && paused === null);
      });
      isOver = true;
      say(`${await resuming} times resumed`);
      for (const { name, receiver, tells, text } of notifications) {
        const { told, wrong, doubles, met } = receiver.inbox;
        say(`${name}: ${told.length} changes, ${doubles.length} doubles, ${JSON.stringify([...met])}`);
        expect(wrong).toEqual([]);
        const expected = items.filter(tells).map(text);
        const place = expected.findIndex((item, at) => item !== told[at]);
        expect([name, place, told.length]).toEqual([name, -1, expected.length]);
        const unexplained = doubles.filter(
          ({ firstAt, at }) => !kills.some((killedAt) => firstAt <= killedAt && killedAt <= at),
        );
        expect([name, unexplained]).toEqual([name, []]);
        expect(doubles.length).toBeLessThanOrEqual(kills.length);
        expect(met.size).toBeGreaterThan(0);
      }
    },
    LONGEST + 30 * SECOND,
  );
});

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
