import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { readSettings } from '../../../src/config/env.js';
import type { DomainObserver } from '../../../src/observer/observe-domain.js';
import { recordChecks } from '../../../src/observer/record-checks.js';
import { createObserver } from '../../../src/observing.js';
import { createRecorder, type Recorder } from '../../../src/recorder/recorder.js';
import { emptyTestDatabase, openTestDatabase, type TestDatabase } from '../../support/database.js';
import { type Behaviour, changed, rcode, silence } from '../../support/dns-behaviours.js';
import { type DnsTestServer, startDnsServer } from '../../support/dns-server.js';
import { CHAINS_WITHOUT_PROOF } from './evidence-chains.js';
import {
  address,
  asked,
  cname,
  dname,
  firstThen,
  hex,
  ns,
  reply,
  rrsig,
  shaped,
  soa,
} from './evidence-octets.js';
import { PROVES_NOTHING } from './evidence-shapes.js';

// Documentation addresses: nothing connects to a site.
const ZONE = `
$ORIGIN example.test.
@   SOA   ns1 hostmaster 1 7200 900 1209600 300
@   NS    ns1
@   NS    ns2
@   A     192.0.2.1
@   A     192.0.2.2
@   AAAA  2001:db8::1
@   MX    10 mail
@   MX    20 mail2
@   TXT   "v=spf1 -all"
@   TXT   "one" "two"
@   CAA   0 issue "ca.test"
www CNAME a
a   CNAME b
b   CNAME c
c   A     192.0.2.3
c   AAAA  2001:db8::3
`;

const NAMES = ['example.test', 'www.example.test'];
const TYPES = ['A', 'AAAA', 'NS', 'SOA', 'TXT', 'CNAME', 'MX', 'CAA'];
const FOLLOWED = TYPES.filter((type) => type !== 'CNAME');

/** What the zone has under the two names: eleven records, and a chain of three CNAMEs with two addresses. */
const KNOWN = 11 + 5;

/** In milliseconds; a reply that comes later than a hostile server's silence would only make a failure. */
const SHORT = '200ms';
const PATIENT = '20s';

let database: TestDatabase;
let recorder: Recorder;
let server: DnsTestServer;
let other: DnsTestServer;
let patient: DomainObserver;
let hasty: DomainObserver;
let time = 1_700_000_000_000_000n;

beforeAll(async () => {
  database = await openTestDatabase();
  recorder = createRecorder(database.pool);
  server = await startDnsServer({ zone: ZONE });
  other = await startDnsServer({ zone: ZONE, address: '127.0.0.2' });
  patient = observerOf([server], PATIENT);
  hasty = observerOf([server], SHORT);
});

beforeEach(() => emptyTestDatabase(database));

afterAll(async () => {
  await Promise.all([server.close(), other.close()]);
  await database.close();
});

function observerOf(servers: readonly DnsTestServer[], timeout: string): DomainObserver {
  const settings = readSettings({
    DNS_SERVERS: servers.map(({ address: ip, port }) => `${ip}:${port}`).join(','),
    OBSERVE_DNS_TIMEOUT: timeout,
    OBSERVE_DNS_TRIES: '2',
  });
  return createObserver(settings, () => {
    time += 1_000_000n;
    return time;
  });
}

async function observe(observer: DomainObserver): Promise<void> {
  const checks = await Promise.all(NAMES.map((domain) => observer.check(domain)));
  await recordChecks(recorder.record, checks);
}

/** Both servers' answers to these types, until the test ends or they are given others. */
function behave(
  behaviour: Behaviour | undefined,
  types: readonly string[] = TYPES,
  servers = [server],
): void {
  for (const one of servers) for (const type of types) one.behave('*', behaviour, type);
}

/** Checks while the server behaves so, between two checks at which it does not. */
async function misled(behaviour: Behaviour, types = TYPES, observer = hasty, servers = [server]) {
  onTestFinished(() => behave(undefined, TYPES, servers));
  await observe(patient);
  expect(await stays()).toHaveLength(KNOWN);
  const known = new Set((await stays()).map(({ record }) => record));
  behave(behaviour, types, servers);
  await observe(observer);
  const meanwhile = (await stays()).filter(({ record }) => known.has(record));
  behave(undefined, TYPES, servers);
  await observe(patient);
  const afterwards = (await stays()).filter(({ record }) => known.has(record));
  return {
    removed: meanwhile.filter(({ removed }) => removed).map(({ record }) => record),
    stays: afterwards.length,
  };
}

interface Stay {
  readonly record: string;
  readonly removed: boolean;
}

async function stays(): Promise<Stay[]> {
  const { rows } = await database.pool.query<Stay>(
    `SELECT concat_ws(' ', domain, host, class, type, rdata::text) AS record, removed IS NOT NULL AS removed
     FROM dns_record ORDER BY 1, first_seen`,
  );
  return rows;
}

const NOTHING_LOST = { removed: [], stays: KNOWN };

describe('a reply that proves nothing removes nothing, and no record comes back a second time', () => {
  test.each(PROVES_NOTHING)('%s', async (_title, shape) => {
    expect(await misled(shaped(shape))).toEqual(NOTHING_LOST);
  });

  test.each(CHAINS_WITHOUT_PROOF)('%s', async (_title, shape) => {
    expect(await misled(shaped(shape), FOLLOWED)).toEqual(NOTHING_LOST);
  });

  test('the zone’s own answer, said to be NXDOMAIN', async () => {
    const denied = changed((message) => {
      message.writeUInt8(message.readUInt8(3) | 3, 3);
      return message;
    });
    // Of types without records that is what a server says that denies the name; the others have records.
    expect((await misled(denied, ['A', 'AAAA'])).removed).toEqual([]);
  });

  test('the zone’s own answer, its records counted in the authority section', async () => {
    const moved = changed((message) => {
      message.copy(message, 8, 6, 8);
      message.writeUInt16BE(0, 6);
      return message;
    });
    expect(await misled(moved, ['A', 'AAAA', 'TXT', 'MX', 'NS', 'CAA'])).toEqual(NOTHING_LOST);
  });

  test('a portal that answers every question with an address', async () => {
    const portal = shaped(reply(hex`8180 0001 0001 0000 0000`, hex`c00c 0001 0001 0000003c 0004 cb007101`));
    expect(
      await misled(
        portal,
        TYPES.filter((type) => type !== 'A'),
      ),
    ).toEqual(NOTHING_LOST);
  });

  test('a reply under another id, with an SOA', async () => {
    const forged: Behaviour = (question) => {
      const octets = reply(hex`8180 0001 0000 0001 0000`, soa('test'))(question);
      return {
        messages: [hex`${Buffer.of((question.query.id >> 8) ^ 0x55, question.query.id & 0xff)} ${octets}`],
      };
    };
    expect(await misled(forged)).toEqual(NOTHING_LOST);
  });

  test('an SOA in authority that is the queried record', async () => {
    const apex = shaped(reply(hex`8580 0001 0000 0001 0000`, ({ name: owner }) => soa(owner)));
    expect(await misled(apex, ['SOA'])).toEqual(NOTHING_LOST);
  });
});

const BARE_NODATA = shaped(reply(hex`8180 0001 0000 0000 0000`));
const BARE_NXDOMAIN = shaped(reply(hex`8183 0001 0000 0000 0000`));
const NODATA = shaped(reply(hex`8180 0001 0000 0001 0000`, soa('test')));

describe('a resolver’s denial without an SOA counts only if another says the same', () => {
  test.each<[string, Behaviour]>([
    ['then silence', firstThen(BARE_NODATA, silence)],
    ['then SERVFAIL', firstThen(BARE_NXDOMAIN, rcode(2))],
    ['then REFUSED', firstThen(BARE_NODATA, rcode(5))],
    ['then a referral', firstThen(BARE_NODATA, shaped(reply(hex`8180 0001 0000 0001 0000`, ns('test'))))],
    ['then the same without RA', firstThen(BARE_NODATA, shaped(reply(hex`8100 0001 0000 0000 0000`)))],
    [
      'then the same for another class',
      firstThen(
        BARE_NODATA,
        shaped(({ query }) => hex`8180 0001 0000 0000 0000 ${query.name} 0001 0003`),
      ),
    ],
    ['with the records in the additional section', shaped(reply(hex`8180 0001 0000 0000 0001`, asked))],
    [
      'after a CNAME without its end',
      shaped(reply(hex`8180 0001 0001 0000 0000`, (q) => cname(q.name, 'b.test'))),
    ],
    ['from a server that does not resolve', shaped(reply(hex`8500 0001 0000 0000 0000`))],
  ])('%s: nothing is removed', async (_title, behaviour) => {
    expect(await misled(behaviour, FOLLOWED)).toEqual(NOTHING_LOST);
  });

  test('two resolvers that disagree: nothing is removed', async () => {
    const both = observerOf([server, other], SHORT);
    behave(BARE_NXDOMAIN, TYPES, [other]);
    expect(await misled(BARE_NODATA, TYPES, both)).toEqual(NOTHING_LOST);
    behave(undefined, TYPES, [other]);
  });

  test('the other resolver has the records: they stay', async () => {
    const both = observerOf([server, other], PATIENT);
    expect(await misled(BARE_NXDOMAIN, TYPES, both)).toEqual(NOTHING_LOST);
  });

  test.each<[string, Behaviour]>([
    ['an empty NOERROR', BARE_NODATA],
    ['a bare NXDOMAIN', BARE_NXDOMAIN],
  ])('%s from the only resolver, again and again: nothing is removed', async (_title, behaviour) => {
    expect(await misled(behaviour, TYPES, patient)).toEqual(NOTHING_LOST);
  });

  test('an empty NOERROR, then one with an SOA: the records are gone', async () => {
    const { removed } = await misled(firstThen(BARE_NODATA, NODATA), ['TXT', 'MX'], patient);
    expect(removed).toHaveLength(4);
  });

  test('an empty NOERROR of each of two resolvers: the records are gone', async () => {
    const both = observerOf([server, other], PATIENT);
    const { removed } = await misled(BARE_NODATA, ['TXT'], both, [server, other]);
    expect(removed).toHaveLength(2);
    expect(other.asked('example.test', 'TXT')).toBeGreaterThan(0);
  });

  test('an empty NOERROR, then the records: they stay', async () => {
    const once = firstThen(BARE_NODATA, ({ answer }) => ({ messages: [answer()] }));
    expect(await misled(once, TYPES, patient)).toEqual(NOTHING_LOST);
  });
});

/** What a check showed while the server behaved so. */
async function seen(behaviour: Behaviour, types: readonly string[]) {
  onTestFinished(() => behave(undefined));
  await observe(patient);
  const before = await stays();
  behave(behaviour, types);
  await observe(patient);
  const after = await stays();
  const known = new Set(before.map(({ record }) => record));
  return {
    removed: after.filter(({ removed }) => removed).map(({ record }) => record),
    added: after.filter(({ record }) => !known.has(record)).map(({ record }) => record),
  };
}

const of = (domain: string, host: string, text: string) => `${domain} ${host} IN ${text}`;
const TXT = [
  of('example.test', 'example.test', 'TXT {"txt":"onetwo","entries":["one","two"]}'),
  of('example.test', 'example.test', 'TXT {"txt":"v=spf1 -all","entries":["v=spf1 -all"]}'),
];

describe('a reply that proves an absence removes what is absent', () => {
  test.each<[string, Behaviour]>([
    ['NODATA with the SOA of the name', shaped(reply(hex`8500 0001 0000 0001 0000`, soa('example.test')))],
    ['NODATA with the SOA of the zone above', NODATA],
    ['NODATA with the SOA of the root', shaped(reply(hex`8180 0001 0000 0001 0000`, soa('.')))],
    ['NODATA with an SOA in another case', shaped(reply(hex`8180 0001 0000 0001 0000`, soa('TeSt')))],
    ['NODATA with NS and SOA', shaped(reply(hex`8180 0001 0000 0002 0000`, ns('test'), soa('test')))],
    ['NODATA with an RRSIG beside the SOA', shaped(reply(hex`8180 0001 0000 0002 0000`, rrsig, soa('test')))],
    [
      'NODATA with other records in the additional section',
      shaped(reply(hex`8180 0001 0000 0001 0001`, soa('test'), address('ns.test'))),
    ],
    ['NXDOMAIN with an SOA', shaped(reply(hex`8583 0001 0000 0001 0000`, soa('test')))],
    // The question in capitals, as resolvers send it back that mix the case (0x20).
    [
      'NODATA whose question is in another case',
      shaped(
        ({ query }) =>
          hex`8180 0001 0000 0001 0000 ${Buffer.from(query.name.toString('latin1').toUpperCase(), 'latin1')} 0010 0001 ${soa('test')}`,
      ),
    ],
  ])('%s', async (_title, behaviour) => {
    expect(await seen(behaviour, ['TXT'])).toEqual({ removed: TXT, added: [] });
  });

  test('NXDOMAIN with the SOA of the zone above, for every type: all eleven, and the chain', async () => {
    const { removed, added } = await seen(shaped(reply(hex`8183 0001 0000 0001 0000`, soa('test'))), TYPES);
    expect([removed.length, added]).toEqual([KNOWN, []]);
  });

  test.each([
    ['NODATA', hex`8180 0001 0003 0001 0000`],
    ['NXDOMAIN', hex`8183 0001 0003 0001 0000`],
  ])('%s at the end of a chain, with the SOA of the zone that the end is in', async (_title, header) => {
    const chain = [
      cname('www.example.test', 'a.example.test'),
      cname('a.example.test', 'b.example.test'),
      cname('b.example.test', 'c.example.test'),
    ];
    behave(undefined);
    onTestFinished(() => server.behave('www.example.test', undefined));
    await observe(patient);
    const gone = shaped(reply(header, ...chain, soa('c.example.test')));
    server.behave('www.example.test', gone, 'A');
    server.behave('www.example.test', gone, 'AAAA');
    await observe(patient);
    server.behave('www.example.test', undefined, 'A');
    server.behave('www.example.test', undefined, 'AAAA');
    expect((await stays()).filter(({ removed }) => removed).map(({ record }) => record)).toEqual([
      of('www.example.test', 'c.example.test', 'A {"ip":"192.0.2.3"}'),
      of('www.example.test', 'c.example.test', 'AAAA {"ipv6":"2001:db8::3"}'),
    ]);
  });
});

describe('records of the queried name, or of the end of its chain, are accepted', () => {
  const before = [
    of('example.test', 'example.test', 'A {"ip":"192.0.2.1"}'),
    of('example.test', 'example.test', 'A {"ip":"192.0.2.2"}'),
    of('www.example.test', 'c.example.test', 'A {"ip":"192.0.2.3"}'),
  ];
  const seenOf = (domain: string, host: string) => of(domain, host, 'A {"ip":"203.0.113.7"}');

  test('and those of other owners, types, classes and sections beside them are not', async () => {
    const junk = [
      address('other.test'),
      hex`c00c 0001 0003 0000003c 0004 cb007109`,
      ns('test'),
      address('ns.test'),
    ];
    const behaviour = shaped(
      reply(hex`8180 0001 0003 0001 0001`, address('OTHER.test'), asked, ...junk.slice(1)),
    );
    expect(await seen(behaviour, ['A'])).toEqual({
      removed: before,
      added: NAMES.map((domain) => seenOf(domain, domain)),
    });
  });

  test('the whole chain is recorded, in whatever order and case it comes', async () => {
    const chain = [
      address('Z.test'),
      cname('y.TEST', 'z.test'),
      (q: { name: string }) => cname(q.name, 'Y.test'),
    ];
    const { added } = await seen(shaped(reply(hex`8180 0001 0003 0000 0000`, ...chain)), ['A']);
    for (const domain of NAMES) {
      expect(added).toContain(seenOf(domain, 'z.test'));
      expect(added).toContain(of(domain, domain, 'CNAME {"target":"y.test"}'));
      expect(added).toContain(of(domain, 'y.test', 'CNAME {"target":"z.test"}'));
    }
  });

  test.each([
    ['with the CNAME that follows from it', hex`8180 0001 0003 0000 0000`, true],
    ['without a CNAME', hex`8180 0001 0002 0000 0000`, false],
  ])('a DNAME is followed and recorded, %s', async (_title, header, hasCname) => {
    const synthesized = (q: { name: string }) => cname(q.name, q.name.replace(/test$/, 'invalid'));
    const end = (q: { name: string }) => address(q.name.replace(/test$/, 'invalid'));
    const records = [dname('test', 'invalid'), ...(hasCname ? [synthesized] : []), end];
    const { added } = await seen(shaped(reply(header, ...records)), ['A']);
    expect(added).toContain(seenOf('example.test', 'example.invalid'));
    expect(added.filter((record) => / test IN DNAME /.test(record))).toHaveLength(2);
    const cnames = added.filter((record) => record.includes('IN CNAME'));
    expect(cnames).toHaveLength(hasCname ? 2 : 0);
  });

  test('an incomplete chain shows its CNAMEs and DNAMEs, and leaves the addresses as they are', async () => {
    const away = shaped(
      reply(hex`8500 0001 0002 0000 0000`, (q) => cname(q.name, 'a.b.test'), dname('b.test', 'away.invalid')),
    );
    const { removed, added } = await seen(away, ['A', 'AAAA']);
    expect(removed).toEqual([]);
    for (const domain of NAMES) {
      expect(added).toContain(of(domain, domain, 'CNAME {"target":"a.b.test"}'));
      expect(added).toContain(of(domain, 'b.test', 'DNAME {"data":"away.invalid."}'));
    }
  });

  test('the last of a chain that the good zone has is under its own owner', async () => {
    await observe(patient);
    const chain = (await stays()).map(({ record }) => record).filter((record) => record.includes('CNAME'));
    expect(chain).toEqual(
      [
        ['a.example.test', 'b.example.test'],
        ['b.example.test', 'c.example.test'],
        ['www.example.test', 'a.example.test'],
      ].map(([host, target]) => of('www.example.test', `${host}`, `CNAME {"target":"${target}"}`)),
    );
  });
});
