import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { domainAliases, EVERY_FIELD } from '../../support/every-field.js';
import { whileLocked } from '../../support/locked-table.js';
import { insertDnsRecords, insertDomain, insertHeaderChanges } from '../../support/rows.js';
import { startTestService, type TestService } from '../../support/service.js';

/** As many requests as it takes until a document is compiled, and some more. */
const UNTIL_COMPILED = 36;

let service: TestService;

beforeAll(async () => {
  service = await startTestService({ role: 'api' });
  const { pool } = service.database;
  await insertDomain(pool, { name: 'ordinary.example' });
  await insertDnsRecords(
    pool,
    'ordinary.example',
    Array.from({ length: 10 }, (_, at) => ({ type: 'A', rdata: { ip: `192.0.2.${at}` } })),
  );
  await insertHeaderChanges(
    pool,
    'ordinary.example',
    Array.from({ length: 48 }, (_, at) => ({
      name: `header-${at >> 2}`,
      observedAt: BigInt(at % 4),
      value: `value ${at}`,
    })),
  );
  await insertDomain(pool, { name: 'heavy.example' });
  await pool.query(
    `INSERT INTO dns_record (domain, first_seen, type, position, host, class, rdata)
     SELECT 'heavy.example', 0, 'A', n, 'heavy.example', 'IN', json_build_object('ip', '192.0.2.1')
       FROM generate_series(1, 2000) AS n`,
  );
  await insertDomain(pool, { name: 'texts.example' });
  await pool.query(
    `INSERT INTO dns_record (domain, first_seen, type, position, host, class, rdata)
     SELECT 'texts.example', 0, 'TXT', n, 'texts.example', 'IN',
            json_build_object('txt', '', 'entries', (SELECT json_agg(''::text) FROM generate_series(1, 65000)))
       FROM generate_series(1, 16) AS n`,
  );
  // As the recorder counts them.
  await pool.query(
    `UPDATE domain SET record_octets = (SELECT coalesce(sum(200 + length(rdata::text)), 0)
                                          FROM dns_record WHERE domain = name)`,
  );
}, 60_000);
afterAll(() => service.stop());

interface Answer {
  readonly data?: Record<string, unknown>;
  readonly errors?: { message: string; extensions: { code: string } }[];
  readonly extensions?: { cost: number };
}

async function ask(query: string, { url } = service) {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
  });
  const answer: Answer = JSON.parse(await response.text());
  const left = Number(/r=(\d+)/.exec(response.headers.get('ratelimit') ?? '')?.[1]);
  return { status: response.status, answer, left };
}

function repeated(domain: string, count: number, field: string): string {
  const fields = Array.from({ length: count }, (_, at) => `a${at}: ${field}`);
  return `{ domain(name: "${domain}") { ${fields.join(' ')} } }`;
}

test('a history of more than 64 MB is not read by GraphQL in one piece, whose error names its pages and REST; its records of one type are', async () => {
  const { pool } = service.database;
  await insertDomain(pool, { name: 'huge.example' });
  await insertDnsRecords(pool, 'huge.example', [{ type: 'A', rdata: { ip: '192.0.2.1' } }]);
  await pool.query("UPDATE domain SET record_octets = 67108865 WHERE name = 'huge.example'");
  const { answer } = await ask('{ domain(name: "huge.example") { dnsRecords { __typename } } }');
  expect(answer.errors?.[0]).toMatchObject({
    message: expect.stringMatching(
      /^The history of huge\.example that is requested is larger than 64 MB, and cannot be read in one piece\. .*Get domain of REST all of it/,
    ),
    extensions: { code: 'QUERY_TOO_COMPLEX' },
  });
  const ofType = await ask('{ domain(name: "huge.example") { dnsRecords(types: ["A"]) { __typename } } }');
  expect(ofType.answer.data).toEqual({ domain: { dnsRecords: [{ __typename: 'ARecord' }] } });
  expect((await ask('{ domain(name: "huge.example") { name httpHeaders { name } } }')).answer).toMatchObject({
    data: { domain: { name: 'huge.example', httpHeaders: [] } },
    extensions: { cost: 1 },
  });
  const rest = await fetch(`${service.url}/api/v1/domain/huge.example/dns`, {
    headers: { authorization: `Bearer ${await service.createToken()}` },
  });
  expect(rest.status).toBe(200);
});

test('a request gets the same response each time, also where it is executed again, compiled, after it has met a large history', async () => {
  const { pool } = service.database;
  const names = Array.from({ length: 10 }, (_, at) => `half${at}.example`);
  for (const name of [...names, 'over.example']) await insertDomain(pool, { name });
  const half = 'x'.repeat(25_000);
  for (const name of names)
    await insertDnsRecords(pool, name, [{ type: 'TXT', rdata: { txt: half, entries: [half] } }]);
  await insertDnsRecords(pool, 'over.example', [{ type: 'TXT', rdata: { txt: half, entries: [half] } }]);
  await pool.query("UPDATE domain SET record_octets = 70000 WHERE name = 'over.example'");
  // Room for the ordinary ones once, and for the large one, but not for the ordinary ones twice.
  const small = await startTestService({
    role: 'api',
    database: service.database,
    responseMemory: 1_500_000,
  });
  try {
    const fields = [...names, 'over.example'].map(
      (name, at) => `a${at}: domain(name: "${name}") { dnsRecords { __typename } }`,
    );
    const answers = new Set<string>();
    for (let time = 0; time < 4; time += 1)
      answers.add(JSON.stringify((await ask(`{ ${fields.join(' ')} }`, small)).answer.data));
    expect([...answers]).toEqual([expect.not.stringContaining('null')]);
  } finally {
    await small.stop();
  }
});

test('what small histories of a request have does not reject a large one beside them, in any order', async () => {
  const { pool } = service.database;
  const names = Array.from({ length: 40 }, (_, at) => `beside${at}.example`);
  const txt = 'x'.repeat(60_000);
  for (const name of [...names, 'whole.example']) {
    await insertDomain(pool, { name });
    await insertDnsRecords(pool, name, [{ type: 'TXT', rdata: { txt, entries: [txt] } }]);
  }
  await pool.query("UPDATE domain SET record_octets = 70000 WHERE name = 'whole.example'");
  const small = await startTestService({
    role: 'api',
    database: service.database,
    // All of it for the large history, and for the others as well.
    responseMemory: 4 * 70_000,
  });
  try {
    const field = (name: string) =>
      `${name.split('.')[0]}: domain(name: "${name}") { dnsRecords { ... on DnsRecordEntry { host } } }`;
    for (const order of [
      [...names, 'whole.example'],
      ['whole.example', ...names],
    ]) {
      const { answer } = await ask(`{ ${order.map((name) => field(name)).join(' ')} }`, small);
      expect(answer.errors).toBeUndefined();
      expect(Object.values(answer.data ?? {}).every((found) => found !== null)).toBe(true);
    }
  } finally {
    await small.stop();
  }
});

describe('what a question costs in the rate limit follows from what it reads', () => {
  test('an ordinary domain costs 1, with every field of every type', async () => {
    const before = await ask(domainAliases(1, 'name'));
    const { answer, left } = await ask(`{ domain(name: "ordinary.example") { ${EVERY_FIELD} } }`);
    expect(answer.errors).toBeUndefined();
    expect(answer.extensions?.cost).toBe(1);
    expect(left).toBe(before.left - 1);
  });

  test('a list costs as often as it is selected, by its length', async () => {
    const before = await ask(domainAliases(1, 'name'));
    const { answer, left } = await ask(repeated('heavy.example', 20, 'dnsRecords { __typename }'));
    expect(answer.errors).toBeUndefined();
    // 2,000 records and their names twenty times, in units of 1,000.
    expect(answer.extensions?.cost).toBe(80);
    expect(left).toBe(before.left - 80);
  });

  test('and where a fragment brings it to two places, each with what is selected there besides', async () => {
    const more = Array.from({ length: 40 }, (_, at) => `a${at}: __typename`).join(' ');
    const query = `{
      small: domain(name: "heavy.example") { ...List }
      large: domain(name: "heavy.example") { ...List dnsRecords { ${more} } }
    } fragment List on Domain { dnsRecords { __typename } }`;
    const { answer } = await ask(query);
    expect(answer.errors).toBeUndefined();
    // 2,000 records with one field, and 2,000 with 41.
    expect(answer.extensions?.cost).toBe(2 * (2 + 42));
  });

  test('what is selected of the schema beside a domain costs 1 for each 1,000 values', async () => {
    const schema = Array.from({ length: 20 }, (_, at) => `a${at}: __schema { types { fields { name } } }`);
    const { answer } = await ask(`{ domain(name: "ordinary.example") { name } ${schema.join(' ')} }`);
    const values = (value: unknown): number =>
      typeof value !== 'object' || value === null
        ? 1
        : Object.values(value).reduce(
            (sum: number, each) => sum + values(each),
            Array.isArray(value) ? 0 : 1,
          );
    const { domain: _, ...selected } = answer.data ?? {};
    const cost = Math.floor((values(selected) - 1) / 1_000);
    expect(cost).toBeGreaterThan(3);
    expect(answer.extensions?.cost).toBe(cost);
    const usual = await ask('{ domain(name: "ordinary.example") { name } __type(name: "Domain") { name } }');
    expect(usual.answer.extensions?.cost).toBe(1);
  });

  test('and alone, where the request pays for its body: so it does not count as a document', async () => {
    const query = `{ ${Array.from({ length: 20 }, (_, at) => `a${at}: __schema { types { fields { name } } }`).join(' ')} }`;
    const unpaid = await ask(query);
    expect(unpaid.answer.extensions?.cost).toBe(0);
    const body = JSON.stringify({ query, extensions: { padding: '' } });
    const padded = body.replace('""', JSON.stringify('x'.repeat(16_384 - body.length)));
    const response = await fetch(`${service.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: padded,
    });
    const { extensions }: Answer = JSON.parse(await response.text());
    expect(extensions?.cost).toBeGreaterThan(4);
  });

  test('counting a large history costs 1 for each 256 kB of it', async () => {
    const { answer } = await ask('{ domain(name: "texts.example") { changeCount } }');
    expect(answer.data).toEqual({ domain: { changeCount: 16 } });
    const octets = 16 * (200 + JSON.stringify({ txt: '', entries: Array(65_000).fill('') }).length);
    const cost = answer.extensions?.cost ?? 0;
    // The database writes a space or two more for each entry.
    expect(cost).toBeGreaterThanOrEqual(octets / 262_144);
    expect(cost).toBeLessThan((octets * 2) / 262_144);
    const twice = await ask(
      '{ a: domain(name: "texts.example") { changeCount } b: domain(name: "heavy.example") { dnsRecords { __typename } } }',
    );
    const heavy = await ask('{ domain(name: "heavy.example") { dnsRecords { __typename } } }');
    // An execution that is begun again, compiled, has paid for what it counted.
    expect(twice.answer.extensions?.cost).toBeLessThanOrEqual(cost + (heavy.answer.extensions?.cost ?? 0));
    const small = await ask('{ domain(name: "ordinary.example") { changeCount } }');
    expect(small.answer.extensions?.cost).toBe(1);
  });

  test('many values of small histories are the same, and cost the same, as often as they come', async () => {
    const query = repeated('ordinary.example', 149, 'dnsRecords { __typename ... on ARecord { ip } }');
    const first = await ask(query);
    const texts = new Set([JSON.stringify(first.answer.data)]);
    const costs = new Set<number | undefined>();
    for (let time = 1; time < UNTIL_COMPILED; time += 1) {
      const { answer } = await ask(query);
      texts.add(JSON.stringify(answer.data));
      costs.add(answer.extensions?.cost);
    }
    expect(texts.size).toBe(1);
    // 10 records with two fields, 149 times.
    expect([...costs]).toEqual([5]);
  });

  test('and as often as it comes', async () => {
    const query = repeated('ordinary.example', 100, 'dnsRecords { __typename }');
    const costs = new Set<number | undefined>();
    for (let time = 0; time < UNTIL_COMPILED; time += 1)
      costs.add((await ask(query)).answer.extensions?.cost);
    // 10 records and their names a hundred times.
    expect([...costs]).toEqual([2]);
  });

  test('a long document costs 1 for each 300 tokens when it is new, and 1 for each 16 kB each time', async () => {
    const types = '"A" '.repeat(6_000);
    const query = `{ domain(name: "ordinary.example") { dnsRecords(types: [${types}]) { __typename } } }`;
    const body = Math.floor(JSON.stringify({ query }).length / 16_384);
    const first = await ask(query);
    expect(first.answer.extensions?.cost).toBe(body + 20);
    expect((await ask(query)).answer.extensions?.cost).toBe(body);
  });

  test('and 1 for each 4,000 pairs of fields that validation compares', async () => {
    const query = `{ domain(name: "ordinary.example") { ${'httpHeaders { name } '.repeat(100)} } }`;
    // 100 fields twice, of which each pair is compared.
    const pairs = 2 * ((100 * 99) / 2);
    const tokens = 100 * 4 + 10;
    expect((await ask(query)).answer.extensions?.cost).toBe(Math.floor(tokens / 300 + pairs / 4_000));
    expect((await ask(query)).answer.extensions?.cost).toBe(1);
  });

  test('and those units include as many domains', async () => {
    const names = Array.from({ length: 20 }, (_, at) => `a${at}: domain(name: "ordinary.example") { name }`);
    const query = `{ ${names.join(' ')} } # ${'x'.repeat(15 * 16_384)}`;
    expect((await ask(query)).answer.extensions?.cost).toBe(20);
  });

  test('REST alike: a large domain costs its size, in units of 32 kB', async () => {
    const { left } = await ask(domainAliases(1, 'name'));
    const response = await fetch(`${service.url}/api/v1/domain/heavy.example`);
    expect(await response.json()).toMatchObject({ dnsRecords: { length: 2000 } });
    const octets = 2000 * (200 + '{"ip" : "192.0.2.1"}'.length);
    expect(response.headers.get('ratelimit')).toContain(`r=${left - Math.ceil(octets / 32_768)};`);
  });
});

describe('with a limit below the price of a large domain', () => {
  let poor: TestService;
  beforeAll(async () => {
    const rateLimits = { anonymous: 10, token: 10 };
    poor = await startTestService({ role: 'api', database: service.database, rateLimits });
  });
  afterAll(() => poor.stop());

  test('a document that reads it gets no domain beyond the limit for free', async () => {
    const names = ['heavy', ...Array(11).fill('ordinary')];
    const query = `{ ${names.map((name, at) => `a${at}: domain(name: "${name}.example") { dnsRecords { __typename } }`).join(' ')} }`;
    const client = await startTestService({
      role: 'api',
      database: service.database,
      rateLimits: { anonymous: 10, token: 10 },
    });
    try {
      const { answer } = await ask(query, client);
      const granted = Object.values(answer.data ?? {}).filter((domain) => domain !== null);
      expect(granted).toHaveLength(10);
      expect(new Set(answer.errors?.map(({ extensions }) => extensions.code))).toEqual(
        new Set(['RATE_LIMITED']),
      );
      expect(answer.errors).toHaveLength(2);
    } finally {
      await client.stop();
    }
  });

  test('it is answered to who has something left, and nothing is after that', async () => {
    const query = repeated('heavy.example', 50, 'dnsRecords { __typename }');
    const first = await ask(query, poor);
    expect(first.answer.errors).toBeUndefined();
    expect(first.answer.extensions?.cost).toBe(200);
    expect(first.left).toBe(0);
    const second = await ask(query, poor);
    expect(second.answer.errors).toMatchObject([{ extensions: { code: 'RATE_LIMITED' } }]);
    const rest = await fetch(`${poor.url}/api/v1/domain/heavy.example`);
    expect(rest.status).toBe(429);
  });

  test('a large history is counted after its price is paid, and not where it cannot be', async () => {
    const statementsWhile = async (meanwhile: (client: TestService) => Promise<unknown>) => {
      const rateLimits = { anonymous: 10, token: 10 };
      const client = await startTestService({ role: 'api', database: service.database, rateLimits });
      const statements = vi.spyOn(pg.Pool.prototype, 'query');
      try {
        let counting: ReturnType<typeof ask> | undefined;
        // The domain is granted, and the statement that reads its row waits.
        await whileLocked(service.database.pool, async () => {
          counting = ask('{ domain(name: "texts.example") { changeCount } }', client);
          await expect.poll(() => statements.mock.calls.length).toBe(1);
          await meanwhile(client);
        });
        return { data: (await counting)?.answer.data, statements: statements.mock.calls.length };
      } finally {
        statements.mockRestore();
        await client.stop();
      }
    };
    expect(await statementsWhile(async () => undefined)).toEqual({
      data: { domain: { changeCount: 16 } },
      statements: 2,
    });
    const takeAll = (client: TestService) => ask(`{ __typename } # ${'x'.repeat(20 * 16_384)}`, client);
    expect(await statementsWhile(takeAll)).toEqual({ data: { domain: null }, statements: 1 });
  });
});

test('entries of TXT records count by their number: 499 lists of 16 times 65,000 are rejected', async () => {
  const query = repeated('texts.example', 499, 'dnsRecords { ... on TxtRecord { entries } }');
  for (let time = 0; time < 3; time += 1) {
    const { status, answer } = await ask(query);
    expect(status).toBe(400);
    expect(answer).toEqual({
      errors: [
        {
          message:
            'The response would have more than 250000 values: select fewer domains, types, names or fields in one request. Long lists have pages: dnsRecordsConnection, httpHeadersConnection, historyConnection.',
          extensions: { code: 'QUERY_TOO_COMPLEX' },
        },
      ],
      extensions: { cost: expect.any(Number), estimatedCost: expect.any(Number) },
    });
  }
});

test('a large history is the same in slices and in one piece, in REST and GraphQL', async () => {
  const rest = await fetch(`${service.url}/api/v1/domain/heavy.example`);
  const text = await rest.text();
  expect(text).toBe(JSON.stringify(JSON.parse(text)));
  const query =
    '{ domain(name: "heavy.example") { dnsRecords { ... on DnsRecordEntry { host } ... on ARecord { ip } } } }';
  const { answer } = await ask(query);
  const record = { host: 'heavy.example', ip: '192.0.2.1' };
  expect(answer.data).toEqual({ domain: { dnsRecords: Array(2000).fill(record) } });
});

test('the alias __proto__ is answered every time as the first time', async () => {
  const query = '{ __proto__: domain(name: "ordinary.example") { __proto__: name } }';
  const texts = new Set<string>();
  for (let time = 0; time < UNTIL_COMPILED; time += 1) {
    const response = await fetch(`${service.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
    });
    texts.add(await response.text());
  }
  expect([...texts]).toHaveLength(1);
  expect([...texts][0]).toContain('"__proto__":{"__proto__":"ordinary.example"}');
});

test('a client has 4 MB of bodies under way at most; short ones, and those of others, pass meanwhile', async () => {
  const port = Number(new URL(service.url).port);
  const long = JSON.stringify({
    query: `{ domain(name: "ordinary.example") { name } } # ${'x'.repeat(20_000)}`,
  });
  const send = async (body: string, localAddress = '127.0.0.1') => {
    const sent = request({
      ...{ port, host: '127.0.0.1', localAddress, path: '/graphql', method: 'POST' },
      headers: { 'content-type': 'application/json', 'content-length': body.length },
    }).end(body);
    const [response] = await once(sent, 'response');
    response.resume();
    return response;
  };
  const head =
    'POST /graphql HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 524288\r\n\r\n';
  const sockets = Array.from({ length: 8 }, () => connect({ port, host: '127.0.0.1' }));
  try {
    for (const socket of sockets) socket.on('error', () => {}).write(`${head}{`);
    await expect.poll(async () => (await send(long)).statusCode).toBe(503);
    expect((await send(long)).headers['retry-after']).toBe('1');
    expect((await send('{"query":"{ __typename }"}')).statusCode).toBe(200);
    expect((await send(long, '127.0.0.2')).statusCode).toBe(200);
    for (const socket of sockets) socket.destroy();
    await expect.poll(async () => (await send(long)).statusCode).toBe(200);
    // Compressed ones whose clients have gone hold nothing either.
    const packed = head.replace('\r\n\r\n', '\r\ncontent-encoding: gzip\r\n\r\n');
    for (let time = 0; time < 10; time += 1) {
      const socket = connect({ port, host: '127.0.0.1' });
      socket.on('error', () => {}).write(`${packed}\x1f\x8b`);
      await once(socket, 'connect');
      await pause(20);
      socket.destroy();
    }
    await expect.poll(async () => (await send(long)).statusCode).toBe(200);
  } finally {
    for (const socket of sockets) socket.destroy();
  }
});
