import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { readSettings } from '../../src/config/env.js';
import type { Changes } from '../../src/history/apply-observation.js';
import {
  compareDnsRecords,
  dnsRecordData,
  parseDnsRecord,
  recordsByType,
} from '../../src/model/dns-record.js';
import type { DomainObserver } from '../../src/observer/observe-domain.js';
import { hasFailed, outcomeOf, outcomeText } from '../../src/observer/outcome.js';
import { recordChecks } from '../../src/observer/record-checks.js';
import { createObserver } from '../../src/observing.js';
import { loadHoldings } from '../../src/recorder/load-known.js';
import { createRecorder, type Recorder } from '../../src/recorder/recorder.js';
import { emptyTestDatabase, openTestDatabase, type TestDatabase } from '../support/database.js';
import { type Behaviour, rcode, silence } from '../support/dns-behaviours.js';
import { encodeResponse, FLAGS } from '../support/dns-message.js';
import { nameOctets } from '../support/dns-octets.js';
import { type DnsTestServer, startDnsServer } from '../support/dns-server.js';
import { Zone } from '../support/dns-zone.js';
import type { ZoneRecord } from '../support/dns-zone-file.js';
import { REJECTING_PORT, startHttpServer, type WebServer } from '../support/web-server.js';

const SERVFAIL = 2;
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
/** The wall clock of the tests: each check has a time of its own. */
let time = 1_700_000_000_000_000n;
const tick = () => {
  time += 1_000_000n;
  return time;
};

beforeAll(async () => {
  database = await openTestDatabase();
  recorder = createRecorder(database.pool);
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
  await Promise.all([dns.close(), site.close()]);
  await database.close();
});

function observerWith(environment: Readonly<Record<string, string>>): DomainObserver {
  const settings = readSettings({
    DNS_SERVERS: `127.0.0.1:${dns.port}`,
    OBSERVE_DNS_TIMEOUT: '300ms',
    OBSERVE_DNS_TRIES: '1',
    OBSERVE_HTTPS_PORT: String(REJECTING_PORT),
    OBSERVE_HTTP_PORT: String(site.port),
    ...environment,
  });
  return createObserver(settings, () => {
    time += 1_000_000n;
    return time;
  });
}

/** Checks a domain and records it. */
async function observe(domain = 'example.test') {
  const check = await observer.check(domain, tick());
  const [recorded] = await recordChecks(recorder.record, [check]);
  if (recorded === undefined) throw new Error('the check was not recorded');
  return { check, recording: recorded.recording, changes: short(recorded.changes) };
}

function short(changes: Changes | null) {
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

describe('a domain that is an alias', () => {
  const CHAIN = `${ZONE}
www CNAME a
a CNAME b
b CNAME @`;
  const alias = (host: string, target: string) => ({ host, class: 'IN', type: 'CNAME', target });
  const present = async () => {
    const { records } =
      (await loadHoldings(database.pool, new Map([['www.example.test', ['CNAME']]]))).get(
        'www.example.test',
      ) ?? {};
    const found = (records?.get('CNAME') ?? []).map(({ record }) => record);
    return found.sort(compareDnsRecords).map(dnsRecordData);
  };
  const [www, a, b] = [
    alias('www.example.test', 'a.example.test'),
    alias('a.example.test', 'b.example.test'),
    alias('b.example.test', 'example.test'),
  ];

  beforeEach(async () => {
    dns.setZone(CHAIN);
    await observe('www.example.test');
  });

  test('has every CNAME of its chain, each under its own owner', async () => {
    expect(await present()).toEqual([a, b, www]);
    expect(await observe('www.example.test')).toMatchObject({ recording: 'unchanged' });
  });

  test('loses those that a complete chain does not lead through any more', async () => {
    dns.setZone(CHAIN.replace('www CNAME a', 'www CNAME b'));
    expect((await observe('www.example.test')).changes).toMatchObject({
      added: ['CNAME {"target":"b.example.test"}'],
      removed: ['CNAME {"target":"a.example.test"}', 'CNAME {"target":"b.example.test"}'],
    });
    expect(await present()).toEqual([b, alias('www.example.test', 'b.example.test')]);
  });

  test('keeps those behind the place in which an incomplete chain ends, and its addresses', async () => {
    dns.setZone(CHAIN.replace('a CNAME b', 'a CNAME elsewhere.example.net.'));
    const { check, changes } = await observe('www.example.test');
    expect(changes).toEqual({
      added: ['CNAME {"target":"elsewhere.example.net"}'],
      removed: ['CNAME {"target":"b.example.test"}'],
      headers: [],
    });
    expect(await present()).toEqual([alias('a.example.test', 'elsewhere.example.net'), b, www]);
    expect(check.dns.get('A')).toMatchObject({ kind: 'failed', failure: { code: 'incomplete' } });
  });

  test('loses all of them when it has records of its own', async () => {
    dns.setZone(CHAIN.replace('www CNAME a', 'www A 127.0.0.1'));
    await observe('www.example.test');
    expect(await present()).toEqual([]);
  });
});

describe('a domain with DNAME records at and below it', () => {
  test('keeps them when it is observed: no answer for its name shows them', async () => {
    const dname = (host: string) => ({ host, class: 'IN', type: 'DNAME', data: 'other.test.' });
    const records = [dname('example.test'), dname('sub.example.test')].map(parseDnsRecord);
    time += 1_000_000n;
    const types = new Set(['DNAME']);
    await recorder.record([
      { domain: 'example.test', observedAt: time, dns: { types, records: recordsByType(records) } },
    ]);
    expect((await observe()).changes.removed).toEqual([]);
    expect((await observe()).recording).toBe('unchanged');
  });
});

describe('a chain that only some of the answers show', () => {
  test('removes no alias on the word of a server that knows no chain', async () => {
    const CHAIN = `${ZONE}\nwww CNAME a\na CNAME @`;
    dns.setZone(CHAIN);
    await observe('www.example.test');
    for (const type of ['A', 'AAAA', 'NS', 'SOA', 'TXT', 'MX']) dns.behave('www.example.test', silence, type);
    const bare: Behaviour = ({ query }) => ({
      messages: [encodeResponse(query, { rcode: 0, flags: FLAGS.RA, answers: [], authorities: [] })],
    });
    dns.behave('www.example.test', bare, 'CAA');
    expect((await observe('www.example.test')).changes.removed).toEqual([]);
    for (const type of ['A', 'AAAA', 'NS', 'SOA', 'TXT', 'MX', 'CAA']) {
      dns.behave('www.example.test', undefined, type);
    }
  });
});

describe('a domain below a DNAME', () => {
  const behaviour = (records: readonly ZoneRecord[]): Behaviour => {
    const soa = new Zone(ZONE).answer(nameOctets('example.test'), 6).answers;
    return ({ query, type }) => {
      const answers = type === 'CNAME' ? records : [...records, ...(type === 'A' ? [address] : [])];
      const proof = type === 'A' || type === 'CNAME' ? [] : soa;
      return {
        messages: [encodeResponse(query, { rcode: 0, flags: FLAGS.RA, answers, authorities: proof })],
      };
    };
  };
  const record = (owner: string, type: number, rdata: Buffer) => ({
    owner: nameOctets(owner),
    type,
    ttl: 1,
    rdata,
  });
  const address = record('www.example.test', 1, Buffer.of(127, 0, 0, 1));
  const dname = record('old.test', 39, nameOctets('example.test'));
  const cname = record('www.old.test', 5, nameOctets('www.example.test'));

  test('has the DNAME under its own owner, beside the CNAME made of it, until a chain comes without it', async () => {
    dns.behave('www.old.test', behaviour([dname, cname]));
    expect((await observe('www.old.test')).changes.added).toEqual([
      A,
      'CNAME {"target":"www.example.test"}',
      'DNAME {"data":"example.test."}',
    ]);
    dns.behave('www.old.test', behaviour([cname]));
    expect((await observe('www.old.test')).changes).toEqual({
      ...NOTHING,
      removed: ['DNAME {"data":"example.test."}'],
    });
    dns.behave('www.old.test', undefined);
  });
});

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
    dns.setZone('test. SOA ns.test. hostmaster.test. 1 7200 900 1209600 300');
    const { check, changes } = await observe();
    expect(changes).toEqual({ added: [], removed: [A, MX, SOA], headers: [] });
    expect(outcomeText(outcomeOf(check.dns, check.http))).toBe('no such name');
  });

  test('and is denied by a server without proof (NXDOMAIN without SOA) keeps its records', async () => {
    dns.behave('example.test', rcode(3));
    const { check, changes } = await observe();
    expect(changes).toEqual(NOTHING);
    expect(outcomeOf(check.dns, check.http).dns.failures['A']).toEqual({
      code: 'lame',
      message: `127.0.0.1:${dns.port} is neither authoritative for the name nor recursive`,
    });
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
      const { check, changes } = await observe();
      expect(changes).toEqual({ added: ['A {"ip":"127.0.0.2"}'], removed: [A], headers: [] });
      const outcome = outcomeOf(check.dns, check.http);
      expect(outcome.dns.failures).toEqual({ MX: { code, message: expect.any(String) } });
      expect(hasFailed(outcome)).toBe(false);
    },
  );

  test('and of which nothing can be observed is not recorded, and has the reasons', async () => {
    dns.behave('example.test', rcode(SERVFAIL));
    const { check, recording, changes } = await observe();
    expect([check.observation, recording, changes]).toEqual([null, 'nothing', NOTHING]);
    const outcome = outcomeOf(check.dns, check.http);
    expect(hasFailed(outcome)).toBe(true);
    expect(outcome.dns.nameExists, 'where nothing was answered, nobody knows').toBeNull();
    expect(outcome.http).toEqual({
      failure: { code: 'no-address', message: 'its addresses could not be resolved' },
    });
  });

  test('keeps its headers when its site does not respond', async () => {
    dns.setZone(ZONE.replace('@ A 127.0.0.1', '@ A 127.0.0.9'));
    const { check, changes } = await observe();
    expect(check.http).toMatchObject({ kind: 'failed', failure: { code: 'refused' } });
    expect(changes.headers).toEqual([]);
  });

  test('is not observed at other addresses while its own cannot be resolved', async () => {
    dns.setZone(ZONE.replace('@ MX 10 mail', '@ AAAA ::1'));
    dns.behave('example.test', rcode(SERVFAIL), 'A');
    const { check, changes } = await observe();
    expect(check.http).toMatchObject({
      failure: { code: 'no-address', message: 'its addresses could not be resolved' },
    });
    expect(changes.headers).toEqual([]);
    dns.behave('example.test', undefined, 'A');
  });

  test('is shown in one line, with the address of its site', async () => {
    const { check } = await observe();
    expect(outcomeText(outcomeOf(check.dns, check.http))).toBe('DNS ok; HTTP 200 from 127.0.0.1');
  });

  test('never has the header connection, whatever is ignored', async () => {
    site.serve({
      fields: [
        ['Server', 'one'],
        ['Connection', 'close'],
        ['Date', 'now'],
      ],
    });
    const other = observerWith({ OBSERVE_PRIVATE: 'allow', OBSERVE_IGNORED_HEADERS: 'none' });
    const { observation } = await other.check('example.test', tick());
    expect([...(observation?.httpHeaders ?? [])]).toEqual([
      ['server', 'one'],
      ['date', 'now'],
    ]);
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
    const check = await limited.check('example.test', tick());
    const [recorded] = await recordChecks(recorder.record, [check]);
    expect(short(recorded?.changes ?? null)).toEqual({
      ...NOTHING,
      added: ['TXT {"txt":"v","entries":["v"]}'],
    });
    expect(outcomeOf(check.dns, check.http).dns.failures).toEqual({
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
    'a site beyond %s keeps its headers, and DNS continues',
    async (setting, limit, fields, message) => {
      const limited = observerWith({ OBSERVE_PRIVATE: 'allow', [setting]: limit });
      await observe();
      site.serve({ fields });
      dns.setZone(ZONE.replace('@ MX 10 mail', ''));
      const check = await limited.check('example.test', tick());
      const [recorded] = await recordChecks(recorder.record, [check]);
      expect(short(recorded?.changes ?? null)).toEqual({ ...NOTHING, removed: [MX] });
      expect(check.http).toEqual({
        kind: 'failed',
        failure: { code: 'too-large', message },
        httpsDeclined: true,
      });
    },
  );
});

describe('the guard', () => {
  test('blocks addresses that are not public, and says which; DNS is still observed', async () => {
    const before = site.connections;
    const checks = [
      await guarded.check('example.test', tick()),
      await guarded.check('mapped.example.test', tick()),
    ];
    expect(checks.map(({ http }) => http)).toEqual([
      { kind: 'failed', failure: { code: 'private-address', message: expect.stringContaining('127.0.0.1') } },
      { kind: 'failed', failure: { code: 'private-address', message: expect.stringContaining('10.0.0.1') } },
    ]);
    expect(checks.map(({ observation }) => observation?.dns?.records.size)).toEqual([3, 2]);
    expect(site.connections).toBe(before);
  });

  test('is not bypassed by a name that resolves differently the second time: it is resolved once', async () => {
    await observer.check('example.test', tick());
    expect(dns.asked('example.test', 'A')).toBe(1);
    expect(dns.asked('example.test', 'AAAA')).toBe(1);
  });
});

test('a preview shows what would change, and records nothing', async () => {
  const check = await observer.check('example.test', tick());
  const [recorded] = await recordChecks(recorder.preview, [check]);
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
