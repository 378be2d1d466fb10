import { setTimeout as pause } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { expect, onTestFinished, test, vi } from 'vitest';
import { readClockLead } from '../../src/database/server-checks.js';
import { pruneFeed } from '../../src/recorder/prune-feed.js';
import { runDms, startDms } from '../journeys/dms-command.js';
import {
  add,
  allReceived,
  begin,
  changesTold,
  database,
  delivered,
  dms,
  eventually,
  FROM,
  HOUR,
  ids,
  isListed,
  listed,
  log,
  messages,
  now,
  prepareSenders,
  received,
  receiver,
  recordAddress,
  registry,
  secret,
  startSender,
  state,
  stored,
} from '../support/notifications.js';
import { startReceiver } from '../support/receiver.js';

prepareSenders();

test('a message is sent again, the same id and the same body, until it is received: status 500, 429 as late as Retry-After says, a redirection, a closed connection, silence', async () => {
  const { timeout } = AbortSignal;
  const shortened = vi.spyOn(AbortSignal, 'timeout').mockImplementation((time) => timeout(time / 50));
  onTestFinished(() => shortened.mockRestore());
  const target = await startReceiver();
  receiver.respond = (response, count) => {
    if (count === 1) response.writeHead(500).end('no');
    if (count === 2) response.writeHead(429, { 'retry-after': '7200' }).end();
    if (count === 3) response.writeHead(307, { location: target.url }).end();
    if (count === 4) response.destroy();
    if (count > 5) response.writeHead(200).end();
  };
  await begin();
  const reasons = ['HTTP 500', 'HTTP 429', 'HTTP 307', 'socket hang up', 'no response in time'];
  for (const [index, reason] of reasons.entries()) {
    await received(index + 1);
    await isListed({ state: 'failing', reason, attempts: index + 1 });
    if (reason === 'HTTP 429') expect((await stored()).due).toBeGreaterThan(now() + state.ahead + HOUR);
    state.ahead += 5n * HOUR;
  }
  await delivered(6);
  const [id] = ids();
  expect(new Set(ids())).toEqual(new Set([id]));
  expect(new Set(messages().map((message) => JSON.stringify(message))).size).toBe(1);
  expect(target.received).toEqual([]);
  await isListed({ state: 'active', reason: null, attempts: 0 });
  await recordAddress();
  await received(7);
  expect(ids()[6]).not.toBe(id);
  await target.close();
});

test('a paused notification goes on with the same message once it is resumed, and has three days again', async () => {
  receiver.respond = (response, count) => response.writeHead([410, 500][count - 1] ?? 200).end();
  await begin();
  await isListed({ state: 'paused', reason: expect.stringMatching(/^HTTP 410/) });
  await recordAddress();
  state.ahead = 73n * HOUR;
  await dms('notify', 'resume', 'ops');
  await received(2);
  await isListed({ state: 'failing', reason: 'HTTP 500', attempts: 1 });
  state.ahead += HOUR;
  await delivered(4);
  expect([new Set(ids().slice(0, 3)).size, new Set(ids()).size]).toEqual([1, 2]);
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
  // A service that stops does not wait for all of it.
  expect(await pruneFeed(database.prisma, time, time + 73n * HOUR, AbortSignal.abort())).toBe(0);
  expect(await pruneFeed(database.prisma, time, time + 73n * HOUR)).toBe(2);
  await dms('notify', 'resume', 'ops');
  await received(2);
  const [after, until] = [expect.stringMatching(/Z$/), expect.stringMatching(/Z$/)];
  expect(messages()[1]).toMatchObject({ type: 'gap', data: { notification: 'ops', after, until } });
  const address = await recordAddress();
  await received(3);
  expect(messages()[2]?.data.changes.map(({ rdata }) => rdata)).toContain(address);
});

test('what a notification has not read is told, though all that it has read is pruned', async () => {
  await recordAddress();
  await database.pool.query('UPDATE change_feed SET recorded_at = recorded_at - $1', [240n * HOUR]);
  await add(...FROM, '--all');
  startSender();
  await eventually(async () => expect((await stored()).readTo).not.toBe(0n));
  await dms('notify', 'pause', 'ops');
  const address = await recordAddress();
  await pruneFeed(database.prisma, now() - HOUR, now());
  await dms('notify', 'resume', 'ops');
  await received(1);
  expect(messages()).toMatchObject([{ type: 'changes', data: { changes: [{ rdata: address }, {}] } }]);
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
  for (let count = 1; count <= 10; count += 1) {
    await recordAddress();
    await received(count);
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
  state.ahead = HOUR;
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
  state.beforePage = async () => {
    pages += 1;
    if (pages === 1) await database.pool.query('ALTER TABLE notification RENAME TO lost');
  };
  await begin();
  await eventually(() => expect(log.join('')).toContain('"notification":"ops"'));
  await database.pool.query('ALTER TABLE lost RENAME TO notification');
  await delivered(1);
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
  const rejected = { code: 2, stderr: expect.stringContaining(reason) };
  expect(await dms('notify', 'add', ...args)).toMatchObject(rejected);
  expect(await database.prisma.notification.count()).toBe(0);
});

test('a notification of one name is there once, and an unknown name is said', async () => {
  await add();
  const again = await dms('notify', 'add', 'ops', '--url', receiver.url);
  expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('A notification named ops exists')]);
  for (const command of ['pause', 'resume', 'remove']) {
    const { code, stderr } = await dms('notify', command, 'other');
    expect([code, stderr]).toEqual([1, expect.stringContaining('No notification is named other')]);
  }
});
