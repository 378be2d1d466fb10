import { expect, test } from 'vitest';
import { serviceOfFile } from '../support/service.js';

const NAMES = ['a.example', 'b.example', 'xn--bcher-kva.example'];
const service = serviceOfFile({}, ({ record }) =>
  record(...NAMES.map((domain, at) => ({ domain, at, records: [`192.0.2.${at}`] }))),
);

const ask = (names: readonly string[], { at = '', selection = 'name' } = {}) =>
  service.graphql(`query ($names: [String!]!) { domains(names: $names${at}) { ${selection} } }`, { names });

test('several domains come in the order of their names, each as often as it is named, and null for one that is not recorded', async () => {
  const names = ['b.example', 'nothing.example', 'BÜCHER.example.', 'a.example', 'b.example'];
  const { data } = await ask(names, { selection: 'name dnsRecords { ... on ARecord { ip } }' });
  const domain = (name: string, ip: string) => ({ name, dnsRecords: [{ ip }] });
  const [a, b] = [domain('a.example', '192.0.2.0'), domain('b.example', '192.0.2.1')];
  expect(data.domains).toEqual([b, null, domain('xn--bcher-kva.example', '192.0.2.2'), a, b]);
});

test('several domains have an error at the place of what is no name, beside the others, however often the document comes', async () => {
  for (let time = 0; time < 5; time += 1) {
    const { status, data, errors } = await ask(['a.example', 'not a name', 'b.example']);
    expect([status, data.domains]).toEqual([200, [{ name: 'a.example' }, null, { name: 'b.example' }]]);
    const extensions = { code: 'INVALID_DOMAIN' };
    expect(errors).toEqual([expect.objectContaining({ path: ['domains', 1], extensions })]);
  }
});

test('several domains have an error at its place also far behind, and the process goes on', async () => {
  const names = Array.from({ length: 400 }, (_, at) => (at % 90 === 0 ? 'not a name' : `n${at}.example`));
  for (const { data, errors } of await Promise.all(Array.from({ length: 8 }, () => ask(names))))
    expect([data.domains.length, errors.length]).toEqual([400, 5]);
});

test('several domains are as they were at one time', async () => {
  const { data } = await ask(['a.example', 'b.example'], { at: ', at: "2024-01-01T00:00:00.5Z"' });
  expect(data.domains).toEqual([{ name: 'a.example' }, null]);
});

test('several domains may be 1,000, and not more', async () => {
  const names = Array.from({ length: 1_000 }, (_, at) => (at === 7 ? 'a.example' : `n${at}.example`));
  const { data } = await ask(names);
  expect([data.domains.length, data.domains[7]]).toEqual([1_000, { name: 'a.example' }]);
  const { errors } = await ask([...names, 'a.example']);
  const message = 'names: 1001 names; 1000 are allowed.';
  expect(errors).toMatchObject([{ message, extensions: { code: 'INVALID_PARAMETER' } }]);
  expect((await ask([])).data.domains).toEqual([]);
});
