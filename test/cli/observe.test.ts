import { existsSync } from 'node:fs';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { createRecorder } from '../../src/recorder/recorder.js';
import { startDms } from '../journeys/dms-command.js';
import { prepareCommands } from '../support/commands.js';
import { rcode, silence } from '../support/dns-behaviours.js';
import { startDnsServer } from '../support/dns-server.js';
import { observation } from '../support/observations.js';
import { settingsToObserve, startHttpServer, startHttpsServer } from '../support/web-server.js';

const SERVFAIL = 2;

const ZONE = String.raw`
$ORIGIN example.test.
@ SOA ns hostmaster 1 7200 900 1209600 300
@ A 127.0.0.1
@ TXT "a \"b\"" "c"
www CNAME @
logged A 127.0.0.1
ahead A 127.0.0.1
secure A 127.0.0.1
`;

const dns = await startDnsServer({ zone: ZONE });
const site = await startHttpServer();
site.serve({
  fields: [
    ['Server', 'one'],
    ['X-Odd', 'a\u00e2\u0080\u00aeb'],
  ],
});
afterAll(() => Promise.all([dns.close(), site.close()]));

const observing = { ...settingsToObserve(dns.port, site.port), OBSERVE_DNS_TRIES: '1' };
const commands = prepareCommands({ settings: () => observing });
const { said, pathOf } = commands;
const dms = (...args: string[]) => commands.dms(args);
const dmsWith = (settings: Readonly<Record<string, string>>, ...args: string[]) =>
  commands.dms(args, '', settings);

/** What is written, without the time in the first line. */
function linesOf(text: string): string[] {
  return text
    .replace(/ at \d{4}-.*Z$/m, '')
    .trimEnd()
    .split('\n');
}

const FIRST = [
  '+ A       127.0.0.1',
  '  AAAA    none',
  '  NS      none',
  '+ SOA     ns.example.test hostmaster.example.test 1 7200 900 1209600 300',
  '+ TXT     "a \\"b\\"" "c"',
  '  CNAME   none',
  '  MX      none',
  '  CAA     none',
  '  HTTP 200 from 127.0.0.1',
  '+   server: one',
  '+   x-odd: a\\u{202e}b',
];

test('a dry run shows what is seen as new, and records nothing', async () => {
  expect(linesOf(await said(['observe', '--dry-run', 'Example.TEST']))).toEqual([
    'example.test',
    ...FIRST,
    '3 records added, 0 records removed, 2 headers changed; nothing is recorded (--dry-run).',
  ]);
  expect(await said(['export'])).toBe('');
});

test('a dry run without a database shows everything as new, and makes none', async () => {
  const nowhere = { DATABASE_URL: '', DATA_DIR: pathOf('none') };
  const { code, stdout } = await dmsWith(nowhere, 'observe', '--dry-run', 'example.test');
  expect([code, linesOf(stdout).slice(1, -1)]).toEqual([0, FIRST]);
  expect(existsSync(pathOf('none'))).toBe(false);
});

test('what is observed of a watched domain otherwise counts for its list, as what a worker observes', async () => {
  await dms('watch', 'add', 'logged.example.test');
  const watched = async () => JSON.parse((await dms('watch', 'list', '--json')).stdout);
  dns.behave('logged.example.test', rcode(SERVFAIL));
  expect((await dms('observe', 'logged.example.test')).code).toBe(1);
  const failed = await watched();
  expect(failed).toMatchObject({ failures: 1, outcome: { dns: { answered: [] } } });
  dns.behave('logged.example.test', undefined);
  expect((await dms('observe', '--dry-run', 'logged.example.test')).code).toBe(0);
  expect(await watched()).toEqual(failed);
  expect((await dms('observe', 'logged.example.test')).code).toBe(0);
  expect(await watched()).toMatchObject({
    failures: 0,
    outcome: { dns: { failures: {} }, http: { status: 200 } },
  });
  expect((await watched()).observedAt > failed.observedAt).toBe(true);
});

test('a name that does not exist is called so', async () => {
  const shown = await said(['observe', '--dry-run', 'exmple.example.test']);
  expect(linesOf(shown)[1]).toBe('  There is no such name (NXDOMAIN).');
});

test('what is new, gone and different is marked, and what was not observed has its reason', async () => {
  const observe = async () => linesOf(await said(['observe', 'example.test'])).slice(1);
  expect(await observe()).toEqual([...FIRST, '3 records added, 0 records removed, 2 headers changed.']);
  expect(await observe()).toEqual([...FIRST.map((line) => line.replace('+', ' ')), 'No change.']);
  dns.setZone(ZONE.replace('@ TXT', '@ MX 10 mail\n@ AAAA ::1\n; @ TXT'));
  dns.behave('example.test', rcode(SERVFAIL), 'SOA');
  site.serve({ status: 404, fields: [['Server', 'two']] });
  expect(await observe()).toEqual([
    '  A       127.0.0.1',
    '+ AAAA    ::1',
    '  NS      none',
    expect.stringMatching(/^ {2}SOA {5}not observed: .*SERVFAIL/),
    '- TXT     "a \\"b\\"" "c"',
    '  CNAME   none',
    '+ MX      10 mail.example.test',
    '  CAA     none',
    '  HTTP 404 from 127.0.0.1',
    '~   server: two (was: one)',
    '-   x-odd: a\\u{202e}b',
    '2 records added, 1 record removed, 2 headers changed.',
  ]);
});

test('a response over HTTP that is not recorded, since HTTPS answered before, is shown with the reason', async () => {
  const https = await startHttpsServer();
  const observe = async (options: string[] = [], settings = {}) => {
    const environment = { OBSERVE_HTTPS_PORT: String(https.port), ...settings };
    return (await dmsWith(environment, 'observe', 'secure.example.test', ...options)).stdout;
  };
  https.serve({ fields: [['Strict-Transport-Security', 'max-age=1']] });
  expect(await observe()).toContain('HTTPS 200 from 127.0.0.1\n+   strict-transport-security: max-age=1');
  await https.close();
  const reason =
    /^ {2}HTTP \d+ from 127\.0\.0\.1, not recorded: HTTPS answered before, and has been declined since \S+Z \((\d) checks?\); HTTP counts after 3 checks, from \S+Z\nNo change/m;
  expect(reason.exec(await observe(['--dry-run']))?.[1]).toBe('1');
  expect(reason.exec(await observe())?.[1]).toBe('1');
  const { http, changes, observedAt } = JSON.parse(await observe(['--json']));
  expect(http).toMatchObject({ scheme: 'http', address: '127.0.0.1', heldBack: { checks: 2 } });
  expect(Date.parse(http.heldBack.until) - Date.parse(http.heldBack.since)).toBe(86_400_000);
  expect(Date.parse(observedAt)).toBeGreaterThan(Date.parse(http.heldBack.since));
  expect(changes.headers).toEqual([]);
  const off = await observe([], { OBSERVE_HTTPS_GRACE: 'off' });
  expect(off).toContain('-   strict-transport-security: max-age=1');
});

test('as JSON each domain is one line, with the failures and the changes', async () => {
  const { code, stdout, stderr } = await dms('observe', '--json', 'www.example.test', 'nowhere.invalid');
  expect([code, stderr]).toEqual([1, 'dms: Nothing could be observed of nowhere.invalid.\n']);
  const lines = stdout.trim().split('\n');
  const [nowhere, www] = lines.sort().map((line) => JSON.parse(line));
  const address = { host: 'example.test', class: 'IN', type: 'A', ip: '127.0.0.1' };
  expect(www).toMatchObject({
    domain: 'www.example.test',
    recorded: true,
    dns: {
      A: { nameExists: true, records: [address] },
      CNAME: { records: [{ host: 'www.example.test', class: 'IN', type: 'CNAME', target: 'example.test' }] },
    },
    http: { scheme: 'http', address: '127.0.0.1', status: 404, headers: { server: 'two' } },
    changes: { recordsRemoved: [], headers: [{ name: 'server', event: 'created', new: 'two', old: null }] },
  });
  expect(www.changes.recordsAdded).toContainEqual(address);
  expect(nowhere).toMatchObject({
    recorded: false,
    dns: { A: { failure: { code: 'refused', message: expect.stringContaining('REFUSED') } } },
    http: { failure: { code: 'no-address' } },
  });
});

test('a silent domain holds up no other, and Ctrl-C ends it with the others recorded and shown', async () => {
  const names = Array.from({ length: 50 }, (_, number) => `d${number}.many.test`);
  const [silent, ...others] = names;
  dns.generate((name, type) =>
    name.endsWith('.many.test') ? (type === 'A' ? ['127.0.0.1'] : []) : undefined,
  );
  dns.behave(silent ?? '', silence);
  const environment = { ...commands.database.environment, ...observing, OBSERVE_DNS_TIMEOUT: '60s' };
  const { child, result } = startDms(['observe', '--json', ...names], environment);
  const recorded = `SELECT name FROM domain WHERE name LIKE '%.many.test'`;
  await expect.poll(async () => (await commands.database.pool.query(recorded)).rowCount).toBe(others.length);
  child.kill('SIGINT');
  const { code, stdout, stderr } = await result;
  expect([code, stderr]).toEqual([
    130,
    'dms: Stopped by a signal: 49 of 50 domains were checked; what was seen of them is recorded.\n',
  ]);
  const shown = stdout.trimEnd().split('\n');
  expect(shown.map((line) => JSON.parse(line).domain).toSorted()).toEqual(others.toSorted());
});

test('addresses that the resolver gives for names that do not exist are not recorded, and it is told', async () => {
  const other = await startDnsServer();
  onTestFinished(() => other.close());
  const anything = (_name: string, type: string) => (type === 'A' ? ['0.0.0.0'] : []);
  other.generate(anything);
  other.invent(anything);
  const server = `127.0.0.1:${other.port}`;
  const run = await dmsWith({ DNS_SERVERS: server }, 'observe', 'gone.example.test');
  const gives = `${server} gives 0.0.0.0 for names that do not exist`;
  expect(run.stdout).toContain(`A       not observed: ${gives}, too`);
  expect(run.stderr).toContain(`dms: The resolver ${gives}. Such answers are not recorded: name another `);
  expect(run.stderr).toMatch(/^dms: Nothing could be observed of gone\.example\.test\.$/m);
  expect((await dms('export', 'gone.example.test')).stdout).toBe('');
});

test.each<readonly [string, ...string[]]>([['observe'], ['observe', '--dry-run']])(
  'a clock that begins at 1970 is told on standard error, and nothing is observed: %s %s',
  async (...command) => {
    vi.useFakeTimers({ toFake: ['Date'], now: 10_000 });
    onTestFinished(() => void vi.useRealTimers());
    dns.forgetQuestions();
    expect(await dms(...command, 'early.example.test', 'ahead.example.test')).toMatchObject({
      ...{ code: 1, stdout: '' },
      stderr: 'dms: The clock says 1970-01-01T00:00:10.000000Z. Nothing is observed: set it, by NTP say.\n',
    });
    expect(dns.questions).toBe(0);
  },
);

test('what is older than all that is recorded of a domain is not told as if nothing had changed', async () => {
  const parts = { domain: 'ahead.example.test', at: 1, records: ['127.0.0.1'], headers: { server: 'one' } };
  const observedAt = BigInt(Date.now() + 3_600_000) * 1_000n;
  await createRecorder(commands.database.pool).record([{ ...observation(parts), observedAt }]);
  const { code, stdout, stderr } = await dms('observe', 'ahead.example.test');
  expect([code, stderr]).toEqual([
    1,
    'dms: Later observations are recorded of ahead.example.test. ' +
      'If there should be none, the clock is or was wrong: set it, by NTP say.\n',
  ]);
  expect(stdout).toContain('Nothing is recorded: later observations of all of it are.');
  expect(stdout).not.toContain('No change');
  const [line] = (await dms('observe', '--json', 'ahead.example.test')).stdout.split('\n');
  expect(JSON.parse(line ?? '')).toMatchObject({ recorded: false });
});
