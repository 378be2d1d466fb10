import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { recordSamples } from '../../src/importers/samples.js';
import { createRecorder } from '../../src/recorder/recorder.js';
import { runDms, startLocalDms } from '../journeys/dms-command.js';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { NOW, observation } from '../support/observations.js';
import { startTestService, type TestService } from '../support/service.js';

let database: TestDatabase;
let service: TestService;

beforeAll(async () => {
  database = await openTestDatabase();
  service = await startTestService({ database, anonymousScopes: new Set(['search:read']) });
  await recordSamples(createRecorder(database.pool), NOW);
});
afterAll(async () => {
  await service.stop();
  await database.close();
});

/** The result of a command that succeeds. */
async function said(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runDms(args, database.environment);
  expect([code, stderr]).toEqual([0, '']);
  return stdout;
}

async function rest(path: string): Promise<string> {
  return (await fetch(`${service.url}/api/v1${path}`)).text();
}

const record = (...parts: Parameters<typeof observation>) =>
  createRecorder(database.pool).record([observation(...parts)]);

describe('dms show', () => {
  test('shows each record and header value, when it was there, and between which observations it went', async () => {
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

  test('shows a header that was gone and came back as one value that was there twice', async () => {
    expect(await said('show', 'example.com')).toMatch(
      /^HTTP x-powered-by\n {2}PHP\/8\.1\.2 +█{3}░{4}·{5}█░{6} {2}2023-01-10 - 2023-11-15 \(2 times\)$/m,
    );
  });

  test('shows what is present as seen up to when it was last seen, and says when that was', async () => {
    const domain = 'stale.example';
    const headers = { server: 'nginx' };
    await record({ domain, at: 0, records: ['192.0.2.1', '192.0.2.2'], headers });
    await record({ domain, at: 864_000, headers });
    const shown = await said('show', domain);
    expect(shown).toMatch(/^ {2}192\.0\.2\.1 +█░+ {2}since (\S+), last seen \1$/m);
    expect(shown).toMatch(/^ {2}nginx +█+ {2}since \S+$/m);
    expect(await said('show', domain, '--at', 'now')).toMatch(
      /^ {2}192\.0\.2\.2 +█░+ {2}since (\S+), last seen \1$/m,
    );
  });

  test('draws as there what was seen in the last column, though the domain was observed later still', async () => {
    const domain = 'hourly.example';
    for (const at of [0, 864_000]) {
      await record({ domain, at, records: ['192.0.2.1'] });
      await record({ domain, at: at + 3_600, headers: { server: 'nginx' } });
    }
    expect(await said('show', domain)).toMatch(/^ {2}192\.0\.2\.1 +█+ {2}since \S+$/m);
  });

  test('with --json is the body of Get domain, and of Domain diff', async () => {
    const at = '2023-06-01T00:00:00Z';
    expect(await said('show', 'Example.COM.', '--json')).toBe(`${await rest('/domain/example.com')}\n`);
    expect(await said('show', 'example.com', '--at', at, '--json')).toBe(
      `${await rest(`/domain/example.com?at=${at}`)}\n`,
    );
    expect(await said('show', 'example.com', '--json', '--diff', '2023-02-01T00:00:00Z', at)).toBe(
      `${await rest(`/domain/example.com/diff?from=2023-02-01T00:00:00Z&to=${at}`)}\n`,
    );
  });

  test('--at shows what was there at that time, and nothing else', async () => {
    const lines = (await said('show', 'example.com', '--at', '2023-06-01T00:00:00Z')).trimEnd().split('\n');
    const present = JSON.parse(await rest('/domain/example.com?at=2023-06-01T00:00:00Z'));
    const isPresent = ({ removed }: { removed: string | null }) => removed === null;
    expect(lines.slice(0, 2)).toEqual([
      'example.com at 2023-06-01T00:00:00Z',
      'first observed 2023-01-10T08:00:00Z',
    ]);
    const values = lines.filter((line) => / since \d{4}-\d\d-\d\d$/.test(line));
    // A header that is gone at that time is in REST's answer.
    expect(values).toHaveLength(present.dnsRecords.filter(isPresent).length + present.httpHeaders.length - 1);
    const groups = lines.slice(3).filter((line) => /^\S/.test(line));
    expect(groups).toEqual([...new Set(groups)]);
    expect(lines[lines.indexOf('A') + 1]).toMatch(/^ {2}198\.51\.100\.23 +·+█+░* {2}since 2023-/);
    expect(lines[lines.indexOf('HTTP server') + 1]).toMatch(/^ {2}nginx\/1\.24\.0 +·+█+░* {2}since 2023-/);
  });

  test('--diff shows what is new, gone and changed', async () => {
    const text = await said('show', 'example.com', '--diff', '2023-02-01T00:00:00Z', '2023-06-01T00:00:00Z');
    for (const line of [
      '- A      192.0.2.7',
      '+ A      198.51.100.23',
      '~ server: nginx/1.24.0 (was: nginx/1.22.1)',
      '- x-powered-by: PHP/8.1.2',
    ]) {
      expect(text.split('\n')).toContain(line);
    }
    const same = await said('show', 'example.com', '--diff', '2024-01-01T00:00:00Z', '2024-02-01T00:00:00Z');
    expect(same).toMatch(/\nNothing is different\.\n$/);
  });

  test('--types and --headers narrow a difference and the changes, also their JSON, to these records and headers', async () => {
    const times = ['2023-02-01T00:00:00Z', '2023-06-01T00:00:00Z'] as const;
    const narrowed = ['--types', 'A,AAAA', '--headers', 'server'];
    const difference = await said('show', 'example.com', '--diff', ...times, ...narrowed);
    const subjects = difference
      .trimEnd()
      .split('\n')
      .slice(1)
      .map((line) => line.slice(2, 8).trim());
    expect([...new Set(subjects)]).toEqual(['A', 'AAAA', 'server']);
    expect(await said('show', 'example.com', '--json', '--diff', ...times, ...narrowed)).toBe(
      `${await rest(`/domain/example.com/diff?from=${times[0]}&to=${times[1]}&types=A&types=AAAA&headers=server`)}\n`,
    );
    const { changes } = JSON.parse(await rest('/domain/example.com/changes?types=A&headers=server'));
    const lines = (
      await said('show', 'example.com', '--changes', '--all', '--types', 'A', '--headers', 'server')
    )
      .trimEnd()
      .split('\n');
    expect([lines.length, changes.length > 0]).toEqual([changes.length, true]);
    const { code, stderr } = await runDms(['show', 'example.com', '--types', 'A'], database.environment);
    expect([code, stderr]).toEqual([
      2,
      'dms: --types and --headers select what --diff or --changes shows: write one of these, too.\n',
    ]);
  });

  test('--changes shows the notable ones, and says where there is none', async () => {
    const { changes } = JSON.parse(
      await rest('/domain/example.com/changes?order=NEWEST_FIRST&first=500&notable=true'),
    );
    const objects = (await said('show', 'example.com', '--changes', '--json')).trimEnd().split('\n');
    expect(objects.map((line) => JSON.parse(line))).toEqual(changes);
    const none = await runDms(['show', 'example.com', '--changes', '--types', 'DS'], database.environment);
    expect([none.code, none.stdout]).toEqual([
      0,
      'No such change is notable: --all shows the routine ones, too.\n',
    ]);
    const alone = await runDms(['show', 'example.com', '--all'], database.environment);
    expect([alone.code, alone.stderr]).toEqual([2, 'dms: --all is about --changes: write that, too.\n']);
  });

  test('--changes --all shows all changes, the newest first, with --json those of REST', async () => {
    const { changes } = JSON.parse(await rest('/domain/example.com/changes?order=NEWEST_FIRST&first=500'));
    const lines = (await said('show', 'example.com', '--changes', '--all')).trimEnd().split('\n');
    expect(lines).toHaveLength(changes.length);
    expect(lines.slice(0, 2)).toEqual([
      '2023-11-15T22:05:59Z  - x-powered-by: PHP/8.1.2 (last seen 2023-08-01T06:15:00Z)',
      '2023-11-15T22:05:59Z  - A      198.51.100.23 (last seen 2023-05-20T14:30:12Z)',
    ]);
    expect(lines).toContain(
      '2023-05-20T14:30:12Z  ~ server: nginx/1.24.0 (was: nginx/1.22.1) (the old value last seen 2023-03-02T08:00:00Z)',
    );
    const objects = (await said('show', 'example.com', '--changes', '--all', '--json')).trimEnd().split('\n');
    expect(objects.map((line) => JSON.parse(line))).toEqual(changes);
  });

  test('shows control characters of values as what they are, and colours only where they are wanted', async () => {
    await record({ domain: 'hostile.example', at: 1, headers: { server: 'a\u001b[2Jb\u202e' } });
    expect(await said('show', 'hostile.example')).toContain('  a\\u{1b}[2Jb\\u{202e}');
    expect(await said('show', 'hostile.example', '--changes')).not.toContain('\u001b');
    expect(await said('show', 'hostile.example', '--color', 'always')).toContain(
      '\u001b[1mhostile.example\u001b[22m',
    );
  });

  test('a date stands for its beginning, in UTC', async () => {
    for (const [date, time] of [
      [
        ['show', 'example.com', '--at', '2023-06-01'],
        ['show', 'example.com', '--at', '2023-06-01T00:00:00Z'],
      ],
      [
        ['show', 'example.com', '--diff', '2023-02-01', '2023-06-01'],
        ['show', 'example.com', '--diff', '2023-02-01T00:00:00Z', '2023-06-01T00:00:00Z'],
      ],
      [
        ['search', '--match', 'example.com', '--created-to', '2023-06-01'],
        ['search', '--match', 'example.com', '--created-to', '2023-06-01T00:00:00Z'],
      ],
      [
        ['export', 'example.com', '--at', '2023-06-01'],
        ['export', 'example.com', '--at', '2023-06-01T00:00:00Z'],
      ],
    ] as const) {
      const [ofDate, ofTime] = [await said(...date), await said(...time)];
      expect([ofDate, ofTime.length > 0]).toEqual([ofTime, true]);
    }
  });

  test('a duration stands for so long before now', async () => {
    const [ofDuration, ofTime] = [
      await said('show', 'example.com', '--at', '1h', '--json'),
      await said('show', 'example.com', '--at', new Date(Date.now() - 3_600_000).toISOString(), '--json'),
    ];
    expect([ofDuration, ofTime.length > 0]).toEqual([ofTime, true]);
    const { stdout, stderr } = await runDms(
      ['search', '--match', 'example.com', '--created-to', '520w'],
      database.environment,
    );
    expect([stdout, stderr]).toEqual(['', 'Nothing was found.\n']);
    expect(await said('search', '--match', 'example.com', '--created-from', '2600w')).toContain(
      'example.com',
    );
  });

  test.each([
    [
      ['nothing.example'],
      1,
      'No history is recorded for nothing.example. To observe it now: dms observe nothing.example\n',
    ],
    [
      ['example.com', '--at', 'noon'],
      2,
      `'noon' is invalid. "noon" is not a time: write it like 2024-03-01T10:`,
    ],
    [['example.com', '--at', '2023-13-01'], 2, '"2023-13-01" is not a date of the calendar'],
    [['example.com', '--diff', 'noon', '2023-01-01'], 2, 'dms: --diff: "noon" is not a time'],
    [
      ['example.com', '--diff', '2024-01-01', '2023-01-01'],
      2,
      'dms: from, 2024-01-01T00:00:00.000000Z, is later than to, 2023-01-01T00:00:00.000000Z',
    ],
    [['example.com', '--at', '2020-01-01T00:00:00Z'], 1, 'No history is recorded for example.com up to 2020'],
    [
      ['example.com', '--diff', '2023-01-01T00:00:00Z'],
      2,
      '--diff has two times: dms show example.com --diff FROM TO.',
    ],
    [
      ['example.com', '--changes', '--at', '2023-01-01T00:00:00Z'],
      2,
      'Write one of --at, --diff and --changes.',
    ],
    [['192.0.2.1'], 2, '"192.0.2.1" is not a domain name: it is an IP address.'],
  ])('%j ends with what to do instead', async (args, expected, reason) => {
    const { code, stdout, stderr } = await runDms(['show', ...args], database.environment);
    expect([code, stdout]).toEqual([expected, '']);
    expect(stderr).toContain(reason);
  });
});

describe('dms search', () => {
  test.each([
    [['--ip', '203.0.113.81'], '/search/dns-records?ip=203.0.113.81'],
    [['--network', '203.0.113.0/24', '--present'], '/search/dns-records?network=203.0.113.0/24&present=true'],
    [
      ['--target', '*.example.net', '--types', 'CNAME,MX', '--removed', '--at', '2024-01-01T00:00:00Z'],
      '/search/dns-records?target=*.example.net&types=CNAME&types=MX&present=false&at=2024-01-01T00:00:00Z',
    ],
    [
      ['--text', 'v=spf1', '--first-seen-from', '2023-02-01T00:00:00Z', '--seen-to', '2023-12-01T00:00:00Z'],
      '/search/dns-records?text=v%3Dspf1&firstSeenFrom=2023-02-01T00:00:00Z&seenTo=2023-12-01T00:00:00Z',
    ],
    [['--host', '_sip.*'], '/search/dns-records?host=_sip.*'],
    [['--header', 'Server=Caddy'], '/search/http-headers?name=server&value=Caddy'],
    [['--header', 'server', '--contains', 'nginx'], '/search/http-headers?name=server&contains=nginx'],
    [['--match', '*.example*'], '/search/domains?match=*.example*'],
    [
      ['--registrable-domain', 'example.org', '--created-to', '2024-01-01T00:00:00Z'],
      '/search/domains?registrableDomain=example.org&createdTo=2024-01-01T00:00:00Z',
    ],
  ])('%j finds what REST finds, with --json an object a line', async (args, path) => {
    const { matches } = JSON.parse(await rest(path));
    expect(matches).not.toEqual([]);
    const lines = (await said('search', ...args, '--json')).trimEnd().split('\n');
    expect(lines.filter((line) => line !== '').map((line) => JSON.parse(line))).toEqual(matches);
    const [headings, ...table] = (await said('search', ...args)).trimEnd().split('\n');
    expect(headings).toMatch(/^domain /);
    expect(table.filter((line) => line !== '')).toHaveLength(matches.length);
    for (const [at, { domain }] of matches.entries()) expect(table[at]).toMatch(new RegExp(`^${domain} `));
  });

  test('shows a record with its owner name, its data, and when it was there', async () => {
    expect((await said('search', '--target', 'sip.example.net')).replace(/ +/g, ' ')).toBe(
      'domain owner type data seen\nexample.net _sip._tcp.example.net SRV 10 60 5060 sip.example.net since 2023-02-01T00:00:00Z (last seen 2023-02-01T00:00:00Z)\n',
    );
  });

  test.each([
    ['203.0.113.81', '/search/dns-records?ip=203.0.113.81'],
    ['203.0.113.0/24', '/search/dns-records?network=203.0.113.0/24'],
    ['server: nginx', '/search/http-headers?name=server&contains=nginx'],
    ['*.example*', '/search/domains?match=*.example*'],
  ])('takes the word %j for what the page takes it for', async (word, path) => {
    const { matches } = JSON.parse(await rest(path));
    const lines = (await said('search', ...word.split(' '), '--json')).trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toEqual(matches);
  });

  test('a word that may mean several things finds each below its title, those that the options select', async () => {
    expect(await said('search', 'sip.example.net')).toMatch(
      /^Whose records name the host sip\.example\.net\ndomain .*\nexample\.net /m,
    );
    expect(await said('search', 'sip.example.net', '--types', 'SRV')).not.toMatch(/^Domains/m);
    expect((await said('search', 'example.net')).split('\n')[0]).toBe('Domains');
  });

  test('a short word is the name of a domain', async () => {
    await record({ domain: 'de', at: 1, records: ['198.18.0.2'] });
    expect(await said('search', 'de')).toMatch(
      /^domain {2}first observed +last observed +last change\nde {6}(2024-\S+Z *){3}$/m,
    );
    const { code, stderr } = await runDms(['search', 'zz'], database.environment);
    expect([code, stderr]).toEqual([0, 'Nothing was found.\n']);
  });

  test('says when what is present was last seen, and of what is gone that it went after that', async () => {
    await record({ domain: 'seen.example', at: 1, records: ['198.18.0.4', '198.18.0.5'] });
    await record({ domain: 'seen.example', at: 2, records: ['198.18.0.4', '198.18.0.5'] });
    await record({ domain: 'seen.example', at: 4, records: ['198.18.0.4'], headers: { server: 'seen' } });
    await record({ domain: 'seen.example', at: 5, headers: { server: 'seen' } });
    const times = async (...args: string[]) => {
      const [, ...lines] = (await said('search', ...args)).trimEnd().split('\n');
      return lines.map((line) => line.replaceAll('2024-01-01T00:00:0', '').replace(/.* {2}/, ''));
    };
    expect(await times('--network', '198.18.0.4/31')).toEqual([
      'since 1Z (last seen 4Z)',
      '1Z - 4Z (last seen 2Z)',
    ]);
    expect(await times('--header', 'server=seen')).toEqual(['since 4Z (last seen 5Z)']);
  });

  test("finds the records of a wildcard by its owner name in a master file's form, and those of no other name", async () => {
    const records = ['*.wild.example', 'a.wild.example'].map((host) => ({
      ...{ host, class: 'IN', type: 'A', ip: '198.18.0.3' },
    }));
    await record({ domain: 'wild.example', at: 1, records });
    for (const host of ['\\*.wild.example', '\\042.Wild.example.']) {
      const found = (await said('search', '--host', host, '--json')).trimEnd().split('\n');
      expect(found.map((line) => JSON.parse(line).data.host)).toEqual(['*.wild.example']);
    }
  });

  test('shows all matches, or as many as --limit says', async () => {
    const observed = Array.from({ length: 1_100 }, (_, at) =>
      observation({ domain: `many${at}.example`, at: 1, records: ['198.18.0.1'] }),
    );
    await createRecorder(database.pool).record(observed);
    const count = async (...args: string[]) =>
      (await said('search', '--ip', '198.18.0.1', ...args)).trimEnd().split('\n').length - 1;
    expect(await count()).toBe(1_100);
    expect(await count('--limit', '3')).toBe(3);
    expect(await count('--limit', '501')).toBe(501);
  });

  test.each([
    [[], 'Write what to search: '],
    [['--ip', '192.0.2.1', '--match', 'a.example'], 'one kind at a time.'],
    [['--first-seen-from', '30d'], 'Domains with something new: --changed-from 30d.'],
    [['--ip', 'nonsense'], 'nonsense'],
    [['192.0.2.1', '--ip', '192.0.2.1'], 'Write a word or --ip, not both.'],
    [['*a*'], 'Write at least three characters'],
    [['exam*', '--types', 'A'], '--types is not for a search of domains.'],
    [['--ip', '192.0.2.1', '--present', '--removed'], 'cannot be used with'],
    [['--header', 'server'], 'contains'],
    [['--ip', '192.0.2.1', '--types', ','], 'Write one or more, separated by commas.'],
    [['--ip', '192.0.2.1', '--limit', '0'], 'Write a whole number from 1 to'],
    [['--ip', '192.0.2.1', '--seen-from', 'noon'], 'dms: --seen-from: "noon" is not a time: write it like '],
    [['--header', 'server', '--types', 'A'], '--types is not for a search of headers.'],
  ])('%j is a usage error', async (args, reason) => {
    const { code, stdout, stderr } = await runDms(['search', ...args], database.environment);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(reason);
    expect(stderr).toMatch(/^dms: .*\n/);
  });
});

describe('dms follow', () => {
  test('shows what is recorded from now on, and continues after its cursor without a loss', async () => {
    const domain = `followed${Date.now()}.example`;
    const recorded: string[] = [];
    const recordNext = async (value: string) => {
      recorded.push(value);
      await record({ domain, at: recorded.length, headers: { server: value } });
      await record({ domain: `other.${domain}`, at: recorded.length, headers: { server: `other ${value}` } });
    };
    const first = startLocalDms(['follow', domain, '--all'], database.environment);
    let text = '';
    first.stdout.on('data', (chunk) => {
      text += chunk;
    });
    while (text === '') {
      expect(recorded.length).toBeLessThan(200);
      await recordNext(`value${recorded.length}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    first.stop();
    const stopped = await first.result;
    expect(stopped.code).toBe(130);
    expect(stopped.stdout).toMatch(new RegExp(`^\\S+Z {2}${domain} {2}[+~] server: value\\d+`));
    const cursor = /^To continue: --after (\S+)\n$/.exec(stopped.stderr)?.[1] ?? '';

    await recordNext('meanwhile');
    const second = startLocalDms(
      ['follow', domain, '--all', '--json', '--after', cursor],
      database.environment,
    );
    let lines = '';
    second.stdout.on('data', (chunk) => {
      lines += chunk;
    });
    await expect.poll(() => lines, { timeout: 20_000 }).toContain('meanwhile');
    second.stop();
    expect(await second.result).toMatchObject({ code: 130 });
    const before = [...stopped.stdout.matchAll(/server: (value\d+)/g)].map(([, value]) => value);
    const after = lines
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(after.map((change) => change.domain)).toEqual(after.map(() => domain));
    const seen = [...before, ...after.map((change) => change.new)];
    expect(seen).toEqual(recorded.slice(-seen.length));
  });

  test('a cursor that is none is a usage error', async () => {
    const { code, stdout, stderr } = await runDms(['follow', '--after', 'nonsense'], database.environment);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^dms: .*cursor.*\n$/i);
  });
});
