import { beforeAll, expect, test } from 'vitest';
import { changeText, painter } from '../../src/cli/history-text.js';
import { createRecorder } from '../../src/recorder/recorder.js';
import { startLocalDms } from '../journeys/dms-command.js';
import { prepareCommands } from '../support/commands.js';
import { addressRecord, observation } from '../support/observations.js';
import { withSamples } from '../support/service.js';

const commands = prepareCommands({ served: { anonymousScopes: new Set(['search:read']) } });
const { dms, rest } = commands;

beforeAll(() => withSamples(commands));

const said = (...args: readonly string[]) => commands.said(args);
const linesOf = async (...args: readonly string[]) => (await said(...args)).trimEnd().split('\n');
const objects = (...args: readonly string[]) => commands.objects(args);

const record = (...parts: Parameters<typeof observation>) =>
  createRecorder(commands.database.pool).record([observation(...parts)]);

const EXAMPLE = '/domain/example.com';
const [FEBRUARY, JUNE] = ['2023-02-01T00:00:00Z', '2023-06-01T00:00:00Z'];
const DIFF = ['--diff', FEBRUARY, JUNE];

test('dms show has each record and header value, when it was there, and between which observations it went', async () => {
  expect(await said('show', 'www.example.org')).toBe(`www.example.org
observed 2023-04-01T12:00:00Z to 2023-09-09T09:09:09Z, last changed 2023-09-09T09:09:09Z
4 DNS records, 2 HTTP headers

A
  203.0.113.81             ·························█  since 2023-09-09

CNAME
  cdn.example.net          █░░░░░░░░░░░░░░░░░░░░░░░░░  2023-04-01 - 2023-09-09

TXT
  "moved \\"home\\" in 2023" " – no CDN"
                           ·························█  since 2023-09-09

A cdn.example.net
  203.0.113.80             █░░░░░░░░░░░░░░░░░░░░░░░░░  2023-04-01 - 2023-09-09

HTTP last-modified
  Fri, 08 Sep 2023 10:00:00 GMT
                           ·························█  since 2023-09-09

HTTP server
  Apache/2.4.57 (Debian)   ·························█  since 2023-09-09
`);
});

test('dms show has a header that was gone and came back as one value that was there twice', async () => {
  expect(await said('show', 'example.com')).toMatch(
    /^HTTP x-powered-by\n {2}PHP\/8\.1\.2 +█{3}░{4}·{5}█░{6} {2}2023-01-10 - 2023-11-15 \(2 times\)$/m,
  );
});

test('dms show draws what is present up to when it was last seen, and says when that was', async () => {
  const domain = 'stale.example';
  const headers = { server: 'nginx' };
  await record({ domain, at: 0, records: ['192.0.2.1', '192.0.2.2'], headers });
  await record({ domain, at: 864_000, headers });
  for (const at of [[], ['--at', 'now']]) {
    const shown = await said('show', domain, ...at);
    expect(shown).toMatch(/^ {2}192\.0\.2\.2 +█░+ {2}since (\S+), last seen \1$/m);
    expect(shown).toMatch(/^ {2}nginx +█+ {2}since \S+$/m);
  }
});

test('dms show draws as there what was seen in the last column, though the domain was observed later still', async () => {
  const domain = 'hourly.example';
  for (const at of [0, 864_000]) {
    await record({ domain, at, records: ['192.0.2.1'] });
    await record({ domain, at: at + 3_600, headers: { server: 'nginx' } });
  }
  expect(await said('show', domain)).toMatch(/^ {2}192\.0\.2\.1 +█+ {2}since \S+$/m);
});

test.each([
  [['Example.COM.'], EXAMPLE],
  [['example.com', '--at', JUNE], `${EXAMPLE}?at=${JUNE}`],
  [['example.com', ...DIFF], `${EXAMPLE}/diff?from=${FEBRUARY}&to=${JUNE}`],
  [
    ['example.com', ...DIFF, '--types', 'A,AAAA', '--headers', 'server'],
    `${EXAMPLE}/diff?from=${FEBRUARY}&to=${JUNE}&types=A&types=AAAA&headers=server`,
  ],
])('dms show %j with --json is the body of REST', async (args, path) => {
  expect(await said('show', ...args, '--json')).toBe(`${JSON.stringify(await rest(path))}\n`);
});

test.each([
  [['--changes'], '&notable=true'],
  [['--changes', '--all'], ''],
  [['--changes', '--all', '--types', 'A', '--headers', 'server'], '&types=A&headers=server'],
])('dms show %j has the changes that REST has, the newest first', async (options, selection) => {
  const { changes } = await rest(`${EXAMPLE}/changes?order=NEWEST_FIRST&first=500${selection}`);
  expect(changes).not.toEqual([]);
  expect(await objects('show', 'example.com', ...options)).toEqual(changes);
  expect(await linesOf('show', 'example.com', ...options)).toHaveLength(changes.length);
});

test('dms show --changes says what changed, when, and when it was last seen before, or that nothing notable did', async () => {
  const lines = await linesOf('show', 'example.com', '--changes', '--all');
  expect(lines.slice(0, 2)).toEqual([
    '2023-11-15T22:05:59Z  - x-powered-by: PHP/8.1.2 (last seen 2023-08-01T06:15:00Z)',
    '2023-11-15T22:05:59Z  - A      198.51.100.23 (last seen 2023-05-20T14:30:12Z)',
  ]);
  expect(lines).toContain(
    '2023-05-20T14:30:12Z  ~ server: nginx/1.24.0 (was: nginx/1.22.1) (the old value last seen 2023-03-02T08:00:00Z)',
  );
  expect(await said('show', 'example.com', '--changes', '--types', 'DS')).toBe(
    'No such change is notable: --all shows the routine ones, too.\n',
  );
});

test('dms show --at has what was there at that time, and nothing else', async () => {
  const lines = await linesOf('show', 'example.com', '--at', JUNE);
  const present = await rest(`${EXAMPLE}?at=${JUNE}`);
  const isPresent = ({ removed }: { removed: string | null }) => removed === null;
  expect(lines.slice(0, 2)).toEqual([`example.com at ${JUNE}`, 'first observed 2023-01-10T08:00:00Z']);
  // A header that is gone at that time is in REST's answer.
  expect(lines.filter((line) => / since \d{4}-\d\d-\d\d/.test(line))).toHaveLength(
    present.dnsRecords.filter(isPresent).length + present.httpHeaders.length - 1,
  );
  expect(lines[lines.indexOf('A') + 1]).toMatch(/^ {2}198\.51\.100\.23 +·+█+░* {2}since 2023-/);
  expect(lines[lines.indexOf('HTTP server') + 1]).toMatch(/^ {2}nginx\/1\.24\.0 +·+█+░* {2}since 2023-/);
});

test('dms show --diff has what is new, gone and changed, of the types and headers that are wanted', async () => {
  expect(await linesOf('show', 'example.com', ...DIFF, '--types', 'A', '--headers', 'server')).toEqual([
    `example.com from ${FEBRUARY} to ${JUNE}`,
    '- A      192.0.2.7',
    '+ A      198.51.100.23',
    '+ A      198.51.100.24',
    '~ server: nginx/1.24.0 (was: nginx/1.22.1)',
  ]);
  expect(await said('show', 'example.com', ...DIFF)).toMatch(/^- x-powered-by: PHP\/8\.1\.2$/m);
  expect(await said('show', ...DIFF, 'example.com')).toBe(await said('show', 'example.com', ...DIFF));
  const same = await said('show', 'example.com', '--diff', '2024-01-01', '2024-02-01');
  expect(same).toMatch(/\nNothing is different\.\n$/);
});

test('dms show writes control characters as what they are, and colours only where they are wanted', async () => {
  await record({ domain: 'hostile.example', at: 1, headers: { server: 'a\u001b[2Jb\u202e' } });
  expect(await said('show', 'hostile.example')).toContain('  a\\u{1b}[2Jb\\u{202e}');
  expect(await said('show', 'hostile.example', '--changes')).not.toContain('\u001b');
  const coloured = await said('show', 'hostile.example', '--color', 'always');
  expect(coloured).toContain('\u001b[1mhostile.example\u001b[22m');
});

test.each([
  ['nothing.example', 1, 'recorded for nothing.example. To observe it now: dms observe nothing.example\n'],
  ['--json -- -blah.example.com', 1, 'dms: '],
  ['example.com --at noon', 2, `'noon' is invalid. "noon" is not a time: write it like 2024-03-01T10:`],
  ['example.com --at 2023-13-01', 2, '"2023-13-01" is not a date of the calendar'],
  ['example.com --at 2020-01-01', 1, 'No history is recorded for example.com up to 2020'],
  ['example.com --diff noon 2023-01-01', 2, 'dms: --diff: "noon" is not a time'],
  ['example.com --diff 2024-01-01 2023-01-01', 2, '--diff: the first time is later than the second: '],
  [`example.com --diff ${FEBRUARY}`, 2, '--diff has two times: dms show example.com --diff FROM TO.'],
  ['example.com --at 1d --diff 2d 1d', 2, "'--diff <times...>' cannot be used with option '--at <time>'"],
  [`example.com --changes --at ${FEBRUARY}`, 2, `'--changes' cannot be used with option '--at <time>'`],
  ['example.com --types A', 2, 'dms: --types and --headers select what --diff or --changes shows: '],
  ['example.com --all', 2, 'dms: --all is about --changes: write that, too.\n'],
])('dms show %s ends with what to do instead', async (args, expected, reason) => {
  const { code, stdout, stderr } = await dms(['show', ...args.split(' ')]);
  expect([code, stdout, stderr]).toEqual([expected, '', expect.stringContaining(reason)]);
});

test.each([
  [['--ip', '203.0.113.81'], 'dns-records?ip=203.0.113.81'],
  [['--network', '203.0.113.0/24', '--present'], 'dns-records?network=203.0.113.0/24&present=true'],
  [
    ['--target', '*.example.net', '--types', 'CNAME,MX', '--removed', '--at', '2024-01-01T00:00:00Z'],
    'dns-records?target=*.example.net&types=CNAME&types=MX&present=false&at=2024-01-01T00:00:00Z',
  ],
  [
    ['--text', 'v=spf1', '--first-seen-from', FEBRUARY, '--seen-to', '2023-12-01T00:00:00Z'],
    `dns-records?text=v%3Dspf1&firstSeenFrom=${FEBRUARY}&seenTo=2023-12-01T00:00:00Z`,
  ],
  [['--host', '_sip.*'], 'dns-records?host=_sip.*'],
  [['--header', 'Server=Caddy'], 'http-headers?name=server&value=Caddy'],
  [['--header', 'server', '--contains', 'nginx'], 'http-headers?name=server&contains=nginx'],
  [['--match', '*.example*'], 'domains?match=*.example*'],
  [
    ['--registrable-domain', 'example.org', '--created-to', '2024-01-01T00:00:00Z'],
    'domains?registrableDomain=example.org&createdTo=2024-01-01T00:00:00Z',
  ],
  [['203.0.113.81'], 'dns-records?ip=203.0.113.81'],
  [['203.0.113.0/24'], 'dns-records?network=203.0.113.0/24'],
  [['server:', 'nginx'], 'http-headers?name=server&contains=nginx'],
  [['*.example*'], 'domains?match=*.example*'],
])('dms search %j finds what REST finds, as a table and with --json an object a line', async (args, path) => {
  const { matches } = await rest(`/search/${path}`);
  expect(matches).not.toEqual([]);
  expect(await objects('search', ...args)).toEqual(matches);
  const [headings, ...table] = await linesOf('search', ...args);
  expect(headings).toMatch(/^domain /);
  const domains = table.map((line) => line.replace(/ .*/, ''));
  expect(domains).toEqual(matches.map(({ domain }: { domain: string }) => domain));
});

test('dms search shows a record with its owner name, its data, and when it was there', async () => {
  expect((await said('search', '--target', 'sip.example.net')).replace(/ +/g, ' ')).toBe(
    'domain owner type data seen\nexample.net _sip._tcp.example.net SRV 10 60 5060 sip.example.net since 2023-02-01T00:00:00Z (last seen 2023-02-01T00:00:00Z)\n',
  );
});

test('a word that may mean several things finds each below its title, those that the options select', async () => {
  expect(await said('search', 'sip.example.net')).toMatch(
    /^Whose records name the host sip\.example\.net\ndomain .*\nexample\.net /m,
  );
  expect(await said('search', 'sip.example.net', '--types', 'SRV')).not.toMatch(/^Domains/m);
  expect((await linesOf('search', 'example.net'))[0]).toBe('Domains');
});

test('a short word is the name of a domain', async () => {
  await record({ domain: 'de', at: 1, records: ['198.18.0.2'] });
  expect(await said('search', 'de')).toMatch(
    /^domain {2}first observed +last observed +last change\nde {6}(2024-\S+Z *){3}$/m,
  );
  expect(await dms(['search', 'zz'])).toMatchObject({ code: 0, stderr: 'Nothing was found.\n' });
});

test('dms search says when what is present was last seen, and of what is gone that it went after that', async () => {
  const domain = 'seen.example';
  await record({ domain, at: 1, records: ['198.18.0.4', '198.18.0.5'] });
  await record({ domain, at: 2, records: ['198.18.0.4', '198.18.0.5'] });
  await record({ domain, at: 4, records: ['198.18.0.4'], headers: { server: 'seen' } });
  await record({ domain, at: 5, headers: { server: 'seen' } });
  const times = async (...args: string[]) =>
    (await linesOf('search', ...args))
      .slice(1)
      .map((line) => line.replaceAll('2024-01-01T00:00:0', '').replace(/.* {2}/, ''));
  expect(await times('--network', '198.18.0.4/31')).toEqual([
    'since 1Z (last seen 4Z)',
    '1Z - 4Z (last seen 2Z)',
  ]);
  expect(await times('--header', 'server=seen')).toEqual(['since 4Z (last seen 5Z)']);
});

test("dms search finds the records of a wildcard by its owner name in a master file's form, and those of no other name", async () => {
  const records = ['*.wild.example', 'a.wild.example'].map((host) => addressRecord(host, '198.18.0.3'));
  await record({ domain: 'wild.example', at: 1, records });
  for (const host of ['\\*.wild.example', '\\042.Wild.example.']) {
    const found = await objects('search', '--host', host);
    expect(found.map(({ data }) => data.host)).toEqual(['*.wild.example']);
  }
});

test('dms search shows all matches, or as many as --limit says', async () => {
  const observed = Array.from({ length: 1_100 }, (_, at) =>
    observation({ domain: `many${at}.example`, at: 1, records: ['198.18.0.1'] }),
  );
  await createRecorder(commands.database.pool).record(observed);
  for (const [count, ...limit] of [[1_100], [3, '--limit', '3'], [501, '--limit', '501']] as const)
    expect(await objects('search', '--ip', '198.18.0.1', ...limit)).toHaveLength(count);
});

test.each([
  ['', 'Write what to search: '],
  ['--ip 192.0.2.1 --match a.example', 'one kind at a time.'],
  ['--first-seen-from 30d', 'Domains with something new: --changed-from 30d.'],
  ['--ip nonsense', 'nonsense'],
  ['192.0.2.1 --ip 192.0.2.1', 'Write a word or --ip, not both.'],
  ['*a*', 'Write at least three characters'],
  ['-- -x', '"-x" is not a domain name'],
  ['exam* --types A', '--types is not for a search of domains.'],
  ['--header server --types A', '--types is not for a search of headers.'],
  ['--header server', 'contains'],
  ['--ip 192.0.2.1 --present --removed', 'cannot be used with'],
  ['--ip 192.0.2.1 --types ,', 'Write one or more, separated by commas.'],
  ['--ip 192.0.2.1 --limit 0', 'Write a whole number from 1 to'],
  ['--ip 192.0.2.1 --seen-from noon', 'dms: --seen-from: "noon" is not a time: write it like '],
])('dms search %s is a usage error', async (args, reason) => {
  const { code, stdout, stderr } = await dms(['search', ...args.split(' ').filter(Boolean)]);
  expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(reason)]);
});

test('dms follow shows what is recorded from now on, and continues after its cursor without a loss', async () => {
  const domain = `followed${Date.now()}.example`;
  const recorded: string[] = [];
  const recordNext = async (value: string) => {
    recorded.push(value);
    await record({ domain, at: recorded.length, headers: { server: value } });
    await record({ domain: `other.${domain}`, at: recorded.length, headers: { server: `other ${value}` } });
  };
  const follow = (...options: readonly string[]) => {
    const args = ['follow', domain, '--all', ...options];
    const { stdout, result, stop } = startLocalDms(args, commands.database.environment);
    let text = '';
    stdout.on('data', (chunk) => {
      text += chunk;
    });
    const end = () => {
      stop();
      return result;
    };
    return { shown: () => text, end };
  };
  const first = follow();
  while (first.shown() === '') {
    expect(recorded.length).toBeLessThan(200);
    await recordNext(`value${recorded.length}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const stopped = await first.end();
  expect(stopped.code).toBe(130);
  expect(stopped.stdout).toMatch(new RegExp(`^\\S+Z {2}${domain} {2}[+~] server: value\\d+`));
  const cursor = /^To continue: --after (\S+)\n$/.exec(stopped.stderr)?.[1] ?? '';

  await recordNext('meanwhile');
  const second = follow('--json', '--after', cursor);
  await expect.poll(second.shown, { timeout: 20_000 }).toContain('meanwhile');
  expect(await second.end()).toMatchObject({ code: 130 });
  const before = [...stopped.stdout.matchAll(/server: (value\d+)/g)].map(([, value]) => value);
  const lines = second.shown().trimEnd().split('\n');
  const followed: { domain: string; new: string }[] = lines.map((line) => JSON.parse(line));
  expect(new Set(followed.map((change) => change.domain))).toEqual(new Set([domain]));
  const seen = [...before, ...followed.map((change) => change.new)];
  expect(seen).toEqual(recorded.slice(-seen.length));
});

test('dms follow says of a history that was extended from when on it is different', () => {
  const change = { kind: 'HISTORY_EXTENDED', date: '2024-01-01T00:00:00.000000Z' };
  const earliest = '2010-01-01T00:00:00.000000Z';
  expect(changeText({ ...change, earliest }, 'example.com', painter({ color: 'never' }, {}))).toBe(
    'history extended, different from 2010-01-01T00:00:00Z on',
  );
});

test('dms follow with a cursor that is none is a usage error', async () => {
  const stderr = expect.stringMatching(/^dms: .*cursor.*\n$/i);
  expect(await dms(['follow', '--after', 'nonsense'])).toMatchObject({ code: 2, stdout: '', stderr });
});
