import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { SMTPServer } from 'smtp-server';
import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { createAsking } from '../../src/asking.js';
import { readSettings } from '../../src/config/env.js';
import { readClockLead } from '../../src/database/server-checks.js';
import type { RestChange } from '../../src/notify/changes.js';
import type { WatchedState } from '../../src/notify/messages.js';
import { Sender } from '../../src/notify/sender.js';
import { pruneFeed } from '../../src/recorder/prune-feed.js';
import { createRecorder } from '../../src/recorder/recorder.js';
import { createLogger } from '../../src/telemetry/logging.js';
import { runDms, startDms } from '../journeys/dms-command.js';
import { emptyTestDatabase, openTestDatabase, type TestDatabase } from '../support/database.js';
import { instant, observation } from '../support/observations.js';
import { startReceiver } from '../support/receiver.js';

const WAITING = { timeout: 50_000, interval: 50 };
const HOUR = 3_600_000_000n;
/** Before all that the tests record. */
const FROM = ['--from', '2000-01-01'];

let database: TestDatabase;
let receiver: Awaited<ReturnType<typeof startReceiver>>;
let secret: string;
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

const now = () => BigInt(Date.now()) * 1000n;

function startSender(options: Partial<ConstructorParameters<typeof Sender>[0]> = {}): void {
  const sender = new Sender({
    prisma: database.writingPrisma,
    registry,
    allowPrivate: true,
    smtp: undefined,
    idle: 50,
    basePath: '/dms',
    openQuestions: async () => {
      const asking = createAsking(database);
      return { ...asking, ask: (question) => beforePage().then(() => asking.ask(question)) };
    },
    log: createLogger({ level: 'debug', stream: { write: (line) => log.push(line) } }),
    now: () => now() + ahead,
    readClockLead: () => readClockLead(database.pool, now),
    ...options,
  });
  senders.push(sender);
}

function dms(...args: readonly string[]) {
  return runDms(args, { ...database.environment, NOTIFY_PRIVATE: 'allow' });
}

async function add(...options: readonly string[]): Promise<void> {
  const { code, stdout, stderr } = await dms('notify', 'add', 'ops', '--url', receiver.url, ...options);
  expect([code, stderr]).toEqual([0, expect.stringContaining('the only time')]);
  secret = stdout.trim();
}

/** With all changes, sent from now on; an address is recorded. */
async function begin(...options: readonly string[]): Promise<string> {
  await add(...FROM, '--all', ...options);
  startSender();
  return recordAddress();
}

async function listed(): Promise<Record<string, unknown>> {
  return JSON.parse((await dms('notify', 'list', '--json')).stdout);
}

const stored = () => database.prisma.notification.findFirstOrThrow();

function record(...observations: Parameters<typeof observation>[0][]) {
  return createRecorder(database.pool).record(observations.map(observation));
}

/** Records an address that the domain had at no time before. */
let hour = 0;
async function recordAddress(domain = 'example.com'): Promise<string> {
  hour += 100;
  const address = `192.0.2.${(hour / 100) % 250}`;
  await record({ domain, at: hour * 3600, records: [address] });
  return address;
}

async function recordDomains(count: number): Promise<string[]> {
  const names = Array.from({ length: count }, (_, number) => `d${number}.example`);
  await record(...names.map((domain) => ({ domain, at: 1, records: ['192.0.2.1'] })));
  return names;
}

interface Body {
  readonly type: string;
  readonly data: {
    readonly changes: readonly RestChange[];
    readonly domains?: readonly WatchedState[];
  };
}

/** The messages that were received, whose signatures are verified. */
function messages(): Body[] {
  // The fields of a message are there once each.
  return receiver.received.map(
    ({ headers, body }) => new Webhook(secret).verify(body, headers as Record<string, string>) as Body,
  );
}

const changesTold = () => messages().flatMap(({ data }) => data.changes);
const ids = () => receiver.received.map(({ headers }) => headers['webhook-id']);
const eventually = (check: () => unknown) => vi.waitFor(check, WAITING);
const received = (count: number) =>
  eventually(() => expect(receiver.received.length).toBeGreaterThanOrEqual(count));
const isListed = (expected: object) => eventually(async () => expect(await listed()).toMatchObject(expected));

/** Until nothing is kept any more. */
const allReceived = () =>
  eventually(async () => {
    expect(await stored()).toMatchObject({
      messageId: null,
      leasedUntil: 0n,
      receivedAt: expect.anything(),
    });
  });

async function delivered(count: number): Promise<void> {
  await received(count);
  await allReceived();
}

test('a notification tells what is recorded after it was added: signed JSON with the items of REST, in the order of the feed', async () => {
  await recordAddress();
  await add(...FROM);
  await recordAddress();
  await recordAddress();
  startSender();
  await delivered(1);
  const [sent] = receiver.received;
  expect([sent?.method, sent?.headers['content-type']]).toEqual(['POST', 'application/json']);
  const [message, ...others] = messages();
  expect(others).toEqual([]);
  const question = { operation: 'getChanges', parameters: { notable: 'true' } };
  const { changes } = await createAsking(database).ask<{ changes: unknown[] }>(question);
  expect(message).toMatchObject({
    type: 'changes',
    data: {
      notification: 'ops',
      changes,
      links: { changes: expect.stringMatching(/^\/dms\/api\/v1\/changes\?notable=true&after=/) },
    },
  });
  const kinds = ['DNS_RECORD_ADDED', 'DNS_RECORD_REMOVED'];
  expect(changesTold().map(({ kind }) => kind)).toEqual([...kinds, ...kinds]);
});

test('a notification tells nothing that is dated before it was added, unless --from says so: an old file that is imported tells nobody', async () => {
  await add();
  await recordAddress();
  await recordAddress();
  startSender();
  await eventually(async () => expect((await stored()).readTo).not.toBe(0n));
  expect(receiver.received).toEqual([]);
});

test('a notification tells what its filter selects, and routine changes with --all', async () => {
  await add(...FROM, '--all', '--domains', '*.example.net', '--kinds', 'DNS_RECORD_ADDED');
  await recordAddress();
  const address = await recordAddress('www.example.net');
  startSender();
  await received(1);
  expect(changesTold()).toMatchObject([{ domain: 'www.example.net', rdata: address, routine: 'INITIAL' }]);
});

test('that a history was extended is never told, also with --all', async () => {
  await add('--all', ...FROM);
  startSender();
  await recordAddress('late.example');
  const older = [observation({ domain: 'late.example', at: 0, records: ['192.0.2.250'] })];
  await createRecorder(database.pool).record(older, true);
  await recordAddress('next.example');
  await eventually(() => expect(changesTold().map(({ domain }) => domain)).toContain('next.example'));
  expect(changesTold().map(({ kind }) => kind)).not.toContain('HISTORY_EXTENDED');
});

test('a message has at most 100 changes, and each change is in one of them', async () => {
  await add(...FROM, '--all');
  const names = await recordDomains(120);
  startSender();
  await delivered(2);
  expect(messages().map(({ data }) => data.changes.length)).toEqual([100, 20]);
  expect(changesTold().map(({ domain }) => domain)).toEqual(names.sort());
});

test('a message is sent again, the same id and the same body, until it is received: status 500, a redirection, a closed connection, silence', async () => {
  const { timeout } = AbortSignal;
  const shortened = vi.spyOn(AbortSignal, 'timeout').mockImplementation((time) => timeout(time / 50));
  onTestFinished(() => shortened.mockRestore());
  const target = await startReceiver();
  receiver.respond = (response, count) => {
    if (count === 1) response.writeHead(500).end('no');
    if (count === 2) response.writeHead(307, { location: target.url }).end();
    if (count === 3) response.destroy();
    if (count > 4) response.writeHead(200).end();
  };
  await begin();
  const reasons = ['HTTP 500', 'HTTP 307', 'socket hang up', 'no response in time'];
  for (const [index, reason] of reasons.entries()) {
    await received(index + 1);
    await isListed({ state: 'failing', reason, attempts: index + 1 });
    ahead += 5n * HOUR;
  }
  await delivered(5);
  const [id] = ids();
  expect(new Set(ids())).toEqual(new Set([id]));
  expect(new Set(messages().map((message) => JSON.stringify(message))).size).toBe(1);
  expect(target.received).toEqual([]);
  await isListed({ state: 'active', reason: null, attempts: 0 });
  await recordAddress();
  await received(6);
  expect(ids()[5]).not.toBe(id);
  await target.close();
});

test('a paused notification goes on with the same message once it is resumed', async () => {
  receiver.respond = (response, count) => response.writeHead(count === 1 ? 410 : 200).end();
  await begin();
  await isListed({ state: 'paused', reason: expect.stringMatching(/^HTTP 410/) });
  await recordAddress();
  await dms('notify', 'resume', 'ops');
  await delivered(3);
  expect([new Set(ids().slice(0, 2)).size, new Set(ids()).size]).toEqual([1, 2]);
});

test('a paused notification tells nothing, and later what was recorded meanwhile; a removed one nothing more', async () => {
  await add(...FROM, '--all');
  startSender();
  await dms('notify', 'pause', 'ops');
  const address = await recordAddress();
  await isListed({ state: 'paused', reason: 'by dms notify pause' });
  expect(receiver.received).toEqual([]);
  await dms('notify', 'resume', 'ops');
  await received(1);
  expect(changesTold()).toMatchObject([{ rdata: address }]);
  await allReceived();
  expect((await dms('notify', 'remove', 'ops')).stdout).toBe('removed ops\n');
  await recordAddress();
  expect((await dms('notify', 'list')).stderr).toContain('There is no notification.');
  expect(receiver.received).toHaveLength(1);
});

test('the feed keeps for three days what a notification has not read; what is gone then is told as a gap', async () => {
  await begin();
  await delivered(1);
  await eventually(async () => expect((await stored()).readTo).not.toBe(0n));
  await dms('notify', 'pause', 'ops');
  await recordAddress();
  await recordAddress();
  const time = now() + HOUR;
  expect(await pruneFeed(database.prisma, time, time)).toBe(0);
  expect(await pruneFeed(database.prisma, time, time + 73n * HOUR)).toBe(2);
  await dms('notify', 'resume', 'ops');
  await received(2);
  expect(messages()[1]).toMatchObject({
    type: 'gap',
    data: { notification: 'ops', after: expect.stringMatching(/Z$/), until: expect.stringMatching(/Z$/) },
  });
  const address = await recordAddress();
  await received(3);
  expect(messages()[2]?.data.changes.map(({ rdata }) => rdata)).toContain(address);
});

test('one of several senders sends at a time', async () => {
  await add(...FROM, '--all');
  let [open, most] = [0, 0];
  receiver.respond = (response) => {
    open += 1;
    most = Math.max(most, open);
    setTimeout(() => {
      open -= 1;
      response.writeHead(204).end();
    }, 20);
  };
  for (let count = 0; count < 3; count += 1) startSender({ registry: new Registry() });
  for (let count = 0; count < 10; count += 1) {
    await recordAddress();
    await received(count + 1);
  }
  await allReceived();
  expect([most, new Set(ids()).size]).toEqual([1, receiver.received.length]);
});

test('one of two senders sends at a time, although the clock of one is ten minutes ahead', async () => {
  receiver.respond = () => {};
  await begin();
  await received(1);
  const other = new Registry();
  const wrong = () => now() + HOUR / 6n;
  startSender({ registry: other, now: wrong, readClockLead: () => readClockLead(database.pool, wrong) });
  await eventually(async () => expect(await other.metrics()).toContain('{notification="ops"}'));
  await pause(500);
  expect(receiver.received).toHaveLength(1);
});

test('what a worker was sending when it was killed is sent again by another one: the same id, the same body', async () => {
  await add(...FROM, '--all');
  receiver.respond = (response, count) => count > 1 && response.writeHead(200).end();
  await recordAddress();
  const worker = startDms(['worker'], { ...database.environment, NOTIFY_PRIVATE: 'allow' });
  await received(1);
  worker.child.kill('SIGKILL');
  await worker.result;
  // The lease of the killed one has to end.
  ahead = HOUR;
  startSender();
  await delivered(2);
  const [first, second] = messages();
  expect(second).toEqual(first);
  expect(new Set(ids()).size).toBe(1);
}, 60_000);

test('a message that is received while the database is lost is not sent again when that is back', async () => {
  receiver.respond = async (response, count) => {
    if (count === 1) await database.pool.query('ALTER TABLE notification RENAME TO lost');
    response.writeHead(204).end();
  };
  await begin();
  await received(1);
  await eventually(() => expect(log.join('')).toContain('notifications wait'));
  await database.pool.query('ALTER TABLE lost RENAME TO notification');
  await allReceived();
  await recordAddress();
  await delivered(2);
  expect([ids().length, new Set(ids()).size]).toEqual([2, 2]);
});

test('a notification goes on as soon as the database is back, and not only when its lease has ended', async () => {
  let pages = 0;
  beforePage = async () => {
    pages += 1;
    if (pages === 1) await database.pool.query('ALTER TABLE notification RENAME TO lost');
  };
  await begin();
  await eventually(() => expect(log.join('')).toContain('"notification":"ops"'));
  await database.pool.query('ALTER TABLE lost RENAME TO notification');
  await delivered(1);
});

test('with --digest one message is sent in that time; what one cannot have follows at once', async () => {
  await begin('--digest', '1h');
  await delivered(1);
  await recordAddress();
  await recordAddress();
  expect((await stored()).due).toBeGreaterThan(now());
  expect(receiver.received).toHaveLength(1);
  await recordDomains(99);
  ahead = 2n * HOUR;
  await delivered(3);
  expect(messages().map(({ data }) => data.changes.length)).toEqual([1, 100, 3]);
});

test('nothing is sent to a private address without NOTIFY_PRIVATE=allow, by whichever name', async () => {
  await add(...FROM, '--all');
  const url = receiver.url.replace('127.0.0.1', 'localhost');
  await database.prisma.notification.updateMany({ data: { url } });
  await recordAddress();
  startSender({ allowPrivate: false });
  await isListed({ reason: expect.stringMatching(/is not a public address$/) });
  const other = await runDms(['notify', 'add', 'other', '--url', receiver.url], database.environment);
  expect(other).toMatchObject({ code: 2, stderr: expect.stringContaining('NOTIFY_PRIVATE=allow') });
  expect(receiver.received).toEqual([]);
});

test('attempts are measured, and neither log nor list has the address or the secret', async () => {
  receiver.respond = (response) => response.writeHead(500).end();
  await begin();
  await eventually(async () => {
    const metrics = await registry.metrics();
    expect(metrics).toContain('dms_notification_attempts_total{notification="ops",outcome="retry"} 1\n');
    expect(metrics).toMatch(/^dms_notification_lag_seconds\{notification="ops"\} 0?\.\d*[1-9]|[1-9]/m);
    expect(metrics).toContain('dms_notification_paused{notification="ops"} 0\n');
  });
  const table = await dms('notify', 'list');
  expect(table.stdout).toMatch(/ops +http:\/\/127\.0\.0\.1:\d+\/… +never +failing: HTTP 500\n/);
  const shown = [log.join(''), table.stdout, JSON.stringify(await listed())].join('');
  expect(shown).toContain('HTTP 500');
  expect(shown).not.toContain('a-secret-path');
  expect(shown).not.toContain(secret);
});

test('with --settle a change is told once it stood so long after its recording, and not if it was undone meanwhile', async () => {
  const look = (day: number, records: readonly string[], server: string) =>
    record({ at: day * 86_400, records, headers: { server } });
  await look(1, ['192.0.2.1'], 'a');
  await add(...FROM, '--all', '--settle', '2h');
  await look(2, ['192.0.2.1', '192.0.2.2', '192.0.2.3'], 'b');
  await look(3, ['192.0.2.1', '192.0.2.2'], 'c');
  await look(4, ['192.0.2.1', '192.0.2.2'], 'b');
  startSender();
  await eventually(async () => expect((await stored()).due).toBeGreaterThan(0n));
  expect(receiver.received).toEqual([]);
  // The clock of the database cannot be set.
  await look(5, ['192.0.2.1', '192.0.2.2', '192.0.2.4'], 'b');
  const { rowCount } = await database.pool.query(
    'UPDATE change_feed SET recorded_at = recorded_at + $1 WHERE observed_at = $2',
    [4n * HOUR, instant(5 * 86_400)],
  );
  expect(rowCount).toBe(1);
  const values = () => changesTold().map((change) => change.rdata ?? change.new);
  ahead = 3n * HOUR;
  await delivered(1);
  expect(values()).toEqual(['192.0.2.2', '192.0.2.3', 'b']);
  ahead = 7n * HOUR;
  await delivered(2);
  expect(values()).toEqual(['192.0.2.2', '192.0.2.3', 'b', '192.0.2.4']);
});

/** What was told of example.com after looks at these minutes, with an address or two and these headers. */
async function toldOf(
  looks: readonly (readonly [minute: number, records: readonly string[], headers: Record<string, string>])[],
  ...options: readonly string[]
) {
  await add(...FROM, '--settle', '2h', ...options);
  for (const [minute, records, headers] of looks) await record({ at: minute * 60, records, headers });
  // By then, all that is recorded has settled.
  await record({ domain: 'other.example', at: 0, records: ['192.0.2.9'] });
  await record({ domain: 'other.example', at: 1, records: ['192.0.2.8'] });
  ahead = 3n * HOUR;
  startSender();
  await delivered(1);
  return changesTold().filter(({ domain }) => domain === 'example.com');
}

const [ONE, TWO] = [['192.0.2.1'], ['192.0.2.1', '192.0.2.2']];

test('with --settle a value that stands is told once, however often it came and went, and what is again as it was is not told', async () => {
  const told = await toldOf(
    [
      [0, ONE, { server: 'a', via: 'a' }],
      [1000, TWO, { server: 'b', via: 'b' }],
      [1010, ONE, { server: 'a', via: 'a' }],
      [1020, TWO, { server: 'c', via: 'b' }],
      [1030, ONE, { server: 'b', via: 'a' }],
      [1040, ONE, { server: 'a', via: 'b' }],
    ],
    '--headers=server,via',
    '--types=A',
    '--all',
  );
  // Those of the first look have stood since.
  const values = told.map(({ rdata, name, new: value }) => rdata ?? `${name} ${value}`);
  expect(values).toEqual(['192.0.2.1', 'server a', 'via b']);
  expect(told[2]).toMatchObject({ old: 'a', date: '2024-01-01T17:20:00.000000Z' });
});

test('with --settle a change is compared with what stood so long before it', async () => {
  const told = await toldOf(
    [
      [0, ONE, { server: 'a' }],
      [1000, TWO, { server: 'b' }],
      [1200, ONE, { server: 'a' }],
    ],
    '--all',
    '--kinds=DNS_RECORD_REMOVED,HEADER_UPDATED',
  );
  expect(told).toMatchObject([{ rdata: '192.0.2.2' }, { old: 'b', new: 'a' }]);
});

test('with --settle another nonce undoes nothing: a change is told that only routine ones followed', async () => {
  const policy = (value: string) => ({ 'content-security-policy': value });
  const told = await toldOf([
    [0, [], policy("script-src 'nonce-1'")],
    [1000, [], policy("script-src 'nonce-2'; object-src 'none'")],
    [1060, [], policy("script-src 'nonce-3'; object-src 'none'")],
  ]);
  expect(told).toMatchObject([{ new: "script-src 'nonce-2'; object-src 'none'" }]);
});

test('with --watch-failures it is told once that a watched domain fails for the N-th time in a row, and that it has recovered', async () => {
  await add('--watch-failures', '3', '--domains', '*.example.com,other.example');
  const names = ['a.example.com', 'b.example.com', 'other.example', 'foreign.example'];
  await dms('watch', 'add', ...names);
  const fail = (name: string, failures: number) =>
    database.prisma.watchedDomain.updateMany({ where: { name }, data: { failures } });
  for (const name of names) await fail(name, name.startsWith('b') ? 2 : 3);
  startSender();
  const told = async (count: number) => {
    // Only then it looks again.
    ahead = BigInt(count - 1) * HOUR;
    await delivered(count);
    const { type, data } = messages()[count - 1] ?? expect.fail('There is no such message.');
    return [type, ...(data.domains ?? []).map(({ domain, state }) => `${domain} ${state}`).sort()];
  };
  expect(await told(1)).toEqual(['watch', 'a.example.com failing', 'other.example failing']);
  await fail('a.example.com', 4);
  await dms('watch', 'remove', 'other.example');
  await fail('b.example.com', 3);
  expect(await told(2)).toEqual(['watch', 'b.example.com failing']);
  await fail('a.example.com', 0);
  expect(await told(3)).toEqual(['watch', 'a.example.com recovered']);
  expect(receiver.received).toHaveLength(3);
  await dms('watch', 'add', 'other.example');
  await fail('other.example', 3);
  expect(await told(4)).toEqual(['watch', 'other.example failing']);
});

test('a chat gets a text with a line for each change, as many as fit, which calls nobody, and turns no text around', async () => {
  const added = await dms('notify', 'add', 'ops', '--url', receiver.url, '--as', 'slack', ...FROM, '--all');
  expect([added.code, added.stdout]).toEqual([0, 'added ops\n']);
  await record({ at: 1, headers: { server: '<!channel> & @here \u{202e}\u{1b}' } });
  startSender();
  await delivered(1);
  const [message] = receiver.received;
  expect(message?.headers).not.toHaveProperty('webhook-signature');
  expect(JSON.parse(message?.body ?? '')).toEqual({
    text:
      'ops: 1 change\n' +
      '• example.com: header server there when first observed: &lt;!channel&gt; &amp; @\u{200b}here \\u{202e}\\u{1b}',
  });
  await recordDomains(100);
  await received(2);
  const { text } = JSON.parse(receiver.received[1]?.body ?? '') as { text: string };
  expect(text.length).toBeLessThan(2_000);
  const more = Number(/\nand (\d+) more$/.exec(text)?.[1]);
  expect(text.match(/^• d/gm)).toHaveLength(100 - more);
});

test('a mailbox gets a mail with a line for each change, the same Message-ID each time, until the server accepts it', async () => {
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
  const SMTP_URL = `smtp://u:p@127.0.0.1:${port}?from=dms@service.example`;
  const environment = { ...database.environment, SMTP_URL };
  const adding = ['notify', 'add', 'ops', '--url', 'mailto:ops@team.example', ...FROM, '--all'];
  expect((await dms(...adding)).stderr).toContain('SMTP_URL, which is not set');
  expect((await runDms([...adding, '--as', 'slack'], environment)).code).toBe(2);
  expect(await runDms(adding, environment)).toMatchObject({ code: 0, stdout: 'added ops\n' });
  const address = await recordAddress();
  startSender({ allowPrivate: false, smtp: readSettings(environment).notify.smtp });
  await isListed({ state: 'failing', reason: expect.stringContaining('451 busy') });
  ahead = HOUR;
  await allReceived();
  expect(mails).toHaveLength(2);
  for (const mail of mails) {
    expect(mail).toMatch(/^From: dms@service\.example\r$/m);
    expect(mail).toMatch(/^To: ops@team\.example\r$/m);
    expect(mail).toMatch(/^Subject: ops: 1 change\r$/m);
    expect(mail).toContain(`\r\nexample.com: A ${address} there when first observed\r\n`);
  }
  const mailIds = mails.map((mail) => /^Message-ID: <msg_[\w-]+@service\.example>/m.exec(mail)?.[0]);
  expect(mailIds).toEqual([expect.any(String), mailIds[0]]);
  expect(await runDms(['notify', 'test', 'ops'], environment)).toMatchObject({ code: 0 });
  expect(mails).toHaveLength(3);
  expect((await runDms(['notify', 'list'], environment)).stdout).toContain('mailto:ops@team.example');
  await new Promise<void>((closed) => {
    server.close(closed);
  });
});

test.each([[], ['--as', 'slack']])(
  'dms notify test sends a message now, and says what came of it: %j',
  async (...as) => {
    await dms('notify', 'add', 'ops', '--url', receiver.url, ...as);
    const stdout = `received by ${new URL(receiver.url).origin}/…: HTTP 204\n`;
    expect(await dms('notify', 'test', 'ops')).toMatchObject({ code: 0, stdout });
    expect(receiver.received[0]?.body).toMatch(/"type":"test"|ops: a test/);
    receiver.respond = (response) => response.writeHead(404).end();
    const failed = (reason: string) => ({
      code: 1,
      stderr: `dms: The message was not received: ${reason}.\n`,
    });
    expect(await dms('notify', 'test', 'ops')).toMatchObject(failed('HTTP 404'));
    const withoutLeave = await runDms(['notify', 'test', 'ops'], database.environment);
    expect(withoutLeave).toMatchObject(failed('127.0.0.1 is not a public address'));
  },
);

test.each([
  [['ops', '--url', 'http://192.0.2.1/'], 'write https://'],
  [['ops', '--url', 'https://user:word@hooks.example/'], 'without user and password'],
  [['ops', '--url', 'https:///hooks.example'], 'no address that messages are sent to'],
  [['ops', '--url', 'http://127.0.0.1:0/'], 'no address that messages are sent to'],
  [['-x', '--url', 'https://hooks.example/'], ''],
  [['a b', '--url', 'https://hooks.example/'], 'is not a valid name'],
  [['ops', '--url', 'https://hooks.example/', '--kinds', 'NONSENSE'], '--kinds'],
  [['ops', '--url', 'https://hooks.example/', '--domains', 'a..b'], ''],
])('dms notify add rejects %j, with what to write instead', async (args, reason) => {
  expect(await dms('notify', 'add', ...args)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(reason),
  });
  expect(await database.prisma.notification.count()).toBe(0);
});

test('a notification of one name is there once, and an unknown name is said', async () => {
  await add();
  const failed = (reason: string) => ({ code: 1, stderr: expect.stringContaining(reason) });
  expect(await dms('notify', 'add', 'ops', '--url', receiver.url)).toMatchObject(
    failed('A notification named ops exists'),
  );
  for (const command of ['pause', 'resume', 'remove']) {
    expect(await dms('notify', command, 'other')).toMatchObject(failed('No notification is named other'));
  }
});
