import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readSettings } from '../../src/config/env.js';
import { createDnsxParser } from '../../src/importers/dnsx.js';
import { ImportSummary } from '../../src/importers/import-summary.js';
import type { ParsedLine } from '../../src/importers/lines.js';
import { createMassdnsParser } from '../../src/importers/massdns.js';
import { createZdnsParser } from '../../src/importers/zdns.js';
import { attempt } from '../../src/model/attempt.js';
import { type DnsRecord, isJoined, parseDnsRecord } from '../../src/model/dns-record.js';
import { formatInstant, parseInstant } from '../../src/model/instant.js';
import { presentRdata } from '../../src/model/rdata-text.js';
import { expectRejected } from '../support/rejections.js';

const NOW = parseInstant('2026-01-01T00:00:00Z');

/** As a master file has it, with its owner where that is not the domain. */
function recordText(domain: string, record: DnsRecord): string {
  return [...(record.host === domain ? [] : [record.host]), record.type, presentRdata(record)].join(' ');
}

function shown({ observations, remarks = [] }: ParsedLine) {
  return {
    observations: observations.map(({ domain, observedAt, source, dns }) => ({
      ...{ domain, observedAt: formatInstant(observedAt), source },
      types: [...(dns?.types ?? [])].sort().join(' '),
      owners: [...(dns?.observedOwners ?? [])].map(([type, names]) => [type, ...names].join(' ')),
      records: [...(dns?.records.values() ?? [])].flat().map((record) => recordText(domain, record)),
    })),
    remarks: remarks.map(({ text }) => text),
  };
}

const parsers = { dnsx: createDnsxParser, zdns: createZdnsParser, massdns: createMassdnsParser };
const { limits } = readSettings({});

function read(tool: keyof typeof parsers, line: object | string, observedAt?: string) {
  const text = typeof line === 'string' ? line : JSON.stringify(line);
  const time = observedAt === undefined ? {} : { observedAt: parseInstant(observedAt) };
  return shown(parsers[tool]({ ...time, limits })(text, NOW));
}

/** The records of the only observation of a line. */
function recordsOf(...line: Parameters<typeof read>) {
  const { observations } = read(...line);
  expect(observations).toHaveLength(1);
  return observations[0]?.records;
}

const DNSX = {
  ...{ host: 'www.example.com', ttl: 300, resolver: ['192.0.2.53:53'], status_code: 'NOERROR' },
  timestamp: '2024-03-01T12:20:30.123456789+02:00',
};
const raw = (text: string, host = 'www.example.com.') => `${host}\t300\tIN\t${text}`;
const A = raw('A\t192.0.2.1');

test('a line of dnsx with more records of a type than LIMIT_RECORDS_PER_TYPE allows loses that type, and no other', () => {
  const addresses = Array.from({ length: 1001 }, (_, at) => raw(`A\t198.51.${at >> 8}.${at & 255}`));
  const { observations, remarks } = read('dnsx', { ...DNSX, all: [...addresses, raw('MX\t10 a.example.')] });
  expect(observations.map(({ types }) => types)).toEqual(['MX']);
  expect(remarks).toEqual(['A counts as not observed.']);
});

test('a line of dnsx gives the records in `all`, of the types that occur, and of no others', () => {
  const all = [
    ...[A, raw('MX\t10 mail.example.com.'), raw('TXT\t"v=spf1 " "-all"'), raw('HTTPS\t1 . alpn="h2,h3"')],
    'www.example.com.\t60\tCLASS1\tTYPE65534\t\\# 2 ABCD',
  ];
  const typed = { a: ['192.0.2.1'], mx: ['mail.example.com'], ns: ['ns.example'] };
  const observation = {
    ...{ domain: 'www.example.com', observedAt: '2024-03-01T10:20:30.123456Z', source: 'dnsx' },
    types: 'A HTTPS MX TXT TYPE65534',
    owners: ['A', 'MX', 'TXT', 'HTTPS', 'TYPE65534', 'CNAME'].map((type) => `${type} www.example.com`),
    records: [
      ...['A 192.0.2.1', 'MX 10 mail.example.com.', 'TXT "v=spf1 " "-all"', 'HTTPS 1 . alpn="h2,h3"'],
      'TYPE65534 \\# 2 ABCD',
    ],
  };
  expect(read('dnsx', { ...DNSX, ...typed, all })).toEqual({ observations: [observation], remarks: [] });
});

test('a line of dnsx gives only what belongs to the name: not what an alias leads to, nor other sections, nor proofs', () => {
  const alias = raw('CNAME\tcdn.example.net.', 'WWW.example.com.');
  const others = [
    raw('NS\tns1.example.com.', 'example.com.'),
    raw('A\t192.0.2.53', 'ns1.example.com.'),
    raw('RRSIG\tCNAME 13 3 300 20240401000000 20240301000000 1 example.com. AA=='),
    '\n;; OPT PSEUDOSECTION:\n; EDNS: version 0; flags:; udp: 1232',
  ];
  const all = [alias, raw('A\t192.0.2.9', 'cdn.example.net.'), ...others];
  expect(read('dnsx', { ...DNSX, a: ['192.0.2.9'], cname: ['cdn.example.net'], all })).toMatchObject({
    observations: [{ types: 'CNAME', records: ['CNAME cdn.example.net.'] }],
    remarks: [expect.stringMatching(/^The addresses that a CNAME leads to were left out: /)],
  });
  expect(read('dnsx', { ...DNSX, all: [...others, A] }).remarks).toEqual([]);
});

test('a line of dnsx -omit-raw gives what the arrays tell, and says which types it cannot tell', () => {
  const txt = 'x'.repeat(260);
  const soa = [{ name: DNSX.host, ns: 'ns1.example.com', mailbox: 'a.example.com', serial: 4294967295 }];
  const arrays = { a: ['192.0.2.1'], aaaa: ['2001:DB8::1'], ns: ['ns1.example.com'], txt: [txt] };
  const { observations, remarks } = read('dnsx', { ...DNSX, ...arrays, soa, mx: ['mail.example.com'] });
  expect(observations[0]?.records).toEqual([
    ...['A 192.0.2.1', 'AAAA 2001:db8::1', 'NS ns1.example.com.', `TXT "${txt.slice(5)}" "xxxxx"`],
    'SOA ns1.example.com. a.example.com. 4294967295 0 0 0 0',
  ]);
  expect(remarks).toEqual([expect.stringContaining('MX, SRV and CAA')]);
  expect(read('dnsx', { ...DNSX, a: ['192.0.2.1'] }).remarks).toEqual([]);
});

test.each([
  [{ a: ['192.0.2.1'], soa: ['ns1.example.com', 'x.example.com'] }, 'A', ['SOA']],
  [{ a: ['192.0.2.1', 7], aaaa: ['2001:db8::1'] }, 'AAAA', ['A']],
  [{ a: ['192.0.2.1'], ns: ['ns1.example'], soa: [{ name: 'example.com' }] }, 'A', ['NS']],
  [{ a: '192.0.2.1', aaaa: null, txt: {} }, 'A', ['TXT']],
  [{ all: [A, raw('MX\tmail')] }, 'A', ['MX']],
  [{ all: [A, raw('A\t192.0.2'), raw('NS\ta.example.')] }, 'NS', ['A']],
  [{ all: [A, 'www.example.com.\t1\tCH\tTXT\t"x"'] }, 'A', ['TXT']],
  [{ all: [A, 'nonsense', null, { toString: 'no function' }] }, 'A', []],
])('of a line of dnsx, the types of what cannot be read count as not observed: %j', (keys, types, lost) => {
  const { observations, remarks } = read('dnsx', { ...DNSX, ...keys });
  expect(observations.map((one) => one.types)).toEqual([types]);
  const texts = lost.map((type) => `${type} counts as not observed.`);
  expect(remarks).toEqual(lost.length > 0 ? texts : ['A record was left out that cannot be read.']);
});

test('a line of dnsx -omit-raw with an alias gives the alias: the addresses are of its target', () => {
  for (const cname of [['cdn.example.net'], 'cdn.example.net']) {
    const { observations, remarks } = read('dnsx', { ...DNSX, a: ['192.0.2.9'], cname });
    expect(observations).toMatchObject([{ types: 'CNAME', records: ['CNAME cdn.example.net.'] }]);
    expect(remarks).toHaveLength(1);
  }
});

const ROOT_REFERRAL = { a: ['198.41.0.4'], ns: ['a.root-servers.net', 'b.root-servers.net'] };

test.each([
  [{ hosts_file: true, a: ['192.0.2.1'] }, /^hosts_file: .* not from DNS/],
  [{ status_code: 'NXDOMAIN' }, /^nothing was observed: .*"NXDOMAIN".* which types were queried/],
  [{ all: [raw('A\t192.0.2.9', 'cdn.example.net.')] }, /^nothing was observed/],
  [{ all: [raw('A\tnonsense')] }, /^nothing was observed: A: answers\[0\]: /],
  [{ all: ['nonsense'] }, /^nothing was observed: answers\[0\]: "nonsense" is not a record/],
  [{ cname: ['a.example', 'b.example'], a: ['192.0.2.1'] }, /^nothing was observed/],
  [{ status_code: 'NXDOMAIN', ns: ['ns1.example'] }, /^nothing was observed/],
  [{ all: 'nonsense' }, /^all: it is not a list/],
  [{ timestamp: '0001-01-01T00:00:00Z', all: [A] }, /^timestamp: 0001-.* is before 1990; .*--observed-at/],
  [{ soa: [{ name: 'example.com' }], ns: ['ns1.example'] }, /^nothing was observed/],
  [{ host: '192.0.2.1', ptr: ['a.example'] }, /^host: /],
  [{ timestamp: undefined, a: ['192.0.2.1'] }, /^timestamp: it is missing; .*--observed-at/],
  [{ timestamp: '2027-01-01T00:00:00Z', a: ['192.0.2.1'] }, /^timestamp: .* future/],
  [ROOT_REFERRAL, /^nothing was observed: the response is a referral/],
])('a line of dnsx is rejected with the reason: %j', (keys, reason) => {
  expectRejected(() => read('dnsx', { ...DNSX, ...keys }), reason);
});

test('a line of dnsx of root-servers.net gives its name servers, which are those of a referral elsewhere', () => {
  expect(read('dnsx', { ...DNSX, ...ROOT_REFERRAL, host: 'root-servers.net' }).observations).toHaveLength(1);
});

const timestamp = '2024-08-23T13:12:43-04:00';
const OWN = { class: 'IN', name: 'example.com', ttl: 300 };
const answer = (type: string, fields: object) => ({ ...OWN, type, ...fields });
const result = (answers: readonly object[] | null, more: object = {}) => ({
  ...{ data: { answers, protocol: 'udp', resolver: '192.0.2.53:53' }, status: 'NOERROR', timestamp },
  ...more,
});
const zdnsLine = (results: object) => ({ name: 'example.com', results });
const massdnsLine = (type: string, data: string, more = '') =>
  `{"name":"x.example.","type":"${type}","class":"IN","status":"NOERROR","rx_ts":1713974911725326170,"data":{"answers":[` +
  `{"ttl":86400,"type":"${type}","class":"IN","name":"x.example.","data":${JSON.stringify(data)}}${more}]},"flags":["rd","ra"],"resolver":"192.0.2.53:53"}`;
const MASSDNS = massdnsLine('A', '192.0.2.1');
const withoutAnswers = (sections: string) => MASSDNS.replace(/"answers":.*\]\}/, `${sections}}`);
const DIGEST = 'AB'.repeat(32);
const SOA = { ns: 'a.example', mbox: '', serial: 1, refresh: 2, retry: 3, expire: 4, min_ttl: 4294967295 };
const NAPTR = { order: 1, preference: 2, flags: 'S', service: 'SIP', regexp: '', replacement: 'a.example.' };
const SVCB = {
  svcparams: { alpn: ['h3', 'a,b\\c'], ipv4hint: ['192.0.2.1'], port: 8443, 'no-default-alpn': true },
};
const SVCB_TEXT = String.raw`1 . alpn="h3,a\\,b\\\\c" no-default-alpn port=8443 ipv4hint=192.0.2.1`;
const UNNAMED = { svcparams: { ech: 'AAA=', key99: '/wE=' } };

test.each<[string, object, string]>([
  ['A', { answer: '104.18.10.85' }, '104.18.10.85'],
  ['AAAA', { answer: '::ffff:192.0.2.1' }, '::ffff:192.0.2.1'],
  ['NS', { answer: 'ns1.example.net.' }, 'ns1.example.net.'],
  ['PTR', { answer: 'a.example' }, 'a.example.'],
  ['MX', { answer: 'mail.example.com.', preference: 10 }, '10 mail.example.com.'],
  ['MX', { answer: '.', preference: 0 }, '0 .'],
  ['MX', { preference: 0 }, '0 .'],
  ['SOA', SOA, 'a.example. . 1 2 3 4 4294967295'],
  ['TXT', { answer: 'v=spf1 \n-all' }, '"v=spf1 " "-all"'],
  ['TXT', { answer: 'a \\"b\\" \\\\ \\255' }, '"a \\"b\\" \\\\ \\255"'],
  ['CAA', { flag: 128, tag: 'issue', value: 'ca.example; a="b"' }, '128 issue "ca.example; a=\\"b\\""'],
  ['SRV', { priority: 1, weight: 2, port: 443, target: 'a.example.' }, '1 2 443 a.example.'],
  ['NAPTR', NAPTR, '1 2 "S" "SIP" "" a.example.'],
  ['HINFO', { cpu: 'RFC8482', os: '' }, '"RFC8482" ""'],
  ['DS', { key_tag: 1, algorithm: 13, digest_type: 2, digest: DIGEST.toLowerCase() }, `1 13 2 ${DIGEST}`],
  ['DNSKEY', { flags: 257, protocol: 3, algorithm: 8, public_key: 'AwEAAagA' }, '257 3 8 AwEAAagA'],
  ['TLSA', { cert_usage: 3, selector: 1, matching_type: 1, certificate: DIGEST }, `3 1 1 ${DIGEST}`],
  ['SSHFP', { algorithm: 4, type: 2, fingerprint: DIGEST }, `4 2 ${DIGEST}`],
  ['SVCB', { priority: 1, target: '.', ...SVCB }, SVCB_TEXT],
  ['HTTPS', { priority: 1, target: '.', ...UNNAMED }, String.raw`1 . ech=AAA= key99="\255\001"`],
  ['DNAME', { answer: 'b.example.' }, 'b.example.'],
])('a line of zdns gives a record of %s %j', (type, fields, rdata) => {
  const line = zdnsLine({ [type]: result([answer(type, fields)]) });
  expect(recordsOf('zdns', line)).toEqual([`${type} ${rdata}`]);
});

test('a line of zdns gives each type that was answered, as many observations as there are times', () => {
  const results = {
    AAAA: result(null, { timestamp: '2024-08-23T13:12:44.5-04:00' }),
    A: result([answer('A', { answer: '192.0.2.1' })]),
    MX: result([], { status: 'NXDOMAIN' }),
    TXT: result([], { status: 'TIMEOUT' }),
    NS: result([], { data: { answers: [], flags: { truncated: true } } }),
    MXLOOKUP: result([]),
  };
  const common = { domain: 'example.com', source: 'zdns' };
  const [observedAt, later] = ['2024-08-23T17:12:43.000000Z', '2024-08-23T17:12:44.500000Z'];
  const owners = (...types: readonly string[]) => types.map((type) => `${type} example.com`);
  expect(read('zdns', zdnsLine(results))).toEqual({
    observations: [
      { ...common, observedAt, types: 'A MX', records: ['A 192.0.2.1'], owners: owners('A', 'MX', 'CNAME') },
      { ...common, observedAt: later, types: 'AAAA', records: [], owners: owners('AAAA') },
    ],
    remarks: [
      'Some modules of zdns are not read: docs/importing.md names those that are.',
      'TXT counts as not observed.',
      'NS counts as not observed.',
    ],
  });
});

test.each([
  [result([answer('MX', { answer: 'mail.example', preference: 'first' })])],
  [result([answer('MX', { answer: 'mail.example', preference: 1, class: 'CH' })])],
  [result([answer('MX', { answer: 'mail.example', preference: 1, name: 'a..b' })])],
  [result(null, { timestamp: 'yesterday' })],
  [result(null, { data: null })],
  [result(null, { data: { answers: 'none' } })],
  [7],
])('of a line of zdns, the types that cannot be read count as not observed: %j', (MX) => {
  const line = zdnsLine({ MX, A: result([answer('A', { answer: '192.0.2.1' })]) });
  expect(read('zdns', line)).toMatchObject({
    observations: [{ types: 'A', records: ['A 192.0.2.1'] }],
    remarks: ['MX counts as not observed.'],
  });
});

test.each<[keyof typeof parsers, object | string]>([
  ['zdns', zdnsLine({ A: result(null, { status: 'NXDOMAIN', data: {} }) })],
  ['zdns', zdnsLine({ A: result(null, { status: 'NXDOMAIN', data: undefined }) })],
  ['zdns', zdnsLine({ A: result(null, { data: { authorities: [answer('SOA', {})] } }) })],
  ['massdns', withoutAnswers('').replace('NOERROR', 'NXDOMAIN')],
])('without answers a name has no such record, and nothing is told of an alias: %s %j', (tool, line) => {
  const [{ domain, ...observation } = {}, ...others] = read(tool, line).observations;
  expect(observation).toMatchObject({ types: 'A', owners: [`A ${domain}`], records: [] });
  expect(others).toEqual([]);
});

test('a line of zdns 1, which does not tell what was queried, gives the types that the name has', () => {
  const flat = { name: 'example.com', class: 'IN', ...result([answer('A', { answer: '192.0.2.1' })]) };
  expect(read('zdns', flat).observations).toMatchObject([{ types: 'A', records: ['A 192.0.2.1'] }]);
  const [untimed] = read('zdns', { ...flat, timestamp: undefined }, '2020-01-01T00:00:00Z').observations;
  expect(untimed?.observedAt).toBe('2020-01-01T00:00:00.000000Z');
  expectRejected(() => read('zdns', { ...flat, data: { answers: [] } }), 'nothing was observed');
  const any = { ...flat, data: { answers: [answer('HINFO', { cpu: 'RFC8482', os: '' })] } };
  const reason = 'nothing was observed: an answer to ANY need not have all types and records.';
  expectRejected(() => read('zdns', any), reason);
});

test('a line of zdns of a name with a prefix is of the name that was queried', () => {
  const name = 'www.example.com';
  const line = zdnsLine({ A: result([answer('A', { name, answer: '192.0.2.1' })]) });
  expect(read('zdns', { ...line, altered_name: name }).observations).toMatchObject([
    { domain: name, records: ['A 192.0.2.1'] },
  ]);
});

const caa = (value: unknown) => ({ CAA: result([answer('CAA', { flag: 0, tag: 'issue', value })]) });
const withData = (data: object) => ({ A: result(null, { data }) });

test.each<[object, string]>([
  [{ A: result([], { status: 'SERVFAIL' }) }, 'nothing was observed: A: status "SERVFAIL".'],
  [{ ANY: result([]) }, 'nothing was observed: "ANY" is not read.'],
  [{}, 'nothing was observed: the line has no answers.'],
  [{ A: result([], { status: { toString: null } }) }, 'nothing was observed: A: status '],
  [withData({ flags: { authoritative: false, recursion_available: false } }), 'nor a resolver.'],
  [{ '\u001b[2J': {} }, 'nothing was observed: "\\u001b[2J" is not read.'],
  [withData({ answers: [answer('CNAME', { name: 'b.example' })] }), 'the answers are of other names.'],
  [withData({ authorities: [answer('NS', {})], flags: {} }), 'the response is a referral.'],
  [{ A: { data: {} } }, 'nothing was observed: A: it has no status.'],
  [{ A: result([{ type: 'A', class: 'IN', answer: '192.0.2.1' }]) }, 'name: it is missing.'],
  [{ MX: result([answer('MX', { preference: 1, answer: {} })]) }, 'answer: it is not a string.'],
  [caa(0), 'answers[0]: value: it is not a string.'],
  [{ SOA: result([answer('SOA', { ...SOA, ns: -1 })]) }, 'answers[0]: mname: it is not a string.'],
  [{ HINFO: result([answer('HINFO', { cpu: 'x' })]) }, 'os: it is missing.'],
  [{ TXT: result([answer('TXT', { answer: 'a"b' })]) }, 'a quote or a backslash that is not escaped'],
  [caa('a\ufffdb'), 'octets that were not UTF-8'],
  [{ A: result([{ ...answer('A', { answer: '192.0.2.1' }), class: 'CH' }]) }, 'class: "CH" is not IN'],
  [{ A: result([], { class: 'CH' }) }, 'class: "CH" is not IN'],
  [{ A: result([answer('A', { answer: 'nonsense' })]) }, 'answers[0]: ip'],
])('a line of zdns is rejected with the reason: %j', (results, reason) => {
  expectRejected(() => read('zdns', zdnsLine(results)), reason);
});

test('of a line of zdns with several modules that are not read, the summary tells as one line', () => {
  const results = {
    A: result([answer('A', { answer: '192.0.2.1' })]),
    MXLOOKUP: result([]),
    NSLOOKUP: result([]),
  };
  const { remarks = [] } = createZdnsParser({ limits })(JSON.stringify(zdnsLine(results)), NOW);
  const summary = new ImportSummary();
  summary.addRemarks(remarks);
  expect(summary.remarks.map(([, { lines }]) => lines)).toEqual([1]);
});

test('a line of zdns of an address is rejected', () => {
  expectRejected(() => read('zdns', { ...zdnsLine({ A: result([]) }), name: '192.0.2.1' }), 'name: ');
});

test('a line of massdns gives the type that was queried, at its time to the microsecond', () => {
  const observation = {
    ...{ domain: 'x.example', observedAt: '2024-04-24T16:08:31.725326Z', source: 'massdns', types: 'SRV' },
    owners: ['SRV x.example', 'CNAME x.example'],
    records: ['SRV 10 10 1720 a.example.'],
  };
  const line = massdnsLine('SRV', '10 10 1720 a.example.');
  expect(read('massdns', line)).toEqual({ observations: [observation], remarks: [] });
});

test.each([
  ['A', '192.0.2.1', 'A 192.0.2.1'],
  ['NS', 'a\\x2eb.example.', 'NS a\\.b.example.'],
  ['PTR', 'The Printer (a;b)._ipp.x.example.', 'PTR the\\032printer\\032\\(a\\;b\\)._ipp.x.example.'],
  ['MX', '10 a;b.x.example.', 'MX 10 a\\;b.x.example.'],
  ['MX', '0 .', 'MX 0 .'],
  ['SOA', 'ns.example. x.example. 1 2 3 4 5', 'SOA ns.example. x.example. 1 2 3 4 5'],
  ['CAA', '1 issue "ca.example; a="b" \\x5c"', 'CAA 128 issue "ca.example; a=\\"b\\" \\\\"'],
  ['CAA', '0 iodef "mailto:a@x.example"', 'CAA 0 iodef "mailto:a@x.example"'],
  ['TXT', 'v=spf1 "x" \\x5c \\xff -all', 'TXT "v=spf1 \\"x\\" \\\\ \\255 -all"'],
  ['TXT', '', 'TXT ""'],
  ['HINFO', '\\x07RFC8482\\x00', 'HINFO "RFC8482" ""'],
  ['TYPE65', '\\x00\\x01\\x00\\x00\\x01\\x00\\x03\\x02h2', 'HTTPS 1 . alpn="h2"'],
  ['65', '\\x00\\x01\\x00', 'HTTPS 1 .'],
])('a line of massdns gives a record of %s %j', (type, data, record) => {
  expect(recordsOf('massdns', massdnsLine(type, data))).toEqual([record]);
});

test.each<[keyof typeof parsers, object | string, boolean]>([
  ['massdns', massdnsLine('TXT', 'a b'), true],
  ['dnsx', { ...DNSX, txt: ['a b'] }, true],
  ['dnsx', { ...DNSX, all: [raw('TXT\t"a " "b"')] }, false],
  ['zdns', zdnsLine({ TXT: result([answer('TXT', { answer: 'a \nb' })]) }), false],
])('of a TXT record it is known which tools join its strings: %s %j', (tool, line, joins) => {
  const text = typeof line === 'string' ? line : JSON.stringify(line);
  const [observed] = parsers[tool]({ limits })(text, NOW).observations;
  expect(observed?.dns?.records.get('TXT')?.map(isJoined)).toEqual([joins]);
});

test('a line of massdns cannot tell the strings of a long TXT record: they are as long as they can be', () => {
  const { observations, remarks } = read('massdns', massdnsLine('TXT', 'x'.repeat(300)));
  expect(observations[0]?.records).toEqual([`TXT "${'x'.repeat(255)}" "${'x'.repeat(45)}"`]);
  expect(remarks).toEqual([expect.stringContaining('how the data of a TXT record are divided')]);
});

test('a line of massdns with an alias gives the alias, and that the name has no such record', () => {
  const target = ',{"ttl":1,"type":"A","class":"IN","name":"b.example.","data":"192.0.2.9"}';
  const line = massdnsLine('CNAME', 'b.example.', target).replace('"type":"CNAME"', '"type":"A"');
  expect(read('massdns', line).observations).toMatchObject([
    { types: 'A CNAME', records: ['CNAME b.example.'] },
  ]);
});

test('a line of massdns is not harmed by what cannot be read of other names', () => {
  const other = ',{"type":"MX","name":"y.example.","data":"nonsense"}';
  expect(recordsOf('massdns', massdnsLine('A', '192.0.2.1', other))).toEqual(['A 192.0.2.1']);
});

test('a line of an older massdns, without a time, has the time that is given', () => {
  const line = MASSDNS.replace(/"rx_ts":\d+,/, '');
  const reason = 'rx_ts: it is missing; say when the lines were observed, --observed-at';
  expectRejected(() => read('massdns', line), reason);
  const [observation] = read('massdns', line, '2020-01-01T00:00:00Z').observations;
  expect(observation?.observedAt).toBe('2020-01-01T00:00:00.000000Z');
});

test.each([
  ['{"name":"x.example.","type":"A","error":"TIMEOUT"}', 'nothing was observed: status "TIMEOUT".'],
  [MASSDNS.replace('"rd"', '"tc"'), 'nothing was observed: the response was truncated.'],
  [massdnsLine('ANY', '192.0.2.1'), 'type: no record can have the type "ANY".'],
  [massdnsLine('A', '\\x01\\x02'), 'answers[0]: '],
  [MASSDNS.replace(/"rx_ts":\d+/, '"rx_ts":1.5'), 'rx_ts: it is not a number'],
  ['{"name":"x.example.","error":{"toString":null}}', 'nothing was observed: '],
  [withoutAnswers('"answers":[]').replace(',"ra"', ''), 'nor a resolver'],
  [massdnsLine('CAA', '128 issue "x"'), 'is not a CAA record.'],
  [massdnsLine('RRSIG', 'x'), 'type: answers for RRSIG need not be complete.'],
  [MASSDNS.replace(/"rx_ts":\d+/, '"rx_ts":9000000000000000000000'), 'rx_ts: it is not a number'],
  [MASSDNS.replace(/"rx_ts":\d+/, '"rx_ts":1713974911'), 'rx_ts: 1970-01-01T00:00:01.713974Z is before 1990'],
  // Whatever its flags say.
  [withoutAnswers('"authorities":[{"type":"NS","name":"."}]').replace('"rd"', '"aa"'), 'is a referral'],
  [MASSDNS.replace(',"data":"192.0.2.1"', ''), 'data: it is missing'],
  [massdnsLine('TXT', 'x€y'), 'massdns writes nothing but ASCII'],
  [massdnsLine('AFSDB', '\\x00\\x01\\xc0\\x0c'), 'or has a compressed name'],
])('a line of massdns is rejected with the reason: %s', (line, reason) => {
  expectRejected(() => read('massdns', line), reason);
});

test('a line of massdns gives all octets of a record of any type as they were', () => {
  const types = fc.constantFrom('TYPE65534', 'TYPE64', 'HINFO', 'NAPTR');
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), types, (rdata, type) => {
      const octets = Buffer.from(rdata);
      const text = octets
        .toString('latin1')
        .replace(/[^ -~]|\\/gs, (octet) => `\\x${octet.charCodeAt(0).toString(16).padStart(2, '0')}`);
      const data = `\\# ${octets.length} ${octets.toString('hex')}`;
      const input = { host: 'x.example', class: 'IN', type, data };
      const record = attempt(() => parseDnsRecord(input));
      // Names in octets may be compressed: of a type that is known, octets that are not valid are not taken.
      const isLost = record === undefined || (type !== 'TYPE65534' && presentRdata(record).startsWith('\\#'));
      const found = attempt(() => recordsOf('massdns', massdnsLine(type, text)));
      expect(found).toEqual(isLost ? undefined : [recordText('x.example', record)]);
    }),
  );
});
