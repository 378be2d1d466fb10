import fc from 'fast-check';

/** A record's data, with a type and the type's own fields at least. */
type RecordData = Readonly<Record<string, unknown>> & { readonly type: string };

export interface ObservationLine {
  readonly domain: string;
  readonly observedAt: string;
  readonly dnsRecords?: readonly object[];
  readonly dnsTypes?: readonly string[];
  readonly httpHeaders?: Record<string, string | string[]>;
  readonly site?: { readonly scheme: string; readonly status?: number };
  readonly source?: string;
}

const MASTER = { mname: 'NS1.example.net.', rname: 'hostmaster\\.dns.example.net' };
const TIMERS = { refresh: 7200, retry: 0, expire: 1209600, 'minimum-ttl': 300 };
const NAPTR = { order: 100, pref: 10, flags: 'u', services: 'E2U+sip', regex: '!^.*$!sip:a@b!' };

const ADDRESSES = '2001:db8::1 2001:DB8:0:0:0:0:0:1 2001:db8:0:1:0:0:0:1 ::FFFF:192.0.2.1 ::'.split(' ');
const SERVERS = 'ns1.example.net NS1.Example.NET. ns2.example.net .'.split(' ');

/** Records of every type, few enough to come and go; several are one record in other words. */
const RECORDS: readonly RecordData[] = [
  ...['192.0.2.1', '192.0.2.10', '198.51.100.9'].map((ip) => ({ type: 'A', ip })),
  { type: 'A', host: 'WWW.a.example.', ip: '192.0.2.1' },
  { type: 'A', host: '*.a.example', ip: '192.0.2.1', ttl: 60 },
  ...ADDRESSES.map((ipv6) => ({ type: 'AAAA', ipv6 })),
  ...SERVERS.map((target) => ({ type: 'NS', target })),
  ...[4294967295, 10, 9].map((serial) => ({ type: 'SOA', ...MASTER, ...TIMERS, serial })),
  ...[
    ['v=spf1 ', '-all'],
    ['v=spf1 -all'],
    ['\\195\\169\u0000'],
    ['é\\000'],
    ['\\', '092'],
    ['a\\092065'],
    [''],
  ].map((entries) => ({ type: 'TXT', entries })),
  { type: 'TXT', txt: 'v=spf1 -all' },
  { type: 'CNAME', host: 'www.a.example', target: 'A.example' },
  { type: 'PTR', target: 'host.example' },
  ...[10, 9, 100].map((pri) => ({ type: 'MX', pri, target: 'Mail.example.' })),
  { type: 'SRV', host: '_sip._tcp.a.example', pri: 1, weight: 2, port: 5060, target: 'sip.example' },
  ...[0, 128].map((flags) => ({ type: 'CAA', flags, tag: 'issue', value: 'ca.example; account="1"' })),
  { type: 'NAPTR', ...NAPTR, replacement: '.' },
  { type: 'HINFO', cpu: 'PDP-11', os: 'UNIX' },
  { type: 'DS', data: '21707 8 1  6d92dd0d0db0e392fa9d5f08ea15bbd297b8cbe2' },
  { type: 'DS', data: '21707 8 1 6D92DD0D0DB0E392FA9D5F08EA15BBD297B8CBE2' },
  { type: 'TYPE65534', data: '\\# 2 abcd' },
  { type: 'TYPE65534', data: ' \\#  2 AB CD' },
];

const TYPES = [...new Set(RECORDS.map(({ type }) => type))];

/** Names whose variants in other cases are one; the values of one header can be equal in other words. */
const HEADER_NAMES = ['server', 'Server', 'SERVER', 'via', 'Via', 'set-cookie', 'x-Empty', 'constructor'];
const HEADER_VALUES: readonly (string | string[])[] = [
  'one',
  ' one\t',
  'two',
  '',
  'one, two',
  ['one', 'two'],
  ['one', ' two '],
  ['', ''],
  'naïve "quoted" \\ é',
];

/** Few seconds and fractions, so that times meet; the same instant in several notations. */
const observedAt = fc
  .tuple(
    fc.integer({ min: 10, max: 25 }),
    fc.constantFrom('', '.1', '.100000', '.000001', '.0000019', '.999999'),
    fc.constantFrom('Z', 'z', '+00:00', '-00:00'),
  )
  .map(([second, fraction, offset]) => `2024-03-01T10:20:${second}${fraction}${offset}`);

const dns = fc
  .record({
    records: fc.subarray([...RECORDS], { maxLength: 8 }),
    extraTypes: fc.option(fc.subarray(TYPES, { minLength: 1, maxLength: 4 }), { nil: undefined }),
    everyType: fc.boolean(),
  })
  .map(({ records, extraTypes, everyType }) => {
    const dnsRecords = records.map((record) => ({ host: 'A.example', class: 'IN', ...record }));
    if (everyType || extraTypes === undefined) return { dnsRecords };
    const asked = new Set(extraTypes);
    return { dnsRecords: dnsRecords.filter(({ type }) => asked.has(type)), dnsTypes: extraTypes };
  });

const [name, value] = [fc.constantFrom(...HEADER_NAMES), fc.constantFrom(...HEADER_VALUES)];
const httpHeaders = fc.dictionary(name, value, { maxKeys: 5, noNullPrototype: true });
const status = fc.constantFrom(200, 200, 404, 503);
const site = fc.record({ scheme: fc.constantFrom('http', 'https'), status });
const http = fc.record({ httpHeaders, site }, { requiredKeys: ['httpHeaders'] });

const parts = fc.oneof(
  { weight: 3, arbitrary: dns },
  { weight: 2, arbitrary: http },
  { weight: 2, arbitrary: fc.tuple(dns, http).map(([one, other]) => ({ ...one, ...other })) },
);

const source = fc.constantFrom({}, {}, { source: 'probe-1' }, { source: 'probe 2' });

/**
 * An observation of one of the domains, with any parts.
 *
 * @param domains names in any spelling that means them
 */
export function observationLine(domains: readonly string[]): fc.Arbitrary<ObservationLine> {
  return fc
    .tuple(fc.constantFrom(...domains), observedAt, parts, source)
    .map(([domain, time, observed, by]) => ({ domain, observedAt: time, ...observed, ...by }));
}

export function typeLine(domain: string, type: string): fc.Arbitrary<ObservationLine> {
  const own = RECORDS.filter((record) => record.type === type);
  const records = fc.subarray(own.map((record) => ({ host: 'a.example', class: 'IN', ...record })));
  return fc
    .tuple(observedAt, records)
    .map(([time, dnsRecords]) => ({ domain, observedAt: time, dnsRecords, dnsTypes: [type] }));
}

export function headerLine(domain: string): fc.Arbitrary<ObservationLine> {
  return fc.tuple(observedAt, http).map(([time, observed]) => ({ domain, observedAt: time, ...observed }));
}
