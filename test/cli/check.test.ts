import { existsSync } from 'node:fs';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { recordSamples } from '../../src/importers/samples.js';
import { createRecorder } from '../../src/recorder/recorder.js';
import { startLocalDms } from '../journeys/dms-command.js';
import { prepareCommands } from '../support/commands.js';
import { rcode, silence } from '../support/dns-behaviours.js';
import { startDnsServer } from '../support/dns-server.js';
import { addressRecord, NOW, observation } from '../support/observations.js';
import { settingsToObserve, startHttpServer } from '../support/web-server.js';

const commands = prepareCommands();
const { dms, file, pathOf, said: output } = commands;

beforeAll(async () => {
  const recorder = createRecorder(commands.database.pool);
  await recordSamples(recorder, NOW);
  const zone = { host: 'zone.example', class: 'IN' };
  const soa = { serial: 7, refresh: 1, retry: 2, expire: 3, 'minimum-ttl': 4 };
  await recorder.record([
    observation({
      at: 0,
      domain: 'zone.example',
      records: [
        '192.0.2.1',
        { ...zone, type: 'MX', pri: 10, target: 'mail.zone.example' },
        { ...zone, type: 'TXT', txt: 'not compared' },
        { ...zone, type: 'SOA', mname: 'ns1.zone.example', rname: 'admin.zone.example', ...soa },
        addressRecord('*.zone.example', '192.0.2.3'),
        addressRecord('other.zone.example', '192.0.2.4'),
      ],
    }),
    observation({ at: 0, domain: 'www.zone.example', records: ['192.0.2.2'] }),
  ]);
});

const check = (input: string, ...options: readonly string[]) => dms(['check', '-', ...options], input);

/** What `dms check` says of a file. */
async function said(input: string, ...options: readonly string[]): Promise<[number | null, string]> {
  const { code, stdout, stderr } = await check(input, '--quiet', ...options);
  expect(stderr).toBe('');
  return [code, stdout];
}

const ZONE = `$ORIGIN zone.example.
$TTL 1h
@  IN  SOA  ns1 admin (
      2026010101 ; the serial is not compared
      1 2 3 4 )
@  300 IN  A   192.0.2.1
   IN 300  MX  10 mail
www        A   192.0.2.2
*          A   192.0.2.3
`;

test('dms check of a zone file is silent, and ends with 0, where all is as it should be: names belong to the domain that is recorded', async () => {
  expect(await check(ZONE)).toMatchObject({ code: 0, stdout: '', stderr: 'All is as it should be.\n' });
});

test('dms check of a zone file ends with 1 and a line for each record that is not as it should be, in their order', async () => {
  const changed = ZONE.replace('192.0.2.2', '192.0.2.9').replace('10 mail', '20 mail.example.net.');
  expect(await said(changed)).toEqual([
    1,
    '- www.zone.example A 192.0.2.9\n+ www.zone.example A 192.0.2.2\n' +
      '- zone.example MX 20 mail.example.net.\n+ zone.example MX 10 mail.zone.example.\n',
  ]);
});

test('dms check of a zone file needs no $ORIGIN with --origin', async () => {
  expect(await said(ZONE.replace(/.*\n/, ''), '--origin', 'Zone.Example')).toEqual([0, '']);
});

test('dms check takes what dms export --format zone has written, from a file too', async () => {
  const { stdout: zone } = await dms(['export', '--format', 'zone']);
  expect(await output(['check', '--quiet', await file('all.zone', zone)])).toBe('');
});

test('dms check of an export finds all as it should be that was exported, as of any time', async () => {
  for (const at of [[], ['--at', '2023-05-20T14:30:12.345678Z']]) {
    expect(await said(await output(['export', ...at]), ...at)).toEqual([0, '']);
  }
});

test('dms check of an export tells what changed since', async () => {
  const before = await output(['export', 'example.com', '--at', '2023-01-10T08:00:00Z']);
  const [code, differences] = await said(before);
  expect(code).toBe(1);
  for (const lines of [
    '- example.com AAAA 2001:db8::7\n+ example.com AAAA 2001:db8:1::23\n',
    '+ example.com strict-transport-security: max-age=63072000; includeSubDomains\n',
    '- example.com x-powered-by: PHP/8.1.2\n',
  ])
    expect(differences).toContain(lines);
});

const YAML = `domain: zone.example
records:
  - { host: zone.example, type: A, ip: 192.0.2.1 }
  - "www 300 IN A 192.0.2.2"
headers:
  server: nginx
  x-powered-by: null
`;

test('dms check of YAML takes the types that it names for complete, and compares the headers that it names', async () => {
  expect(await said(YAML)).toEqual([
    1,
    '+ *.zone.example A 192.0.2.3\n' + '+ other.zone.example A 192.0.2.4\n- zone.example server: nginx\n',
  ]);
});

test('dms check takes several domains, in JSON too, and --json gives an object for each difference', async () => {
  const domains = [
    { domain: 'example.com', headers: { 'X-Powered-By': null, 'Strict-Transport-Security': 'max-age=1' } },
    { domain: 'never.example', records: [{ host: 'never.example', type: 'A', ip: '192.0.2.1' }] },
  ];
  const { code, stdout, stderr } = await check(JSON.stringify(domains), '--json');
  expect([code, stderr]).toEqual([1, 'Nothing is recorded of never.example.\n2 differences in 2 domains.\n']);
  expect(stdout).toBe(
    '{"domain":"example.com","kind":"different","type":"header","name":"strict-transport-security",' +
      '"expected":"max-age=1","found":"max-age=63072000; includeSubDomains"}\n' +
      '{"domain":"never.example","kind":"missing","type":"A","name":"never.example","expected":"192.0.2.1","found":null}\n',
  );
});

test.each([
  ['@ A 192.0.2.1\n', 'line 1: "@" is relative, and there is no origin: '],
  ['$ORIGIN example.com.\n\nwww A 192.0.2\n', 'line 3: it is not the data of a record of type A: '],
  ['$INCLUDE other\n', 'line 1: "$INCLUDE" is not read: '],
  ['; nothing\n', 'it says nothing of what should be.'],
  ['domain: example.com\nrecord: []\n', 'line 2: record: unknown key "record": '],
  ['domain: example.com\nheaders:\n  a: 1\n', 'line 3: headers.a: write it in quotes: it is not a string.'],
  ['domain: example.com\nrecords:\n  - { type: A }\n', 'line 3: records.0: host: it is missing.'],
  ['domain: example.com\nrecords: [\n', 'line 3: '],
  ['domain: example.com\n', 'it says nothing of what should be.'],
])('dms check ends with 2 for %j, and says what is wrong in which line', async (input, reason) => {
  const { code, stdout, stderr } = await check(input);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toContain(`dms: standard input, ${reason}`);
});

test('dms check ends with 2 for a file or a database that is not there', async () => {
  const stderr = expect.stringContaining('does not exist');
  expect(await dms(['check', pathOf('none')])).toMatchObject({ code: 2, stdout: '', stderr });
  const nowhere = { DATABASE_URL: '', DATA_DIR: pathOf('no-database') };
  expect(await dms(['check', '-'], ZONE, nowhere)).toMatchObject({ code: 2, stdout: '' });
});

const SERVFAIL = 2;
const SEEN = `$ORIGIN zone.example.
@ SOA ns1 admin 7 1 2 3 4
@ A 127.0.0.1
@ MX 10 mail
www CNAME @
_sip._tcp SRV 1 2 5060 sip
`;
const dns = await startDnsServer({ zone: SEEN });
const site = await startHttpServer();
site.serve({ fields: [['Server', 'one']] });
afterAll(() => Promise.all([dns.close(), site.close()]));

const environment = () => ({
  ...settingsToObserve(dns.port, site.port),
  OBSERVE_DNS_TRIES: '1',
  // It needs no database, and makes none.
  DATABASE_URL: '',
  DATA_DIR: pathOf('never'),
});
const observed = (input: string, ...options: readonly string[]) =>
  dms(['check', '--observe', '-', ...options], input, environment());

test('dms check --observe compares a zone file with what each of its names has now, of any type, and needs no database', async () => {
  expect(await observed(SEEN)).toMatchObject({ code: 0, stdout: '', stderr: 'All is as it should be.\n' });
  expect(existsSync(pathOf('never'))).toBe(false);
  const other = SEEN.replace('10 mail', '20 mail').replace('5060', '5061').replace('CNAME @', 'A 192.0.2.1');
  expect(await observed(other)).toMatchObject({
    code: 1,
    stdout:
      '- _sip._tcp.zone.example SRV 1 2 5061 sip.zone.example.\n+ _sip._tcp.zone.example SRV 1 2 5060 sip.zone.example.\n' +
      '- www.zone.example A 192.0.2.1\n' +
      '- zone.example MX 20 mail.zone.example.\n+ zone.example MX 10 mail.zone.example.\n',
    stderr: '5 differences in 3 domains.\n',
  });
});

test('dms check --observe compares the headers of the site now, and takes what does not resolve for missing', async () => {
  const domains = [
    { domain: 'zone.example', headers: { server: 'two', 'x-powered-by': null } },
    { domain: 'gone.zone.example', records: ['@ 300 IN A 192.0.2.1'] },
  ];
  const { code, stdout } = await observed(JSON.stringify(domains), '--json');
  const lines = stdout.trimEnd().split('\n');
  expect([code, ...lines.map((line) => JSON.parse(line))]).toMatchObject([
    1,
    { domain: 'gone.zone.example', kind: 'missing', type: 'A', expected: '192.0.2.1', found: null },
    { domain: 'zone.example', kind: 'different', name: 'server', expected: 'two', found: 'one' },
  ]);
});

test('dms check --observe ends with 2 where what the file says could not be observed, and tells the other differences', async () => {
  dns.behave('zone.example', rcode(SERVFAIL), 'MX');
  onTestFinished(() => dns.behave('zone.example', undefined, 'MX'));
  const { code, stdout, stderr } = await observed(SEEN.replace('@ A 127.0.0.1', '@ A 192.0.2.1'));
  expect([code, stdout]).toEqual([2, '- zone.example A 192.0.2.1\n+ zone.example A 127.0.0.1\n']);
  expect(stderr).toMatch(/^2 differences .*\ndms: Not compared, .*: MX of zone\.example \(.*\)\.\n$/);
  // What it says nothing of does not matter.
  expect(await observed(SEEN.replace('@ MX 10 mail\n', ''))).toMatchObject({ code: 0, stdout: '' });
});

test('dms check --observe does not compare a header that observers leave out, and ends with 2', async () => {
  for (const value of [null, 'a=1']) {
    const headers = { 'set-cookie': value, server: 'one' };
    expect(await observed(JSON.stringify({ domain: 'zone.example', headers }))).toMatchObject({
      ...{ code: 2, stdout: '' },
      stderr:
        'dms: Not compared, since it was not observed: the header set-cookie of zone.example (observers leave it out).\n',
    });
  }
});

test('dms check --observe asks for a record of another owner name by that name, and ends with 2 without an answer', async () => {
  const expectedAt = (owner: string) => {
    const records = ['zone.example. A 127.0.0.1', `${owner} A 127.0.0.1`];
    return JSON.stringify({ domain: 'zone.example', records });
  };
  expect(await observed(expectedAt('zone.example.'))).toMatchObject({ code: 0 });
  const { code, stdout, stderr } = await observed(expectedAt('elsewhere.test.'));
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toContain('A of elsewhere.test (');
});

test('dms check --observe tells of records that cannot be observed, and leaves them out', async () => {
  const { code, stdout, stderr } = await observed(`${SEEN}* A 127.0.0.1\n`);
  expect([code, stdout]).toEqual([0, '']);
  expect(stderr).toMatch(/^dms: Not compared: 1 record of names that nobody can ask for, such as \*/);
});

test('dms check --observe ends with 130 at Ctrl-C, and compares nothing', async () => {
  dns.behave('*', silence);
  onTestFinished(() => dns.behave('*', undefined));
  const { stop, result } = startLocalDms(['check', '--observe', '-'], environment(), Readable.from([SEEN]));
  stop();
  const stderr = 'dms: Stopped by a signal: nothing was compared.\n';
  expect(await result).toMatchObject({ code: 130, stdout: '', stderr });
});
