import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { parseDmsLine } from '../../src/importers/dms.js';
import { forget } from '../../src/recorder/forget.js';
import { createRecorder } from '../../src/recorder/recorder.js';
import type { DomainHistory } from '../replay/domain-history.js';
import { askGraphql } from '../support/ask.js';
import { standInForCitus } from '../support/citus.js';
import { emptyTestDatabase, onShards, TEST_SERVER } from '../support/database.js';
import { IS_LONG, repeats } from '../support/long-form.js';
import { NOW } from '../support/observations.js';
import { serviceOfFile } from '../support/service.js';
import type { ObservationLine } from './random-observations.js';
import {
  DOMAINS,
  expectDomains,
  expectHeaders,
  expectRecords,
  expectSame,
  type Filter,
  HEADER_NAMES,
  headerFilter,
  historiesAt,
  lineOf,
  lineTime,
  manyLines,
  OWN_HEADERS,
  OWN_LISTS,
  OWN_RECORDS,
  OWN_VALUES,
  type Paging,
  paging,
  RECORDS,
  recordFilter,
  SEARCHES,
  searched,
  several,
  TARGETS,
  TYPES,
  walk,
  ZONES,
} from './random-searches.js';

/** RANDOM_RUNS=5000 looks longer. */
const numRuns = Number(process.env['RANDOM_RUNS'] ?? repeats(20, 4));
const TIMEOUT = 90_000 + 4_000 * numRuns;
vi.setConfig({ testTimeout: TIMEOUT });

const service = serviceOfFile({}, ({ database }) => standInForCitus(database.pool));
/** On the same database, with the statements for tables that are distributed over a Citus cluster. */
const onCluster = serviceOfFile(() => ({ database: onShards(service.database), role: 'api' }));
afterAll(() => void vi.resetConfig());

/** Every other question is answered on shards. */
function answering(question: number): string {
  return question % 2 === 0 ? service.url : onCluster.url;
}

const searchedAt = (url: string, lines: readonly ObservationLine[]) =>
  searched(url, (at) => historiesAt(lines, at));

/** Records observations in a database that has nothing else. */
async function record(lines: readonly ObservationLine[]): Promise<void> {
  await emptyTestDatabase(service.database);
  const recorder = createRecorder(service.database.pool);
  const observations = lines.map((each) => parseDmsLine(JSON.stringify(each), NOW));
  for (let from = 0; from < observations.length; from += 50) {
    await recorder.record(observations.slice(from, from + 50));
  }
}

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

test.each(SEARCHES)(
  'of any observations, a search for %s: it finds what a plain filter over all histories does, on pages of any size each match once; the statistics are the exact numbers',
  (_what, filter, expectFound) =>
    holds(several<Filter>(filter), async (lines, questions) => {
      for (const [place, [where, pages]] of questions.entries()) {
        matched += await expectFound(searchedAt(answering(place), lines), where, pages);
      }
      await expectStatistics(lines);
    }),
);

const ownQuestion = fc.record({
  domain: fc.nat(),
  at: fc.option(lineTime, { nil: undefined }),
  types: fc.option(fc.subarray(TYPES), { nil: undefined }),
  present: fc.option(fc.boolean(), { nil: undefined }),
  names: fc.option(fc.subarray([...HEADER_NAMES, 'Server']), { nil: undefined }),
});

test("of any observations, the pages of a domain's own records, headers, and values of a header, now and at any time, are its lists", () =>
  holds(several(ownQuestion), async (lines, questions) => {
    for (const [{ domain, at, ...selection }, pages] of questions) {
      const histories = historiesAt(lines, at);
      const name = histories[domain % histories.length]?.domain;
      if (name === undefined) continue;
      const variables = { name, at, ...selection };
      const pagesOf = (query: string, more = {}) =>
        walk(service.url, query, { ...variables, ...more }, pages);
      const { dnsRecords, httpHeaders } = (await askGraphql(service, OWN_LISTS, variables)).data.domain;
      expectSame(await pagesOf(OWN_RECORDS), dnsRecords);
      expectSame(await pagesOf(OWN_HEADERS), httpHeaders);
      for (const { name: header, history } of httpHeaders) {
        expectSame(await pagesOf(OWN_VALUES, { header }), history);
      }
      matched += dnsRecords.length;
    }
  }));

async function expectStatistics(lines: readonly ObservationLine[]) {
  const question = '{ statistics { domains dnsRecords httpHeaders changes firstObserved } }';
  const answers = [service, onCluster].map((each) => askGraphql(each, question));
  const histories = historiesAt(lines);
  const sum = (count: (history: DomainHistory) => number) =>
    histories.reduce((total, history) => total + count(history), 0);
  for (const { data } of await Promise.all(answers)) {
    expect(data.statistics).toEqual({
      domains: histories.length,
      dnsRecords: sum(({ entries }) => entries.length),
      httpHeaders: sum((history) => history.headers.size),
      changes: sum(({ changes }) => changes.length),
      firstObserved: histories.map(({ created }) => created).sort()[0] ?? null,
    });
  }
}

/** Of the short form: what random observations of fewer domains give. */
test.runIf(IS_LONG)(
  'of a thousand domains, a plain filter over everything gives what each question of a generated list finds',
  async () => {
    const seed = Math.floor(Math.random() * 2 ** 31);
    const [count, numRuns] = [1_100, TEST_SERVER === undefined ? 20 : 30];
    process.stderr.write(`seed ${seed}: ${count} domains, ${numRuns} questions of each kind\n`);
    const names = Array.from({ length: count }, (_, at) => `n${at}.${ZONES[at % ZONES.length]}`);
    const lines = fc
      .sample(lineOf([...DOMAINS, ...names]), { seed, numRuns: 6 * count })
      .sort((one, other) => (one.observedAt < other.observedAt ? -1 : 1));
    await record(lines);
    const everything = searchedAt(service.url, lines);
    let found = 0;
    for (const [, filter, expectFound] of SEARCHES) {
      for (const [where, pages] of fc.sample(fc.tuple<[Filter, Paging]>(filter, paging), { seed, numRuns })) {
        found += await expectFound(everything, where, pages);
      }
    }
    expect(found).toBeGreaterThan(count);
    await expectStatistics(lines);
  },
  10 * 60_000,
);

test.each([1, 200])(
  'a host name is found in the data of every type that has one, and in no other, on pages of %d',
  async (first) => {
    const domain = 'a.example';
    const records = RECORDS.map((data) => ({ host: '@', class: 'IN', ...data }));
    const dnsRecords = JSON.parse(JSON.stringify(records).replaceAll('@', domain));
    const lines = [{ domain, observedAt: '2024-01-01T00:00:00Z', dnsRecords }];
    await record(lines);
    const asked = searchedAt(answering(first), lines);
    for (const target of [...TARGETS.slice(0, -1), '*.example.net']) {
      const where = { target: target.replace('@', domain) };
      expect(await expectRecords(asked, where, { first, byEdge: false })).toBeGreaterThan(0);
    }
  },
);

test('after domains are forgotten, nothing of them is found or kept among the names and texts, and all of the others is', () => {
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
    const asked = searchedAt(service.url, others);
    matched += await expectRecords(asked, records, pages);
    matched += await expectRecords(asked, { host: '*e*a*t*' }, pages);
    matched += await expectHeaders(asked, wanted, pages);
    matched += await expectDomains(asked, {}, pages);
    await expectStatistics(others);
  });
});

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

/** Three domains with the same two addresses, texts and headers. */
const SHARED = ['a.example', 'b.example', 'www.b.example'].map((domain): ObservationLine => {
  const dnsRecords = ['192.0.2.1', '192.0.2.2'].map((ip) => ({ host: domain, class: 'IN', type: 'A', ip }));
  const httpHeaders = { server: 'nginx', via: 'proxy' };
  return { domain, observedAt: '2024-01-01T00:00:00Z', httpHeaders, dnsRecords };
});

test('the time of the last recording in the statistics is that of the domain that was recorded last, and null where nothing is recorded', async () => {
  const question = '{ statistics { lastRecordedAt } searchDomains(first: 500) { nodes { recordedAt } } }';
  await record([]);
  expect((await askGraphql(service, question)).data.statistics).toEqual({ lastRecordedAt: null });
  await record(SHARED);
  const { data } = await askGraphql(service, question);
  const times = data.searchDomains.nodes.map((node: { recordedAt: string }) => node.recordedAt).sort();
  expect(data.statistics).toEqual({ lastRecordedAt: times.at(-1) });
});

const NODES = '{ nodes { __typename } pageInfo { endCursor } }';
const records = (where: string, first = 1, after = '') =>
  `page: dnsRecords(where: { ${where} }, first: ${first}${after}) ${NODES}`;
const headers = (where: string, first = 1) =>
  `httpHeaders(where: { name: "server", ${where} }, first: ${first}) ${NODES}`;
const domains = (where: string, first = 1) => `searchDomains(where: { ${where} }, first: ${first}) ${NODES}`;
const own = (field: string, end = '') => `domain(name: "a.example") { ${field} ${NODES} ${end} }`;

describe('questions about three domains', () => {
  beforeAll(() => record(SHARED));

  const exchanged = (name: string) =>
    `${name}From: "2024-01-02T00:00:00Z", ${name}To: "2024-01-01T23:59:59.999999Z"`;
  const NO_ADDRESS = /ip: .* is not an IPv4 or IPv6 address/;
  const NO_NETWORK = /network: .* such as 192\.0\.2\.0\/24/;
  const tooFew = (field: string) => new RegExp(`^${field}:? .*at least 3 characters`);
  const LENGTH = /first must be from 1 to 500/;
  const reversed = (name: string) =>
    new RegExp(`^${name}From, .* is later than ${name}To, .*: exchange them`);

  test.each([
    [
      records('types: ["A"], present: true'),
      /^At least one of ip, network, target, text and host is required; .* read changes after your last/,
    ],
    [records('ip: "192.0.2.256"'), NO_ADDRESS],
    [records('ip: "192.0.2.0/24"'), NO_ADDRESS],
    [records('ip: "fe80::1%eth0"'), NO_ADDRESS],
    [records('network: "192.0.2.0"'), NO_NETWORK],
    [records('network: "192.0.2.0/33"'), NO_NETWORK],
    [records('network: "192.0.2/24"'), NO_NETWORK],
    [records('network: "2001:db8::/129"'), NO_NETWORK],
    [records('target: "ns*.example.net"'), /target: write a host name, or "\*\." and a name/],
    [records('target: "a..example"'), /target: .* empty label/],
    [records('text: "😀😀"'), tooFew('text')],
    [records('host: "*a*b*"'), tooFew('host')],
    [records('host: "büch*.example"'), /host: .* a label with "\*" may have letters, digits, "-" and "_"/],
    [records('ip: "192.0.2.1", types: ["no type"]'), /types: "no type"/],
    [records('ip: "192.0.2.1", at: "2999-01-01T00:00:00Z"'), /more than five minutes ahead/],
    [records(`ip: "192.0.2.1", ${exchanged('seen')}`), reversed('seen')],
    [records(`ip: "192.0.2.1", ${exchanged('firstSeen')}`), reversed('firstSeen')],
    [headers('present: true'), /Exactly one of value and contains/],
    [headers('value: "nginx", contains: "nginx"'), /Exactly one of value and contains/],
    [headers('contains: "ng"'), tooFew('contains')],
    [headers(`value: "nginx", ${exchanged('seen')}`), reversed('seen')],
    [domains('match: "a*b"'), tooFew('match')],
    [domains('registrableDomain: "co.uk"'), /co\.uk is not a registrable domain: it is a public suffix/],
    [domains('registrableDomain: "www.b.example"'), /is not a registrable domain: use b\.example/],
    [domains(exchanged('created')), reversed('created')],
    [domains(exchanged('changed')), reversed('changed')],
    [records('ip: "192.0.2.1"', 0), LENGTH],
    [headers('value: "nginx"', 501), LENGTH],
    [domains('', 0), LENGTH],
    [own('dnsRecordsConnection(first: 501)'), LENGTH],
    [own('httpHeadersConnection(first: 0)'), LENGTH],
    [own('httpHeaders { historyConnection(first: 501)', ' }'), LENGTH],
    [own('changes(first: -1)'), LENGTH],
    [`changes(first: 501) ${NODES}`, LENGTH],
  ])(
    'a question that cannot be answered is INVALID_PARAMETER, and the message says what to write: %s',
    async (question, message) => {
      const { errors } = await askGraphql(service, `{ ${question} }`);
      const error = { message: expect.stringMatching(message), extensions: { code: 'INVALID_PARAMETER' } };
      expect(errors[0]).toMatchObject(error);
    },
  );

  test.each([
    records('text: "a\\u0000bc"'),
    headers('contains: "a\\u0000bc"'),
    headers('value: "nginx\\u0000"'),
    `httpHeaders(where: { name: "server\\u0000", value: "nginx" }, first: 1) ${NODES}`,
  ])('a question for what no database holds is INVALID_PARAMETER, or finds nothing: %s', async (question) => {
    const { errors = [] } = await askGraphql(service, `{ ${question} }`);
    for (const { extensions } of errors) expect(extensions.code).toBe('INVALID_PARAMETER');
  });

  const find = (after: string, where: string) => records(where, 1, `, after: "${after}"`);

  test.each<[string, (cursor: string) => string]>([
    ['value', (cursor) => find(cursor, 'ip: "192.0.2.2"')],
    ['condition', (cursor) => find(cursor, 'ip: "192.0.2.1", present: true')],
    ['time', (cursor) => find(cursor, 'ip: "192.0.2.1", at: "2024-01-01T00:00:00Z"')],
    ['search', (cursor) => `searchDomains(first: 1, after: "${cursor}") ${NODES}`],
    ["list, a domain's records", (cursor) => own(`dnsRecordsConnection(first: 1, after: "${cursor}")`)],
    ["list, a domain's headers", (cursor) => own(`httpHeadersConnection(first: 1, after: "${cursor}")`)],
    [
      "list, a header's values",
      (cursor) => own(`httpHeaders { historyConnection(first: 1, after: "${cursor}")`, '}'),
    ],
  ])('a cursor of another %s is INVALID_CURSOR', async (_which, question) => {
    const { data } = await askGraphql(service, `{ ${records('ip: "192.0.2.1"')} }`);
    const { errors } = await askGraphql(service, `{ ${question(data.page.pageInfo.endCursor)} }`);
    const error = { message: expect.stringMatching(/begin without/), extensions: { code: 'INVALID_CURSOR' } };
    expect(errors[0]).toMatchObject(error);
  });

  test('a cursor may be used for the same question in other words, with pages of another length', async () => {
    const question = records('types: ["A", "AAAA"], network: "192.0.2.1/32"');
    const first = await askGraphql(service, `{ ${question} }`);
    const after = `, after: "${first.data.page.pageInfo.endCursor}"`;
    const words = 'network: "192.0.2.1/32", types: ["aaaa", "A", "A"]';
    const rest = await askGraphql(service, `{ ${records(words, 5, after)} }`);
    expect(rest.data.page.nodes).toHaveLength(2);
  });
});

test.each([1, 3])('pages of %d lead over many domains without a match to the last one', async (first) => {
  const lines = Array.from({ length: 40 }, (_, at): ObservationLine => {
    const domain = `d${100 + at}.example`;
    const text = at === 0 || at === 39 ? 'seldom' : 'common';
    const dnsRecords = [{ host: domain, class: 'IN', type: 'TXT', entries: [text] }];
    return { domain, observedAt: '2024-01-01T00:00:00Z', httpHeaders: { server: text }, dnsRecords };
  });
  await record(lines);
  const asked = searchedAt(service.url, lines);
  for (const byEdge of [true, false]) {
    await expectHeaders(asked, { name: 'server', contains: 'seldom' }, { first, byEdge });
    await expectHeaders(asked, { name: 'server', value: 'seldom' }, { first, byEdge });
    await expectRecords(asked, { text: 'seldom' }, { first, byEdge });
    await expectRecords(asked, { host: '*.example', text: 'seldom' }, { first, byEdge });
  }
});
