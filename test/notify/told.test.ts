import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { SMTPServer } from 'smtp-server';
import { expect, test } from 'vitest';
import { createAsking } from '../../src/asking.js';
import { readSettings } from '../../src/config/env.js';
import { createRecorder } from '../../src/recorder/recorder.js';
import { runDms } from '../journeys/dms-command.js';
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
  isListed,
  messages,
  now,
  prepareSenders,
  received,
  receiver,
  record,
  recordAddress,
  recordDomains,
  startSender,
  state,
  stored,
} from '../support/notifications.js';
import { instant, observation } from '../support/observations.js';

prepareSenders();

test('a notification tells what is recorded after it was added: signed JSON with the items of REST, in the order of the feed', async () => {
  await recordAddress();
  await add(...FROM);
  await recordAddress();
  await recordAddress();
  startSender();
  await delivered(1);
  const [sent] = receiver.received;
  expect([sent?.method, sent?.headers['content-type']]).toEqual(['POST', 'application/json']);
  const question = { operation: 'getChanges', parameters: { notable: 'true' } };
  const { changes } = await createAsking(database).ask<{ changes: unknown[] }>(question);
  const links = { changes: expect.stringMatching(/^\/dms\/api\/v1\/changes\?notable=true&after=/) };
  expect(messages()).toMatchObject([{ type: 'changes', data: { notification: 'ops', changes, links } }]);
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

test('with --digest one message is sent in that time; what one cannot have, of 100 changes at most, follows at once', async () => {
  await begin('--digest', '1h');
  await delivered(1);
  await recordAddress();
  await recordAddress();
  expect((await stored()).due).toBeGreaterThan(now());
  expect(receiver.received).toHaveLength(1);
  const names = await recordDomains(99);
  state.ahead = 2n * HOUR;
  await delivered(3);
  expect(messages().map(({ data }) => data.changes.length)).toEqual([1, 100, 3]);
  expect(new Set(changesTold().map(({ domain }) => domain))).toEqual(new Set(['example.com', ...names]));
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
  const later = 'UPDATE change_feed SET recorded_at = recorded_at + $1 WHERE observed_at = $2';
  expect(await database.pool.query(later, [4n * HOUR, instant(5 * 86_400)])).toMatchObject({ rowCount: 1 });
  const values = () => changesTold().map((change) => change.rdata ?? change.new);
  state.ahead = 3n * HOUR;
  await delivered(1);
  expect(values()).toEqual(['192.0.2.2', '192.0.2.3', 'b']);
  state.ahead = 7n * HOUR;
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
  state.ahead = 3n * HOUR;
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
    state.ahead = BigInt(count - 1) * HOUR;
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
  const line =
    'header server there when first observed: &lt;!channel&gt; &amp; @\u{200b}here \\u{202e}\\u{1b}';
  expect(JSON.parse(message?.body ?? '')).toEqual({ text: `ops: 1 change\n• example.com: ${line}` });
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
    disabledCommands: ['STARTTLS'],
    onAuth({ username, password }, _session, done) {
      if (username === 'u' && password === 'p') done(null, { user: 'u' });
      else done(new Error('wrong password'));
    },
    async onData(stream, _session, done) {
      mails.push(await text(stream));
      done(mails.length === 1 ? Object.assign(new Error('busy'), { responseCode: 451 }) : null);
    },
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  // A server on a port has such an address.
  const { port } = server.address() as AddressInfo;
  const SMTP_URL = `smtp://u:p@127.0.0.1:${port}?from=dms@service.example`;
  const environment = { ...database.environment, SMTP_URL };
  const adding = ['notify', 'add', 'ops', '--url', 'mailto:ops@team.example', ...FROM, '--all'];
  expect((await dms(...adding)).stderr).toContain('SMTP_URL, which is not set');
  expect((await runDms([...adding, '--as', 'slack'], environment)).code).toBe(2);
  expect(await runDms(adding, environment)).toMatchObject({ code: 0, stdout: 'added ops\n' });
  const address = await recordAddress();
  startSender({ allowPrivate: false, smtp: readSettings(environment).notify.smtp });
  await isListed({ state: 'failing', reason: expect.stringContaining('451 busy') });
  state.ahead = HOUR;
  await allReceived();
  const ids = mails.map((mail) => /^Message-ID: <msg_[\w-]+@service\.example>/m.exec(mail)?.[0]);
  expect(ids).toEqual([expect.any(String), ids[0]]);
  const fields = ['From: dms@service.example', 'To: ops@team.example', 'Subject: ops: 1 change'];
  const lines = [...fields, `example.com: A ${address} there when first observed`];
  expect(mails[1]?.split('\r\n')).toEqual(expect.arrayContaining(lines));
  expect(await runDms(['notify', 'test', 'ops'], environment)).toMatchObject({ code: 0 });
  expect(mails).toHaveLength(3);
  expect((await runDms(['notify', 'list'], environment)).stdout).toContain('mailto:ops@team.example');
  await promisify(server.close.bind(server))();
});
