import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { dnsRecordData } from '../../../src/model/dns-record.js';
import { changed } from '../../support/dns-behaviours.js';
import { encodeResponse, FLAGS, type ResponseParts } from '../../support/dns-message.js';
import { nameOctets } from '../../support/dns-octets.js';
import { type DnsTestServer, startDnsServer } from '../../support/dns-server.js';
import { Zone } from '../../support/dns-zone.js';
import type { ZoneRecord } from '../../support/dns-zone-file.js';
import { clientForTest, outcome, outcomeOf, serverForTest } from './asking.js';

const ZONE = String.raw`
$ORIGIN example.test.
$TTL 300
@        IN SOA ns1 hostmaster.example.test. ( 4294967295 ; serial
                7200 900 1209600 0 )
         NS   ns1
         NS   NS2.Example.NET.
         A    192.0.2.8
         A    192.0.2.7
         A    192.0.2.8
         AAAA 2001:DB8:0:0::7
         MX   10 mail
         TXT  "v=spf1 " "-all"
         CAA  128 issue "ca.example.net; policy=ev"
www      CNAME edge
edge     CNAME edge.b
edge.b   A    192.0.2.9
loop     CNAME pool
pool     CNAME loop
lost     CNAME nowhere
away     CNAME www.example.org.
bare.ent A    192.0.2.10
octets   TXT  "\195\169 \000\255\\065"
`;

let server: DnsTestServer;
beforeAll(async () => {
  server = await startDnsServer({ zone: ZONE });
});
afterAll(() => server.close());

describe('what a domain has', () => {
  test('every type of one name is queried at once, and answered in canonical form and order', async () => {
    const types = ['A', 'AAAA', 'NS', 'SOA', 'TXT', 'CNAME', 'MX', 'CAA'];
    const answers = await clientForTest([server]).query('example.test', types);
    const host = 'example.test';
    expect([...answers.keys()]).toEqual(types);
    expect(Object.fromEntries([...answers].map(([type, answer]) => [type, outcomeOf(answer)]))).toEqual({
      A: [
        { host, ip: '192.0.2.7' },
        { host, ip: '192.0.2.8' },
      ],
      AAAA: [{ host, ipv6: '2001:db8::7' }],
      NS: [
        { host, target: 'ns1.example.test' },
        { host, target: 'ns2.example.net' },
      ],
      SOA: [
        {
          host,
          ...{ mname: 'ns1.example.test', rname: 'hostmaster.example.test', serial: 4_294_967_295 },
          ...{ refresh: 7200, retry: 900, expire: 1_209_600, 'minimum-ttl': 0 },
        },
      ],
      TXT: [{ host, txt: 'v=spf1 -all', entries: ['v=spf1 ', '-all'] }],
      CNAME: [],
      MX: [{ host, pri: 10, target: 'mail.example.test' }],
      CAA: [{ host, flags: 128, tag: 'issue', value: 'ca.example.net; policy=ev' }],
    });
  });
});

const ask = (name: string, type: string) => outcome(clientForTest([server]), name, type);

describe('names that have nothing', () => {
  test('NXDOMAIN is an answer without records: the name does not exist', async () => {
    expect(await ask('nowhere.example.test', 'A')).toBe('NXDOMAIN');
  });

  test('NODATA is an answer without records: the name exists', async () => {
    expect(await ask('edge.b.example.test', 'AAAA')).toEqual([]);
  });

  test('a name with nothing but names below it exists', async () => {
    expect(await ask('ent.example.test', 'A')).toEqual([]);
  });

  test('a CNAME to a name that does not exist leads to NXDOMAIN, and is there itself', async () => {
    expect(await ask('lost.example.test', 'A')).toBe('NXDOMAIN');
    expect(await ask('lost.example.test', 'CNAME')).toEqual([
      { host: 'lost.example.test', target: 'nowhere.example.test' },
    ]);
  });
});

test('DS records are denied by the zone above the cut, and not by the zone below it (RFC 4035, 3.1.4.1)', async () => {
  const below = await serverForTest({ zone: 'sub.test. SOA . . 1 1 1 1 1' });
  const above = await serverForTest({ zone: 'test. SOA . . 1 1 1 1 1\nsub.test. NS ns.sub.test.' });
  expect(await outcome(clientForTest([below]), 'sub.test', 'DS')).toEqual({ failed: 'unproven' });
  expect(await outcome(clientForTest([above]), 'sub.test', 'DS')).toEqual([]);
});

describe('CNAMEs', () => {
  test('records that a chain leads to count, with the owner that they have', async () => {
    expect(await ask('www.example.test', 'A')).toEqual([{ host: 'edge.b.example.test', ip: '192.0.2.9' }]);
  });

  test('queried for CNAME, only that of the queried name counts', async () => {
    const chained = await serverForTest();
    const { answers } = new Zone(ZONE).answer(nameOctets('www.example.test'), 1);
    expect(answers).toHaveLength(3);
    chained.behave('*', ({ query }) => ({ messages: [encodeResponse(query, { ...NOTHING, answers })] }));
    expect(await outcome(clientForTest([chained]), 'www.example.test', 'CNAME')).toEqual([
      { host: 'www.example.test', target: 'edge.example.test' },
    ]);
  });

  test('a loop is no answer', async () => {
    expect(await ask('loop.example.test', 'A')).toEqual({ failed: 'malformed' });
    expect(await ask('loop.example.test', 'CNAME')).toEqual([
      { host: 'loop.example.test', target: 'pool.example.test' },
    ]);
  });

  test('a chain that leaves what the server knows is no answer, and still shows its CNAMEs', async () => {
    const answer = (await clientForTest([server]).query('away.example.test', ['A'])).get('A');
    expect(outcomeOf(answer)).toEqual({ failed: 'incomplete' });
    expect(answer?.aliases?.map(dnsRecordData)).toEqual([
      { host: 'away.example.test', class: 'IN', type: 'CNAME', target: 'www.example.org' },
    ]);
  });

  test('the answer for the end of a chain has every CNAME that leads there, under its own owner', async () => {
    const answer = (await clientForTest([server]).query('www.example.test', ['A'])).get('A');
    expect(answer?.aliases?.map(dnsRecordData)).toEqual([
      { host: 'www.example.test', class: 'IN', type: 'CNAME', target: 'edge.example.test' },
      { host: 'edge.example.test', class: 'IN', type: 'CNAME', target: 'edge.b.example.test' },
    ]);
  });
});

describe('what does not count', () => {
  const answers = (records: readonly ZoneRecord[]) =>
    serverForTest({ zone: ZONE }).then((other) => {
      other.behave('*', ({ query }) => ({
        messages: [encodeResponse(query, { ...NOTHING, answers: records })],
      }));
      return outcome(clientForTest([other]), 'asked.test', 'A');
    });
  const a = (owner: string, last: number, type = 1): ZoneRecord => ({
    ...{ owner: nameOctets(owner), type, ttl: 1 },
    rdata: Buffer.from([192, 0, 2, last]),
  });
  const alias = (owner: string, target: string): ZoneRecord => ({
    ...{ owner: nameOctets(owner), type: 5, ttl: 1 },
    rdata: nameOctets(target),
  });

  test('a record of another name is left out', async () => {
    expect(await answers([a('asked.test', 1), a('other.test', 2), a('sub.asked.test', 3)])).toEqual([
      { host: 'asked.test', ip: '192.0.2.1' },
    ]);
  });

  test('a record of another type is left out', async () => {
    expect(await answers([a('asked.test', 1, 65_280), a('asked.test', 2)])).toEqual([
      { host: 'asked.test', ip: '192.0.2.2' },
    ]);
  });

  test('a record of another class is no answer', async () => {
    const other = await serverForTest({ zone: ZONE });
    other.behave(
      '*',
      changed((message, { query }) => withClass(message, query.question.length, 3)),
    );
    expect(await outcome(clientForTest([other]), 'edge.b.example.test', 'A')).toEqual({ failed: 'unproven' });
  });

  test('the order of the records, repeats, TTL and case make no difference', async () => {
    const one = await answers([a('asked.test', 1), a('asked.test', 2)]);
    const two = await answers([
      { ...a('ASKED.Test', 2), ttl: 4_000_000_000 },
      a('asked.test', 1),
      a('asKed.test', 2),
    ]);
    expect(two).toEqual(one);
  });

  test('the order of CNAMEs and records makes no difference', async () => {
    const chain = [alias('b.test', 'C.test'), a('c.test', 7), alias('Asked.test', 'b.test')];
    expect(await answers(chain)).toEqual([{ host: 'c.test', ip: '192.0.2.7' }]);
    expect(await answers(chain.toReversed())).toEqual([{ host: 'c.test', ip: '192.0.2.7' }]);
  });

  test('NXDOMAIN with the queried records contradicts itself, and is not an answer', async () => {
    const other = await serverForTest({ zone: ZONE });
    other.behave(
      '*',
      changed((message) => {
        message.writeUInt8(message.readUInt8(3) | 3, 3);
        return message;
      }),
    );
    expect(await outcome(clientForTest([other]), 'example.test', 'A')).toEqual({ failed: 'malformed' });
  });
});

describe('octets', () => {
  test('TXT with octets that are not UTF-8 is exact', async () => {
    expect(await ask('octets.example.test', 'TXT')).toEqual([
      {
        host: 'octets.example.test',
        txt: String.raw`é \000\255\092065`,
        entries: [String.raw`é \000\255\092065`],
      },
    ]);
  });

  test('names are exact, octet by octet: dots, spaces, NUL and what is not ASCII inside labels', async () => {
    const name = String.raw`a\.b\032\000.\195\188.example.test`;
    const other = await serverForTest({ zone: ZONE });
    other.behave('*', ({ query }) => ({
      messages: [
        encodeResponse(query, {
          ...NOTHING,
          answers: recordsOf(query.name, String.raw`\255\.\\.Example.test`),
        }),
      ],
    }));
    expect(await outcome(clientForTest([other]), name, 'NS')).toEqual([
      { host: name, target: String.raw`\255\.\\.example.test` },
    ]);
    expect(other.asked(String.raw`a.b\032\000.\195\188.example.test`)).toBe(0);
  });

  test('the answer may write the queried name in another case', async () => {
    const other = await serverForTest({ zone: ZONE });
    other.behave(
      '*',
      changed((message, { query }) => inUpperCase(message, query.name.length)),
    );
    expect(await outcome(clientForTest([other]), 'example.test', 'AAAA')).toEqual([
      { host: 'example.test', ipv6: '2001:db8::7' },
    ]);
  });
});

describe('types', () => {
  test('a type without a name is queried by its number, and answered under the name that it has', async () => {
    const zone = String.raw`
$ORIGIN types.test.
@ SOA . . 1 1 1 1 1
  TYPE65534 \# 4 C0000201
  CAA 0 issue ";"
  DS  60485 5 1 2BB183AF5F22588179A53B0A 98631FAD1A292118
`;
    const other = await serverForTest({ zone });
    const answers = await clientForTest([other]).query('types.test', [
      'type65534',
      'TYPE257',
      'ds',
      'DS',
      'WHAT',
    ]);
    const host = 'types.test';
    expect([...answers].map(([type, answer]) => [type, outcomeOf(answer)])).toEqual([
      ['TYPE65534', [{ host, data: String.raw`\# 4 C0000201` }]],
      ['CAA', [{ host, flags: 0, tag: 'issue', value: ';' }]],
      ['DS', [{ host, data: '60485 5 1 2BB183AF5F22588179A53B0A98631FAD1A292118' }]],
      ['WHAT', { failed: 'malformed' }],
    ]);
    expect(other.asked('types.test')).toBe(3);
  });
});

test('a name that DNS does not allow is not queried, and fails', async () => {
  const before = server.questions;
  expect(await ask(`${'a'.repeat(64)}.test`, 'A')).toEqual({ failed: 'malformed' });
  expect(await ask('a..test', 'A')).toEqual({ failed: 'malformed' });
  expect(server.questions).toBe(before);
});

const NOTHING: ResponseParts = { rcode: 0, flags: FLAGS.AA, answers: [], authorities: [] };

function recordsOf(owner: Buffer, target: string): ZoneRecord[] {
  return [{ owner: Buffer.from(owner), type: 2, ttl: 1, rdata: nameOctets(target) }];
}

/** The first record behind a question, its owner a pointer, in another class. */
function withClass(message: Buffer, questionLength: number, dnsClass: number): Buffer {
  message.writeUInt16BE(dnsClass, 12 + questionLength + 4);
  return message;
}

/** The name in the question, in capitals. */
function inUpperCase(message: Buffer, nameLength: number): Buffer {
  for (let at = 12; at < 12 + nameLength; at += 1) {
    const octet = message.readUInt8(at);
    if (octet >= 0x61 && octet <= 0x7a) message.writeUInt8(octet - 0x20, at);
  }
  return message;
}
