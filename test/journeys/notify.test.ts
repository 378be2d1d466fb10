import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { SMTPServer } from 'smtp-server';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAsking } from '../../src/asking.js';
import type { Database } from '../../src/database/client.js';
import type { Observation } from '../../src/model/observation.js';
import { createRecorder } from '../../src/recorder/recorder.js';
import { openMigrated, TEST_SERVER } from '../support/database.js';
import { startDnsServer } from '../support/dns-server.js';
import { keepUntilEnd } from '../support/keep.js';
import { IS_LONG, repeats, say } from '../support/long-form.js';
import { observation } from '../support/observations.js';
import { HAS_POSTGRESQL, PostgresqlCluster } from '../support/postgresql-cluster.js';
import { startReceiver } from '../support/receiver.js';
import { randomNumbers } from './changing-domains.js';
import { type DmsCommand, runDms, startDms } from './dms-command.js';

const SEED = Number(process.env['NOTIFY_SEED'] ?? Date.now() % 1_000_000);
const SECOND = 1000;
const SENDERS = 2;
const KILLS = repeats(7, 1);
/** In milliseconds: for how long PostgreSQL is lost. */
const LOSS = repeats(60, 1) * SECOND;
/** In milliseconds. */
const LONGEST = repeats(360, 110) * SECOND;

/** A third of them is red. */
const DOMAINS = Array.from(
  { length: repeats(2400, 36) },
  (_, number) => `d${number}.${number % 3 === 0 ? 'red' : 'blue'}.example`,
);
/** The first observation of a domain is routine; a set that changes more than three times is taken for a rotating one. */
const ROUNDS = 4;
/** How many records of each type a domain has, all of them others in the next round. */
const RECORDS = { TXT: 4, MX: 3 };
const CHANGES = DOMAINS.length * (ROUNDS - 1) * 2 * (RECORDS.TXT + RECORDS.MX);
const BATCH = 20;

/** What a receiver does with a message when it comes first. Later it takes it. */
type Fault = 'fails' | 'hangs' | 'is busy' | 'is gone' | 'is slow';

/** Which messages meet a fault: the one after so many that were taken at once, each time; one kind after the other. */
type Faults = Readonly<{ every: number; kinds: readonly Fault[] }>;

/** In milliseconds: how long a slow receiver takes. The sender waits for ten seconds. */
const SLOW = 2_000;

class Inbox {
  /** What the messages told that were taken, each message once, in the order in which they were taken. */
  readonly told: string[] = [];
  /** Messages that were taken again, with both times of the monotonic clock, in milliseconds. */
  readonly doubles: { readonly id: string; readonly firstAt: number; readonly at: number }[] = [];
  readonly wrong: string[] = [];
  readonly met = new Map<Fault, number>();
  readonly #faults: Faults;
  readonly #takenAt = new Map<string, number>();
  readonly #digests = new Map<string, string>();
  #latest: string | undefined;

  constructor(faults: Faults) {
    this.#faults = faults;
  }

  /** Notes a message. @returns what the receiver does; undefined: it takes it. */
  arrived(id: string, body: string, told: readonly string[]): Fault | undefined {
    const digest = createHash('sha256').update(body).digest('base64');
    if ((this.#digests.get(id) ?? digest) !== digest) this.wrong.push(`${id} has another body`);
    const fault = this.#digests.has(id) ? undefined : this.#nextFault();
    if (id !== this.#latest) {
      if (this.#digests.has(id)) this.wrong.push(`${id} came again after a later one`);
      if (this.#latest !== undefined && !this.#takenAt.has(this.#latest))
        this.wrong.push(`${id} came before ${this.#latest} was received`);
    }
    this.#digests.set(id, digest);
    this.#latest = id;
    if (fault === undefined || fault === 'is slow') this.#take(id, told);
    return fault;
  }

  #nextFault(): Fault | undefined {
    const { every, kinds } = this.#faults;
    const count = this.#digests.size + 1;
    const kind = count % every === 0 ? kinds[(count / every - 1) % kinds.length] : undefined;
    if (kind !== undefined) this.met.set(kind, (this.met.get(kind) ?? 0) + 1);
    return kind;
  }

  #take(id: string, told: readonly string[]): void {
    const at = performance.now();
    const firstAt = this.#takenAt.get(id);
    if (firstAt !== undefined) this.doubles.push({ id, firstAt, at });
    else {
      this.#takenAt.set(id, at);
      this.told.push(...told);
    }
  }
}

type FaultyReceiver = Awaited<ReturnType<typeof startFaultyReceiver>>;

const RESPONSES: Readonly<Record<Fault, (response: ServerResponse) => void>> = {
  fails: (response) => response.writeHead(500).end(),
  hangs: () => {},
  'is busy': (response) => response.writeHead(429, { 'retry-after': '1' }).end(),
  'is gone': (response) => response.writeHead(410).end(),
  'is slow': (response) => void setTimeout(() => response.writeHead(200).end(), SLOW),
};

/** Starts a receiver of webhooks; `told` has the ids of changes. @param secret of the signatures, once it is known. */
async function startFaultyReceiver(faults: Faults, secret: () => string) {
  const inbox = new Inbox(faults);
  const receiver = await startReceiver((response) => {
    const message = receiver.received.pop();
    if (message === undefined) return;
    try {
      // The fields of a message are there once each.
      const headers = message.headers as Record<string, string>;
      const { type, data } = new Webhook(secret()).verify(message.body, headers) as {
        readonly type: string;
        readonly data: { readonly changes: readonly { readonly id: string }[] };
      };
      if (type !== 'changes') throw new Error(`a message of the type ${type}`);
      const ids = data.changes.map(({ id }) => id);
      const fault = inbox.arrived(headers['webhook-id'] ?? '', message.body, ids);
      if (fault === undefined) response.writeHead(204).end();
      else RESPONSES[fault](response);
    } catch (error) {
      inbox.wrong.push(String(error));
      response.writeHead(400).end();
    }
  });
  return { inbox, url: receiver.url, close: receiver.close };
}

/** Starts a mail server; `told` has the lines about changes. */
async function startFaultyMailServer(faults: Faults): Promise<FaultyReceiver> {
  const inbox = new Inbox(faults);
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    async onData(stream, _session, done) {
      // A sender that is killed breaks its connection off: no mail has come.
      const mail = await textOf(stream).catch(() => undefined);
      if (mail === undefined) return;
      const end = mail.indexOf('\r\n\r\n');
      const id = /^Message-ID: <(msg_[\w-]+)@/m.exec(mail.slice(0, end))?.[1];
      const body = mail.slice(end);
      const lines = body.split('\r\n').filter((line) => /: .* (?:added|removed)$/.test(line));
      const fault = id === undefined ? 'fails' : inbox.arrived(id, body, lines);
      if (id === undefined) inbox.wrong.push(`a mail without an id: ${mail.slice(0, end)}`);
      if (fault === 'is slow') setTimeout(() => done(null), SLOW);
      else done(fault === undefined ? null : Object.assign(new Error('busy'), { responseCode: 451 }));
    },
  });
  server.on('error', () => {});
  await once(server.listen(0, '127.0.0.1'), 'listening');
  // A server on a port has such an address.
  const { port } = server.server.address() as AddressInfo;
  const url = `smtp://127.0.0.1:${port}?from=dms@service.example`;
  return { inbox, url, close: () => new Promise<void>((closed) => void server.close(closed)) };
}

interface FeedItem {
  readonly id: string;
  readonly domain: string;
  readonly kind: string;
  readonly routine: string | null;
  readonly data: { readonly type: string };
  readonly rdata: string;
}

interface Told {
  readonly name: string;
  readonly receiver: FaultyReceiver;
  readonly tells: (item: FeedItem) => boolean;
  readonly text: (item: FeedItem) => string;
}

describe.skipIf(!HAS_POSTGRESQL || TEST_SERVER !== undefined)('notifications', () => {
  const random = randomNumbers(SEED);
  let cluster: PostgresqlCluster;
  const keep = keepUntilEnd();
  let database: Database;
  let environment: Readonly<Record<string, string>>;
  let notifications: readonly Told[] = [];
  const senders: DmsCommand[] = [];
  /** When senders were killed, and were gone, by the monotonic clock: what they had sent is read meanwhile. */
  const kills: { readonly from: number; readonly to: number }[] = [];
  let isOver = false;
  let deadline = 0;

  beforeAll(async () => {
    say(`seed ${SEED} (set NOTIFY_SEED to repeat), ${CHANGES} changes`);
    cluster = keep(await PostgresqlCluster.start());
    const dns = keep(await startDnsServer());
    database = keep(await openMigrated(cluster.url));
    const secrets = { all: '', some: '' };
    // One that hangs does so for ten seconds: that takes too long for the short form.
    const kinds = (['fails', 'is gone', 'is busy', 'is slow', 'hangs'] as const).slice(0, repeats(5, 4));
    const all = keep(await startFaultyReceiver({ every: repeats(60, 4), kinds }, () => secrets.all));
    const others = { every: repeats(15, 2), kinds: kinds.toReversed() };
    const some = keep(await startFaultyReceiver(others, () => secrets.some));
    const mail = keep(await startFaultyMailServer({ every: repeats(90, 4), kinds: ['fails', 'is slow'] }));
    environment = {
      DATABASE_URL: cluster.url,
      DNS_SERVERS: `127.0.0.1:${dns.port}`,
      NOTIFY_PRIVATE: 'allow',
      SMTP_URL: mail.url,
      LOG_LEVEL: 'warn',
    };
    const add = async (name: string, url: string, ...options: readonly string[]) => {
      const args = ['notify', 'add', name, '--url', url, '--from', '2000-01-01', ...options];
      const { code, stdout } = await runDms(args, environment);
      expect(code).toBe(0);
      return stdout.trim();
    };
    secrets.all = await add('all', all.url);
    secrets.some = await add('some', some.url, '--domains', '*.red.example', '--types', 'MX');
    await add('mail', 'mailto:ops@team.example', '--domains', '*.blue.example');
    const idOf = ({ id }: FeedItem) => id;
    const isOf = (zone: string) => (item: FeedItem) => item.domain.endsWith(`.${zone}.example`);
    const isRedMx = (item: FeedItem) => isOf('red')(item) && item.data.type === 'MX';
    const lineOf = ({ domain, kind, data, rdata }: FeedItem) =>
      `${domain}: ${data.type} ${rdata} ${kind === 'DNS_RECORD_ADDED' ? 'added' : 'removed'}`;
    notifications = [
      { name: 'all', receiver: all, tells: () => true, text: idOf },
      { name: 'some', receiver: some, tells: isRedMx, text: idOf },
      { name: 'mail', receiver: mail, tells: isOf('blue'), text: lineOf },
    ];
  });

  afterAll(async () => {
    isOver = true;
    for (const { child } of senders) child.kill('SIGKILL');
    await Promise.all(senders.map(({ result }) => result));
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
    const from = performance.now();
    for (const { child } of victims) child.kill('SIGKILL');
    await Promise.all(victims.map(({ result }) => result));
    kills.push({ from, to: performance.now() });
    if (which === 'all') await database.prisma.notification.updateMany({ data: { leasedUntil: 0n } });
    startSenders();
  }

  function observed(domain: string, round: number): Observation {
    const some = (count: number, dataOf: (place: number) => object) =>
      Array.from({ length: count }, (_, place) => ({ host: domain, class: 'IN', ...dataOf(place) }));
    const records = [
      ...some(RECORDS.TXT, (place) => ({ type: 'TXT', txt: `${round}-${place}` })),
      ...some(RECORDS.MX, (pri) => ({ type: 'MX', pri, target: `mail-${round}.example` })),
    ];
    return observation({ domain, at: round * 86_400, records, types: ['TXT', 'MX'] });
  }

  /** Records what domains have, round after round. What fails is recorded again. */
  async function record(domains: readonly string[]): Promise<void> {
    const recorder = createRecorder(database.pool);
    for (let round = 0; round < ROUNDS; round += 1) {
      for (let at = 0; at < domains.length; at += BATCH) {
        const batch = domains.slice(at, at + BATCH).map((domain) => observed(domain, round));
        const attempt = () =>
          recorder
            .record(batch)
            .then(() => true)
            .catch(() => false);
        while (!isOver && !(await attempt())) await pause(100);
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

  /** Waits until something is so. @throws Error after the longest time for the whole. */
  function until(message: string, isSo: () => boolean | Promise<boolean>) {
    const timeout = deadline - performance.now();
    return expect.poll(isSo, { timeout, interval: 10, message }).toBe(true);
  }

  const untilTold = ({ name, receiver: { inbox } }: Told, count: number) =>
    until(`${name} has told ${count} changes`, () => inbox.told.length >= count);

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
      const moments = Array.from({ length: KILLS + 1 }, () => Math.ceil(random() * CHANGES * 0.95));
      moments.sort((one, other) => one - other);
      const lostAt = Math.floor(random() * moments.length);
      for (const [place, moment] of moments.entries()) {
        await untilTold(first, moment);
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
      const secondsSince = () => Math.round((performance.now() - deadline + LONGEST) / SECOND);
      say(`all recorded after ${secondsSince()} s`);
      const items = await feed();
      expect(items).toHaveLength(CHANGES);
      for (const each of notifications) {
        await untilTold(each, items.filter(each.tells).length);
        say(`${each.name}: all told after ${secondsSince()} s`);
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
        const isExplained = ({ firstAt, at }: (typeof doubles)[number]) =>
          kills.some(({ from, to }) => firstAt <= to && from <= at);
        expect([name, doubles.filter((double) => !isExplained(double))]).toEqual([name, []]);
        expect(doubles.length).toBeLessThanOrEqual(kills.length);
        expect(met.size).toBeGreaterThan(0);
      }
    },
    LONGEST + 30 * SECOND,
  );
});
