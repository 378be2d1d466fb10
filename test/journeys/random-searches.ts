import { BlockList, isIP } from 'node:net';
import fc from 'fast-check';
import { body } from '../replay/body.js';
import { domainName, hostName, ipv6 } from '../replay/canonical.js';
import type { DomainHistory } from '../replay/domain-history.js';
import { replayLines } from '../replay/replay.js';
import type { ObservationLine } from './random-observations.js';

/*
 * Observations of several dozen domains that share much, questions across them, and what a plain filter over all histories
 * answers. In names and texts `@` stands for a domain.
 */

const LABELS = ['a', 'ab', 'a_b', 'axb', 'a-b', 'shop', 'my-shop', 'shopping', 'www', 'xn--bcher-kva', 'x1'];
export const ZONES = ['example', 'shop.example', 'example.co.uk', 'test'];
const BELOW_ZONES = LABELS.flatMap((label) => ZONES.map((zone) => `${label}.${zone}`));
export const DOMAINS = [...BELOW_ZONES, 'co.uk', 'example.co.uk', 'shop.example'];

const HOSTS = ['@', 'www.@', 'WWW.@', '*.@', '_dmarc.@', 'a\\.b.@', 'mail.example.net', 'mail_1.example.net'];
const IPV4 = ['192.0.2.1', '192.0.2.10', '192.0.2.130', '198.51.100.9', '0.0.0.0', '255.255.255.255'];
const IPV6 = ['2001:db8::1', '2001:DB8:0:0:0:0:0:2', '2001:db8:0:1::1', 'fe80::1', '::', '::ffff:192.0.2.1'];
const TARGETS = ['ns1.example.net', 'NS2.Example.NET.', 'example.net', 'notexample.net', 'mail.@', '@', '.'];
const TEXTS = [
  ...['v=spf1 -all', 'V=SPF1 -ALL', 'verification=@', 'Verification=@', '100%_sure', '50% off: /deals'],
  ...[
    'a%b',
    'a_b and axb',
    'C:\\dir\\new',
    '\\\\',
    'naïve: /é/',
    '日本語テキスト',
    '😀😀😀 smile',
    'a "b"\tc',
  ],
  ...['', ': / :', '\\000 and \\255', 'long '.repeat(2_000)],
];
const VALUES = ['nginx', 'NGINX', 'nginx/1.25 (@)', '100%_sure: \\/', 'naïve é', '', 'long '.repeat(2_000)];
const RECORDS: readonly (Readonly<Record<string, unknown>> & { readonly type: string })[] = [
  ...IPV4.map((ip) => ({ type: 'A', ip })),
  ...IPV6.map((ipv6) => ({ type: 'AAAA', ipv6 })),
  ...HOSTS.map((host) => ({ type: 'A', host, ip: '192.0.2.1' })),
  ...TARGETS.map((target) => ({ type: 'NS', target })),
  ...TARGETS.map((target) => ({ type: 'MX', pri: 10, target })),
  ...TARGETS.slice(0, 3).map((target) => ({ type: 'CNAME', host: 'www.@', target })),
  ...TARGETS.slice(0, 3).map((target) => ({ type: 'PTR', host: '1.2.0.192.in-addr.arpa', target })),
  ...TARGETS.slice(0, 3).map((target) => ({ type: 'SRV', pri: 1, weight: 2, port: 5, target })),
  ...[['ns1.example.net', 'hostmaster.@'], ['ns.@', 'ns1.example.net'], ['@', '@'], TARGETS].map(
    ([mname, rname]) => ({
      ...{ type: 'SOA', mname, rname, serial: 4294967295, refresh: 1, retry: 2, expire: 3, 'minimum-ttl': 4 },
    }),
  ),
  ...TEXTS.map((text) => ({ type: 'TXT', entries: [text] })),
  { type: 'TXT', host: '_dmarc.@', entries: ['v=spf1 ', 'include:_spf.example.net ', '-all'] },
  ...[
    ...[
      'ns1.example.net',
      ' NS1.Example.net. ; policy=ev',
      'mail.@\t;a=b;c',
      ';',
      '',
      'notexample.net;'.repeat(500),
    ],
  ].map((value) => ({ type: 'CAA', flags: 0, tag: 'issue', value })),
  { type: 'CAA', flags: 128, tag: 'IssueWild', value: 'mail.@' },
  { type: 'CAA', flags: 0, tag: 'iodef', value: 'ns1.example.net' },
  ...['1 ns1.example.net. alpn="h2"', '0 mail.@.', '1 . ipv4hint=192.0.2.1', '\\# 4 00010000'].map(
    (data) => ({
      ...{ type: 'HTTPS', data },
    }),
  ),
  { type: 'SVCB', host: '_dns.@', data: '1 mail.example.net. alpn="dot"' },
  { type: 'DNAME', data: 'example.net.' },
  ...TARGETS.map((replacement) => ({
    ...{ type: 'NAPTR', order: 1, pref: 2, flags: 'S', services: 'SIP+D2U', regex: '', replacement },
  })),
  { type: 'TYPE65534', data: '\\# 2 ABCD' },
];
export const TYPES = [...new Set(RECORDS.map(({ type }) => type))];
export const HEADER_NAMES = ['server', 'x-powered-by', 'via'];

/** Few times, so that they meet: those of observations, and those of questions. */
export const lineTime = fc
  .tuple(fc.integer({ min: 10, max: 30 }), fc.constantFrom(0, 0, 1))
  .map(([second, last]) => `2024-03-01T10:20:${second}.00000${last}Z`);

const everyType = fc.subarray([...RECORDS], { maxLength: 12 }).map((dnsRecords) => ({ dnsRecords }));
const oneType = fc
  .constantFrom(...TYPES)
  .chain((asked) =>
    fc
      .subarray(RECORDS.filter(({ type }) => type === asked))
      .map((dnsRecords) => ({ dnsRecords, dnsTypes: [asked] })),
  );
const headers = fc
  .dictionary(fc.constantFrom(...HEADER_NAMES), fc.constantFrom(...VALUES), { noNullPrototype: true })
  .map((httpHeaders) => ({ httpHeaders }));

/** An observation of one of some domains. */
export function lineOf(domains: readonly string[]): fc.Arbitrary<ObservationLine> {
  return fc
    .tuple(fc.constantFrom(...domains), lineTime, fc.oneof(everyType, everyType, oneType, headers, headers))
    .map(([domain, observedAt, parts]): ObservationLine => {
      const dnsRecords = 'dnsRecords' in parts && {
        dnsRecords: parts.dnsRecords.map((record) => ({ host: '@', class: 'IN', ...record })),
      };
      return JSON.parse(
        JSON.stringify({ domain, observedAt, ...parts, ...dnsRecords }).replaceAll('@', domain),
      );
    });
}

/** In the order of their times. */
export const manyLines = fc
  .noBias(fc.array(lineOf(DOMAINS), { minLength: 1, maxLength: 80, size: 'max' }))
  .map((lines) => lines.sort((one, other) => (one.observedAt < other.observedAt ? -1 : 1)));

/** The conditions of a question. */
export type Filter = Partial<Readonly<Record<Condition | End, string>>> & {
  readonly types?: readonly string[];
  readonly present?: boolean;
};
type Condition = OfRecords | 'name' | 'value' | 'contains' | 'match' | 'registrableDomain' | 'at';
type OfRecords = 'ip' | 'network' | 'target' | 'text' | 'host';
type End = `${'seen' | 'firstSeen' | 'created' | 'changed'}${'From' | 'To'}`;

/** How the pages of a question are read. */
export interface Paging {
  readonly first: number;
  /** Goes on after an edge in the middle of each page. */
  readonly byEdge: boolean;
}

const sometimes = <Options extends object>(options: fc.Arbitrary<Options>) =>
  fc.oneof({ weight: 3, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: options });

/** The two ends of an interval, of which one may be missing. */
const interval = <From extends string, To extends string>(from: From, to: To) =>
  sometimes(
    fc
      .tuple(fc.array(lineTime, { minLength: 2, maxLength: 2 }), fc.constantFrom(0, 1, 2))
      .map(([times, ends]) => {
        const [earlier, later] = times.sort();
        return { ...(ends !== 1 && { [from]: earlier }), ...(ends !== 2 && { [to]: later }) };
      }),
  );

const named = (names: readonly string[]) =>
  fc
    .tuple(fc.constantFrom(...names), fc.constantFrom(...DOMAINS))
    .map(([name, domain]) => name.replaceAll('@', domain));

/** Parts of one of the texts, of at least three characters. */
const partOf = (texts: readonly string[]) =>
  fc
    .tuple(named(texts), fc.nat(20), fc.integer({ min: 3, max: 8 }))
    .map(([text, from, length]) => [...text].slice(from, from + length).join(''))
    .filter((text) => [...text].length >= 3);

/** Names with `*` in the place of one part or two, in either case. */
const pattern = (names: readonly string[]) =>
  fc
    .tuple(
      named(names),
      fc.array(fc.tuple(fc.nat(24), fc.nat(9)), { minLength: 1, maxLength: 2 }),
      fc.boolean(),
    )
    .map(([name, cuts, isUpper]) => {
      const cut = (text: string, [from, length]: readonly [number, number]) =>
        `${text.slice(0, from)}*${text.slice(from + length)}`;
      const text = cuts.reduce(cut, name);
      return isUpper ? text.toUpperCase() : text;
    })
    .filter((text) => !text.includes('\\') && text.replace(/\.$/, '').replaceAll('*', '').length >= 3);

const network = fc
  .tuple(fc.constantFrom(...IPV4, ...IPV6), fc.nat(128))
  .map(([address, prefix]) => `${address}/${address.includes(':') ? prefix : prefix % 33}`);

const value: fc.Arbitrary<Filter> = fc.oneof(
  fc.constantFrom(...IPV4, ...IPV6).map((ip) => ({ ip })),
  network.map((each) => ({ network: each })),
  named([...TARGETS, 'HostMaster.@.', '*.example.net', '*.net', '*.@', '*.Example.']).map((target) => ({
    target,
  })),
  partOf(TEXTS).map((text) => ({ text })),
  partOf(['include:_spf -all', 'v=spf1 include', '%_%', ' -a']).map((text) => ({ text })),
  fc.oneof(named(HOSTS), pattern(HOSTS)).map((host) => ({ host })),
);
const present = fc.boolean().map((each) => ({ present: each }));
const at = lineTime.map((each) => ({ at: each }));
const seen = interval('seenFrom', 'seenTo');

export const recordFilter = fc
  .tuple(
    fc.tuple(value, sometimes(value)),
    sometimes(fc.subarray([...TYPES, 'txt', 'TYPE65534']).map((types) => ({ types }))),
    sometimes(present),
    sometimes(at),
    seen,
    interval('firstSeenFrom', 'firstSeenTo'),
  )
  .map(([values, ...options]): Filter => Object.assign({}, ...values, ...options));

export const headerFilter = fc
  .tuple(
    fc.constantFrom(...HEADER_NAMES, 'SERVER', 'x-none').map((name) => ({ name })),
    fc.oneof(
      named(VALUES).map((text) => ({ value: text.trim() })),
      partOf(VALUES).map((contains) => ({ contains })),
    ),
    sometimes(present),
    sometimes(at),
    seen,
  )
  .map((parts): Filter => Object.assign({}, ...parts));

export const domainFilter = fc
  .tuple(
    sometimes(fc.oneof(fc.constantFrom(...DOMAINS), pattern(['@'])).map((match) => ({ match }))),
    sometimes(
      fc
        .constantFrom('shop.example', 'example.co.uk', 'A.Example.', 'bücher.test', 'none.example')
        .map((registrableDomain) => ({ registrableDomain })),
    ),
    interval('createdFrom', 'createdTo'),
    interval('changedFrom', 'changedTo'),
  )
  .map((parts): Filter => Object.assign({}, ...parts));

/** Often short pages, which are read in other ways. */
const pageLength = fc.oneof(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 20 }));
export const paging = fc.record({ first: pageLength, byEdge: fc.boolean() });
export const several = <Question>(question: fc.Arbitrary<Question>) =>
  fc.noBias(fc.array(fc.tuple(question, paging), { minLength: 1, maxLength: 6 }));

export interface RecordMatch {
  readonly domain: string;
  readonly record: Readonly<Record<string, unknown>> & { firstSeen: string; removed: string | null };
}

export interface HeaderMatch {
  readonly domain: string;
  readonly name: string;
  readonly value: string;
  readonly from: string;
  to: string | null;
}

/** The histories that the observations up to a time give, by name. */
export function historiesAt(lines: readonly ObservationLine[], until = '9'): DomainHistory[] {
  const known = lines.filter(({ observedAt }) => observedAt <= until).map((each) => JSON.stringify(each));
  return [...replayLines(known).histories.values()].sort((one, other) =>
    one.domain < other.domain ? -1 : 1,
  );
}

/** All records of a domain in their order, as GraphQL has them. */
export function recordsOf(history: DomainHistory): RecordMatch[] {
  const { domain, dnsRecords } = JSON.parse(body(history).replaceAll('"minimum-ttl"', '"minimumTtl"'));
  return dnsRecords.map(({ data, ...times }: { data: object }) => ({
    domain,
    record: { ...withGraphqlNames(data), ...times },
  }));
}

/** NAPTR and CAA have flags of different types. */
function withGraphqlNames(data: object): object {
  if (!('services' in data && 'flags' in data)) return data;
  const { flags: naptrFlags, ...others } = data;
  return { ...others, naptrFlags };
}

/** All headers of a domain. */
export function headersOf(history: DomainHistory) {
  const { httpHeaders } = JSON.parse(body(history));
  return httpHeaders.map(
    ({ name, value, history: items }: { name: string; value: string; history: object[] }) => ({
      ...{ name, value, present: history.present.has(name), items },
    }),
  ) as { name: string; items: object[] }[];
}

/** Each time that a header of a domain had a value. */
export function headerStaysOf({ domain, changes }: DomainHistory): HeaderMatch[] {
  const stays: HeaderMatch[] = [];
  for (const { date, name, new: value = null } of changes) {
    if (name === undefined) continue;
    const last = stays.findLast((stay) => stay.name === name);
    if (last?.to === null) last.to = date;
    if (value !== null) stays.push({ domain, name, value, from: date, to: null });
  }
  return stays;
}

export function given<Value>(wanted: Value | undefined, meets: (wanted: Value) => boolean): boolean {
  return wanted === undefined || meets(wanted);
}

/** Whether a time is in the interval (from, to]. */
function isIn(time: string, from: string | undefined, to: string | undefined): boolean {
  return given(from, (start) => time > start) && given(to, (end) => time <= end);
}

/** Whether a stay, which is over at `end`, overlaps the interval (seenFrom, seenTo]. */
function wasSeen(start: string, end: string | null, { seenFrom, seenTo }: Filter): boolean {
  return given(seenFrom, (from) => end === null || end > from) && given(seenTo, (to) => start <= to);
}

function isLike(name: string, like: string): boolean {
  const parts = hostName(like).split('*');
  return new RegExp(`^${parts.map((each) => each.replace(/\W/g, '\\$&')).join('.*')}$`).test(name);
}

function isInNetwork(address: string, cidr: string): boolean {
  const [start = '', prefix] = cidr.split('/');
  if (isIP(address) !== isIP(start)) return false;
  const family = isIP(start) === 4 ? 'ipv4' : 'ipv6';
  const list = new BlockList();
  list.addSubnet(start, Number(prefix), family);
  return list.check(address, family);
}

export function meetsRecordFilter({ record: data }: RecordMatch, where: Filter): boolean {
  const { firstSeen, removed } = data;
  const address = String(data['ip'] ?? data['ipv6'] ?? '');
  const names = namesIn(data);
  return (
    given(where.ip, (ip) => address === (ip.includes(':') ? ipv6(ip) : ip)) &&
    given(where.network, (cidr) => isInNetwork(address, cidr)) &&
    given(where.target, (target) => names.some((name) => isLike(name, target))) &&
    given(where.text, (text) => data['type'] === 'TXT' && String(data['txt']).includes(text)) &&
    given(where.host, (host) => isLike(String(data['host']), host)) &&
    given(where.types, (types) => types.some((type) => type.toUpperCase() === data['type'])) &&
    given(where.present, (isPresent) => isPresent === (removed === null)) &&
    isIn(firstSeen, where.firstSeenFrom, where.firstSeenTo) &&
    wasSeen(firstSeen, removed, where)
  );
}

/** The host names that are searched in a record's data. */
function namesIn(data: RecordMatch['record']): string[] {
  const text = (field: string) => [data[field]].filter((value) => typeof value === 'string');
  switch (data['type']) {
    case 'CAA': {
      const [issuer = ''] = text('value').join().split(';');
      const isIssuer = /^issue/i.test(text('tag').join()) && text('value').join().length <= 1024;
      return isIssuer && issuer.trim() !== '' ? [hostName(issuer.trim())] : [];
    }
    case 'NAPTR':
      return text('replacement').filter((name) => name !== '.');
    case 'DNAME':
      return text('data').map(hostName);
    case 'HTTPS':
    case 'SVCB':
      return text('data')
        .map((each) => each.split(' ')[1] ?? '')
        .filter((name) => name.endsWith('.') && name !== '.')
        .map(hostName);
    default:
      return ['target', 'mname', 'rname'].flatMap(text);
  }
}

export function meetsHeaderFilter({ name, value: text, from, to }: HeaderMatch, where: Filter): boolean {
  return (
    given(where.name, (wanted) => name === wanted.toLowerCase()) &&
    given(where.value, (whole) => text === whole) &&
    given(where.contains, (contained) => text.includes(contained)) &&
    given(where.present, (isPresent) => isPresent === (to === null)) &&
    wasSeen(from, to, where)
  );
}

export function lastChangeOf({ created = '', changes }: DomainHistory): string {
  return changes.reduce((latest, { date }) => (date > latest ? date : latest), created);
}

export function meetsDomainFilter(history: DomainHistory, where: Filter): boolean {
  const { domain, created = '' } = history;
  return (
    given(where.match, (match) => isLike(domain, match)) &&
    given(where.registrableDomain, (name) => `.${domain}`.endsWith(`.${domainName(name)}`)) &&
    isIn(created, where.createdFrom, where.createdTo) &&
    isIn(lastChangeOf(history), where.changedFrom, where.changedTo)
  );
}
