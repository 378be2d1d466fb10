import type { ServedResponse } from '../support/web-server.js';

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
`;

/** The zone and the site at each of the four times that are observed. */
export const STAGES: readonly { readonly zone: string; readonly site: ServedResponse }[] = [
  {
    zone: `
      @ SOA   ns1 hostmaster 4294967294 7200 900 1209600 300
      @ A     127.0.0.1
      @ A     127.0.0.8
      @ TXT   "v=spf1 -all"
      www CNAME @`,
    site: {
      fields: [
        ['X-Powered-By', 'one'],
        ['Date', 'Mon'],
        ['Via', '1.1 a'],
        ['Via', '1.1 b'],
        ['X-Old', 'was'],
      ],
    },
  },
  {
    // Another order, another time to live and another case are no change.
    zone: String.raw`
      @ SOA   NS1 HostMaster 4294967295 7200 900 1209600 300
      @ 60 A  127.0.0.8
      @ A     127.0.0.1
      @ TXT   "v=spf1 -all"
      @ TXT   "a \"quoted\" part" "and \000 \255 octets"
      www CNAME @`,
    site: {
      fields: [
        ['X-Powered-By', 'two'],
        ['Date', 'Tue'],
        ['Via', '1.1 a, 1.1 b'],
      ],
    },
  },
  {
    zone: `
      @ SOA   ns1 hostmaster 4294967295 7200 900 1209600 300
      @ A     127.0.0.1
      @ TXT   "v=spf1 -all"
      www CNAME other
      other A 127.0.0.1`,
    site: {
      status: 404,
      fields: [
        ['X-Powered-By', 'two'],
        ['X-Old', 'was'],
        ['Via', '1.1 a, 1.1 b'],
      ],
    },
  },
  {
    zone: `
      @ SOA   ns1 hostmaster 4294967295 7200 900 1209600 300
      @ A     127.0.0.1
      @ A     127.0.0.8
      www CNAME other
      other A 127.0.0.1`,
    site: {
      fields: [
        ['X-Powered-By', 'one'],
        ['X-Old', 'was'],
        ['Via', '1.1 a, 1.1 b'],
      ],
    },
  },
];

/** The types that are queried besides those of every domain. */
export const FURTHER_TYPES = 'SRV, PTR, NAPTR, HINFO, DS, HTTPS, TYPE65534';

/** The master file of a stage, in which a line that is indented would have the owner of the line before. */
export function zoneAt(stage: number): string {
  return `${CONSTANT}\n${STAGES[stage]?.zone}\n`.replace(/^ +/gm, '');
}

/** An answer of Get domain with each time replaced by its place among the times of the answer. */
export async function storyOf(address: string): Promise<unknown> {
  const body = await (await fetch(address)).text();
  const times = [...new Set(body.match(/\d{4}-\d\d-\d\dT[\d:.]+Z/g))].sort();
  return JSON.parse(body, (key, value) => (TIMES.has(key) ? times.indexOf(value) : value));
}

const TIMES = new Set(['created', 'lastUpdate', 'firstSeen', 'removed', 'date']);
/** In the place of a time that is null. */
export const NEVER = -1;

const own = (type: string, fields: object) => ({ host: 'example.test', class: 'IN', type, ...fields });
const stay = (type: string, fields: object, firstSeen = 0, removed = NEVER) => ({
  data: own(type, fields),
  firstSeen,
  removed,
});
const soa = (serial: number) => ({
  ...{ mname: 'ns1.example.test', rname: 'hostmaster.example.test', serial },
  ...{ refresh: 7200, retry: 900, expire: 1_209_600, 'minimum-ttl': 300 },
});
const txt = (...entries: string[]) => ({ txt: entries.join(''), entries });
const item = (event: string, date: number, value: string, old: string | null) => ({
  event,
  date,
  new: value,
  old,
});

/** What is recorded of the zone in the end, as storyOf gives it. */
export const RECORDS = [
  stay('A', { ip: '127.0.0.1' }),
  stay('A', { ip: '127.0.0.8' }, 0, 2),
  stay('AAAA', { ipv6: '::1' }),
  stay('CAA', { flags: 128, tag: 'issue', value: 'ca.example.net' }),
  stay('DS', { data: '60485 5 1 2BB183AF5F22588179A53B0A98631FAD1A292118' }),
  stay('HINFO', { cpu: 'PDP-11', os: 'UNIX' }),
  stay('HTTPS', { data: '1 . alpn="h2"' }),
  stay('MX', { pri: 10, target: 'mail.example.test' }),
  stay('NAPTR', {
    ...{ order: 100, pref: 10, flags: 'u', services: 'E2U+sip' },
    ...{ regex: '!^.*$!sip:a@example.test!', replacement: '.' },
  }),
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

/** What is recorded of the site in the end. */
export const HEADERS = [
  { name: 'via', value: '1.1 a, 1.1 b', history: [item('created', 0, '1.1 a, 1.1 b', null)] },
  { name: 'x-old', value: 'was', history: [item('created', 0, 'was', null)] },
  {
    name: 'x-powered-by',
    value: 'one',
    history: [
      item('created', 0, 'one', null),
      item('updated', 1, 'two', 'one'),
      item('updated', 3, 'one', 'two'),
    ],
  },
];
