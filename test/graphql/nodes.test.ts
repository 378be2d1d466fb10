import fc from 'fast-check';
import { expect, test } from 'vitest';
import { forget } from '../../src/recorder/forget.js';
import { anyCharacter } from '../support/any-character.js';
import { EVERYTHING, insertEverything } from '../support/every-record-type.js';
import { timeText } from '../support/observations.js';
import { FIRST_SEEN } from '../support/rows.js';
import { serviceOfFile } from '../support/service.js';

const service = serviceOfFile({}, async ({ database, record }) => {
  await insertEverything(database.pool);
  const times = `http_first = ${FIRST_SEEN}, http_latest = last_update`;
  await database.pool.query(`UPDATE domain SET ${times}, http_digest = ''`);
  await record(
    { at: 1, records: ['192.0.2.1', '192.0.2.2'], headers: { server: 'a' } },
    { at: 2, records: ['192.0.2.2'], headers: { server: 'b' } },
    { at: 3, records: ['192.0.2.2', '192.0.2.1'], headers: {} },
  );
});

const send = (query: string, variables = {}) => service.graphql(query, variables);

async function ask(query: string, variables = {}) {
  const { data, errors } = await send(query, variables);
  expect(errors).toBeUndefined();
  return data;
}

const RECORD = '... on DnsRecordEntry { __typename id host class type firstSeen lastSeen removed }';
const HEADER = '__typename id name value present lastSeen history { date new }';
const CHANGE = `... on Change { __typename id kind date source routine domain { id name at }
  ... on DnsRecordAdded { record { ${RECORD} } } ... on DnsRecordRemoved { lastSeen record { ${RECORD} } }
  ... on HeaderCreated { name new } ... on HeaderUpdated { name old new } ... on HeaderGone { name old }
  ... on HeaderReturned { name new } ... on HistoryExtended { earliest } }`;
const DOMAIN = `query ($name: String!, $at: Timestamp) { domain(name: $name, at: $at) {
  __typename id at name lastUpdate
  dnsRecords { ${RECORD} } dnsRecordsConnection { nodes { ${RECORD} } }
  httpHeaders { ${HEADER} } httpHeadersConnection { nodes { ${HEADER} } }
  changes { nodes { ${CHANGE} } } } }`;
const NODE = `query ($id: ID!) { node(id: $id) { id ${RECORD} ... on HeaderHistory { ${HEADER} } ${CHANGE}
  ... on Domain { __typename at name lastUpdate } } }`;
const nodeOf = async (id: string) => (await ask(NODE, { id })).node;

interface Identified {
  readonly id: string;
}

/** A domain without what it has, its records, headers and changes. */
async function nodesOf(name: string, at: string | null = null): Promise<readonly Identified[]> {
  const { dnsRecords, httpHeaders, changes, dnsRecordsConnection, httpHeadersConnection, ...own } = (
    await ask(DOMAIN, { name, at })
  ).domain;
  expect(dnsRecordsConnection.nodes).toEqual(dnsRecords);
  expect(httpHeadersConnection.nodes).toEqual(httpHeaders);
  for (const { domain } of changes.nodes) expect(domain).toEqual({ id: own.id, name, at });
  return [own, ...dnsRecords, ...httpHeaders, ...changes.nodes];
}

const AT = '2024-01-01T00:00:02.000000Z';

test.each([
  [EVERYTHING, null],
  [EVERYTHING, '2024-03-01T10:20:36.123456Z'],
  ['example.com', null],
  ['example.com', AT],
])('each record, header and change of %s at %s has its own id, by which it is a node', async (name, at) => {
  const nodes = await nodesOf(name, at);
  for (const node of nodes) expect(await nodeOf(node.id)).toEqual(node);
  expect(new Set(nodes.map(({ id }) => id)).size).toBe(nodes.length);
});

test('an id of the past is another than that of the present, and the same however it is asked for', async () => {
  const idsOf = async (at: string | null) => (await nodesOf('example.com', at)).map(({ id }) => id);
  const [now, then] = [await idsOf(null), await idsOf(AT)];
  expect(now.filter((id) => then.includes(id))).toEqual([]);
  const { domain } = await ask(DOMAIN, { name: 'example.com', at: '2024-01-01T01:00:02+01:00' });
  expect([domain.id, domain.dnsRecords[0].id]).toEqual(then.slice(0, 2));
});

test('the id of a match, a difference and a change of the feed is that of the record at its time', async () => {
  const { domain } = await ask(DOMAIN, { name: 'example.com', at: null });
  const then = (await ask(DOMAIN, { name: 'example.com', at: AT })).domain;
  const found = await ask(
    `query ($at: Timestamp!, $from: Timestamp!) {
      now: dnsRecords(where: { network: "192.0.2.0/30" }) { nodes { domain { id } record { ${RECORD} } } }
      then: dnsRecords(where: { network: "192.0.2.0/30", at: $at }) { nodes { domain { id } record { ${RECORD} } } }
      feed: changes(domains: ["example.com"]) { nodes { ${CHANGE} } }
      domain(name: "example.com") { diff(from: $from, to: $at) { dnsRecordsAdded { ${RECORD} } dnsRecordsRemoved { ${RECORD} } } }
      domains(names: ["example.com"], at: $at) { id }
    }`,
    { at: AT, from: '2024-01-01T00:00:01Z' },
  );
  const records = (nodes: { domain: { id: string }; record: object }[]) => nodes.map(({ record }) => record);
  expect(records(found.now.nodes)).toEqual(domain.dnsRecords);
  expect(records(found.then.nodes)).toEqual(then.dnsRecords);
  expect(found.domains).toEqual([{ id: then.id }]);
  expect(found.then.nodes[0].domain).toEqual({ id: then.id });
  expect(found.feed.nodes).toEqual(domain.changes.nodes);
  const { dnsRecordsAdded, dnsRecordsRemoved } = found.domain.diff;
  expect([...dnsRecordsAdded, ...dnsRecordsRemoved]).toEqual(
    then.dnsRecords.filter(({ removed }: { removed: string | null }) => removed === AT),
  );
});

test('an id has one content: a record of a difference was last seen as it was at that time', async () => {
  const look = { domain: 'diff.example', records: ['192.0.2.1'] };
  const typed = { ...look, types: ['A'] };
  await service.record({ ...typed, at: 1 }, { ...look, at: 2 }, { ...typed, at: 5 });
  const { data } = await send(
    `query ($from: Timestamp!, $to: Timestamp!) {
      then: domain(name: "diff.example", at: $to) { dnsRecords { ... on ARecord { id lastSeen } } }
      now: domain(name: "diff.example") { diff(from: $from, to: $to) { dnsRecordsAdded { ... on ARecord { id lastSeen } } } }
    }`,
    { from: timeText(0), to: timeText(3) },
  );
  expect(data.then.dnsRecords).toMatchObject([{ lastSeen: '2024-01-01T00:00:02.000000Z' }]);
  expect(data.now.diff.dnsRecordsAdded).toEqual(data.then.dnsRecords);
});

test('the node of an id of what is not there any more is null', async () => {
  await service.record({ domain: 'gone.example', at: 1, records: ['192.0.2.1'], headers: { server: 'a' } });
  const nodes = await nodesOf('gone.example');
  expect(nodes).toHaveLength(5);
  await forget(service.database, ['gone.example']);
  for (const { id } of nodes) expect(await nodeOf(id)).toBeNull();
  const neverGiven = ['c\nexample.com\n\nMOVED\n1704067201000000\nserver', 'h\nexample.com\n\nserver\netag'];
  for (const text of neverGiven) expect(await nodeOf(idOf(text))).toBeNull();
});

const idOf = (text: string) => Buffer.from(text).toString('base64url');

test.each([
  ...['', 'x', '!', 'RA', 'ZA', 'ZApleGFtcGxlLmNvbQ==', 'Ug', 'A'.repeat(10_000)],
  ...['d\nEXAMPLE.com\n', 'd\nexample.com\n07', 'r\nexample.com\n\nx\nA\ny'].map(idOf),
  ...['c\nexample.com\n\nDNS_RECORD_ADDED\nx', 'h\nexample.com\n\n\0'].map(idOf),
])('an id that is none is the error INVALID_PARAMETER: %s', async (id) => {
  const { data, errors } = await send(NODE, { id });
  expect([data?.node, errors?.[0]?.extensions.code]).toEqual([null, 'INVALID_PARAMETER']);
});

test('an id made of anything gives what has it, null, or the error INVALID_PARAMETER', async () => {
  const number = fc.oneof(
    fc.bigInt({ min: -(10n ** 18n) + 1n, max: 10n ** 18n - 1n }).map(String),
    fc.constantFrom('0', '-1', '1704067201000000', '1704067202000000'),
  );
  const word = fc.oneof(
    fc.constantFrom('A', 'server', 'DNS_RECORD_ADDED', 'HEADER_UPDATED', 'HISTORY_EXTENDED', ''),
    fc.string({ unit: anyCharacter, maxLength: 5 }),
  );
  const kind = fc.constantFrom('d', 'r', 'h', 'c');
  const time = fc.oneof(fc.constant(''), number);
  const id = fc
    .tuple(kind, time, fc.array(fc.oneof(number, word), { maxLength: 5 }))
    .map(([letter, at, key]) => idOf([letter, 'example.com', at, ...key].join('\n')));
  const property = fc.asyncProperty(fc.array(id, { minLength: 20, maxLength: 20 }), async (ids) => {
    const fields = ids.map((each, place) => `n${place}: node(id: "${each}") { id }`);
    const { data, errors = [] } = await send(`{ ${fields.join(' ')} }`);
    const codes = errors.map((error: { extensions: { code: string } }) => error.extensions.code);
    expect(new Set([...codes, 'INVALID_PARAMETER'])).toEqual(new Set(['INVALID_PARAMETER']));
    for (const [place, each] of ids.entries()) expect([null, each]).toContain(data[`n${place}`]?.id ?? null);
  });
  await fc.assert(property, { numRuns: 10 });
});
