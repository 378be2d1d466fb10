import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { insertDnsRecords, insertDomain } from '../support/rows.js';
import { startTestService, type TestService } from '../support/service.js';

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
  for (const [at, name] of ['a.example', 'b.example', 'xn--bcher-kva.example'].entries()) {
    await insertDomain(service.database.pool, { name, created: BigInt(at) * 1_000_000n });
    await insertDnsRecords(service.database.pool, name, [{ type: 'A', rdata: { ip: `192.0.2.${at}` } }]);
  }
});
afterAll(() => service.stop());

interface Answer {
  readonly data?: { readonly domains: readonly ({ readonly name: string } | null)[] } | null;
  readonly errors?: readonly object[];
  readonly extensions?: { readonly cost: number };
}

async function ask(names: readonly string[], { at = '', selection = 'name', url = service.url } = {}) {
  const query = `query ($names: [String!]!) { domains(names: $names${at}) { ${selection} } }`;
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query, variables: { names } }),
  });
  const answer: Answer = JSON.parse(await response.text());
  return { status: response.status, headers: response.headers, answer };
}

describe('several domains', () => {
  test('come in the order of their names, each as often as it is named, and null for one that is not recorded', async () => {
    const names = ['b.example', 'nothing.example', 'BÜCHER.example.', 'a.example', 'b.example'];
    const { answer } = await ask(names, { selection: 'name dnsRecords { ... on ARecord { ip } }' });
    expect(answer).toEqual({
      data: {
        domains: [
          { name: 'b.example', dnsRecords: [{ ip: '192.0.2.1' }] },
          null,
          { name: 'xn--bcher-kva.example', dnsRecords: [{ ip: '192.0.2.2' }] },
          { name: 'a.example', dnsRecords: [{ ip: '192.0.2.0' }] },
          { name: 'b.example', dnsRecords: [{ ip: '192.0.2.1' }] },
        ],
      },
      extensions: { cost: 5 },
    });
  });

  test('have an error at the place of what is no name, beside the others', async () => {
    const { status, answer } = await ask(['a.example', 'not a name', 'b.example']);
    expect(status).toBe(200);
    expect(answer.data?.domains).toEqual([{ name: 'a.example' }, null, { name: 'b.example' }]);
    expect(answer.errors).toEqual([
      expect.objectContaining({
        path: ['domains', 1],
        extensions: { code: 'INVALID_DOMAIN' },
      }),
    ]);
  });

  test('have an error at its place also far behind, and the process goes on', async () => {
    const names = Array.from({ length: 400 }, (_, at) => (at % 90 === 0 ? 'not a name' : `n${at}.example`));
    const answers = await Promise.all(Array.from({ length: 8 }, () => ask(names)));
    for (const { answer } of answers) {
      expect(answer.data?.domains).toHaveLength(400);
      expect(answer.errors).toHaveLength(5);
    }
  });

  test('are as they were at one time', async () => {
    const { answer } = await ask(['a.example', 'b.example'], { at: ', at: "1970-01-01T00:00:00.5Z"' });
    expect(answer.data?.domains).toEqual([{ name: 'a.example' }, null]);
  });

  test('may be 1,000, and not more', async () => {
    const names = Array.from({ length: 1_000 }, (_, at) => (at === 7 ? 'a.example' : `n${at}.example`));
    const { answer } = await ask(names);
    expect(answer.data?.domains).toHaveLength(1_000);
    expect(answer.data?.domains[7]).toEqual({ name: 'a.example' });
    expect((await ask([...names, 'a.example'])).answer.errors).toMatchObject([
      { message: 'names: 1001 names; 1000 are allowed.', extensions: { code: 'INVALID_PARAMETER' } },
    ]);
    expect((await ask([])).answer.data?.domains).toEqual([]);
  });

  test('count by name in the rate limit', async () => {
    const limited = await startTestService({
      database: service.database,
      rateLimits: { anonymous: 10, token: 1 },
    });
    const { url } = limited;
    const first = await ask(['a.example', 'b.example', 'c.example', 'd.example'], { url });
    expect(first.headers.get('ratelimit')).toContain('r=6');
    expect(first.answer.extensions?.cost).toBe(4);
    expect((await ask(Array(8).fill('a.example'), { url })).answer.data?.domains).toHaveLength(8);
    const { answer } = await ask(['a.example'], { url });
    expect(answer.errors).toMatchObject([{ extensions: { code: 'RATE_LIMITED' } }]);
    await limited.stop();
  });

  test('give the same however often the document comes', async () => {
    const names = ['a.example', 'not a name', 'nothing.example'];
    const { answer } = await ask(names);
    for (let time = 0; time < 40; time += 1) expect((await ask(names)).answer).toEqual(answer);
  });
});
