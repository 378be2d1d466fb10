import type { AddressInfo } from 'node:net';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Registry } from 'prom-client';
import { SMTPServer } from 'smtp-server';
import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { createAsking } from '../../src/asking.js';
import { readSettings } from '../../src/config/env.js';
import { readClockLead } from '../../src/database/server-checks.js';
import type { Sending } from '../../src/notify/messages.js';
import { Sender } from '../../src/notify/sender.js';
import { pruneFeed } from '../../src/recorder/prune-feed.js';
import { createRecorder } from '../../src/recorder/recorder.js';
import { createLogger } from '../../src/telemetry/logging.js';
import { runDms, startDms } from '../journeys/dms-command.js';
import { emptyTestDatabase, openTestDatabase, type TestDatabase } from '../support/database.js';
import { instant, observation } from '../support/observations.js';
import { type ReceivedMessage, startReceiver } from '../support/receiver.js';

const WAITING = { timeout: 50_000, interval: 50 };
const HOUR = 3_600_000_000n;
/** Before all that the tests record. */
const FROM = ['--from', '2000-01-01'];

let database: TestDatabase;
let receiver: Awaited<ReturnType<typeof startReceiver>>;
let senders: Sender[] = [];
let registry: Registry;
let log: string[];
/** What the clock of the senders is ahead, in microseconds. */
let ahead: bigint;
/** What happens each time that the senders read changes, before. */
let beforePage: () => Promise<void>;

beforeAll(async () => {
  database = await openTestDatabase();
});

beforeEach(async () => {
  await emptyTestDatabase(database);
  receiver = await startReceiver();
  registry = new Registry();
  log = [];
  ahead = 0n;
  beforePage = async () => {};
});

afterEach(async () => {
  for (const sender of senders) await sender.stop(0);
  senders = [];
  await receiver.close();
});

afterAll(() => database.close());

function startSender(metrics = registry, allowPrivate = true, smtp?: Sending['smtp']): Sender {
  const stream = new Writable({
    write(line, _encoding, written) {
      log.push(String(line));
      written();
    },
  });
  const sender = new Sender({
    ...{ prisma: database.writingPrisma, registry: metrics, allowPrivate, smtp, basePath: '/dms' },
    openQuestions: async () => {
      const asking = createAsking(database);
      return { ...asking, ask: (question) => beforePage().then(() => asking.ask(question)) };
    },
    log: createLogger({ level: 'debug', stream }),
    now: () => BigInt(Date.now()) * 1000n + ahead,
    readClockLead: () => readClockLead(database.pool, () => BigInt(Date.now()) * 1000n),
  });
  senders.push(sender);
  return sender;
}

function dms(...args: readonly string[]) {
  return runDms(args, { ...database.environment, NOTIFY_PRIVATE: 'allow' });
}

/** @returns the secret. */
async function add(...options: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await dms('notify', 'add', 'ops', '--url', receiver.url, ...options);
  expect([code, stderr]).toEqual([0, expect.stringContaining('the only time')]);
  return stdout.trim();
}

async function listed(): Promise<Record<string, unknown>> {
  return JSON.parse((await dms('notify', 'list', '--json')).stdout);
}

/** Records an address of example.com that it had at no time before. */
let hour = 0;
async function recordAddress(domain = 'example.com'): Promise<string> {
  hour += 100;
  const address = `192.0.2.${(hour / 100) % 250}`;
  await createRecorder(database.pool).record([observation({ domain, at: hour * 3600, records: [address] })]);
  return address;
}

/** What a message tells, once its signature is verified. */
function verified(secret: string, { headers, body }: ReceivedMessage) {
  // The fields of a message are there once each.
  return new Webhook(secret).verify(body, headers as Record<string, string>) as {
    readonly type: string;
    readonly timestamp: string;
    readonly data: {
      readonly notification: string;
      readonly changes: readonly {
        readonly domain: string;
        readonly kind: string;
        readonly rdata?: string;
        readonly name?: string;
        readonly new?: string;
      }[];
      readonly domains?: readonly { readonly domain: string; readonly state: string }[];
      readonly links: Record<string, string>;
    };
  };
}

const received = (count: number) =>
  vi.waitFor(() => {
    expect(receiver.received.length).toBeGreaterThanOrEqual(count);
    return receiver.received;
  }, WAITING);

/** Until nothing is kept any more. */
const allReceived = () =>
  vi.waitFor(async () => {
    const [row] = await database.prisma.notification.findMany();
    expect(row).toMatchObject({ messageId: null, leasedUntil: 0n });
    expect(row?.receivedAt).not.toBeNull();
  }, WAITING);

describe('a notification', () => {
  test('tells what is recorded after it was added: signed JSON with the items of REST, in the order of the feed', async () => {
    await recordAddress();
    const secret = await add(...FROM);
    await recordAddress();
    await recordAddress();
    startSender();
    const [message] = await received(1);
    await allReceived();
    expect(receiver.received).toHaveLength(1);
    expect(message?.method).toBe('POST');
    expect(message?.headers).toMatchObject({
      'content-type': 'application/json',
      'webhook-id': expect.stringMatching(/^msg_/),
    });
    const { type, data } = verified(secret, message as ReceivedMessage);
    expect([type, data.notification]).toEqual(['changes', 'ops']);
    const { ask } = createAsking(database);
    const { changes } = await ask<{ changes: { routine: unknown }[] }>({
      operation: 'getChanges',
      parameters: {},
    });
    expect(data.changes).toEqual(changes.filter(({ routine }) => routine === null));
    expect(data.changes.map(({ kind }) => kind)).toEqual([
      'DNS_RECORD_ADDED',
      'DNS_RECORD_REMOVED',
      'DNS_RECORD_ADDED',
      'DNS_RECORD_REMOVED',
    ]);
    expect(data.links['changes']).toMatch(/^\/dms\/api\/v1\/changes\?notable=true&after=/);
  });

  test('tells nothing that is dated before it was added, unless --from says so: an old file that is imported tells nobody', async () => {
    await add();
    await recordAddress();
    await recordAddress();
    startSender();
    await vi.waitFor(async () => {
      const [row] = await database.prisma.notification.findMany();
      expect(row?.readTo).not.toBe(0n);
    }, WAITING);
    expect(receiver.received).toEqual([]);
  });

  test('tells what its filter selects, and routine changes with --all', async () => {
    const secret = await add(...FROM, '--all', '--domains', '*.example.net', '--kinds', 'DNS_RECORD_ADDED');
    await recordAddress();
    const address = await recordAddress('www.example.net');
    startSender();
    const [message] = await received(1);
    const { data } = verified(secret, message as ReceivedMessage);
    expect(data.changes).toMatchObject([{ domain: 'www.example.net', rdata: address, routine: 'INITIAL' }]);
  });

  test('never tells that a history was extended, also with --all', async () => {
    const secret = await add('--all', ...FROM);
    startSender();
    await recordAddress('late.example');
    const older = [observation({ domain: 'late.example', at: 0, records: ['192.0.2.250'] })];
    await createRecorder(database.pool).record(older, true);
    await recordAddress('next.example');
    await vi.waitFor(() => {
      const told = receiver.received.flatMap((message) => verified(secret, message).data.changes);
      expect(told.map(({ domain }) => domain)).toContain('next.example');
      expect(told.map(({ kind }) => kind)).not.toContain('HISTORY_EXTENDED');
    }, WAITING);
  });

  test('has at most 100 changes in a message, and each change in one of them', async () => {
    const secret = await add(...FROM, '--all');
    const names = Array.from({ length: 120 }, (_, number) => `d${number}.example`);
    const recorder = createRecorder(database.pool);
    await recorder.record(names.map((domain) => observation({ domain, at: 1, records: ['192.0.2.1'] })));
    startSender();
    await received(2);
    await allReceived();
    const told = receiver.received.map((message) => verified(secret, message).data.changes);
    expect(told.map(({ length }) => length)).toEqual([100, 20]);
    expect(told.flat().map(({ domain }) => domain)).toEqual([...names].sort());
  });

  test('is sent again, the same id and the same body, until it is received: status 500, 429, a redirection, a closed connection, silence', async () => {
    const secret = await add(...FROM, '--all');
    const target = await startReceiver();
    receiver.respond = (response, count) => {
      if (count === 1) response.writeHead(500).end('no');
      if (count === 2) response.writeHead(429, { 'retry-after': '3600' }).end();
      if (count === 3) response.writeHead(307, { location: target.url }).end();
      if (count === 4) response.destroy();
      if (count > 5) response.writeHead(200).end();
    };
    await recordAddress();
    startSender();
    for (const [count, reason] of [
      [1, 'HTTP 500'],
      [2, 'HTTP 429'],
      [3, 'HTTP 307'],
      [4, 'socket hang up'],
      [5, 'no response in time'],
    ] as const) {
      await received(count);
      await vi.waitFor(async () => {
        expect(await listed()).toMatchObject({ state: 'failing', reason, attempts: count });
      }, WAITING);
      ahead += 5n * HOUR;
    }
    await received(6);
    await allReceived();
    const ids = new Set(receiver.received.map(({ headers }) => headers['webhook-id']));
    const bodies = new Set(receiver.received.map(({ body }) => body));
    expect([ids.size, bodies.size, target.received]).toEqual([1, 1, []]);
    for (const message of receiver.received) verified(secret, message);
    expect(await listed()).toMatchObject({ state: 'active', reason: null, attempts: 0 });
    await recordAddress();
    await received(7);
    expect(ids).not.toContain(receiver.received[6]?.headers['webhook-id']);
    await target.close();
  }, 60_000);

  test('waits as long as Retry-After says', async () => {
    await add(...FROM, '--all');
    receiver.respond = (response) => response.writeHead(503, { 'retry-after': '7200' }).end();
    await recordAddress();
    const before = BigInt(Date.now()) * 1000n;
    startSender();
    await vi.waitFor(async () => {
      const [row] = await database.prisma.notification.findMany();
      expect(row?.due).toBeGreaterThanOrEqual(before + 2n * HOUR);
    }, WAITING);
  });

  test('is paused by status 410, and after three days without success, and goes on with the same message once it is resumed', async () => {
    await add(...FROM, '--all');
    receiver.respond = (response) => response.writeHead(410).end();
    await recordAddress();
    startSender();
    const isPaused = (reason: RegExp) =>
      vi.waitFor(async () => {
        expect(await listed()).toMatchObject({ state: 'paused', reason: expect.stringMatching(reason) });
      }, WAITING);
    await isPaused(/^HTTP 410/);
    receiver.respond = (response) => response.writeHead(500).end();
    await dms('notify', 'resume', 'ops');
    await received(2);
    await vi.waitFor(async () => expect(await listed()).toMatchObject({ attempts: 1 }), WAITING);
    ahead += 73n * HOUR;
    await isPaused(/^not received for three days: HTTP 500$/);
    receiver.respond = (response) => response.writeHead(200).end();
    await recordAddress();
    await dms('notify', 'resume', 'ops');
    await received(5);
    await allReceived();
    const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
    expect([new Set(ids.slice(0, 4)).size, new Set(ids).size]).toEqual([1, 2]);
  });

  test('that is paused tells nothing, and later what was recorded meanwhile; one that is removed nothing more', async () => {
    const secret = await add(...FROM, '--all');
    startSender();
    await dms('notify', 'pause', 'ops');
    const address = await recordAddress();
    expect(await listed()).toMatchObject({ state: 'paused', reason: 'by dms notify pause' });
    expect(receiver.received).toEqual([]);
    await dms('notify', 'resume', 'ops');
    const [message] = await received(1);
    expect(verified(secret, message as ReceivedMessage).data.changes).toMatchObject([{ rdata: address }]);
    await allReceived();
    expect((await dms('notify', 'remove', 'ops')).stdout).toBe('removed ops\n');
    await recordAddress();
    expect((await dms('notify', 'list')).stderr).toContain('There is no notification.');
    expect(receiver.received).toHaveLength(1);
  });

  test('of which another reads nothing for three days is kept in the feed as long; what is gone then is told as a gap', async () => {
    const secret = await add(...FROM, '--all');
    startSender();
    await recordAddress();
    await received(1);
    await allReceived();
    await vi.waitFor(async () => {
      const [row] = await database.prisma.notification.findMany();
      expect(row?.readTo).not.toBe(0n);
    }, WAITING);
    await dms('notify', 'pause', 'ops');
    await recordAddress();
    await recordAddress();
    const now = BigInt(Date.now()) * 1000n + HOUR;
    expect(await pruneFeed(database.prisma, now, now)).toBe(0);
    expect(await pruneFeed(database.prisma, now, now + 73n * HOUR)).toBe(2);
    await dms('notify', 'resume', 'ops');
    await received(2);
    const gap = verified(secret, receiver.received[1] as ReceivedMessage);
    expect(gap).toMatchObject({
      type: 'gap',
      data: { notification: 'ops', after: expect.stringMatching(/Z$/), until: expect.stringMatching(/Z$/) },
    });
    const address = await recordAddress();
    await received(3);
    const { data } = verified(secret, receiver.received[2] as ReceivedMessage);
    expect(data.changes.map(({ rdata }) => rdata)).toContain(address);
  });

  test('is sent by one of several senders at a time', async () => {
    await add(...FROM, '--all');
    let [now, most] = [0, 0];
    receiver.respond = (response) => {
      now += 1;
      most = Math.max(most, now);
      setTimeout(() => {
        now -= 1;
        response.writeHead(204).end();
      }, 20);
    };
    for (let count = 0; count < 3; count += 1) startSender(new Registry());
    for (let count = 0; count < 10; count += 1) {
      await recordAddress();
      await received(count + 1);
    }
    await allReceived();
    expect(most).toBe(1);
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(
      receiver.received.length,
    );
  });

  test('is sent by one of two workers at a time, although the clock of one is ten minutes ahead', async () => {
    await add(...FROM, '--all');
    receiver.respond = () => {};
    const start = (more: string) => {
      const NODE_OPTIONS = `${process.env['NODE_OPTIONS']} ${more}`;
      return startDms(['worker'], { ...database.environment, NOTIFY_PRIVATE: 'allow', NODE_OPTIONS });
    };
    const worker = start('');
    await recordAddress();
    await received(1);
    const ahead = fileURLToPath(new URL('../support/clock-ahead.cjs', import.meta.url));
    const other = start(`--require ${JSON.stringify(ahead)}`);
    // It starts within two seconds, and looks each second.
    await pause(6_000);
    for (const { child } of [worker, other]) child.kill('SIGKILL');
    await Promise.all([worker.result, other.result]);
    expect(receiver.received).toHaveLength(1);
  }, 60_000);

  test('of a worker that is killed while it sends is sent again by another one: the same id, the same body', async () => {
    const secret = await add(...FROM, '--all');
    receiver.respond = () => {};
    await recordAddress();
    const worker = startDms(['worker'], { ...database.environment, NOTIFY_PRIVATE: 'allow' });
    await received(1);
    worker.child.kill('SIGKILL');
    await worker.result;
    receiver.respond = (response) => response.writeHead(200).end();
    // The lease of the killed one has to end.
    ahead = HOUR;
    startSender();
    await received(2);
    await allReceived();
    const [first, second] = receiver.received;
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
    expect(second?.body).toBe(first?.body);
    verified(secret, second as ReceivedMessage);
  }, 60_000);

  test('that is received while the database is lost is not sent again when that is back', async () => {
    await add(...FROM, '--all');
    receiver.respond = async (response, count) => {
      if (count === 1) await database.pool.query('ALTER TABLE notification RENAME TO lost');
      response.writeHead(204).end();
    };
    await recordAddress();
    startSender();
    await received(1);
    await vi.waitFor(() => expect(log.join('')).toContain('notifications wait'), WAITING);
    await database.pool.query('ALTER TABLE lost RENAME TO notification');
    await allReceived();
    await recordAddress();
    await received(2);
    await allReceived();
    const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
    expect([ids.length, new Set(ids).size]).toEqual([2, 2]);
  });

  test('goes on as soon as the database is back, and not only when its lease has ended', async () => {
    await add(...FROM, '--all');
    const pages = { count: 0 };
    beforePage = async () => {
      pages.count += 1;
      if (pages.count === 1) await database.pool.query('ALTER TABLE notification RENAME TO lost');
    };
    await recordAddress();
    startSender();
    await vi.waitFor(() => expect(log.join('')).toContain('"notification":"ops"'), WAITING);
    await database.pool.query('ALTER TABLE lost RENAME TO notification');
    await received(1);
    await allReceived();
  });

  test('that has a digest is told by one message in that time', async () => {
    const secret = await add(...FROM, '--all', '--digest', '1h');
    startSender();
    await recordAddress();
    await received(1);
    await allReceived();
    await recordAddress();
    await recordAddress();
    const [row] = await database.prisma.notification.findMany();
    expect(row?.due).toBeGreaterThan(BigInt(Date.now()) * 1000n);
    expect(receiver.received).toHaveLength(1);
    const names = Array.from({ length: 99 }, (_, number) => `d${number}.example`);
    const recorder = createRecorder(database.pool);
    await recorder.record(names.map((domain) => observation({ domain, at: 1, records: ['192.0.2.1'] })));
    ahead = 2n * HOUR;
    // More than one message can have: the next one follows at once.
    await received(3);
    await allReceived();
    const counts = receiver.received.map((message) => verified(secret, message).data.changes.length);
    expect(counts).toEqual([1, 100, 3]);
  });

  test('is not sent to a private address without NOTIFY_PRIVATE=allow, by whichever name', async () => {
    await add(...FROM, '--all');
    const url = receiver.url.replace('127.0.0.1', 'localhost');
    await database.prisma.notification.updateMany({ data: { url } });
    await recordAddress();
    startSender(registry, false);
    await vi.waitFor(async () => {
      const { reason } = await listed();
      expect(reason).toMatch(/is not a public address$/);
    }, WAITING);
    const { code, stderr } = await runDms(
      ['notify', 'add', 'other', '--url', receiver.url],
      database.environment,
    );
    expect([code, stderr]).toEqual([2, expect.stringContaining('NOTIFY_PRIVATE=allow')]);
    expect(receiver.received).toEqual([]);
  });

  test('is measured, and neither log nor list has its address or its secret', async () => {
    const secret = await add(...FROM, '--all');
    receiver.respond = (response) => response.writeHead(500).end();
    await recordAddress();
    startSender();
    await vi.waitFor(async () => {
      const text = await registry.metrics();
      expect(text).toContain('dms_notification_attempts_total{notification="ops",outcome="retry"} 1\n');
      expect(text).toMatch(/^dms_notification_lag_seconds\{notification="ops"\} 0?\.\d*[1-9]|[1-9]/m);
      expect(text).toContain('dms_notification_paused{notification="ops"} 0\n');
    }, WAITING);
    const table = await dms('notify', 'list');
    expect(table.stdout).toMatch(/ops +http:\/\/127\.0\.0\.1:\d+\/… +never +failing: HTTP 500\n/);
    const shown = [log.join(''), table.stdout, JSON.stringify(await listed())].join('');
    expect(shown).toContain('HTTP 500');
    expect(shown).not.toContain('a-secret-path');
    expect(shown).not.toContain(secret);
  });
});

describe('with --settle', () => {
  test('a change is told once it stood so long after its recording, and not if it was undone meanwhile', async () => {
    const recorder = createRecorder(database.pool);
    const record = (at: number, records: readonly string[], server: string) =>
      recorder.record([observation({ at: at * 86_400, records, headers: { server } })]);
    await record(1, ['192.0.2.1'], 'a');
    const secret = await add(...FROM, '--all', '--settle', '2h');
    await record(2, ['192.0.2.1', '192.0.2.2', '192.0.2.3'], 'b');
    await record(3, ['192.0.2.1', '192.0.2.2'], 'c');
    await record(4, ['192.0.2.1', '192.0.2.2'], 'b');
    startSender();
    await vi.waitFor(async () => {
      const [row] = await database.prisma.notification.findMany();
      expect(row?.due).toBeGreaterThan(0n);
    }, WAITING);
    expect(receiver.received).toEqual([]);
    // The clock of the database cannot be set.
    await record(5, ['192.0.2.1', '192.0.2.2', '192.0.2.4'], 'b');
    const { rowCount } = await database.pool.query(
      'UPDATE change_feed SET recorded_at = recorded_at + $1 WHERE observed_at = $2',
      [4n * HOUR, instant(5 * 86_400)],
    );
    expect(rowCount).toBe(1);
    ahead = 3n * HOUR;
    await received(1);
    await allReceived();
    const told = () => receiver.received.map((message) => verified(secret, message).data.changes);
    expect(told().map((changes) => changes.map((change) => change.rdata ?? change.new))).toEqual([
      ['192.0.2.2', '192.0.2.3', 'b'],
    ]);
    ahead = 7n * HOUR;
    await received(2);
    await allReceived();
    expect(told()[1]?.map(({ rdata }) => rdata)).toEqual(['192.0.2.4']);
  });

  /** What was told of example.com after looks at these minutes, with an address or two and these headers. */
  async function toldOf(
    looks: readonly (readonly [
      minute: number,
      records: readonly string[],
      headers: Record<string, string>,
    ])[],
    ...options: readonly string[]
  ) {
    const secret = await add(...FROM, '--settle', '2h', ...options);
    const recorder = createRecorder(database.pool);
    for (const [minute, records, headers] of looks)
      await recorder.record([observation({ at: minute * 60, records, headers })]);
    // By then, all that is recorded has settled.
    await recorder.record([observation({ domain: 'other.example', at: 0, records: ['192.0.2.9'] })]);
    await recorder.record([observation({ domain: 'other.example', at: 1, records: ['192.0.2.8'] })]);
    ahead = 3n * HOUR;
    startSender();
    await received(1);
    await allReceived();
    const changes = receiver.received.flatMap((message) => verified(secret, message).data.changes);
    return changes.filter(({ domain }) => domain === 'example.com');
  }

  test('a value that stands is told once, however often it came and went, and what is again as it was is not told', async () => {
    const [one, two] = [['192.0.2.1'], ['192.0.2.1', '192.0.2.2']];
    const told = await toldOf(
      [
        [0, one, { server: 'a', via: 'a' }],
        [1000, two, { server: 'b', via: 'b' }],
        [1010, one, { server: 'a', via: 'a' }],
        [1020, two, { server: 'c', via: 'b' }],
        [1030, one, { server: 'b', via: 'a' }],
        [1040, one, { server: 'a', via: 'b' }],
      ],
      '--headers',
      'server,via',
      '--types',
      'A',
      '--all',
    );
    // Those of the first look have stood since.
    expect(told.map(({ rdata, name, new: value }) => rdata ?? `${name} ${value}`)).toEqual([
      ...['192.0.2.1', 'server a', 'via b'],
    ]);
    expect(told[2]).toMatchObject({ old: 'a', date: '2024-01-01T17:20:00.000000Z' });
  });

  test('what stood so long before it was changed is what a change is compared with', async () => {
    const told = await toldOf(
      [
        [0, ['192.0.2.1'], { server: 'a' }],
        [1000, ['192.0.2.1', '192.0.2.2'], { server: 'b' }],
        [1200, ['192.0.2.1'], { server: 'a' }],
      ],
      '--all',
      '--kinds',
      'DNS_RECORD_REMOVED,HEADER_UPDATED',
    );
    expect(told).toMatchObject([{ rdata: '192.0.2.2' }, { old: 'b', new: 'a' }]);
  });

  test('another nonce undoes nothing: a change is told that only routine ones followed', async () => {
    const policy = (text: string) => ({ 'content-security-policy': text });
    const told = await toldOf([
      [0, [], policy("script-src 'nonce-1'")],
      [1000, [], policy("script-src 'nonce-2'; object-src 'none'")],
      [1060, [], policy("script-src 'nonce-3'; object-src 'none'")],
    ]);
    expect(told).toMatchObject([{ new: "script-src 'nonce-2'; object-src 'none'" }]);
  });
});

describe('with --watch-failures', () => {
  test('it tells that a watched domain fails for the N-th time in a row, once, and that it has recovered', async () => {
    const secret = await add('--watch-failures', '3', '--domains', '*.example.com,other.example');
    const names = ['a.example.com', 'b.example.com', 'other.example', 'foreign.example'];
    await dms('watch', 'add', ...names);
    const fail = (name: string, failures: number) =>
      database.prisma.watchedDomain.updateMany({ where: { name }, data: { failures } });
    for (const name of names) await fail(name, name.startsWith('b') ? 2 : 3);
    startSender();
    const told = async (count: number) => {
      await received(count);
      const { type, data } = verified(secret, receiver.received[count - 1] as ReceivedMessage);
      return [type, ...(data.domains ?? []).map(({ domain, state }) => `${domain} ${state}`).sort()];
    };
    expect(await told(1)).toEqual(['watch', 'a.example.com failing', 'other.example failing']);
    await allReceived();
    await fail('a.example.com', 4);
    await dms('watch', 'remove', 'other.example');
    await fail('b.example.com', 3);
    ahead = HOUR;
    expect(await told(2)).toEqual(['watch', 'b.example.com failing']);
    await allReceived();
    await fail('a.example.com', 0);
    ahead = 2n * HOUR;
    expect(await told(3)).toEqual(['watch', 'a.example.com recovered']);
    await allReceived();
    expect(receiver.received).toHaveLength(3);
    await dms('watch', 'add', 'other.example');
    await fail('other.example', 3);
    ahead = 3n * HOUR;
    expect(await told(4)).toEqual(['watch', 'other.example failing']);
  });
});

describe('a chat', () => {
  test('gets a text with a line for each change, as many as fit, which calls nobody, and turns no text around', async () => {
    const added = await dms('notify', 'add', 'ops', '--url', receiver.url, '--as', 'slack', ...FROM, '--all');
    expect([added.code, added.stdout]).toEqual([0, 'added ops\n']);
    const call = '<!channel> & @here \u{202e}\u{1b}';
    await createRecorder(database.pool).record([observation({ at: 1, headers: { server: call } })]);
    startSender();
    await received(1);
    await allReceived();
    const [message] = receiver.received;
    expect(message?.headers).not.toHaveProperty('webhook-signature');
    expect(JSON.parse(message?.body ?? '')).toEqual({
      text:
        'ops: 1 change\n' +
        '• example.com: header server there when first observed: &lt;!channel&gt; &amp; @\u{200b}here \\u{202e}\\u{1b}',
    });
    const names = Array.from({ length: 100 }, (_, number) => `d${number}.example`);
    const recorder = createRecorder(database.pool);
    await recorder.record(names.map((domain) => observation({ domain, at: 2, records: ['192.0.2.1'] })));
    await received(2);
    const { text } = JSON.parse(receiver.received[1]?.body ?? '') as { text: string };
    expect(text.length).toBeLessThan(2_000);
    const more = Number(/\nand (\d+) more$/.exec(text)?.[1]);
    expect(text.match(/^• d/gm)).toHaveLength(100 - more);
  });
});

describe('a mailbox', () => {
  test('gets a mail with a line for each change, the same Message-ID each time, until the server accepts it', async () => {
    const mails: string[] = [];
    const server = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS'],
      onAuth({ username, password }, _session, done) {
        if (username === 'u' && password === 'p') done(null, { user: 'u' });
        else done(new Error('wrong password'));
      },
      async onData(stream, _session, done) {
        mails.push(await text(stream));
        done(mails.length === 1 ? Object.assign(new Error('busy'), { responseCode: 451 }) : null);
      },
    });
    await new Promise<void>((listening) => {
      server.listen(0, '127.0.0.1', () => listening());
    });
    // A server on a port has such an address.
    const { port } = server.server.address() as AddressInfo;
    const environment = {
      ...database.environment,
      SMTP_URL: `smtp://u:p@127.0.0.1:${port}?from=dms@service.example`,
    };
    const add = ['notify', 'add', 'ops', '--url', 'mailto:ops@team.example', ...FROM, '--all'];
    expect((await dms(...add)).stderr).toContain('SMTP_URL, which is not set');
    expect((await runDms([...add, '--as', 'slack'], environment)).code).toBe(2);
    const added = await runDms(add, environment);
    expect([added.code, added.stdout]).toEqual([0, 'added ops\n']);
    const address = await recordAddress();
    const { smtp } = readSettings(environment).notify;
    startSender(registry, false, smtp);
    await vi.waitFor(async () => {
      expect(await listed()).toMatchObject({ state: 'failing', reason: expect.stringContaining('451 busy') });
    }, WAITING);
    ahead = HOUR;
    await allReceived();
    expect(mails).toHaveLength(2);
    for (const mail of mails) {
      expect(mail).toMatch(/^From: dms@service\.example\r$/m);
      expect(mail).toMatch(/^To: ops@team\.example\r$/m);
      expect(mail).toMatch(/^Subject: ops: 1 change\r$/m);
      expect(mail).toContain(`\r\nexample.com: A ${address} there when first observed\r\n`);
    }
    const ids = mails.map((mail) => /^Message-ID: <msg_[\w-]+@service\.example>/m.exec(mail)?.[0]);
    expect(ids[0]).toBeDefined();
    expect(ids[1]).toBe(ids[0]);
    const tested = await runDms(['notify', 'test', 'ops'], environment);
    expect([tested.code, mails.length]).toEqual([0, 3]);
    expect((await runDms(['notify', 'list'], environment)).stdout).toContain('mailto:ops@team.example');
    await new Promise<void>((closed) => {
      server.close(closed);
    });
  });
});

describe('dms notify test', () => {
  test.each([[], ['--as', 'slack']])('sends a message now, and says what came of it: %j', async (...as) => {
    await dms('notify', 'add', 'ops', '--url', receiver.url, ...as);
    const { code, stdout } = await dms('notify', 'test', 'ops');
    expect([code, stdout]).toEqual([0, `received by ${new URL(receiver.url).origin}/…: HTTP 204\n`]);
    expect(receiver.received[0]?.body).toMatch(/"type":"test"|ops: a test/);
    receiver.respond = (response) => response.writeHead(404).end();
    const failed = await dms('notify', 'test', 'ops');
    expect([failed.code, failed.stderr]).toEqual([1, 'dms: The message was not received: HTTP 404.\n']);
    const notAllowed = await runDms(['notify', 'test', 'ops'], database.environment);
    expect([notAllowed.code, notAllowed.stderr]).toEqual([
      1,
      'dms: The message was not received: 127.0.0.1 is not a public address.\n',
    ]);
  });
});

describe('dms notify add', () => {
  test.each([
    [['ops', '--url', 'http://192.0.2.1/'], 'write https://'],
    [['ops', '--url', 'https://user:word@hooks.example/'], 'without user and password'],
    [['ops', '--url', 'https:///hooks.example'], 'no address that messages are sent to'],
    [['ops', '--url', 'http://127.0.0.1:0/'], 'no address that messages are sent to'],
    [['-x', '--url', 'https://hooks.example/'], ''],
    [['a b', '--url', 'https://hooks.example/'], 'is not a valid name'],
    [['ops', '--url', 'https://hooks.example/', '--kinds', 'NONSENSE'], '--kinds'],
    [['ops', '--url', 'https://hooks.example/', '--domains', 'a..b'], ''],
  ])('%j is rejected, with what to write instead', async (args, text) => {
    const { code, stderr } = await dms('notify', 'add', ...args);
    expect(code).toBe(2);
    expect(stderr).toContain(text);
    expect(await database.prisma.notification.count()).toBe(0);
  });

  test('a name is there once, and an unknown one is said', async () => {
    await add();
    const again = await dms('notify', 'add', 'ops', '--url', receiver.url);
    expect([again.code, again.stderr]).toEqual([
      1,
      expect.stringContaining('A notification named ops exists'),
    ]);
    for (const command of ['pause', 'resume', 'remove']) {
      const { code, stderr } = await dms('notify', command, 'other');
      expect([code, stderr]).toEqual([1, expect.stringContaining('No notification is named other')]);
    }
  });
});
