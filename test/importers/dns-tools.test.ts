import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readSettings } from '../../src/config/env.js';
import { createDnsxParser } from '../../src/importers/dnsx.js';
import type { ParsedLine } from '../../src/importers/lines.js';
import { createMassdnsParser } from '../../src/importers/massdns.js';
import { createZdnsParser } from '../../src/importers/zdns.js';
import { dnsRecordData, parseDnsRecord } from '../../src/model/dns-record.js';
import { InvalidObservationError } from '../../src/model/errors.js';
import { formatInstant, parseInstant } from '../../src/model/instant.js';

const NOW = parseInstant('2026-01-01T00:00:00Z');

/** What a line gives, as JSON has it. Records are of the domain itself and of class IN, where nothing else is shown. */
function shown({ observations, remarks = [] }: ParsedLine) {
  return {
    observations: observations.map(({ domain, observedAt, source, dns }) => ({
      domain,
      observedAt: formatInstant(observedAt),
      source,
      types: [...(dns?.types ?? [])].sort(),
      owners: Object.fromEntries([...(dns?.observedOwners ?? [])].map(([type, names]) => [type, [...names]])),
      records: [...(dns?.records.values() ?? [])].flat().map((record) => {
        const { host, class: dnsClass, ...data } = dnsRecordData(record);
        return { ...(host !== domain && { host }), ...(dnsClass !== 'IN' && { class: dnsClass }), ...data };
      }),
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

describe('a line of dnsx', () => {
  const line = {
    host: 'www.example.com',
    ttl: 300,
    resolver: ['192.0.2.53:53'],
    status_code: 'NOERROR',
    timestamp: '2024-03-01T12:20:30.123456789+02:00',
  };
  const record = (text: string, host = 'www.example.com.') => `${host}\t300\tIN\t${text}`;

  test('of which a type has more records than LIMIT_RECORDS_PER_TYPE allows loses that type, and no other', () => {
    const addresses = Array.from({ length: 1001 }, (_, at) => record(`A\t198.51.${at >> 8}.${at & 255}`));
    const { observations, remarks } = read('dnsx', {
      ...line,
      all: [...addresses, record('MX\t10 mail.example.com.')],
    });
    expect(observations.map(({ types }) => types)).toEqual([['MX']]);
    expect(remarks).toEqual(['A counts as not observed.']);
  });

  test('gives the records in `all`, of the types that occur, and of no others', () => {
    const all = [
      record('A\t192.0.2.1'),
      record('A\t192.0.2.2'),
      record('MX\t10 mail.example.com.'),
      record('TXT\t"v=spf1 " "-all"'),
      record('CAA\t0 issue "ca.example"'),
      record('HTTPS\t1 . alpn="h2,h3"'),
      `www.example.com.\t60\tCLASS1\tTYPE65534\t\\# 2 ABCD`,
    ];
    const typed = {
      a: ['192.0.2.1', '192.0.2.2'],
      mx: ['mail.example.com'],
      txt: ['v=spf1 -all'],
      caa: ['ca.example'],
    };
    expect(read('dnsx', { ...line, ...typed, all })).toEqual({
      observations: [
        {
          domain: 'www.example.com',
          observedAt: '2024-03-01T10:20:30.123456Z',
          source: 'dnsx',
          types: ['A', 'CAA', 'HTTPS', 'MX', 'TXT', 'TYPE65534'],
          owners: Object.fromEntries(
            ['A', 'MX', 'TXT', 'CAA', 'HTTPS', 'TYPE65534', 'CNAME'].map((type) => [
              type,
              ['www.example.com'],
            ]),
          ),
          records: [
            { type: 'A', ip: '192.0.2.1' },
            { type: 'A', ip: '192.0.2.2' },
            { type: 'MX', pri: 10, target: 'mail.example.com' },
            { type: 'TXT', txt: 'v=spf1 -all', entries: ['v=spf1 ', '-all'] },
            { type: 'CAA', flags: 0, tag: 'issue', value: 'ca.example' },
            { type: 'HTTPS', data: '1 . alpn="h2,h3"' },
            { type: 'TYPE65534', data: '\\# 2 ABCD' },
          ],
        },
      ],
      remarks: [],
    });
  });

  test('gives only what belongs to the name: not what an alias leads to, nor other sections, nor proofs', () => {
    const all = [
      record('CNAME\tcdn.example.net.', 'WWW.example.com.'),
      record('A\t192.0.2.9', 'cdn.example.net.'),
      record('NS\tns1.example.com.', 'example.com.'),
      record('A\t192.0.2.53', 'ns1.example.com.'),
      record('RRSIG\tCNAME 13 3 300 20240401000000 20240301000000 1 example.com. AA=='),
      '\n;; OPT PSEUDOSECTION:\n; EDNS: version 0; flags:; udp: 1232',
    ];
    expect(read('dnsx', { ...line, a: ['192.0.2.9'], cname: ['cdn.example.net'], all })).toMatchObject({
      observations: [{ types: ['CNAME'], records: [{ type: 'CNAME', target: 'cdn.example.net' }] }],
      remarks: [expect.stringMatching(/^The addresses that a CNAME leads to were left out: /)],
    });
    expect(read('dnsx', { ...line, all: all.slice(2).concat(record('A\t192.0.2.1')) }).remarks).toEqual([]);
  });

  test('of -omit-raw gives what the arrays tell, and says which types it cannot tell', () => {
    const txt = 'x'.repeat(260);
    const soa = [
      { name: 'www.example.com', ns: 'ns1.example.com', mailbox: 'admin.example.com', serial: 4294967295 },
    ];
    const arrays = {
      a: ['192.0.2.1'],
      aaaa: ['2001:DB8::1'],
      ns: ['ns1.example.com'],
      txt: [txt],
      mx: ['mail.example.com'],
    };
    const { observations, remarks } = read('dnsx', { ...line, ...arrays, soa });
    expect(observations).toMatchObject([
      {
        types: ['A', 'AAAA', 'NS', 'SOA', 'TXT'],
        records: [
          { type: 'A', ip: '192.0.2.1' },
          { type: 'AAAA', ipv6: '2001:db8::1' },
          { type: 'NS', target: 'ns1.example.com' },
          { type: 'TXT', entries: [txt.slice(5), 'xxxxx'] },
          { type: 'SOA', mname: 'ns1.example.com', serial: 4294967295, refresh: 0, 'minimum-ttl': 0 },
        ],
      },
    ]);
    expect(remarks).toEqual([expect.stringContaining('MX, SRV and CAA')]);
    expect(read('dnsx', { ...line, a: ['192.0.2.1'] }).remarks).toEqual([]);
  });

  test.each([
    [{ a: ['192.0.2.1'], soa: ['ns1.example.com', 'x.example.com'] }, ['A'], ['SOA']],
    [{ a: ['192.0.2.1', 7], aaaa: ['2001:db8::1'] }, ['AAAA'], ['A']],
    [{ a: ['192.0.2.1'], ns: ['ns1.example'], soa: [{ name: 'example.com' }] }, ['A'], ['NS']],
    [{ a: '192.0.2.1', aaaa: null, txt: {} }, ['A'], ['TXT']],
    [{ all: [record('A\t192.0.2.1'), record('MX\tmail')] }, ['A'], ['MX']],
    [{ all: [record('A\t192.0.2.1'), record('A\t192.0.2'), record('NS\ta.example.')] }, ['NS'], ['A']],
    [{ all: [record('A\t192.0.2.1'), `www.example.com.\t1\tCH\tTXT\t"x"`] }, ['A'], ['TXT']],
    [{ all: [record('A\t192.0.2.1'), 'nonsense', null] }, ['A'], []],
    [{ all: [record('A\t192.0.2.1'), { toString: 'no function' }] }, ['A'], []],
  ])(
    'is recorded but for the types that cannot be read, which count as not observed: %j',
    (keys, types, lost) => {
      const { observations, remarks } = read('dnsx', { ...line, ...keys });
      expect(observations.map((one) => one.types)).toEqual([types]);
      const texts = lost.map((type) => `${type} counts as not observed.`);
      expect(remarks).toEqual(lost.length > 0 ? texts : ['A record was left out that cannot be read.']);
    },
  );

  test('of -omit-raw with the name servers of the root is no answer', () => {
    const referral = { ...line, a: ['198.41.0.4'], ns: ['a.root-servers.net', 'b.root-servers.net'] };
    expect(() => read('dnsx', referral)).toThrow('nothing was observed: the response is a referral');
    expect(read('dnsx', { ...referral, host: 'root-servers.net' }).observations).toHaveLength(1);
  });

  test('of -omit-raw with an alias gives the alias: the addresses are of its target', () => {
    const { observations, remarks } = read('dnsx', { ...line, a: ['192.0.2.9'], cname: ['cdn.example.net'] });
    expect(observations).toMatchObject([{ types: ['CNAME'], records: [{ target: 'cdn.example.net' }] }]);
    expect(remarks).toHaveLength(1);
    const withoutList = { ...line, a: ['192.0.2.9'], cname: 'cdn.example.net' };
    expect(read('dnsx', withoutList).observations).toEqual(observations);
  });

  test.each([
    [{ hosts_file: true, a: ['192.0.2.1'] }, /^hosts_file: .* not from DNS/],
    [{ status_code: 'NXDOMAIN' }, /^nothing was observed: .*"NXDOMAIN".* which types were queried/],
    [{ all: [record('A\t192.0.2.9', 'cdn.example.net.')] }, /^nothing was observed/],
    [{ all: [record('A\tnonsense')] }, /^nothing was observed: A: answers\[0\]: /],
    [{ all: ['nonsense'] }, /^nothing was observed: answers\[0\]: "nonsense" is not a record/],
    [{ cname: ['a.example', 'b.example'], a: ['192.0.2.1'] }, /^nothing was observed/],
    [{ status_code: 'NXDOMAIN', ns: ['ns1.example'] }, /^nothing was observed/],
    [{ all: 'nonsense' }, /^all: it is not a list/],
    [
      { timestamp: '0001-01-01T00:00:00Z', a: ['192.0.2.1'] },
      /^timestamp: 0001-.* is before 1990; .*--observed-at/,
    ],
    [{ soa: [{ name: 'example.com' }], ns: ['ns1.example'] }, /^nothing was observed/],
    [{ host: '192.0.2.1', ptr: ['a.example'] }, /^host: /],
    [{ timestamp: undefined, a: ['192.0.2.1'] }, /^timestamp: it is missing; .*--observed-at/],
    [{ timestamp: '2027-01-01T00:00:00Z', a: ['192.0.2.1'] }, /^timestamp: .* future/],
  ])('%j is rejected with the reason', (keys, reason) => {
    expect(() => read('dnsx', { ...line, ...keys })).toThrow(reason);
    expect(() => read('dnsx', { ...line, ...keys })).toThrow(InvalidObservationError);
  });
});

describe('a line of zdns', () => {
  const timestamp = '2024-08-23T13:12:43-04:00';
  const answer = (type: string, fields: object) => ({
    class: 'IN',
    name: 'example.com',
    ttl: 300,
    type,
    ...fields,
  });
  const result = (answers: readonly object[] | null, more: object = {}) => ({
    ...{ data: { answers, protocol: 'udp', resolver: '192.0.2.53:53' }, status: 'NOERROR', timestamp },
    ...more,
  });
  const line = (results: object) => ({ name: 'example.com', results });

  test.each<[string, object, object]>([
    ['A', { answer: '104.18.10.85' }, { ip: '104.18.10.85' }],
    ['AAAA', { answer: '::ffff:192.0.2.1' }, { ipv6: '::ffff:192.0.2.1' }],
    ['NS', { answer: 'ns1.example.net.' }, { target: 'ns1.example.net' }],
    ['PTR', { answer: 'a.example' }, { target: 'a.example' }],
    ['MX', { answer: 'mail.example.com.', preference: 10 }, { pri: 10, target: 'mail.example.com' }],
    ['MX', { answer: '.', preference: 0 }, { pri: 0, target: '.' }],
    [
      'SOA',
      { ns: 'ns1.example.com', mbox: '', serial: 1, refresh: 2, retry: 3, expire: 4, min_ttl: 4294967295 },
      {
        mname: 'ns1.example.com',
        rname: '.',
        serial: 1,
        refresh: 2,
        retry: 3,
        expire: 4,
        'minimum-ttl': 4294967295,
      },
    ],
    ['TXT', { answer: 'v=spf1 \n-all' }, { txt: 'v=spf1 -all', entries: ['v=spf1 ', '-all'] }],
    ['TXT', { answer: 'a \\"b\\" \\\\ \\255' }, { entries: ['a "b" \\ \\255'] }],
    [
      'CAA',
      { flag: 128, tag: 'issue', value: 'ca.example; a="b"' },
      { flags: 128, tag: 'issue', value: 'ca.example; a="b"' },
    ],
    [
      'SRV',
      { priority: 1, weight: 2, port: 443, target: 'a.example.' },
      { pri: 1, weight: 2, port: 443, target: 'a.example' },
    ],
    [
      'NAPTR',
      {
        order: 1,
        preference: 2,
        flags: 'S',
        service: 'SIP+D2T',
        regexp: '',
        replacement: '_sip._tcp.example.com.',
      },
      { order: 1, pref: 2, flags: 'S', services: 'SIP+D2T', regex: '', replacement: '_sip._tcp.example.com' },
    ],
    ['HINFO', { cpu: 'RFC8482', os: '' }, { cpu: 'RFC8482', os: '' }],
    [
      'DS',
      { key_tag: 1, algorithm: 13, digest_type: 2, digest: 'ab'.repeat(32) },
      { data: `1 13 2 ${'AB'.repeat(32)}` },
    ],
    [
      'DNSKEY',
      { flags: 257, protocol: 3, algorithm: 8, public_key: 'AwEAAagA' },
      { data: '257 3 8 AwEAAagA' },
    ],
    [
      'TLSA',
      { cert_usage: 3, selector: 1, matching_type: 1, certificate: 'ab'.repeat(32) },
      { data: `3 1 1 ${'AB'.repeat(32)}` },
    ],
    ['SSHFP', { algorithm: 4, type: 2, fingerprint: 'ab'.repeat(32) }, { data: `4 2 ${'AB'.repeat(32)}` }],
    [
      'HTTPS',
      {
        priority: 1,
        target: '.',
        svcparams: {
          alpn: ['h3', 'a,b\\c'],
          ipv4hint: ['192.0.2.1'],
          port: 8443,
          'no-default-alpn': true,
          ech: 'AAA=',
          key99: '/wE=',
        },
      },
      {
        data: '1 . alpn="h3,a\\\\,b\\\\\\\\c" no-default-alpn port=8443 ipv4hint=192.0.2.1 ech=AAA= key99="\\255\\001"',
      },
    ],
    ['DNAME', { answer: 'b.example.' }, { data: 'b.example.' }],
  ])('%s %j', (type, fields, rdata) => {
    const [record, ...others] = recordsOf('zdns', line({ [type]: result([answer(type, fields)]) })) ?? [];
    expect(others).toEqual([]);
    expect(record).toMatchObject({ type, ...rdata });
  });

  test('gives each type that was answered, as many observations as there are times', () => {
    const results = {
      AAAA: result(null, { timestamp: '2024-08-23T13:12:44.5-04:00' }),
      A: result([answer('A', { answer: '192.0.2.1' })]),
      MX: result([], { status: 'NXDOMAIN' }),
      TXT: result([], { status: 'TIMEOUT' }),
      NS: result([], { data: { answers: [], flags: { truncated: true } } }),
      MXLOOKUP: result([]),
    };
    const { observations, remarks } = read('zdns', line(results));
    expect(observations).toEqual([
      {
        ...{
          domain: 'example.com',
          source: 'zdns',
          observedAt: '2024-08-23T17:12:43.000000Z',
          types: ['A', 'MX'],
        },
        owners: { A: ['example.com'], MX: ['example.com'], CNAME: ['example.com'] },
        records: [{ type: 'A', ip: '192.0.2.1' }],
      },
      {
        ...{
          domain: 'example.com',
          source: 'zdns',
          observedAt: '2024-08-23T17:12:44.500000Z',
          types: ['AAAA'],
        },
        owners: { AAAA: ['example.com'] },
        records: [],
      },
    ]);
    expect(remarks).toEqual([
      'Some modules of zdns are not read: docs/importing.md names those that are.',
      'TXT counts as not observed.',
      'NS counts as not observed.',
    ]);
  });

  test('is recorded but for the types that cannot be read, which count as not observed', () => {
    const a = result([answer('A', { answer: '192.0.2.1' })]);
    const odd: Record<string, object>[] = [
      { MX: result([answer('MX', { answer: 'mail.example', preference: 'first' })]) },
      { MX: result([answer('MX', { answer: 'mail.example', preference: 1, class: 'CH' })]) },
      { MX: result([answer('MX', { answer: 'mail.example', preference: 1, name: undefined })]) },
      { MX: result([answer('MX', { answer: 'mail.example', preference: 1, name: 'a..b' })]) },
      { MX: result(null, { timestamp: 'yesterday' }) },
      { MX: result(null, { data: null }) },
      { MX: result(null, { class: 'CH' }) },
      { MX: result(null, { data: { answers: 'none' } }) },
      { MX: 7 as unknown as object },
    ];
    for (const results of odd) {
      const { observations, remarks } = read('zdns', line({ ...results, A: a }));
      expect(observations).toMatchObject([{ types: ['A'], records: [{ ip: '192.0.2.1' }] }]);
      expect(remarks).toEqual(['MX counts as not observed.']);
    }
  });

  test('without answers gives that the name has no such records, and nothing of an alias', () => {
    for (const more of [{ status: 'NXDOMAIN', data: {} }, { data: { authorities: [answer('SOA', {})] } }]) {
      expect(read('zdns', line({ A: result(null, more) })).observations).toMatchObject([
        { types: ['A'], owners: { A: ['example.com'] }, records: [] },
      ]);
    }
  });

  test('gives the alias of the name, and not what it leads to', () => {
    const answers = [
      answer('CNAME', { answer: 'cdn.example.net' }),
      answer('A', { name: 'cdn.example.net', answer: '192.0.2.9' }),
    ];
    expect(read('zdns', line({ A: result(answers) })).observations).toMatchObject([
      { types: ['A', 'CNAME'], records: [{ type: 'CNAME', target: 'cdn.example.net' }] },
    ]);
  });

  test('of version 1, which does not tell what was queried, gives the types that the name has', () => {
    const flat = { name: 'example.com', class: 'IN', ...result([answer('A', { answer: '192.0.2.1' })]) };
    expect(read('zdns', flat).observations).toMatchObject([{ types: ['A'], records: [{ ip: '192.0.2.1' }] }]);
    expect(
      read('zdns', { ...flat, timestamp: undefined }, '2020-01-01T00:00:00Z').observations,
    ).toMatchObject([{ observedAt: '2020-01-01T00:00:00.000000Z' }]);
    expect(() => read('zdns', { ...flat, data: { answers: [] } })).toThrow('nothing was observed');
  });

  test('of a name with a prefix is of the name that was queried', () => {
    const altered = {
      ...line({ A: result([answer('A', { name: 'www.example.com', answer: '192.0.2.1' })]) }),
      altered_name: 'www.example.com',
    };
    expect(read('zdns', altered).observations).toMatchObject([
      { domain: 'www.example.com', records: [{ ip: '192.0.2.1' }] },
    ]);
  });

  test.each([
    [line({ A: result([], { status: 'SERVFAIL' }) }), 'nothing was observed: A: status "SERVFAIL".'],
    [line({ ANY: result([]) }), 'nothing was observed: "ANY" is not read.'],
    [line({}), 'nothing was observed: the line has no answers.'],
    [line({ A: { status: 'NOERROR', timestamp } }), 'A: data: it is missing'],
    [line({ A: result([], { status: { toString: null } }) }), 'nothing was observed: A: status '],
    [
      line({ A: result(null, { data: { flags: { authoritative: false, recursion_available: false } } }) }),
      'nothing was observed: A: the server is neither responsible for the name nor a resolver.',
    ],
    [
      { name: 'example.com', results: { '\u001b[2J': {} } },
      'nothing was observed: "\\u001b[2J" is not read.',
    ],
    [
      line({ A: result([answer('CNAME', { name: 'cdn.example.net', answer: 'b.example' })]) }),
      'nothing was observed: A: the answers are of other names.',
    ],
    [
      line({
        A: result(null, { data: { authorities: [answer('NS', { answer: 'ns1.example' })], flags: {} } }),
      }),
      'nothing was observed: A: the response is a referral.',
    ],
    [line({ A: { data: {} } }), 'nothing was observed: A: it has no status.'],
    [line({ A: [] }), 'A: it is missing, or not an object.'],
    [
      line({ A: result([], { data: { answers: { 0: {} } } }) }),
      'A: data.answers: it is not a list of objects.',
    ],
    [line({ A: result([{ type: 'A', class: 'IN', answer: '192.0.2.1' }]) }), 'name: it is missing.'],
    [line({ NS: result([answer('NS', {})]) }), 'answer: it is missing.'],
    [line({ MX: result([answer('MX', { preference: 1, answer: {} })]) }), 'answer: it is not a string.'],
    [line({ HINFO: result([answer('HINFO', { cpu: 'x' })]) }), 'os: it is missing.'],
    [line({ TXT: result([answer('TXT', { answer: 'a"b' })]) }), 'a quote or a backslash that is not escaped'],
    [
      line({ CAA: result([answer('CAA', { flag: 0, tag: 'issue', value: 'a\ufffdb' })]) }),
      'octets that were not UTF-8 are lost',
    ],
    [
      line({ A: result([{ ...answer('A', { answer: '192.0.2.1' }), class: 'CH' }]) }),
      'class: "CH" is not IN',
    ],
    [line({ A: result([], { class: 'CH' }) }), 'class: "CH" is not IN'],
    [
      {
        ...line({}),
        results: undefined,
        status: 'NOERROR',
        timestamp,
        data: { answers: [answer('HINFO', { cpu: 'RFC8482', os: '' })] },
      },
      'nothing was observed: an answer to ANY need not have all types and records.',
    ],
    [line({ A: result([], { timestamp: undefined }) }), 'A: timestamp: it is missing; say when'],
    [line({ A: result([answer('A', { answer: 'nonsense' })]) }), 'answers[0]: ip'],
    [{ ...line({ A: result([]) }), name: '192.0.2.1' }, 'name: '],
  ])('%j is rejected with the reason', (rejected, reason) => {
    expect(() => read('zdns', rejected)).toThrow(reason);
    expect(() => read('zdns', rejected)).toThrow(InvalidObservationError);
  });
});

describe('a line of massdns', () => {
  const answered = (type: string, data: string, more = '') =>
    `{"name":"x.example.","type":"${type}","class":"IN","status":"NOERROR","rx_ts":1713974911725326170,"data":{"answers":[` +
    `{"ttl":86400,"type":"${type}","class":"IN","name":"x.example.","data":${JSON.stringify(data)}}${more}]},"flags":["rd","ra"],"resolver":"192.0.2.53:53"}`;

  test('gives the type that was queried, at its time to the microsecond', () => {
    expect(read('massdns', answered('SRV', '10 10 1720 a.example.'))).toEqual({
      observations: [
        {
          ...{
            domain: 'x.example',
            observedAt: '2024-04-24T16:08:31.725326Z',
            source: 'massdns',
            types: ['SRV'],
          },
          owners: { SRV: ['x.example'], CNAME: ['x.example'] },
          records: [{ type: 'SRV', pri: 10, weight: 10, port: 1720, target: 'a.example' }],
        },
      ],
      remarks: [],
    });
  });

  test.each([
    ['A', '192.0.2.1', { ip: '192.0.2.1' }],
    ['NS', 'a\\x2eb.example.', { target: 'a\\.b.example' }],
    [
      'PTR',
      'Office Printer (a;b)._ipp._tcp.x.example.',
      { target: 'office\\032printer\\032\\(a\\;b\\)._ipp._tcp.x.example' },
    ],
    ['MX', '10 a;b.x.example.', { pri: 10, target: 'a\\;b.x.example' }],
    ['MX', '0 .', { pri: 0, target: '.' }],
    ['SOA', 'ns.example. x.example. 1 2 3 4 5', { mname: 'ns.example', serial: 1, 'minimum-ttl': 5 }],
    ['CAA', '1 issue "ca.example; a="b" \\x5c"', { flags: 128, tag: 'issue', value: 'ca.example; a="b" \\' }],
    ['CAA', '0 iodef "mailto:a@x.example"', { flags: 0, tag: 'iodef' }],
    ['TXT', 'v=spf1 "x" \\x5c \\xff -all', { entries: ['v=spf1 "x" \\ \\255 -all'] }],
    ['TXT', '', { entries: [''] }],
    ['HINFO', '\\x07RFC8482\\x00', { cpu: 'RFC8482', os: '' }],
    ['TYPE65', '\\x00\\x01\\x00\\x00\\x01\\x00\\x03\\x02h2', { type: 'HTTPS', data: '1 . alpn="h2"' }],
    ['65', '\\x00\\x01\\x00', { type: 'HTTPS', data: '1 .' }],
  ])('%s %j', (type, data, rdata) => {
    expect(recordsOf('massdns', answered(type, data))).toMatchObject([rdata]);
  });

  test('of a long TXT record cannot tell its strings: they are as long as they can be', () => {
    const { observations, remarks } = read('massdns', answered('TXT', 'x'.repeat(300)));
    expect(observations[0]?.records).toMatchObject([{ entries: ['x'.repeat(255), 'x'.repeat(45)] }]);
    expect(remarks).toEqual([expect.stringContaining('how the data of a TXT record are divided')]);
  });

  test('with an alias gives the alias, and that the name has no such record', () => {
    const others = ',{"ttl":1,"type":"A","class":"IN","name":"b.example.","data":"192.0.2.9"}';
    const line = answered('CNAME', 'b.example.', others).replace('"type":"CNAME"', '"type":"A"');
    expect(read('massdns', line).observations).toMatchObject([
      { types: ['A', 'CNAME'], records: [{ type: 'CNAME', target: 'b.example' }] },
    ]);
  });

  test('is no answer where it refers to the name servers of the root, whatever its flags say', () => {
    const line = answered('A', '192.0.2.1')
      .replace(/"answers":.*\]\}/, '"authorities":[{"type":"NS","name":"."}]}')
      .replace('"rd"', '"aa"');
    expect(() => read('massdns', line)).toThrow('nothing was observed: the response is a referral.');
  });

  test('is not harmed by what cannot be read of other names', () => {
    const other = ',{"ttl":1,"type":"MX","class":"IN","name":"y.example.","data":"nonsense"}';
    expect(recordsOf('massdns', answered('A', '192.0.2.1', other))).toEqual([{ type: 'A', ip: '192.0.2.1' }]);
  });

  test('NXDOMAIN gives that the name has no such record', () => {
    const line = {
      name: 'x.example.',
      type: 'A',
      class: 'IN',
      status: 'NXDOMAIN',
      rx_ts: 1_713_974_911_000_000_000,
      data: {},
    };
    expect(read('massdns', line).observations).toMatchObject([{ types: ['A'], records: [] }]);
  });

  test('of an older version, without a time, has the time that is given', () => {
    const line = answered('A', '192.0.2.1').replace(/"rx_ts":\d+,/, '');
    expect(() => read('massdns', line)).toThrow(
      'rx_ts: it is missing; say when the lines were observed, --observed-at',
    );
    expect(read('massdns', line, '2020-01-01T00:00:00Z').observations).toMatchObject([
      { observedAt: '2020-01-01T00:00:00.000000Z' },
    ]);
  });

  test.each([
    ['{"name":"x.example.","type":"A","class":"IN","error":"TIMEOUT"}', 'nothing was observed: "TIMEOUT".'],
    [answered('A', '192.0.2.1').replace('NOERROR', 'SERVFAIL'), 'nothing was observed: status "SERVFAIL".'],
    [answered('A', '192.0.2.1').replace('"rd"', '"tc"'), 'nothing was observed: the response was truncated.'],
    [answered('ANY', '192.0.2.1'), 'type: no record can have the type "ANY".'],
    [answered('A', '\\x01\\x02'), 'answers[0]: '],
    [answered('A', '192.0.2.1').replace(/"rx_ts":\d+/, '"rx_ts":1.5'), 'rx_ts: it is not a number'],
    ['{"name":"x.example.","error":{"toString":null}}', 'nothing was observed: '],
    [
      answered('A', '192.0.2.1')
        .replace(/"answers":.*\]\}/, '"answers":[]}')
        .replace(',"ra"', ''),
      'nor a resolver',
    ],
    [answered('RRSIG', 'x'), 'type: answers for RRSIG need not be complete.'],
    [answered('CAA', '128 issue "x"'), 'is not a CAA record.'],
    [answered('CAA', 'nonsense'), 'data: "nonsense" is not a CAA record.'],
    [
      answered('A', '192.0.2.1').replace(/"rx_ts":\d+/, '"rx_ts":9000000000000000000000'),
      'rx_ts: it is not a number',
    ],
    [
      answered('A', '192.0.2.1').replace(/"rx_ts":\d+/, '"rx_ts":1713974911'),
      'rx_ts: 1970-01-01T00:00:01.713974Z is before 1990',
    ],
    [answered('A', '192.0.2.1').replace('"class":"IN"', '"class":"CH"'), 'class: "CH" is not IN'],
    [
      answered('A', '192.0.2.1').replace('"name":"x.example.","data"', '"name":"y.example.","data"'),
      'the answers are of other names',
    ],
    [
      answered('A', '192.0.2.1').replace(
        /"answers":.*\]\}/,
        '"authorities":[{"type":"NS","name":"x.example."}]}',
      ),
      'the response is a referral',
    ],
    [
      answered('A', '192.0.2.1').replace(/"data":\{.*\]\}/, '"data":null'),
      'data: it is missing, or not an object',
    ],
    [
      answered('A', '192.0.2.1').replace('"data":"192.0.2.1"', '"data":["192.0.2.1"]'),
      'data: it is not a string',
    ],
    [answered('A', '192.0.2.1').replace(',"data":"192.0.2.1"', ''), 'data: it is missing'],
    [answered('TXT', 'x€y'), 'massdns writes nothing but ASCII'],
    [answered('AFSDB', '\\x00\\x01\\xc0\\x0c'), 'or has a compressed name'],
  ])('%s is rejected with the reason', (line, reason) => {
    expect(() => read('massdns', line)).toThrow(reason);
    expect(() => read('massdns', line)).toThrow(InvalidObservationError);
  });

  test('gives all octets of a record of any type as they were', () => {
    const octets = fc.uint8Array({ minLength: 0, maxLength: 60 });
    fc.assert(
      fc.property(octets, fc.constantFrom('TYPE65534', 'TYPE64', 'HINFO', 'NAPTR'), (rdata, type) => {
        const data = Array.from(rdata, (octet) =>
          octet >= 0x20 && octet <= 0x7e && octet !== 0x5c
            ? String.fromCharCode(octet)
            : `\\x${octet.toString(16).padStart(2, '0')}`,
        ).join('');
        const expected = () => {
          const hex = Buffer.from(rdata).toString('hex');
          const {
            host: _,
            class: __,
            ...record
          } = dnsRecordData(
            parseDnsRecord({ host: 'x.example', class: 'IN', type, data: `\\# ${rdata.length} ${hex}` }),
          );
          // Names in octets may be compressed.
          if (type !== 'TYPE65534' && String(record['data']).startsWith('\\#'))
            throw new InvalidObservationError('');
          return record;
        };
        const found = () => recordsOf('massdns', answered(type, data))?.[0];
        expect(outcomeOf(found)).toEqual(outcomeOf(expected));
      }),
    );
  });
});

/** What a function returns, or that it rejects. */
function outcomeOf(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    if (error instanceof InvalidObservationError) return 'rejected';
    throw error;
  }
}
