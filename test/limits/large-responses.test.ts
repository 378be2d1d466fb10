import { expect, test } from 'vitest';
import { whileLocked } from '../support/database.js';
import { aliases } from '../support/every-field.js';
import { serviceOfFile } from '../support/service.js';

function texts(domain: string, kilobytes: number) {
  return Array.from({ length: kilobytes }, (_, at) => ({
    ...{ host: domain, class: 'IN', type: 'TXT' },
    entries: [String(at), ...Array(4).fill('x'.repeat(190))],
  }));
}

const ADDRESSES = Array.from({ length: 5_001 }, (_, at) => `10.0.${at >> 8}.${at & 255}`);
const PARTS = ['a', 'b', 'c', 'd', 'e', 'f'];

const service = serviceOfFile({ role: 'api' }, ({ record }) =>
  record(
    { domain: 'many.example', at: 1, records: ADDRESSES, headers: { server: 'nginx' } },
    { domain: 'small.example', at: 1, records: ['192.0.2.1'] },
    { domain: 'most.example', at: 1, records: ADDRESSES.slice(1) },
    { domain: 'long.example', at: 1, records: texts('long.example', 1_100) },
    ...PARTS.map((part) => ({ domain: `${part}.example`, at: 1, records: texts(`${part}.example`, 350) })),
  ),
);

const ask = (query: string) => service.graphql(query);
const getSmall = () => service.rest('/domain/small.example');

test.each([
  ['5,000 entries', 'many', [{ name: 'server' }]],
  ['1 MB', 'long', []],
])('a list of more than %s is null, and its error names the connection', async (_, name, httpHeaders) => {
  const lists = 'dnsRecords { __typename } httpHeaders { name }';
  const { data, errors } = await ask(`{ domain(name: "${name}.example") { name ${lists} } }`);
  expect(data).toEqual({ domain: { name: `${name}.example`, dnsRecords: null, httpHeaders } });
  const message = expect.stringContaining('dnsRecordsConnection');
  expect(errors).toEqual([{ message, path: ['domain', 'dnsRecords'], extensions: { code: 'TOO_LARGE' } }]);
});

test('a list without pages has 5,000 entries, or those of a longer one that a filter leaves', async () => {
  const { data, errors } = await ask(`{
    most: domain(name: "most.example") { dnsRecords { __typename } }
    many: domain(name: "many.example") { dnsRecords(types: ["TXT"]) { __typename } }
  }`);
  expect(errors).toBeUndefined();
  expect(data).toMatchObject({ most: { dnsRecords: { length: 5_000 } }, many: { dnsRecords: [] } });
});

test('of a response of more than 4 MB, the lists that come after are null, and those before are there', async () => {
  const texts = 'dnsRecords { ... on TxtRecord { txt entries } }';
  const fields = PARTS.flatMap((part) =>
    [0, 1].map((time) => `${part}${time}: domain(name: "${part}.example") { ${texts} }`),
  );
  const { data, errors } = await ask(`{ ${fields.join(' ')} }`);
  const whole = Object.values<{ dnsRecords: unknown }>(data).filter(({ dnsRecords }) => dnsRecords !== null);
  expect(whole.length).toBeGreaterThan(0);
  expect(errors.length).toBeGreaterThan(0);
  expect(errors.length + whole.length).toBe(fields.length);
  const message = expect.stringContaining('dnsRecordsConnection');
  for (const error of errors) expect(error).toMatchObject({ message, extensions: { code: 'TOO_LARGE' } });
  expect(JSON.stringify(whole).length).toBeLessThan(6 * 1024 ** 2);
});

const ofMany = (fields: string) => `{ domain(name: "many.example") { ${fields} } }`;

test.each([
  ['lists of a large history', ofMany(aliases(490, 'dnsRecords(types: ["TXT"]) { __typename }'))],
  // More than may wait for a connection to the database.
  ['pages of a domain', ofMany(aliases(690, 'changes(first: 1) { __typename }'))],
  ['pages of the feed', `{ ${aliases(250, 'changes(first: 1) { __typename }')} }`],
])('hundreds of %s in one request are answered, and keep no other client waiting', async (_of, query) => {
  const order: string[] = [];
  const large = ask(query).then(({ errors }) => {
    expect(errors).toBeUndefined();
    order.push('large');
  });
  for (let time = 0; time < 10; time += 1) {
    expect((await getSmall()).status).toBe(200);
    order.push('small');
  }
  await large;
  // Each small one takes two statements at most, and the large one hundreds.
  expect(order.at(-1)).toBe('large');
});

test('beside 100 requests of a client that wait, the next ones get 503 with Retry-After, and the others are answered', async () => {
  let asked: ReturnType<typeof getSmall>[] = [];
  await whileLocked(service.database.pool, async () => {
    asked = Array.from({ length: 120 }, getSmall);
    const refused = await Promise.any(
      asked.map(async (response) => {
        const { status, fields } = await response;
        if (status !== 503) throw new Error(`It is ${status}.`);
        return fields;
      }),
    );
    expect(Number(refused.get('retry-after'))).toBeGreaterThan(0);
    const { status, fields } = await ask('{ domain(name: "small.example") { name } }');
    expect([status, Number(fields.get('retry-after')) > 0]).toEqual([503, true]);
    expect((await fetch(`${service.url}/livez`)).status).toBe(200);
  });
  const statuses = (await Promise.all(asked)).map(({ status }) => status);
  expect(new Set(statuses)).toEqual(new Set([200, 503]));
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(8);
});
