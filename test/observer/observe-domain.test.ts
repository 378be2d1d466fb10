import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { readSettings } from '../../src/config/env.js';
import type { MergedChanges } from '../../src/history/merge-changes.js';
import type { DomainObserver } from '../../src/observer/observe-domain.js';
import { hasFailed, outcomeOf, outcomeText } from '../../src/observer/outcome.js';
import { recordLooks } from '../../src/observer/record-looks.js';
import { createObserver } from '../../src/observing.js';
import { createRecorder, type Recorder } from '../../src/recorder/recorder.js';
import { emptyTestDatabase, openTestDatabase, type TestDatabase } from '../support/database.js';
import { rcode, silence } from '../support/dns-behaviours.js';
import { type DnsTestServer, startDnsServer } from '../support/dns-server.js';
import { REFUSING_PORT, startHttpServer, type WebServer } from '../support/web-server.js';

const SERVFAIL = 2;
const NXDOMAIN = 3;
const REFUSED = 5;

const ZONE = `
$ORIGIN example.test.
@ SOA ns hostmaster 1 7200 900 1209600 300
@ A 127.0.0.1
@ MX 10 mail
mapped SOA ns hostmaster 1 7200 900 1209600 300
mapped AAAA ::ffff:10.0.0.1
`;

let database: TestDatabase;
let recorder: Recorder;
let dns: DnsTestServer;
let site: WebServer;
let observer: DomainObserver;
let guarded: DomainObserver;
/** The wall clock of the tests: each look has a time of its own. */
let time = 1_700_000_000_000_000n;

beforeAll(async () => {
  database = await openTestDatabase();
  recorder = createRecorder(database.pool, { now: () => time });
  dns = await startDnsServer();
  site = await startHttpServer();
  observer = observerWith({ OBSERVE_PRIVATE: 'allow' });
  guarded = observerWith({});
});

beforeEach(async () => {
  await emptyTestDatabase(database);
  dns.setZone(ZONE);
  dns.behave('example.test', undefined);
  dns.behave('example.test', undefined, 'MX');
  dns.forgetQuestions();
  site.serve({ fields: [['Server', 'one']] });
});

afterAll(async () => {
  observer.close();
  guarded.close();
  await Promise.all([dns.close(), site.close()]);
  await database.close();
});

function observerWith(environment: Readonly<Record<string, string>>): DomainObserver {
  const settings = readSettings({
    DNS_SERVERS: `127.0.0.1:${dns.port}`,
    OBSERVE_DNS_TIMEOUT: '300ms',
    OBSERVE_DNS_TRIES: '1',
    OBSERVE_HTTPS_PORT: String(REFUSING_PORT),
    OBSERVE_HTTP_PORT: String(site.port),
    ...environment,
  });
  return createObserver(settings, () => {
    time += 1_000_000n;
    return time;
  });
}

/** Looks at a domain and records it. */
async function observe(domain = 'example.test') {
  const look = await observer.look(domain);
  const [recorded] = await recordLooks(recorder.record, [look]);
  if (recorded === undefined) throw new Error('the look was not recorded');
  return { look, recording: recorded.recording, changes: short(recorded.changes) };
}

function short(changes: MergedChanges | null) {
  return {
    added: changes?.added.map(({ record: { type, rdata } }) => `${type} ${rdata}`).sort() ?? [],
    removed: changes?.removed.map(({ record: { type, rdata } }) => `${type} ${rdata}`).sort() ?? [],
    headers: changes?.headers.map(({ name, kind }) => `${name} ${kind}`).sort() ?? [],
  };
}

const A = 'A {"ip":"127.0.0.1"}';
const MX = 'MX {"pri":10,"target":"mail.example.test"}';
const SOA = expect.stringMatching(/^SOA /);
const NOTHING = { added: [], removed: [], headers: [] };

describe('a domain that was observed', () => {
  beforeEach(async () => {
    const { recording, changes } = await observe();
    expect([recording, changes]).toEqual([
      'changed',
      { added: [A, MX, SOA], removed: [], headers: ['server created'] },
    ]);
  });

  test('and is as it was is unchanged', async () => {
    expect(await observe()).toMatchObject({ recording: 'unchanged', changes: NOTHING });
  });

  test('and does not exist any more (NXDOMAIN) loses its records, and its headers keep their state', async () => {
    dns.behave('example.test', rcode(NXDOMAIN));
    const { look, changes } = await observe();
    expect(changes).toEqual({ added: [], removed: [A, MX, SOA], headers: [] });
    expect(outcomeText(outcomeOf(look.dns, look.http))).toBe('no such name');
  });

  test('and has no records of a type any more (NODATA) loses those, and no others', async () => {
    dns.setZone(ZONE.replace('@ MX 10 mail', ''));
    expect((await observe()).changes).toEqual({ ...NOTHING, removed: [MX] });
  });

  test.each([
    ['SERVFAIL', rcode(SERVFAIL), 'servfail'],
    ['REFUSED', rcode(REFUSED), 'refused'],
    ['silence', silence, 'timeout'],
  ])(
    'keeps the records of a type that is answered by %s, with the reason, and loses others',
    async (_what, behaviour, code) => {
      dns.setZone(ZONE.replace('@ A 127.0.0.1', '@ A 127.0.0.2'));
      dns.behave('example.test', behaviour, 'MX');
      const { look, changes } = await observe();
      expect(changes).toEqual({ added: ['A {"ip":"127.0.0.2"}'], removed: [A], headers: [] });
      const outcome = outcomeOf(look.dns, look.http);
      expect(outcome.dns.failures).toEqual({ MX: { code, message: expect.any(String) } });
      expect(hasFailed(outcome)).toBe(false);
    },
  );

  test('and of which nothing can be observed leaves no trace but the reasons', async () => {
    dns.behave('example.test', rcode(SERVFAIL));
    const { look, recording, changes } = await observe();
    expect([look.observation, recording, changes]).toEqual([null, 'nothing', NOTHING]);
    const outcome = outcomeOf(look.dns, look.http);
    expect(hasFailed(outcome)).toBe(true);
    expect(outcome.http).toEqual({
      failure: { code: 'no-address', message: 'its addresses could not be asked for' },
    });
  });

  test('keeps its headers when its site does not answer', async () => {
    dns.setZone(ZONE.replace('@ A 127.0.0.1', '@ A 127.0.0.9'));
    const { look, changes } = await observe();
    expect(look.http).toMatchObject({ kind: 'failed', failure: { code: 'refused' } });
    expect(changes.headers).toEqual([]);
  });

  test('is not judged by other addresses while its own cannot be asked for', async () => {
    dns.setZone(ZONE.replace('@ MX 10 mail', '@ AAAA ::1'));
    dns.behave('example.test', rcode(SERVFAIL), 'A');
    const { look, changes } = await observe();
    expect(look.http).toMatchObject({
      failure: { code: 'no-address', message: 'its addresses could not be asked for' },
    });
    expect(changes.headers).toEqual([]);
    dns.behave('example.test', undefined, 'A');
  });

  test('and whose site has other headers has the changes, the ignored ones apart', async () => {
    site.serve({
      fields: [
        ['Date', 'now'],
        ['Set-Cookie', 'a=1'],
        ['X-New', '1'],
      ],
    });
    expect((await observe()).changes.headers).toEqual(['server gone', 'x-new created']);
  });
});

describe('what exceeds a limit has failed, with the limit and the setting that raises it', () => {
  test('a type with too many records keeps those it had, and the other types go on', async () => {
    const limited = observerWith({ OBSERVE_PRIVATE: 'allow', LIMIT_RECORDS_PER_TYPE: '2' });
    await observe();
    dns.setZone(ZONE.replace('@ MX 10 mail', '@ MX 1 a\n@ MX 2 b\n@ MX 3 c\n@ TXT "v"'));
    const look = await limited.look('example.test');
    const [recorded] = await recordLooks(recorder.record, [look]);
    limited.close();
    expect(short(recorded?.changes ?? null)).toEqual({
      ...NOTHING,
      added: ['TXT {"txt":"v","entries":["v"]}'],
    });
    expect(outcomeOf(look.dns, look.http).dns.failures).toEqual({
      MX: {
        code: 'too-many',
        message: '3 records of type MX are more than LIMIT_RECORDS_PER_TYPE allows (2)',
      },
    });
  });

  test.each([
    [
      'LIMIT_HEADERS',
      '2',
      [
        ['A', '1'],
        ['B', '1'],
        ['C', '1'],
      ],
      '3 headers are more than LIMIT_HEADERS allows (2)',
    ],
    [
      'LIMIT_HEADER_VALUE',
      '1024',
      [
        ['A', 'x'.repeat(1000)],
        ['a', 'x'.repeat(23)],
      ],
      'the value of a has 1025 octets, more than LIMIT_HEADER_VALUE allows (1024)',
    ],
  ] as const)(
    'a site beyond %s keeps its headers, and DNS goes on',
    async (setting, limit, fields, message) => {
      const limited = observerWith({ OBSERVE_PRIVATE: 'allow', [setting]: limit });
      await observe();
      site.serve({ fields });
      dns.setZone(ZONE.replace('@ MX 10 mail', ''));
      const look = await limited.look('example.test');
      const [recorded] = await recordLooks(recorder.record, [look]);
      limited.close();
      expect(short(recorded?.changes ?? null)).toEqual({ ...NOTHING, removed: [MX] });
      expect(look.http).toEqual({ kind: 'failed', failure: { code: 'too-large', message } });
    },
  );
});

describe('the guard', () => {
  test('keeps from addresses that are not public, and says which; DNS is observed all the same', async () => {
    const before = site.connections;
    const looks = [await guarded.look('example.test'), await guarded.look('mapped.example.test')];
    expect(looks.map(({ http }) => http)).toEqual([
      { kind: 'failed', failure: { code: 'private-address', message: expect.stringContaining('127.0.0.1') } },
      { kind: 'failed', failure: { code: 'private-address', message: expect.stringContaining('10.0.0.1') } },
    ]);
    expect(looks.map(({ observation }) => observation?.dns?.records.size)).toEqual([3, 2]);
    expect(site.connections).toBe(before);
  });

  test('is not got around by a name that resolves differently the second time: it is resolved once', async () => {
    await observer.look('example.test');
    expect(dns.asked('example.test', 'A')).toBe(1);
    expect(dns.asked('example.test', 'AAAA')).toBe(1);
  });
});

test('a preview tells what would change, and records nothing', async () => {
  const look = await observer.look('example.test');
  const [recorded] = await recordLooks(recorder.preview, [look]);
  expect(short(recorded?.changes ?? null).added).toEqual([A, MX, SOA]);
  const { rows } = await database.pool.query('SELECT count(*) FROM domain');
  expect(rows).toEqual([{ count: 0n }]);
});

test('an outcome in one line names the types that failed alike together', () => {
  const refused = { code: 'refused', message: 'REFUSED from 192.0.2.53:53' } as const;
  const failures = { A: refused, MX: { code: 'timeout', message: 'no answer' } as const, TXT: refused };
  const outcome = { dns: { answered: ['NS'], failures, nameExists: true }, http: { failure: refused } };
  expect(outcomeText(outcome)).toBe(
    'DNS in part (A TXT: REFUSED from 192.0.2.53:53, MX: no answer); HTTP: REFUSED from 192.0.2.53:53',
  );
});
