import type pg from 'pg';
import { FIRST_SEEN, insertDnsRecords, insertDomain, insertHeaderChanges } from './rows.js';

/** A domain that has a record of every type, headers of every kind of history, and every kind of time. */
export const EVERYTHING = 'xn--bcher-kva.example.co.uk';

const SECOND = 1_000_000n;

export async function insertEverything(pool: pg.Pool): Promise<void> {
  await insertDomain(pool, {
    name: EVERYTHING,
    created: 0n,
    lastUpdate: FIRST_SEEN + 9n * SECOND,
    lastChange: FIRST_SEEN + 7n * SECOND,
  });
  await insertDnsRecords(pool, EVERYTHING, [
    { type: 'AAAA', rdata: { ipv6: '2001:db8::7' } },
    { type: 'A', rdata: { ip: '192.0.2.8' }, firstSeen: FIRST_SEEN + SECOND },
    { type: 'A', rdata: { ip: '192.0.2.7' }, removed: FIRST_SEEN + SECOND },
    { type: 'NS', rdata: { target: 'ns1.example.net' } },
    {
      type: 'SOA',
      rdata: {
        ...{ mname: 'ns1.example.net', rname: 'host\\.master.example.net', serial: 4_294_967_295 },
        ...{ refresh: 7200, retry: 900, expire: 1_209_600, 'minimum-ttl': 0 },
      },
    },
    { type: 'TXT', rdata: { txt: 'v=spf1 "ü" \\000', entries: ['v=spf1 ', '"ü" \\000'] } },
    { type: 'CNAME', host: '*.example.co.uk', rdata: { target: '.' } },
    { type: 'MX', rdata: { pri: 10, target: 'mail.example.net' } },
    { type: 'SRV', rdata: { pri: 1, weight: 2, port: 65_535, target: 'sip.example.net' } },
    { type: 'CAA', rdata: { flags: 128, tag: 'issue', value: 'ca.example.net' } },
    { type: 'PTR', rdata: { target: 'host.example.net' } },
    {
      type: 'NAPTR',
      rdata: {
        ...{ order: 100, pref: 10, flags: 'u', services: 'E2U+sip' },
        ...{ regex: '!^.*$!sip:a@example.net!', replacement: '.' },
      },
    },
    { type: 'HINFO', rdata: { cpu: 'AMD64', os: 'LINUX' } },
    { type: 'DS', class: 'CH', rdata: { data: '60485 5 1 2BB183AF5F22588179A53B0A98631FAD1A292118' } },
    { type: 'TYPE65534', rdata: { data: '\\# 4 C0000201' } },
  ]);
  await insertHeaderChanges(pool, EVERYTHING, [
    { name: 'via', observedAt: FIRST_SEEN, value: '1.1 a, 1.1 b' },
    { name: 'server', observedAt: FIRST_SEEN, value: 'nginx' },
    { name: 'server', observedAt: FIRST_SEEN + 5n * SECOND },
    { name: 'server', observedAt: FIRST_SEEN + 6n * SECOND, value: 'nginx' },
    { name: 'server', observedAt: FIRST_SEEN + 7n * SECOND, value: '' },
  ]);
}

const T0 = '2024-03-01T10:20:30.123456Z';
const T1 = '2024-03-01T10:20:31.123456Z';
const T7 = '2024-03-01T10:20:37.123456Z';
const CREATED = '1970-01-01T00:00:00.000000Z';
const UPDATED = '2024-03-01T10:20:39.123456Z';

function entry(
  fields: string,
  { host = EVERYTHING, dnsClass = 'IN', firstSeen = T0, removed = 'null' } = {},
) {
  return `{"data":{"host":"${host}","class":"${dnsClass}",${fields}},"firstSeen":"${firstSeen}","removed":${removed}}`;
}

/** The `dnsRecords` of EVERYTHING, as the specification (2.2, 2.3) writes them: every byte. */
const DNS_RECORDS = `[${[
  entry('"type":"A","ip":"192.0.2.7"', { removed: `"${T1}"` }),
  entry('"type":"AAAA","ipv6":"2001:db8::7"'),
  entry('"type":"CAA","flags":128,"tag":"issue","value":"ca.example.net"'),
  entry('"type":"CNAME","target":"."', { host: '*.example.co.uk' }),
  entry('"type":"DS","data":"60485 5 1 2BB183AF5F22588179A53B0A98631FAD1A292118"', { dnsClass: 'CH' }),
  entry('"type":"HINFO","cpu":"AMD64","os":"LINUX"'),
  entry('"type":"MX","pri":10,"target":"mail.example.net"'),
  entry(
    '"type":"NAPTR","order":100,"pref":10,"flags":"u","services":"E2U+sip","regex":"!^.*$!sip:a@example.net!","replacement":"."',
  ),
  entry('"type":"NS","target":"ns1.example.net"'),
  entry('"type":"PTR","target":"host.example.net"'),
  entry(
    '"type":"SOA","mname":"ns1.example.net","rname":"host\\\\.master.example.net","serial":4294967295,"refresh":7200,"retry":900,"expire":1209600,"minimum-ttl":0',
  ),
  entry('"type":"SRV","pri":1,"weight":2,"port":65535,"target":"sip.example.net"'),
  entry('"type":"TXT","txt":"v=spf1 \\"ü\\" \\\\000","entries":["v=spf1 ","\\"ü\\" \\\\000"]'),
  entry('"type":"TYPE65534","data":"\\\\# 4 C0000201"'),
  entry('"type":"A","ip":"192.0.2.8"', { firstSeen: T1 }),
].join(',')}]`;

/** The `httpHeaders` of EVERYTHING, as the specification (2.4, 2.5) writes them: every byte. */
const HTTP_HEADERS = `[${[
  `{"name":"server","value":"","history":[{"event":"created","date":"${T0}","new":"nginx","old":null},{"event":"updated","date":"${T7}","new":"","old":"nginx"}]}`,
  `{"name":"via","value":"1.1 a, 1.1 b","history":[{"event":"created","date":"${T0}","new":"1.1 a, 1.1 b","old":null}]}`,
].join(',')}]`;

const TIMES = `"created":"${CREATED}","lastUpdate":"${UPDATED}"`;

/** What REST v1 answers for EVERYTHING, by the path after the domain. */
export const EVERY_BODY: Readonly<Record<'' | '/dns' | '/details' | '/headers', string>> = {
  '': `{"domain":"${EVERYTHING}",${TIMES},"dnsRecords":${DNS_RECORDS},"httpHeaders":${HTTP_HEADERS}}`,
  '/dns': `{"domain":"${EVERYTHING}",${TIMES},"dnsRecords":${DNS_RECORDS}}`,
  '/details': `{"domain":"${EVERYTHING}","unicodeName":"bücher.example.co.uk","registrableDomain":"example.co.uk",${TIMES},"lastChange":"${T7}","dnsRecordCount":15,"httpHeaderCount":2,"changeCount":21}`,
  '/headers': `{"domain":"${EVERYTHING}",${TIMES},"httpHeaders":${HTTP_HEADERS}}`,
};
