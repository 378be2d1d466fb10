import { expect, test } from 'vitest';
import { presentDnsRecord } from '../../../src/rest/v1/presenters/dns-records.js';

import { EVERY_FIELD } from '../../support/every-field.js';
import { EVERY_BODY, EVERYTHING, insertEverything } from '../../support/every-record-type.js';
import { insertDnsRecords, insertDomain } from '../../support/rows.js';
import { bearer, serviceOfFile } from '../../support/service.js';

let headers: Record<string, string>;

const service = serviceOfFile({}, async ({ database, createToken }) => {
  await insertEverything(database.pool);
  await insertDomain(database.pool, { name: 'empty.example' });
  headers = bearer(await createToken());
});

const get = (path: string, fields = headers) => service.rest(`/domain/${path}`, fields);

test.each([
  ['Get domain', ''],
  ['Domain DNS info', '/dns'],
  ['Domain details', '/details'],
  ['Domain HTTP headers', '/headers'],
] as const)('%s has, byte for byte and each time, a record of every type', async (_operation, path) => {
  const responses = await Promise.all(Array.from({ length: 5 }, () => get(EVERYTHING + path)));
  for (const { status, fields, text } of responses) {
    expect([status, fields.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
    expect(text).toBe(EVERY_BODY[path]);
  }
});

test('a domain without records and headers has empty lists and no changes', async () => {
  const times = '"created":"2024-03-01T10:20:30.123456Z","lastUpdate":"2024-03-01T10:20:30.123456Z"';
  const body = `{"domain":"empty.example",${times},"dnsRecords":[],"httpHeaders":[]}`;
  expect((await get('empty.example')).text).toBe(body);
  expect((await get('empty.example/details')).text).toBe(
    `{"domain":"empty.example","unicodeName":"empty.example","registrableDomain":"empty.example",${times},"lastChange":"2024-03-01T10:20:30.123456Z","dnsRecordCount":0,"httpHeaderCount":0,"changeCount":0}`,
  );
});

test('rdata that is none of its type, stored before the type had fields, is shown as the text that it is', async () => {
  const data = String.raw`\# 1 00`;
  const stay = { firstSeen: '2024-03-01T10:20:30.123456Z', removed: null };
  const owner = { host: 'a.example', class: 'IN', type: 'MX' };
  expect(presentDnsRecord({ ...owner, ...stay, data })).toEqual({ data: { ...owner, data }, ...stay });
  await insertDomain(service.database.pool, { name: 'text.example' });
  await insertDnsRecords(service.database.pool, 'text.example', [{ type: 'MX', rdata: { data } }]);
  const query =
    '{ domain(name: "text.example") { dnsRecords { ... on DnsRecordEntry { type } ... on OtherRecord { data } } } }';
  expect((await service.graphql(query)).data.domain.dnsRecords).toEqual([{ type: 'MX', data }]);
});

test.each([
  ['in upper case, with a final dot', 'XN--BCHER-KVA.Example.CO.UK.'],
  ['in Unicode, upper case and with a full-width dot', 'B%C3%9CCHER%EF%BC%8Eexample.co.uk'],
  ['with needless escapes', '%78n--bcher-kva.example.co%2Euk'],
])('the name in a path may be %s; the body has its canonical form', async (_form, name) => {
  expect((await get(name)).text).toBe(EVERY_BODY['']);
});

/** An entry of REST (specification, 2.2) in the words of GraphQL. */
function asGraphqlEntry({ data, ...times }: { data: Record<string, unknown> }) {
  const { 'minimum-ttl': minimumTtl, ...fields } = data;
  if (data['type'] === 'SOA') return { ...fields, ...times, minimumTtl };
  const { flags, ...others } = fields;
  return data['type'] === 'NAPTR' ? { ...others, ...times, naptrFlags: flags } : { ...fields, ...times };
}

test('REST and GraphQL tell the same of every type of record, every header, and every count', async () => {
  const { data } = await service.graphql(`{ domain(name: "${EVERYTHING}") { ${EVERY_FIELD} } }`);
  const [{ body }, details] = [await get(EVERYTHING), await get(`${EVERYTHING}/details`)];
  const { dnsRecords, httpHeaders, ...facts } = data.domain;
  const without = (name: string, entries: object[]) =>
    entries.map((each) => ({ ...each, [name]: undefined }));
  expect(body.dnsRecords.map(asGraphqlEntry)).toEqual(without('__typename', dnsRecords));
  expect(body.httpHeaders).toEqual(without('present', httpHeaders));
  const { domain: name, ...rest } = details.body;
  expect({ name, ...rest }).toEqual(facts);
});
