import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseDmsLine } from '../../src/importers/dms.js';
import { forget } from '../../src/recorder/forget.js';
import { createRecorder } from '../../src/recorder/recorder.js';
import type { DomainHistory } from '../replay/domain-history.js';
import { standInForCitus } from '../support/citus.js';
import { emptyTestDatabase, onShards, TEST_SERVER } from '../support/database.js';
import { IS_LONG, repeats } from '../support/long-form.js';
import { NOW } from '../support/observations.js';
import { startTestService, type TestService } from '../support/service.js';
import type { ObservationLine } from './random-observations.js';
import {
  DOMAINS,
  domainFilter,
  type Filter,
  given,
  HEADER_NAMES,
  headerFilter,
  headersOf,
  historiesAt,
  lineOf,
  lineTime,
  manyLines,
  meetsRecordFilter,
  paging,
  recordFilter,
  several,
  TYPES,
  ZONES,
} from './random-searches.js';
import {
  ask,
  everyRecord,
  expectDomains,
  expectHeaders,
  expectRecords,
  expectSame,
  OWN_HEADERS,
  OWN_RECORDS,
  OWN_VALUES,
  searched,
  walk,
} from './searches.js';

/** RANDOM_RUNS=5000 looks longer. */
const numRuns = Number(process.env['RANDOM_RUNS'] ?? repeats(20, 4));
const TIMEOUT = 90_000 + 4_000 * numRuns;

let service: TestService;
/** On the same database, with the statements for tables that are distributed over a Citus cluster. */
let onCluster: TestService;
beforeAll(async () => {
  service = await startTestService();
  await standInForCitus(service.database.pool);
  onCluster = await startTestService({ database: onShards(service.database), role: 'api' });
});
afterAll(async () => {
  await onCluster.stop();
  await service.stop();
});

/** Every other question is answered on shards. */
function answering(question: number): string {
  return question % 2 === 0 ? service.url : onCluster.url;
}

/** Records observations in a database that has nothing else. */
async function record(lines: readonly ObservationLine[]): Promise<void> {
  await emptyTestDatabase(service.database);
  const recorder = createRecorder(service.database.pool);
  const observations = lines.map((each) => parseDmsLine(JSON.stringify(each), NOW));
  for (let from = 0; from < observations.length; from += 50) {
    await recorder.record(observations.slice(from, from + 50));
  }
}

/** How many matches were found in all. */
let matched = 0;

/** Holds for any observations, and that anything was found at all. */
async function holds<Question>(
  questions: fc.Arbitrary<Question>,
  check: (lines: readonly ObservationLine[], question: Question) => Promise<void>,
) {
  matched = 0;
  const property = fc.asyncProperty(manyLines, questions, async (lines, asked) => {
    await record(lines);
    await check(lines, asked);
  });
  // What fails is not made smaller for longer than that: the next test needs the database.
  await fc.assert(property, { numRuns, interruptAfterTimeLimit: TIMEOUT / 3, markInterruptAsFailure: true });
  // Few runs may have had nothing to find.
  if (numRuns >= 20) expect(matched).toBeGreaterThan(0);
}

describe('of any observations, a plain filter over all histories gives the same, on pages of any size each match once', () => {
  it(
    'as a search for DNS records, each with when it was last seen as its domain has it',
    () =>
      holds(several(recordFilter), async (lines, questions) => {
        for (const [place, [where, pages]] of questions.entries()) {
          matched += await expectRecords(searched(answering(place), lines), where, pages);
        }
      }),
    TIMEOUT,
  );

  it(
    'as a search for HTTP headers, one match for each time that a domain had the value',
    () =>
      holds(several(headerFilter), async (lines, questions) => {
        for (const [place, [where, pages]] of questions.entries()) {
          matched += await expectHeaders(searched(answering(place), lines), where, pages);
        }
      }),
    TIMEOUT,
  );

  it(
    'as a search for domains; and the statistics are the exact numbers',
    () =>
      holds(several(domainFilter), async (lines, questions) => {
        for (const [place, [where, pages]] of questions.entries()) {
          matched += await expectDomains(searched(answering(place), lines), where, pages);
        }
        await expectStatistics(lines);
      }),
    TIMEOUT,
  );

  const ownQuestion = fc.record({
    domain: fc.nat(),
    at: fc.option(lineTime, { nil: undefined }),
    types: fc.option(fc.subarray(TYPES), { nil: undefined }),
    present: fc.option(fc.boolean(), { nil: undefined }),
    names: fc.option(fc.subarray([...HEADER_NAMES, 'Server']), { nil: undefined }),
  });

  it(
    "as the pages of a domain's own records, headers, and values of a header, now and at any time",
    () =>
      holds(several(ownQuestion), async (lines, questions) => {
        const everything = searched(service.url, lines);
        const { url } = everything;
        for (const [{ domain, at: time, types, present: isPresent, names }, pages] of questions) {
          const histories = everything.historiesAt(time);
          const history = histories[domain % histories.length];
          if (history === undefined) continue;
          const variables = { name: history.domain, at: time };
          const all = (await everyRecord(everything, time)).filter(
            (match) => match.domain === history.domain,
          );
          const where = { ...(types && { types }), ...(isPresent !== undefined && { present: isPresent }) };
          const found = await walk(url, OWN_RECORDS, { ...variables, ...where }, pages);
          expectSame(
            found,
            all.filter((match) => meetsRecordFilter(match, where)).map((match) => match.record),
          );
          matched += found.length;
          const asked = names?.map((name) => name.toLowerCase());
          const expected = headersOf(history).filter(({ name }) =>
            given(asked, (some) => some.includes(name)),
          );
          expectSame(
            await walk(url, OWN_HEADERS, { ...variables, names }, pages),
            expected.map(({ items: _, ...header }) => header),
          );
          for (const { name, items } of expected) {
            expectSame(await walk(url, OWN_VALUES, { ...variables, header: name }, pages), items);
          }
        }
      }),
    TIMEOUT,
  );
});

async function expectStatistics(lines: readonly ObservationLine[]) {
  const QUESTION = '{ statistics { domains dnsRecords httpHeaders changes firstObserved } }';
  const [{ data }, ofShards] = await Promise.all([ask(service.url, QUESTION), ask(onCluster.url, QUESTION)]);
  expect(ofShards.data).toEqual(data);
  const histories = historiesAt(lines);
  const sum = (count: (history: DomainHistory) => number) =>
    histories.reduce((total, history) => total + count(history), 0);
  expect(data.statistics).toEqual({
    domains: histories.length,
    dnsRecords: sum(({ entries }) => entries.length),
    httpHeaders: sum((history) => history.headers.size),
    changes: sum(({ changes }) => changes.length),
    firstObserved: histories.map(({ created }) => created).sort()[0] ?? null,
  });
}

/** Of the short form: what random observations of fewer domains give. */
describe.skipIf(!IS_LONG)('of a thousand domains', () => {
  it(
    'a plain filter over everything gives what each question of a generated list finds',
    async () => {
      const seed = Math.floor(Math.random() * 2 ** 31);
      const [count, questions] = [1_100, TEST_SERVER === undefined ? 20 : 30];
      process.stderr.write(`seed ${seed}: ${count} domains, ${questions} questions of each kind\n`);
      const names = Array.from({ length: count }, (_, at) => `n${at}.${ZONES[at % ZONES.length]}`);
      const lines = fc
        .sample(lineOf([...DOMAINS, ...names]), { seed, numRuns: 6 * count })
        .sort((one, other) => (one.observedAt < other.observedAt ? -1 : 1));
      await record(lines);
      const everything = searched(service.url, lines);
      const draw = (filter: fc.Arbitrary<Filter>) =>
        fc.sample(fc.tuple(filter, paging), { seed, numRuns: questions });
      let found = 0;
      for (const [where, pages] of draw(recordFilter)) found += await expectRecords(everything, where, pages);
      for (const [where, pages] of draw(headerFilter)) found += await expectHeaders(everything, where, pages);
      for (const [where, pages] of draw(domainFilter)) found += await expectDomains(everything, where, pages);
      expect(found).toBeGreaterThan(count);
      await expectStatistics(lines);
    },
    10 * 60_000,
  );
});

describe('a host name is found in the data of', () => {
  const name = 'named.example.net';
  const soa = { serial: 1, refresh: 1, retry: 1, expire: 1, 'minimum-ttl': 1 };
  const naptr = { order: 1, pref: 1, flags: '', services: '', regex: '' };
  const found: readonly (readonly [type: string, data: object])[] = [
    ...['NS', 'CNAME', 'PTR'].map((type) => [type, { target: name }] as const),
    ['MX', { pri: 10, target: name }],
    ['SRV', { pri: 1, weight: 1, port: 1, target: name }],
    ['SOA', { mname: name, rname: 'a.example', ...soa }],
    ['SOA', { mname: 'a.example', rname: name, ...soa }],
    ['NAPTR', { ...naptr, replacement: name }],
    ['DNAME', { data: `${name}.` }],
    ...['AFSDB', 'KX', 'LP', 'RT'].map((type) => [type, { data: `10 ${name}.` }] as const),
    ...['HTTPS', 'SVCB'].map((type) => [type, { data: `0 ${name}.` }] as const),
    ['HTTPS', { data: `1 ${name}. alpn=h3,h2 port=8443` }],
    ...[name, ` Named.Example.NET. `, `${name};account=1`, `\t${name} ; a=b`].map(
      (value) => ['CAA', { flags: 0, tag: 'issue', value }] as const,
    ),
    ...['issuewild', 'ISSUEMAIL', 'issuevmc'].map(
      (tag) => ['CAA', { flags: 128, tag, value: name }] as const,
    ),
  ];
  const others: readonly (readonly [type: string, data: object])[] = [
    ['TXT', { txt: name, entries: [name] }],
    ['CAA', { flags: 0, tag: 'iodef', value: name }],
    ['CAA', { flags: 0, tag: 'issue', value: `;${name}` }],
    ['CAA', { flags: 0, tag: 'issue', value: `${name} other` }],
    ['HTTPS', { data: '1 . alpn=h3' }],
    ['HTTPS', { data: '1 not-named.example.net.' }],
    ['NAPTR', { ...naptr, replacement: '.' }],
  ];
  beforeAll(() => {
    const lines = [...found, ...others].map(([type, data], at): ObservationLine => {
      const domain = `d${at}.example`;
      const dnsRecords = [{ host: domain, class: 'IN', type, ...data }];
      return { domain, observedAt: '2024-01-01T00:00:00Z', dnsRecords };
    });
    return record(lines);
  });

  const domainsWith = async (target: string) => {
    const query = `query ($where: DnsRecordFilter!) { dnsRecords(where: $where, first: 100) { nodes { domain { name } } } }`;
    const { data } = await ask(service.url, query, { where: { target } });
    return data.dnsRecords.nodes.map((node: { domain: { name: string } }) => node.domain.name);
  };

  it.each(found.map(([type, data], at) => [type, JSON.stringify(data), at] as const))(
    '%s: %s',
    async (_type, _data, at) => {
      for (const target of [name, '*.example.net']) {
        expect(await domainsWith(target)).toContain(`d${at}.example`);
      }
    },
  );

  it('and of no others', async () => {
    expect(await domainsWith(name)).toHaveLength(found.length);
    expect(await domainsWith('*.example.net')).toHaveLength(found.length + 1);
  });
});

describe('after domains are forgotten', () => {
  it(
    'nothing of them is found or kept among the names and texts, and all of the others is',
    () => {
      const questions = fc.record({
        forgotten: fc.subarray(DOMAINS, { minLength: 1 }),
        records: recordFilter,
        headers: headerFilter,
        pages: paging,
      });
      return holds(questions, async (lines, { forgotten, records, headers: wanted, pages }) => {
        expect(await knownTexts()).toEqual(textsOf(lines));
        await forget(service.database, forgotten);
        const others = lines.filter(({ domain }) => !forgotten.includes(domain));
        expect(await knownTexts()).toEqual(textsOf(others));
        const asked = searched(service.url, others);
        matched += await expectRecords(asked, records, pages);
        matched += await expectRecords(asked, { host: '*e*a*t*' }, pages);
        matched += await expectHeaders(asked, wanted, pages);
        matched += await expectDomains(asked, {}, pages);
        await expectStatistics(others);
      });
    },
    TIMEOUT,
  );

  async function knownTexts(): Promise<string[]> {
    const { rows } = await service.database.pool.query<{ text: string }>(
      `SELECT 'name ' || name AS text FROM known_name UNION ALL SELECT kind || ' ' || text FROM known_text`,
    );
    return rows.map(({ text }) => text).sort();
  }

  /** The names and texts of all histories, each once. */
  function textsOf(lines: readonly ObservationLine[]): string[] {
    const texts = historiesAt(lines).flatMap((history) => [
      `name ${history.domain}`,
      ...history.entries.map(({ data }) => `name ${data['host']}`),
      ...history.entries.flatMap(({ data }) => (data['type'] === 'TXT' ? [`TXT ${data['txt']}`] : [])),
      ...[...history.headers].flatMap(([name, items]) => items.map((item) => `${name} ${item.value}`)),
    ]);
    return [...new Set(texts)].sort();
  }
});

describe('the time of the last recording in the statistics', () => {
  it('is that of the domain that was recorded last, and null where nothing is recorded', async () => {
    const question = '{ statistics { lastRecordedAt } searchDomains(first: 500) { nodes { recordedAt } } }';
    await record([]);
    expect((await ask(service.url, question)).data.statistics).toEqual({ lastRecordedAt: null });
    await record(SHARED);
    const { data } = await ask(service.url, question);
    const times = data.searchDomains.nodes.map((node: { recordedAt: string }) => node.recordedAt).sort();
    expect(data.statistics).toEqual({ lastRecordedAt: times.at(-1) });
  });
});

/** Three domains with the same two addresses, texts and headers. */
const SHARED = ['a.example', 'b.example', 'www.b.example'].map(
  (domain): ObservationLine => ({
    ...{ domain, observedAt: '2024-01-01T00:00:00Z', httpHeaders: { server: 'nginx', via: 'proxy' } },
    dnsRecords: ['192.0.2.1', '192.0.2.2'].map((ip) => ({ host: domain, class: 'IN', type: 'A', ip })),
  }),
);

describe('a question that cannot be answered is INVALID_PARAMETER, and the message says what to write:', () => {
  beforeAll(() => record(SHARED));

  const records = (where: string, first = 1) =>
    `dnsRecords(where: { ${where} }, first: ${first}) { nodes { __typename } }`;
  const headers = (where: string, first = 1) =>
    `httpHeaders(where: { name: "server", ${where} }, first: ${first}) { nodes { __typename } }`;
  const domains = (conditions: string, first = 1) =>
    `searchDomains(where: { ${conditions} }, first: ${first}) { nodes { __typename } }`;
  const own = (field: string, end = '') =>
    `domain(name: "a.example") { ${field} { nodes { __typename } } ${end} }`;
  const exchanged = (name: string) =>
    `${name}From: "2024-01-02T00:00:00Z", ${name}To: "2024-01-01T23:59:59.999999Z"`;

  it.each([
    [
      records('types: ["A"], present: true'),
      /At least one of ip, network, target, text and host is required; .* search domains by changedFrom or createdFrom, or read changes after your last cursor\./,
    ],
    [records('ip: "192.0.2.256"'), /ip: "192\.0\.2\.256" is not an IPv4 or IPv6 address/],
    [records('ip: "192.0.2.0/24"'), /ip: .* is not an IPv4 or IPv6 address/],
    [records('ip: "192.0.2"'), /ip: .* is not an IPv4 or IPv6 address/],
    [records('ip: "fe80::1%eth0"'), /ip: .* is not an IPv4 or IPv6 address/],
    [records('network: "192.0.2.0"'), /network: .* such as 192\.0\.2\.0\/24/],
    [records('network: "192.0.2.0/33"'), /network: .* such as 192\.0\.2\.0\/24/],
    [records('network: "192.0.2/24"'), /network: .* such as 192\.0\.2\.0\/24/],
    [records('network: "2001:db8::/129"'), /network: .* such as/],
    [records('target: "ns*.example.net"'), /target: write a host name, or "\*\." and a name/],
    [records('target: "*.a"'), /target: .* at least 3 characters besides "\*"/],
    [records('target: "a..example"'), /target: .* empty label/],
    [records('text: "ab"'), /text must have at least 3 characters/],
    [records('text: "😀😀"'), /text must have at least 3 characters/],
    [records('host: "*a*b*"'), /host: .* at least 3 characters besides "\*"/],
    [records('host: "büch*.example"'), /host: .* a label with "\*" may have letters, digits, "-" and "_"/],
    [records('ip: "192.0.2.1", types: ["no type"]'), /types: "no type"/],
    [records('ip: "192.0.2.1", at: "2999-01-01T00:00:00Z"'), /more than five minutes ahead/],
    [
      records(`ip: "192.0.2.1", ${exchanged('seen')}`),
      /seenFrom, .* is later than seenTo, .*: exchange them/,
    ],
    [records(`ip: "192.0.2.1", ${exchanged('firstSeen')}`), /firstSeenFrom, .* is later than firstSeenTo, /],
    [headers('present: true'), /Exactly one of value and contains/],
    [headers('value: "nginx", contains: "nginx"'), /Exactly one of value and contains/],
    [headers('contains: "ng"'), /contains must have at least 3 characters/],
    [headers(`value: "nginx", ${exchanged('seen')}`), /seenFrom, .* is later than seenTo, .*: exchange them/],
    [domains('match: "a*b",'), /match: .* at least 3 characters besides "\*"/],
    [domains('registrableDomain: "co.uk",'), /co\.uk is not a registrable domain: it is a public suffix/],
    [domains('registrableDomain: "www.b.example",'), /is not a registrable domain: use b\.example/],
    [domains(`${exchanged('created')},`), /createdFrom, .* is later than createdTo, .*: exchange them/],
    [domains(`${exchanged('changed')},`), /changedFrom, .* is later than changedTo, .*: exchange them/],
    [records('ip: "192.0.2.1"', 0), /first must be from 1 to 500/],
    [records('ip: "192.0.2.1"', 501), /first must be from 1 to 500/],
    [headers('value: "nginx"', 0), /first must be from 1 to 500/],
    [headers('value: "nginx"', 501), /first must be from 1 to 500/],
    [domains('', 0), /first must be from 1 to 500/],
    [domains('', 501), /first must be from 1 to 500/],
    [own('dnsRecordsConnection(first: 501)'), /first must be from 1 to 500/],
    [own('httpHeadersConnection(first: 0)'), /first must be from 1 to 500/],
    [own('httpHeaders { historyConnection(first: 501)', ' }'), /first must be from 1 to 500/],
  ])('%s', async (question, message) => {
    const { errors } = await ask(service.url, `{ ${question} }`);
    const error = { message: expect.stringMatching(message), extensions: { code: 'INVALID_PARAMETER' } };
    expect(errors[0]).toMatchObject(error);
  });

  it.each([
    records('text: "a\\u0000bc"'),
    headers('contains: "a\\u0000bc"'),
    headers('value: "nginx\\u0000"'),
    'httpHeaders(where: { name: "server\\u0000", value: "nginx" }, first: 1) { nodes { __typename } }',
  ])('or finds nothing: what no database holds: %s', async (question) => {
    const { errors = [] } = await ask(service.url, `{ ${question} }`);
    for (const { extensions } of errors) expect(extensions.code).toBe('INVALID_PARAMETER');
  });
});

it.each([1, 2, 3])('pages of %d lead over many domains without a match to the last one', async (first) => {
  const domains = Array.from({ length: 40 }, (_, at) => `d${100 + at}.example`);
  const observed = domains.map((domain, at): ObservationLine => {
    const text = at === 0 || at === 39 ? 'seldom' : 'common';
    const httpHeaders = { server: text };
    const dnsRecords = [{ host: domain, class: 'IN', type: 'TXT', entries: [text] }];
    return { domain, observedAt: '2024-01-01T00:00:00Z', httpHeaders, dnsRecords };
  });
  await record(observed);
  const asked = searched(service.url, observed);
  for (const byEdge of [true, false]) {
    await expectHeaders(asked, { name: 'server', contains: 'seldom' }, { first, byEdge });
    await expectHeaders(asked, { name: 'server', value: 'seldom' }, { first, byEdge });
    await expectRecords(asked, { text: 'seldom' }, { first, byEdge });
    await expectRecords(asked, { host: '*.example', text: 'seldom' }, { first, byEdge });
  }
});

describe('a cursor is INVALID_CURSOR', () => {
  const node = '{ nodes { __typename } pageInfo { endCursor } }';
  const find = (after: string, where = 'ip: "192.0.2.1"') =>
    `page: dnsRecords(where: { ${where} }, first: 1, after: "${after}") ${node}`;
  let cursor = '';
  beforeAll(async () => {
    await record(SHARED);
    const { data } = await ask(
      service.url,
      `{ page: dnsRecords(where: { ip: "192.0.2.1" }, first: 1) ${node} }`,
    );
    cursor = data.page.pageInfo.endCursor;
  });

  it.each([
    ['that is empty', () => find('')],
    ['that is none', () => find('cursor')],
    ['that is cut', () => find(cursor.slice(0, -3))],
    [
      'that is changed',
      () => find(`${cursor.slice(0, -3)}${cursor.endsWith('A') ? 'B' : 'A'}${cursor.slice(-2)}`),
    ],
    ['of another value', () => find(cursor, 'ip: "192.0.2.2"')],
    ['of other conditions', () => find(cursor, 'ip: "192.0.2.1", present: true')],
    ['of another time', () => find(cursor, 'ip: "192.0.2.1", at: "2024-01-01T00:00:00Z"')],
    [
      'of a search for headers',
      () => `httpHeaders(where: { name: "server", value: "nginx" }, first: 1, after: "${cursor}") ${node}`,
    ],
    ['of a search for domains', () => `searchDomains(first: 1, after: "${cursor}") ${node}`],
    [
      "of a domain's records",
      () => `domain(name: "a.example") { dnsRecordsConnection(first: 1, after: "${cursor}") ${node} }`,
    ],
    [
      "of a domain's headers",
      () => `domain(name: "a.example") { httpHeadersConnection(first: 1, after: "${cursor}") ${node} }`,
    ],
    [
      "of a header's values",
      () =>
        `domain(name: "a.example") { httpHeaders { historyConnection(first: 1, after: "${cursor}") ${node} } }`,
    ],
  ])('%s', async (_case, question) => {
    const { errors } = await ask(service.url, `{ ${question()} }`);
    expect(errors[0]).toMatchObject({
      message: expect.stringMatching(/begin without/),
      extensions: { code: 'INVALID_CURSOR' },
    });
  });

  it('but not that of the same question in other words, with pages of another length', async () => {
    const where = 'types: ["A", "AAAA"], network: "192.0.2.1/32"';
    const question = (words: string, first: number, after = '') =>
      `{ page: dnsRecords(where: { ${words} }, first: ${first}${after}) ${node} }`;
    const { data } = await ask(service.url, question(where, 1));
    const after = `, after: "${data.page.pageInfo.endCursor}"`;
    const rest = await ask(
      service.url,
      question('network: "192.0.2.1/32", types: ["aaaa", "A", "A"]', 5, after),
    );
    expect(rest.data.page.nodes).toHaveLength(2);
  });
});
