import { BlockList, isIP } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect } from 'vitest';
import { body } from '../replay/body.js';
import { domainName, hostName, ipv6 } from '../replay/canonical.js';
import type { DomainHistory } from '../replay/domain-history.js';
import { replayLines } from '../replay/replay.js';
import { askGraphql } from '../support/ask.js';
import { OWN_RECORD_FIELDS } from '../support/every-field.js';
import type { ObservationLine } from './random-observations.js';

/*
 * Observations of several dozen domains that share much, questions across them, and what a plain filter over all histories
 * answers. In names and texts `@` stands for a domain.
 */

export const ZONES = ['example', 'shop.example', 'example.co.uk', 'test'];
const LABELS = 'a ab a_b axb a-b shop my-shop shopping www xn--bcher-kva x1'.split(' ');
const BELOW_ZONES = LABELS.flatMap((label) => ZONES.map((zone) => `${label}.${zone}`));
export const DOMAINS = [...BELOW_ZONES, 'co.uk', 'example.co.uk', 'shop.example'];

const HOSTS = '@ www.@ WWW.@ *.@ _dmarc.@ a\\.b.@ mail.example.net mail_1.example.net'.split(' ');
const IPV4 = '192.0.2.1 192.0.2.10 192.0.2.130 198.51.100.9 0.0.0.0 255.255.255.255'.split(' ');
const IPV6 = '2001:db8::1 2001:DB8:0:0:0:0:0:2 2001:db8:0:1::1 fe80::1 :: ::ffff:192.0.2.1'.split(' ');
export const TARGETS = 'ns1.example.net NS2.Example.NET. example.net notexample.net mail.@ @ .'.split(' ');
const SOME_TARGETS = TARGETS.slice(0, 3);
const TEXTS = [
  ...'v=spf1 -all|V=SPF1 -ALL|verification=@|Verification=@|100%_sure|50% off: /deals|a%b'.split('|'),
  ...'C:\\dir\\new|\\\\|naïve: /é/|日本語テキスト|😀😀😀 smile|a "b"\tc||: / :|\\000 and \\255'.split('|'),
  ...['a_b and axb', 'long '.repeat(2_000)],
];
const VALUES = ['nginx', 'NGINX', 'nginx/1.25 (@)', '100%_sure: \\/', 'naïve é', '', 'long '.repeat(2_000)];
const ISSUERS = [
  ...'ns1.example.net| NS1.Example.net. ; policy=ev|mail.@\t;a=b;c|;||;ns1.example.net|ns1.example.net other'.split(
    '|',
  ),
  'notexample.net;'.repeat(500),
];
const TAGS = ['IssueWild', 'ISSUEMAIL', 'issuevmc', 'iodef'];
const HTTPS_DATA = ['1 ns1.example.net. alpn="h2"', '0 mail.@.', '1 . ipv4hint=192.0.2.1', '\\# 4 00010000'];
const SOA = { serial: 4294967295, refresh: 1, retry: 2, expire: 3, 'minimum-ttl': 4 };
const NAPTR = { order: 1, pref: 2, flags: 'S', services: 'SIP+D2U', regex: '' };

export const RECORDS: readonly (Readonly<Record<string, unknown>> & { readonly type: string })[] = [
  ...IPV4.map((ip) => ({ type: 'A', ip })),
  ...IPV6.map((address) => ({ type: 'AAAA', ipv6: address })),
  ...HOSTS.map((host) => ({ type: 'A', host, ip: '192.0.2.1' })),
  ...TARGETS.map((target) => ({ type: 'NS', target })),
  ...TARGETS.map((target) => ({ type: 'MX', pri: 10, target })),
  ...SOME_TARGETS.map((target) => ({ type: 'CNAME', host: 'www.@', target })),
  ...SOME_TARGETS.map((target) => ({ type: 'PTR', host: '1.2.0.192.in-addr.arpa', target })),
  ...SOME_TARGETS.map((target) => ({ type: 'SRV', pri: 1, weight: 2, port: 5, target })),
  { type: 'SOA', mname: 'ns1.example.net', rname: 'hostmaster.@', ...SOA },
  { type: 'SOA', mname: 'ns.@', rname: 'ns1.example.net', ...SOA },
  { type: 'SOA', mname: '@', rname: '@', ...SOA },
  ...TEXTS.map((text) => ({ type: 'TXT', entries: [text] })),
  { type: 'TXT', host: '_dmarc.@', entries: ['v=spf1 ', 'include:_spf.example.net ', '-all'] },
  ...ISSUERS.map((value) => ({ type: 'CAA', flags: 0, tag: 'issue', value })),
  ...TAGS.map((tag) => ({ type: 'CAA', flags: 128, tag, value: 'mail.@' })),
  ...HTTPS_DATA.map((data) => ({ type: 'HTTPS', data })),
  { type: 'SVCB', host: '_dns.@', data: '1 mail.example.net. alpn="dot"' },
  { type: 'DNAME', data: 'example.net.' },
  ...['AFSDB', 'KX', 'LP', 'RT'].map((type) => ({ type, data: '10 ns1.example.net.' })),
  ...TARGETS.map((replacement) => ({ type: 'NAPTR', ...NAPTR, replacement })),
  { type: 'TYPE65534', data: '\\# 2 ABCD' },
];
export const TYPES = [...new Set(RECORDS.map(({ type }) => type))];
export const HEADER_NAMES = ['server', 'x-powered-by', 'via'];

/** Few times, so that they meet: those of observations, and those of questions. */
export const lineTime = fc
  .tuple(fc.integer({ min: 10, max: 30 }), fc.constantFrom(0, 0, 1))
  .map(([second, last]) => `2024-03-01T10:20:${second}.00000${last}Z`);

const everyType = fc.subarray([...RECORDS], { maxLength: 12 }).map((dnsRecords) => ({ dnsRecords }));
const oneType = fc.constantFrom(...TYPES).chain((asked) => {
  const dnsRecords = fc.subarray(RECORDS.filter(({ type }) => type === asked));
  return fc.record({ dnsRecords, dnsTypes: fc.constant([asked]) });
});
const [anyName, anyValue] = [fc.constantFrom(...HEADER_NAMES), fc.constantFrom(...VALUES)];
const headers = fc.record({ httpHeaders: fc.dictionary(anyName, anyValue, { noNullPrototype: true }) });

export function lineOf(domains: readonly string[]): fc.Arbitrary<ObservationLine> {
  return fc
    .tuple(fc.constantFrom(...domains), lineTime, fc.oneof(everyType, everyType, oneType, headers, headers))
    .map(([domain, observedAt, parts]): ObservationLine => {
      const records = 'dnsRecords' in parts ? parts.dnsRecords : undefined;
      const dnsRecords = records?.map((record) => ({ host: '@', class: 'IN', ...record }));
      return JSON.parse(JSON.stringify({ domain, observedAt, ...parts, dnsRecords }).replaceAll('@', domain));
    });
}

export const manyLines = fc
  .noBias(fc.array(lineOf(DOMAINS), { minLength: 1, maxLength: 80, size: 'max' }))
  .map((lines) => lines.sort((one, other) => (one.observedAt < other.observedAt ? -1 : 1)));

export type Filter = Partial<Readonly<Record<Condition | End, string>>> & {
  readonly types?: readonly string[];
  readonly present?: boolean;
};
type Condition = OfRecords | 'name' | 'value' | 'contains' | 'match' | 'registrableDomain' | 'at';
type OfRecords = 'ip' | 'network' | 'target' | 'text' | 'host';
type End = `${'seen' | 'firstSeen' | 'created' | 'changed'}${'From' | 'To'}`;

export interface Paging {
  readonly first: number;
  /** Goes on after an edge in the middle of each page. */
  readonly byEdge: boolean;
}

const sometimes = (options: fc.Arbitrary<Filter>): fc.Arbitrary<Filter> =>
  fc.oneof({ weight: 3, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: options });

/** The two ends of an interval, of which one may be missing. */
const interval = (from: End, to: End) =>
  sometimes(
    fc.tuple(lineTime, lineTime, fc.constantFrom(0, 1, 2)).map(([one, other, ends]) => {
      const [earlier, later] = [one, other].sort();
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
const cuts = fc.array(fc.tuple(fc.nat(24), fc.nat(9)), { minLength: 1, maxLength: 2 });
const pattern = (names: readonly string[]) =>
  fc
    .tuple(named(names), cuts, fc.boolean())
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

const SOUGHT_TARGETS = [...TARGETS, 'HostMaster.@.', '*.example.net', '*.net', '*.@', '*.Example.'];
const value = fc.oneof<fc.Arbitrary<Filter>[]>(
  fc.record({ ip: fc.constantFrom(...IPV4, ...IPV6) }),
  fc.record({ network }),
  fc.record({ target: named(SOUGHT_TARGETS) }),
  fc.record({ text: partOf(TEXTS) }),
  fc.record({ text: partOf(['include:_spf -all', 'v=spf1 include', '%_%', ' -a']) }),
  fc.record({ host: fc.oneof(named(HOSTS), pattern(HOSTS)) }),
);
const present = sometimes(fc.record({ present: fc.boolean() }));
const at = sometimes(fc.record({ at: lineTime }));
const seen = interval('seenFrom', 'seenTo');
const types = fc.record({ types: fc.subarray([...TYPES, 'txt', 'TYPE65534']) });
const joined = (parts: readonly Filter[]): Filter => Object.assign({}, ...parts);

const firstSeen = interval('firstSeenFrom', 'firstSeenTo');
export const recordFilter = fc
  .tuple(value, sometimes(value), sometimes(types), present, at, seen, firstSeen)
  .map(joined);

const header = fc.record({ name: fc.constantFrom(...HEADER_NAMES, 'SERVER', 'x-none') });
const headerValue = fc.oneof<fc.Arbitrary<Filter>[]>(
  fc.record({ value: named(VALUES).map((text) => text.trim()) }),
  fc.record({ contains: partOf(VALUES) }),
);
export const headerFilter = fc.tuple<Filter[]>(header, headerValue, present, at, seen).map(joined);

const match = fc.record({ match: fc.oneof(fc.constantFrom(...DOMAINS), pattern(['@'])) });
const REGISTRABLE = ['shop.example', 'example.co.uk', 'A.Example.', 'bücher.test', 'none.example'];
const registrable = fc.record({ registrableDomain: fc.constantFrom(...REGISTRABLE) });
const [created, changed] = [interval('createdFrom', 'createdTo'), interval('changedFrom', 'changedTo')];
const domainFilter = fc.tuple(sometimes(match), sometimes(registrable), created, changed).map(joined);

/** Often short pages, which are read in other ways. */
const pageLength = fc.oneof(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 20 }));
export const paging = fc.record({ first: pageLength, byEdge: fc.boolean() });
export const several = <Question>(question: fc.Arbitrary<Question>) =>
  fc.noBias(fc.array(fc.tuple(question, paging), { minLength: 1, maxLength: 6 }));

type FoundDomain = Readonly<{ name: string; lastChange: string }>;

export interface RecordMatch {
  readonly domain: FoundDomain;
  readonly record: Readonly<Record<string, unknown>> & { firstSeen: string; removed: string | null };
}

interface HeaderMatch {
  readonly domain: FoundDomain;
  readonly name: string;
  readonly value: string;
  readonly from: string;
  to: string | null;
}

/** The histories that the observations up to a time give, by name. */
export function historiesAt(lines: readonly ObservationLine[], until = '9'): DomainHistory[] {
  const known = lines.filter(({ observedAt }) => observedAt <= until).map((each) => JSON.stringify(each));
  return byName([...replayLines(known).values()]);
}

export function byName(histories: readonly DomainHistory[]): DomainHistory[] {
  return histories.toSorted((one, other) => (one.domain < other.domain ? -1 : 1));
}

const foundDomain = (history: DomainHistory) => ({ name: history.domain, lastChange: lastChangeOf(history) });

export function recordsOf(history: DomainHistory): RecordMatch[] {
  const domain = foundDomain(history);
  const { dnsRecords } = JSON.parse(body(history).replaceAll('"minimum-ttl"', '"minimumTtl"'));
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

/** Each time that a header of a domain had a value. */
function headerStaysOf(history: DomainHistory): HeaderMatch[] {
  const stays: HeaderMatch[] = [];
  const domain = foundDomain(history);
  for (const { date, name, new: value = null } of history.changes) {
    if (name === undefined) continue;
    const last = stays.findLast((stay) => stay.name === name);
    if (last?.to === null) last.to = date;
    if (value !== null) stays.push({ domain, name, value, from: date, to: null });
  }
  return stays;
}

function given<Value>(wanted: Value | undefined, meets: (wanted: Value) => boolean): boolean {
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

function meetsRecordFilter({ record: data }: RecordMatch, where: Filter): boolean {
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
    case 'AFSDB':
    case 'KX':
    case 'LP':
    case 'RT':
    case 'HTTPS':
    case 'SVCB': {
      const [, name = ''] = text('data').join().split(' ');
      return name.endsWith('.') && name !== '.' ? [hostName(name)] : [];
    }
    default:
      return ['target', 'mname', 'rname'].flatMap(text);
  }
}

function meetsHeaderFilter({ name, value: text, from, to }: HeaderMatch, where: Filter): boolean {
  return (
    given(where.name, (wanted) => name === wanted.toLowerCase()) &&
    given(where.value, (whole) => text === whole) &&
    given(where.contains, (contained) => text.includes(contained)) &&
    given(where.present, (isPresent) => isPresent === (to === null)) &&
    wasSeen(from, to, where)
  );
}

function lastChangeOf({ created = '', changes }: DomainHistory): string {
  return changes.reduce((latest, { date }) => (date > latest ? date : latest), created);
}

function meetsDomainFilter(history: DomainHistory, where: Filter): boolean {
  const { domain, created = '' } = history;
  return (
    given(where.match, (match) => isLike(domain, match)) &&
    given(where.registrableDomain, (name) => `.${domain}`.endsWith(`.${domainName(name)}`)) &&
    isIn(created, where.createdFrom, where.createdTo) &&
    isIn(lastChangeOf(history), where.changedFrom, where.changedTo)
  );
}

const RECORD = `... on DnsRecordEntry { host class type firstSeen removed lastSeen } ${OWN_RECORD_FIELDS}`;

const page = (node: string) =>
  `{ nodes { ${node} } edges { cursor node { ${node} } } pageInfo { hasNextPage endCursor } }`;

const RECORDS_FOUND = `query ($where: DnsRecordFilter!, $first: Int!, $after: String) {
  page: dnsRecords(where: $where, first: $first, after: $after) ${page(`domain { name lastChange } record { ${RECORD} }`)} }`;
const HEADERS_FOUND = `query ($where: HttpHeaderFilter!, $first: Int!, $after: String) {
  page: httpHeaders(where: $where, first: $first, after: $after) ${page('domain { name lastChange } name value from to')} }`;
const DOMAINS_FOUND = `query ($where: DomainFilter, $first: Int!, $after: String) {
  page: searchDomains(where: $where, first: $first, after: $after) ${page('name created lastUpdate lastChange')} }`;
const EVERY_RECORD = `query ($names: [String!]!, $at: Timestamp) {
  domains(names: $names, at: $at) { name lastChange dnsRecords { ${RECORD} } } }`;

const HEADER = 'name value present history { event date new old }';
export const OWN_LISTS = `query ($name: String!, $at: Timestamp, $types: [String!], $present: Boolean, $names: [String!]) {
  domain(name: $name, at: $at) { dnsRecords(types: $types, present: $present) { ${RECORD} } httpHeaders(names: $names) { ${HEADER} } } }`;
export const OWN_RECORDS = `query ($name: String!, $at: Timestamp, $types: [String!], $present: Boolean, $first: Int!, $after: String) {
  domain(name: $name, at: $at) {
    page: dnsRecordsConnection(types: $types, present: $present, first: $first, after: $after) ${page(RECORD)} } }`;
export const OWN_HEADERS = `query ($name: String!, $at: Timestamp, $names: [String!], $first: Int!, $after: String) {
  domain(name: $name, at: $at) {
    page: httpHeadersConnection(names: $names, first: $first, after: $after) ${page(HEADER)} } }`;
export const OWN_VALUES = `query ($name: String!, $at: Timestamp, $header: String!, $first: Int!, $after: String) {
  domain(name: $name, at: $at) { httpHeaders(names: [$header]) {
    page: historyConnection(first: $first, after: $after) ${page('event date new old')} } } }`;

interface Page {
  readonly nodes: readonly object[];
  readonly edges: readonly { readonly cursor: string; readonly node: object }[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}

/** So many pages are as long as they are to be. */
const MAX_PAGES = 6;

export async function walk(url: string, query: string, variables: object, paging: Paging): Promise<object[]> {
  const found: object[] = [];
  let after: string | null = null;
  for (let pages = 1; ; pages += 1) {
    const { first, byEdge } = pages <= MAX_PAGES ? paging : { first: 200, byEdge: false };
    const { data, errors } = await askGraphql({ url }, query, { ...variables, first, after });
    expect(errors).toBeUndefined();
    const parent = data.domain?.httpHeaders?.[0] ?? data.domain ?? data;
    const { nodes, edges, pageInfo }: Page = parent.page;
    const inEdges = edges.map(({ node }) => node);
    expectSame(inEdges, nodes);
    expect(nodes.length).toBeLessThanOrEqual(first);
    const middle = byEdge ? edges.slice(0, Math.ceil(edges.length / 2)) : edges;
    const isWhole = middle.length === edges.length;
    found.push(...middle.map(({ node }) => node));
    if (isWhole && !pageInfo.hasNextPage) return found;
    after = isWhole ? pageInfo.endCursor : (middle.at(-1)?.cursor ?? null);
    expect(after).not.toBeNull();
  }
}

/** A service, and what is recorded there by a replay at a time: the histories, by name, and their records. */
interface Searched {
  readonly url: string;
  readonly historiesAt: (at?: string) => readonly DomainHistory[];
  readonly recordsAt: (at?: string) => Promise<readonly RecordMatch[]>;
}

export function searched(url: string, historiesUpTo: (at?: string) => readonly DomainHistory[]): Searched {
  const historiesAt = remembered(historiesUpTo);
  return { url, historiesAt, recordsAt: remembered((at) => readRecords(url, historiesAt(at), at)) };
}

function remembered<Value>(find: (at?: string) => Value): (at?: string) => Value {
  const known = new Map<string | undefined, Value>();
  return (at) => {
    const value = known.get(at) ?? find(at);
    known.set(at, value);
    return value;
  };
}

const DOMAINS_AT_ONCE = 50;

/** All records as the domains have them, which the replay confirms but for `lastSeen`. */
async function readRecords(url: string, histories: readonly DomainHistory[], at: string | undefined) {
  const records: RecordMatch[] = [];
  for (let from = 0; from < histories.length; from += DOMAINS_AT_ONCE) {
    const names = histories.slice(from, from + DOMAINS_AT_ONCE).map(({ domain }) => domain);
    const { data } = await askGraphql({ url }, EVERY_RECORD, { names, at });
    const found: (FoundDomain & { dnsRecords: RecordMatch['record'][] })[] = data.domains;
    records.push(
      ...found.flatMap(({ dnsRecords, ...domain }) => dnsRecords.map((record) => ({ domain, record }))),
    );
  }
  expectSame(
    records.map(({ domain, record: { lastSeen: _, ...record } }) => ({ domain, record })),
    histories.flatMap(recordsOf),
  );
  return records;
}

/** Compares lists, and shows only where they differ first: of long lists with long texts that would take minutes. */
export function expectSame(found: readonly unknown[], expected: readonly unknown[], where: object = {}) {
  const longer = found.length > expected.length ? found : expected;
  const at = longer.findIndex((_, place) => !isDeepStrictEqual(found[place], expected[place]));
  const shown = (list: readonly unknown[]) => [list.length, at, JSON.stringify(list[at])?.slice(0, 500)];
  if (at !== -1) expect(shown(found), JSON.stringify(where)).toEqual(shown(expected));
}

/** Compares what a search finds with what a plain filter over all does. @returns how many matches there are. */
function expectFound(query: string, matchesFor: (asked: Searched, where: Filter) => Promise<object[]>) {
  return async (asked: Searched, where: Filter, paging: Paging): Promise<number> => {
    const found = await walk(asked.url, query, { where }, paging);
    expectSame(found, await matchesFor(asked, where), where);
    return found.length;
  };
}

export const expectRecords = expectFound(RECORDS_FOUND, async ({ recordsAt }, where) =>
  (await recordsAt(where.at)).filter((match) => meetsRecordFilter(match, where)),
);

export const expectHeaders = expectFound(HEADERS_FOUND, async ({ historiesAt }, where) => {
  const stays = historiesAt(where.at).flatMap(headerStaysOf);
  return stays.filter((match) => meetsHeaderFilter(match, where));
});

export const expectDomains = expectFound(DOMAINS_FOUND, async ({ historiesAt }, where) => {
  const matches = historiesAt().filter((history) => meetsDomainFilter(history, where));
  return matches.map((history) => {
    const { created, lastUpdate } = history;
    return { created, lastUpdate, ...foundDomain(history) };
  });
});

export const SEARCHES = [
  ['DNS records, each with when it was last seen as its domain has it', recordFilter, expectRecords],
  ['HTTP headers, one match for each time that a domain had the value', headerFilter, expectHeaders],
  ['domains', domainFilter, expectDomains],
] as const;
