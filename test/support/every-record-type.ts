import type pg from 'pg';
import { FIRST_SEEN, insertDnsRecords, insertDomain, insertHeaderChanges } from './rows.js';

/** A domain that has a record of every type, headers of every kind of history, and every kind of time. */
export const EVERYTHING = 'xn--bcher-kva.example.co.uk';

const secondsLater = (seconds: number) => FIRST_SEEN + BigInt(seconds) * 1_000_000n;
/** The same as answers write it. */
const timeText = (seconds: number) => `2024-03-01T10:20:3${seconds}.123456Z`;

interface Stay {
  readonly host?: string;
  readonly class?: string;
  /** In seconds after FIRST_SEEN. */
  readonly since?: number;
  readonly until?: number;
}

const NAPTR = { order: 100, pref: 10, flags: 'u', services: 'E2U+sip', regex: '!^.*$!sip:a@example.net!' };
const MASTER = { mname: 'ns1.example.net', rname: 'host\\.master.example.net' };
const TIMERS = { refresh: 7200, retry: 900, expire: 1_209_600, 'minimum-ttl': 0 };

/** In the order of the answer, the fields of each as the specification (2.2, 2.3) writes them. */
const RECORDS: readonly (readonly [type: string, rdata: Readonly<Record<string, unknown>>, stay?: Stay])[] = [
  ['A', { ip: '192.0.2.7' }, { until: 1 }],
  ['AAAA', { ipv6: '2001:db8::7' }],
  ['CAA', { flags: 128, tag: 'issue', value: 'ca.example.net' }],
  ['CNAME', { target: '.' }, { host: '*.example.co.uk' }],
  ['DS', { data: '60485 5 1 2BB183AF5F22588179A53B0A98631FAD1A292118' }, { class: 'CH' }],
  ['HINFO', { cpu: 'AMD64', os: 'LINUX' }],
  ['MX', { pri: 10, target: 'mail.example.net' }],
  ['NAPTR', { ...NAPTR, replacement: '.' }],
  ['NS', { target: 'ns1.example.net' }],
  ['PTR', { target: 'host.example.net' }],
  ['SOA', { ...MASTER, serial: 4_294_967_295, ...TIMERS }],
  ['SRV', { pri: 1, weight: 2, port: 65_535, target: 'sip.example.net' }],
  ['TXT', { txt: 'v=spf1 "ü" \\000', entries: ['v=spf1 ', '"ü" \\000'] }],
  ['TYPE65534', { data: '\\# 4 C0000201' }],
  ['A', { ip: '192.0.2.8' }, { since: 1 }],
];

export async function insertEverything(pool: pg.Pool): Promise<void> {
  const [lastUpdate, lastChange] = [secondsLater(9), secondsLater(7)];
  await insertDomain(pool, { name: EVERYTHING, created: 0n, lastUpdate, lastChange });
  const rows = RECORDS.map(([type, rdata, { since = 0, until, ...owner } = {}]) => {
    const removed = until === undefined ? null : secondsLater(until);
    return { type, rdata, ...owner, firstSeen: secondsLater(since), removed };
  });
  await insertDnsRecords(pool, EVERYTHING, rows.toReversed());
  await insertHeaderChanges(pool, EVERYTHING, [
    { name: 'via', observedAt: FIRST_SEEN, value: '1.1 a, 1.1 b' },
    { name: 'server', observedAt: FIRST_SEEN, value: 'nginx' },
    { name: 'server', observedAt: secondsLater(5) },
    { name: 'server', observedAt: secondsLater(6), value: 'nginx' },
    { name: 'server', observedAt: secondsLater(7), value: '' },
  ]);
}

const dnsRecords = RECORDS.map(([type, rdata, stay = {}]) => {
  const { host = EVERYTHING, class: dnsClass = 'IN', since = 0, until } = stay;
  const removed = until === undefined ? null : timeText(until);
  return { data: { host, class: dnsClass, type, ...rdata }, firstSeen: timeText(since), removed };
});

/** As the specification (2.4, 2.5) writes them. */
const created = (value: string) => ({ event: 'created', date: timeText(0), new: value, old: null });
const emptied = { event: 'updated', date: timeText(7), new: '', old: 'nginx' };
const httpHeaders = [
  { name: 'server', value: '', history: [created('nginx'), emptied] },
  { name: 'via', value: '1.1 a, 1.1 b', history: [created('1.1 a, 1.1 b')] },
];

const names = { unicodeName: 'bücher.example.co.uk', registrableDomain: 'example.co.uk' };
const times = { created: '1970-01-01T00:00:00.000000Z', lastUpdate: timeText(9) };
const counts = { lastChange: timeText(7), dnsRecordCount: 15, httpHeaderCount: 2, changeCount: 21 };
const body = (parts: object) => JSON.stringify({ domain: EVERYTHING, ...parts });

/** What REST v1 answers for EVERYTHING, by the path after the domain: every byte. */
export const EVERY_BODY: Readonly<Record<'' | '/dns' | '/details' | '/headers', string>> = {
  '': body({ ...times, dnsRecords, httpHeaders }),
  '/dns': body({ ...times, dnsRecords }),
  '/details': body({ ...names, ...times, ...counts }),
  '/headers': body({ ...times, httpHeaders }),
};
