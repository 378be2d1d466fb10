import { afterAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { readSettings } from '../../src/config/env.js';
import type { Changes } from '../../src/history/diff.js';
import type { DomainObserver } from '../../src/observer/observe-domain.js';
import { hasFailed, outcomeText } from '../../src/observer/outcome.js';
import { recordChecks } from '../../src/observer/record-checks.js';
import { createObserver } from '../../src/observing.js';
import { createRecorder } from '../../src/recorder/recorder.js';
import { emptyTestDatabase, openTestDatabase } from '../support/database.js';
import { rcode, silence } from '../support/dns-behaviours.js';
import { startDnsServer } from '../support/dns-server.js';
import { settingsToObserve, startHttpServer } from '../support/web-server.js';

const SERVFAIL = rcode(2);

const ZONE = `
$ORIGIN example.test.
@ SOA ns hostmaster 1 7200 900 1209600 300
@ A 127.0.0.1
@ MX 10 mail
mapped SOA ns hostmaster 1 7200 900 1209600 300
mapped AAAA ::ffff:10.0.0.1
`;

const database = await openTestDatabase();
const { record } = createRecorder(database.pool);
const dns = await startDnsServer();
const site = await startHttpServer();
const { signal } = new AbortController();
/** The wall clock of the tests: each check has a time of its own. */
let time = 1_700_000_000_000_000n;
const tick = () => {
  time += 1_000_000n;
  return time;
};

const observer = observerWith({});

beforeEach(async () => {
  await emptyTestDatabase(database);
  dns.setZone(ZONE);
  for (const type of ['*', 'A', 'MX']) dns.behave('example.test', undefined, type);
  dns.forgetQuestions();
  serve('Server: one');
});

afterAll(async () => {
  await Promise.all([dns.close(), site.close()]);
  await database.close();
});

function observerWith(environment: Readonly<Record<string, string>>): DomainObserver {
  const settings = readSettings({
    ...settingsToObserve(dns.port, site.port),
    OBSERVE_DNS_TIMEOUT: '300ms',
    OBSERVE_DNS_TRIES: '1',
    ...environment,
  });
  return createObserver(settings, tick);
}

/** @param lines such as `Server: one`. */
function serve(...lines: readonly string[]): void {
  site.serve({ fields: lines.map((line) => [line.split(': ')[0] ?? '', line.split(': ')[1] ?? '']) });
}

/** Checks a domain and records it. */
async function observe(how = observer) {
  const check = await how.check('example.test', tick(), signal);
  const [recorded = expect.fail('The check was not recorded.')] = await recordChecks(record, [check]);
  const { outcome, recording, changes } = recorded;
  const records = (stays: Changes['added']) =>
    stays.map(({ record: { type, rdata } }) => `${type} ${rdata}`).sort();
  const headers = changes.headers.map(({ name, kind }) => `${name} ${kind}`).sort();
  const short = { added: records(changes.added), removed: records(changes.removed), headers };
  return { check, outcome, recording, changes: short };
}

const A = 'A {"ip":"127.0.0.1"}';
const MX = 'MX {"pri":10,"target":"mail.example.test"}';
const SOA = expect.stringMatching(/^SOA /);
const NOTHING = { added: [], removed: [], headers: [] };
const UNRESOLVED = { failure: { code: 'no-address', message: 'its addresses could not be resolved' } };

describe('a domain that was observed', () => {
  beforeEach(async () => {
    const { recording, changes } = await observe();
    expect(recording).toBe('changed');
    expect(changes).toEqual({ added: [A, MX, SOA], removed: [], headers: ['server created'] });
  });

  test('and is as it was is unchanged, and shown in one line, with the address of its site', async () => {
    const { recording, changes, outcome } = await observe();
    expect([recording, changes]).toEqual(['unchanged', NOTHING]);
    expect(outcomeText(outcome)).toBe('DNS ok; HTTP 200 from 127.0.0.1');
  });

  test('and does not exist any more (NXDOMAIN) loses its records, and its headers keep their state', async () => {
    dns.setZone('test. SOA ns.test. hostmaster.test. 1 7200 900 1209600 300');
    const { outcome, changes } = await observe();
    expect(changes).toEqual({ ...NOTHING, removed: [A, MX, SOA] });
    expect(outcomeText(outcome)).toBe('no such name');
  });

  test.each([
    ['SERVFAIL', SERVFAIL, 'servfail'],
    ['REFUSED', rcode(5), 'refused'],
    ['NXDOMAIN without proof', rcode(3), 'lame'],
    ['silence', silence, 'timeout'],
  ])(
    'keeps the records of a type that is answered by %s, with the reason, and loses others',
    async (_what, behaviour, code) => {
      dns.setZone(ZONE.replace('@ A 127.0.0.1', '@ A 127.0.0.2'));
      dns.behave('example.test', behaviour, 'MX');
      const { outcome, changes } = await observe();
      expect(changes).toEqual({ added: ['A {"ip":"127.0.0.2"}'], removed: [A], headers: [] });
      expect(outcome.dns.failures).toEqual({ MX: { code, message: expect.any(String) } });
      expect(hasFailed(outcome)).toBe(false);
    },
  );

  test('and of which nothing can be observed is not recorded, and has the reasons', async () => {
    dns.behave('example.test', SERVFAIL);
    const { check, recording, changes, outcome } = await observe();
    expect([check.observation, recording, changes]).toEqual([null, 'nothing', NOTHING]);
    expect(hasFailed(outcome)).toBe(true);
    expect(outcome.http).toEqual(UNRESOLVED);
  });

  test('keeps its headers when its site does not respond', async () => {
    dns.setZone(ZONE.replace('@ A 127.0.0.1', '@ A 127.0.0.9'));
    const { outcome, changes } = await observe();
    expect(outcome.http).toMatchObject({ failure: { code: 'refused' } });
    expect(changes.headers).toEqual([]);
  });

  test('keeps its headers while its own addresses cannot be resolved: it is observed at no others', async () => {
    dns.setZone(ZONE.replace('@ MX 10 mail', '@ AAAA ::1'));
    dns.behave('example.test', SERVFAIL, 'A');
    const { outcome, changes } = await observe();
    expect(outcome.http).toEqual(UNRESOLVED);
    expect(changes.headers).toEqual([]);
  });

  test('never has the header connection, whatever is ignored', async () => {
    serve('Server: one', 'Connection: close', 'Date: now');
    const { check } = await observe(observerWith({ OBSERVE_IGNORED_HEADERS: 'none' }));
    expect([...(check.observation?.httpHeaders?.keys() ?? [])]).toEqual(['server', 'date']);
  });

  test('and whose site has other headers has the changes, the ignored ones apart', async () => {
    serve('Date: now', 'Set-Cookie: a=1', 'X-New: 1');
    expect((await observe()).changes.headers).toEqual(['server gone', 'x-new created']);
  });

  test('keeps the records of a type that has too many, and the other types go on', async () => {
    dns.setZone(ZONE.replace('@ MX 10 mail', '@ MX 1 a\n@ MX 2 b\n@ MX 3 c\n@ TXT "v"'));
    const { outcome, changes } = await observe(observerWith({ LIMIT_RECORDS_PER_TYPE: '2' }));
    expect(changes).toEqual({ ...NOTHING, added: ['TXT {"txt":"v","entries":["v"]}'] });
    const message = '3 records of type MX are more than LIMIT_RECORDS_PER_TYPE allows (2)';
    expect(outcome.dns.failures).toEqual({ MX: { code: 'too-many', message } });
  });

  test.each([
    ['LIMIT_HEADERS', '2', ['A: 1', 'B: 1', 'C: 1'], '3 headers are more than LIMIT_HEADERS allows (2)'],
    [
      'LIMIT_HEADER_VALUE',
      '1024',
      [`A: ${'x'.repeat(1000)}`, `a: ${'x'.repeat(23)}`],
      'the value of a has 1025 octets, more than LIMIT_HEADER_VALUE allows (1024)',
    ],
  ])(
    'keeps its headers where its site is beyond %s, and DNS continues',
    async (setting, limit, lines, message) => {
      serve(...lines);
      dns.setZone(ZONE.replace('@ MX 10 mail', ''));
      const { check, changes } = await observe(observerWith({ [setting]: limit }));
      expect(changes).toEqual({ ...NOTHING, removed: [MX] });
      const failure = { code: 'too-large', message };
      expect(check.http).toEqual({ kind: 'failed', failure, httpsDeclined: true });
    },
  );
});

test('sites are not requested at addresses that are not public, the outcome says which, and DNS is observed', async () => {
  const before = site.connections;
  const guarded = observerWith({ OBSERVE_PRIVATE: '' });
  for (const [name, address, types] of [
    ['example.test', '127.0.0.1', 3],
    ['mapped.example.test', '10.0.0.1', 2],
  ] as const) {
    const { http, observation } = await guarded.check(name, tick(), signal);
    const message = expect.stringContaining(address);
    expect(http).toEqual({ kind: 'failed', failure: { code: 'private-address', message } });
    expect(observation?.dns?.records.size).toBe(types);
  }
  expect(site.connections).toBe(before);
});

test('a name is resolved once: one that resolves differently the second time bypasses no guard', async () => {
  await observer.check('example.test', tick(), signal);
  expect([dns.asked('example.test', 'A'), dns.asked('example.test', 'AAAA')]).toEqual([1, 1]);
});

test('checks that share a signal warn of nothing', async () => {
  const warned = vi.fn();
  process.on('warning', warned);
  onTestFinished(() => void process.off('warning', warned));
  await Promise.all(Array.from({ length: 20 }, () => observer.check('example.test', tick(), signal)));
  expect(warned).not.toHaveBeenCalled();
});
