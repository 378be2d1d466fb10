import { expect, onTestFinished, test } from 'vitest';
import { databaseOfFile } from '../support/database.js';
import { startDnsServer } from '../support/dns-server.js';
import { type ServedResponse, settingsToObserve, startHttpServer } from '../support/web-server.js';
import { runDms } from './dms-command.js';
import { answersIn } from './serving.js';

/** What stands in the zone all the time: each type of record that has fields of its own, and three others. */
const CONSTANT = String.raw`
$ORIGIN example.test.
@ 300 AAAA  ::1
@ NS    ns1
@ MX    10 Mail
@ SRV   1 2 65535 sip
@ CAA   128 issue "ca.example.net"
@ PTR   host
@ NAPTR 100 10 "u" "E2U+sip" "!^.*$!sip:a@example.test!" .
@ HINFO "PDP-11" "UNIX"
@ DS    60485 5 1 2bb183af5f22588179a53b0a98631fad1a292118
@ HTTPS 1 . alpn=h2
@ TYPE65534 \# 3 00ff10
ns1 A 127.0.0.1
`;

const VIA = ['Via', '1.1 a, 1.1 b'] as const;
const FIRST_VIA = [['Via', '1.1 a'] as const, ['Via', '1.1 b'] as const];

/** The zone and the site at each of the four times that are observed. */
const STAGES = [
  {
    zone: `@ SOA ns1 hostmaster 4294967294 7200 900 1209600 300
@ A 127.0.0.1
@ A 127.0.0.8
@ TXT "v=spf1 -all"
www CNAME @`,
    status: 200,
    fields: [['X-Powered-By', 'one'], ['Date', 'Mon'], ...FIRST_VIA, ['X-Old', 'was']],
  },
  {
    // Another order, another time to live and another case are no change.
    zone: String.raw`@ SOA NS1 HostMaster 4294967295 7200 900 1209600 300
@ 60 A 127.0.0.8
@ A 127.0.0.1
@ TXT "v=spf1 -all"
@ TXT "a \"quoted\" part" "and \000 \255 octets"
www CNAME @`,
    status: 200,
    fields: [['X-Powered-By', 'two'], ['Date', 'Tue'], VIA],
  },
  {
    zone: `@ SOA ns1 hostmaster 4294967295 7200 900 1209600 300
@ A 127.0.0.1
@ TXT "v=spf1 -all"
www CNAME other
other A 127.0.0.1`,
    status: 404,
    fields: [['X-Powered-By', 'two'], ['X-Old', 'was'], VIA],
  },
  {
    zone: `@ SOA ns1 hostmaster 4294967295 7200 900 1209600 300
@ A 127.0.0.1
@ A 127.0.0.8
www CNAME other
other A 127.0.0.1`,
    status: 200,
    fields: [['X-Powered-By', 'one'], ['X-Old', 'was'], VIA],
  },
] satisfies readonly (ServedResponse & { readonly zone: string })[];

/** In the place of a time that is null. */
const NEVER = -1;

/** A record, and the places of its times among those of the answer. */
function stay(type: string, fields: object, firstSeen = 0, removed = NEVER, host = 'example.test') {
  return { data: { host, class: 'IN', type, ...fields }, firstSeen, removed };
}
const NAPTR = { order: 100, pref: 10, flags: 'u', services: 'E2U+sip', regex: '!^.*$!sip:a@example.test!' };
const TIMERS = { refresh: 7200, retry: 900, expire: 1_209_600, 'minimum-ttl': 300 };
const MASTER = { mname: 'ns1.example.test', rname: 'hostmaster.example.test' };
const soa = (serial: number) => ({ ...MASTER, serial, ...TIMERS });
const txt = (...entries: string[]) => ({ txt: entries.join(''), entries });
const created = (value: string) => ({ event: 'created', date: 0, new: value, old: null });
const updated = (date: number, value: string, old: string) => ({ event: 'updated', date, new: value, old });

const RECORDS = [
  stay('A', { ip: '127.0.0.1' }),
  stay('A', { ip: '127.0.0.8' }, 0, 2),
  stay('AAAA', { ipv6: '::1' }),
  stay('CAA', { flags: 128, tag: 'issue', value: 'ca.example.net' }),
  stay('DS', { data: '60485 5 1 2BB183AF5F22588179A53B0A98631FAD1A292118' }),
  stay('HINFO', { cpu: 'PDP-11', os: 'UNIX' }),
  stay('HTTPS', { data: '1 . alpn="h2"' }),
  stay('MX', { pri: 10, target: 'mail.example.test' }),
  stay('NAPTR', { ...NAPTR, replacement: '.' }),
  stay('NS', { target: 'ns1.example.test' }),
  stay('PTR', { target: 'host.example.test' }),
  stay('SOA', soa(4_294_967_294), 0, 1),
  stay('SRV', { pri: 1, weight: 2, port: 65_535, target: 'sip.example.test' }),
  stay('TXT', txt('v=spf1 -all'), 0, 3),
  stay('TYPE65534', { data: '\\# 3 00FF10' }),
  stay('SOA', soa(4_294_967_295), 1),
  stay('TXT', txt('a "quoted" part', 'and \\000 \\255 octets'), 1, 2),
  stay('A', { ip: '127.0.0.8' }, 3),
];

const HEADERS = [
  { name: 'via', value: '1.1 a, 1.1 b', history: [created('1.1 a, 1.1 b')] },
  { name: 'x-old', value: 'was', history: [created('was')] },
  {
    name: 'x-powered-by',
    value: 'one',
    history: [created('one'), updated(1, 'two', 'one'), updated(3, 'one', 'two')],
  },
];

const database = databaseOfFile();

/** An answer of Get domain with each time replaced by its place among the times of the answer. */
function storyIn(body: string) {
  const isTime = (key: string) => ['created', 'lastUpdate', 'firstSeen', 'removed', 'date'].includes(key);
  const times = [...new Set(body.match(/\d{4}-\d\d-\d\dT[\d:.]+Z/g))].sort();
  return JSON.parse(body, (key, value) => (isTime(key) ? times.indexOf(value) : value));
}

test('zone and site that change three times are told exactly, with every type of record; of an alias its CNAME, and the address under the owner that has it', async () => {
  const [dns, site] = [await startDnsServer(), await startHttpServer()];
  onTestFinished(() => Promise.all([dns.close(), site.close()]).then(() => {}));
  const settings = {
    ...database.environment,
    ...settingsToObserve(dns.port, site.port),
    OBSERVE_DNS_TYPES: 'SRV, PTR, NAPTR, HINFO, DS, HTTPS, TYPE65534',
  };
  const domains = ['example.test', 'www.example.test'];
  for (const { zone, status, fields } of STAGES) {
    dns.setZone(`$TTL 60\n${CONSTANT}${zone}\n`);
    site.serve({ status, fields });
    expect(await runDms(['observe', ...domains], settings)).toMatchObject({ code: 0, stderr: '' });
  }
  const answers = await answersIn({ ...database.environment, ROLE: 'api' }, domains);
  const [story, { dnsRecords }] = Array.from(answers.values(), storyIn);
  const all = { dnsRecords: RECORDS, httpHeaders: HEADERS };
  expect(story).toEqual({ domain: 'example.test', created: 0, lastUpdate: 3, ...all });
  const alias = [
    stay('CNAME', { target: 'example.test' }, 0, 2, 'www.example.test'),
    stay('CNAME', { target: 'other.example.test' }, 2, NEVER, 'www.example.test'),
    stay('A', { ip: '127.0.0.1' }, 0, 2),
    stay('A', { ip: '127.0.0.1' }, 2, NEVER, 'other.example.test'),
  ];
  expect(dnsRecords).toEqual(expect.arrayContaining(alias));
});
