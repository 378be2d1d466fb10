import { afterAll, expect, test } from 'vitest';
import { changed } from '../../support/dns-behaviours.js';
import { encodeResponse, FLAGS } from '../../support/dns-message.js';
import { nameOctets } from '../../support/dns-octets.js';
import { startDnsServer } from '../../support/dns-server.js';
import { Zone } from '../../support/dns-zone.js';
import { clientForTest, outcome, outcomeOf, serverForTest } from './asking.js';

const ZONE = `
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
`;

const server = await startDnsServer({ zone: ZONE });
afterAll(() => server.close());

test('every type of one name is queried at once, and answered in canonical form and order', async () => {
  const types = ['A', 'AAAA', 'NS', 'SOA', 'TXT', 'CNAME', 'MX', 'CAA'];
  const answers = await clientForTest([server]).query('example.test', types);
  const host = 'example.test';
  const names = { mname: 'ns1.example.test', rname: 'hostmaster.example.test' };
  const times = { serial: 4_294_967_295, refresh: 7200, retry: 900, expire: 1_209_600, 'minimum-ttl': 0 };
  expect([...answers].map(([type, answer]) => [type, outcomeOf(answer)])).toEqual([
    ['A', ['192.0.2.7', '192.0.2.8'].map((ip) => ({ host, ip }))],
    ['AAAA', [{ host, ipv6: '2001:db8::7' }]],
    ['NS', ['ns1.example.test', 'ns2.example.net'].map((target) => ({ host, target }))],
    ['SOA', [{ host, ...names, ...times }]],
    ['TXT', [{ host, txt: 'v=spf1 -all', entries: ['v=spf1 ', '-all'] }]],
    ['CNAME', []],
    ['MX', [{ host, pri: 10, target: 'mail.example.test' }]],
    ['CAA', [{ host, flags: 128, tag: 'issue', value: 'ca.example.net; policy=ev' }]],
  ]);
});

test('a name that DNS does not allow is not queried, and fails', async () => {
  const before = server.questions;
  for (const name of [`${'a'.repeat(64)}.test`, 'a..test']) {
    expect(await outcome(clientForTest([server]), name, 'A')).toEqual({ failed: 'malformed' });
  }
  expect(server.questions).toBe(before);
});

test('queried for CNAME, only that of the queried name counts', async () => {
  const chained = await serverForTest();
  const { answers } = new Zone(ZONE).answer(nameOctets('www.example.test'), 1);
  expect(answers).toHaveLength(3);
  const whole = { rcode: 0, flags: FLAGS.AA, answers, authorities: [] };
  chained.behave('*', ({ query }) => ({ messages: [encodeResponse(query, whole)] }));
  expect(await outcome(clientForTest([chained]), 'www.example.test', 'CNAME')).toEqual([
    { host: 'www.example.test', target: 'edge.example.test' },
  ]);
});

test('the answer may write the queried name in another case', async () => {
  const other = await serverForTest({ zone: ZONE });
  const inCapitals = changed((message, { query }) => {
    const end = 12 + query.name.length;
    message.write(message.toString('latin1', 12, end).toUpperCase(), 12, 'latin1');
    return message;
  });
  other.behave('*', inCapitals);
  expect(await outcome(clientForTest([other]), 'example.test', 'AAAA')).toEqual([
    { host: 'example.test', ipv6: '2001:db8::7' },
  ]);
});

test('a type without a name is queried by its number, and answered under the name that it has', async () => {
  const zone = String.raw`
$ORIGIN types.test.
@ SOA . . 1 1 1 1 1
  TYPE65534 \# 4 C0000201
  CAA 0 issue ";"
  DS  60485 5 1 2BB183AF5F22588179A53B0A 98631FAD1A292118
`;
  const other = await serverForTest({ zone });
  const types = ['type65534', 'TYPE257', 'ds', 'DS', 'WHAT'];
  const answers = await clientForTest([other]).query('types.test', types);
  const host = 'types.test';
  expect([...answers].map(([type, answer]) => [type, outcomeOf(answer)])).toEqual([
    ['TYPE65534', [{ host, data: String.raw`\# 4 C0000201` }]],
    ['CAA', [{ host, flags: 0, tag: 'issue', value: ';' }]],
    ['DS', [{ host, data: '60485 5 1 2BB183AF5F22588179A53B0A98631FAD1A292118' }]],
    ['WHAT', { failed: 'malformed' }],
  ]);
  expect(other.asked('types.test')).toBe(3);
});
