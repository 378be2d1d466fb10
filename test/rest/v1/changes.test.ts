import { randomBytes } from 'node:crypto';
import type { PoolClient } from 'pg';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { cursorsOf } from '../../../src/model/cursor.js';
import { TEST_SERVER } from '../../support/database.js';
import { insertDnsRecords, insertDomain, insertHeaderChanges } from '../../support/rows.js';
import { startTestService, type TestService } from '../../support/service.js';

let service: TestService;

const NAME = 'changes.example';
const SECOND = 1_000_000n;

/** 40 addresses that came together and went together, and a header that went and returned. */
beforeAll(async () => {
  service = await startTestService();
  const { pool } = service.database;
  await insertDomain(pool, { name: NAME, created: SECOND, lastUpdate: 9n * SECOND });
  const addresses = Array.from({ length: 40 }, (_, at) => ({ type: 'A', rdata: { ip: `192.0.2.${at}` } }));
  const stay = { firstSeen: SECOND, lastSeen: 5n * SECOND, removed: 6n * SECOND };
  await insertDnsRecords(
    pool,
    NAME,
    addresses.map((record) => ({ ...record, ...stay })),
  );
  await insertHeaderChanges(pool, NAME, [
    { name: 'server', observedAt: SECOND, value: 'a' },
    { name: 'server', observedAt: 3n * SECOND, lastSeen: 2n * SECOND },
    { name: 'server', observedAt: 4n * SECOND, value: 'a' },
    { name: 'server', observedAt: 6n * SECOND, value: 'b' },
  ]);
});
afterAll(() => service.stop());

interface Page {
  readonly changes: readonly {
    readonly kind: string;
    readonly date: string;
    readonly [key: string]: unknown;
  }[];
  readonly next: string | null;
  readonly detail?: string;
  readonly code?: string;
}

async function get(query: string, name = NAME): Promise<{ status: number; body: Page }> {
  const response = await fetch(`${service.url}/api/v1/domain/${name}/changes${query}`);
  return { status: response.status, body: JSON.parse(await response.text()) };
}

interface ChangesAnswer {
  readonly nodes: readonly { readonly kind: string; readonly record?: object }[];
  readonly edges: readonly { readonly cursor: string }[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}

async function ask(
  query: string,
): Promise<{ data: { domain: { readonly changes: ChangesAnswer } | null }; errors?: unknown[] }> {
  const response = await fetch(`${service.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
  });
  return JSON.parse(await response.text());
}

test('a page has 100 changes unless the request says how many, and each change once', async () => {
  const { body } = await get('');
  expect(body.changes).toHaveLength(84);
  expect(body.next).toBeNull();
  const pages = [];
  for (let query = '?first=30'; ; ) {
    const page = (await get(query)).body;
    pages.push(page.changes);
    if (page.next === null) break;
    query = `?first=30&after=${page.next}`;
  }
  expect(pages.map(({ length }) => length)).toEqual([30, 30, 24]);
  expect(pages.flat()).toEqual(body.changes);
});

test('the changes of one time come by kind, and each kind has its own fields', async () => {
  const { body } = await get('?from=1970-01-01T00:00:02Z');
  const kinds = body.changes.map(({ kind }) => kind);
  expect(kinds.slice(0, 3)).toEqual(['HEADER_GONE', 'HEADER_RETURNED', 'DNS_RECORD_REMOVED']);
  expect(kinds.at(-1)).toBe('HEADER_UPDATED');
  expect([body.changes[0], body.changes[1], body.changes[2], body.changes.at(-1)]).toEqual([
    {
      ...{
        id: expect.any(String),
        kind: 'HEADER_GONE',
        date: '1970-01-01T00:00:03.000000Z',
        source: null,
        routine: null,
      },
      ...{ name: 'server', old: 'a', new: null, lastSeen: '1970-01-01T00:00:02.000000Z' },
    },
    {
      ...{
        id: expect.any(String),
        kind: 'HEADER_RETURNED',
        date: '1970-01-01T00:00:04.000000Z',
        source: null,
        routine: null,
      },
      ...{ name: 'server', old: null, new: 'a' },
    },
    {
      ...{
        id: expect.any(String),
        kind: 'DNS_RECORD_REMOVED',
        date: '1970-01-01T00:00:06.000000Z',
        source: null,
        routine: null,
      },
      data: { host: NAME, class: 'IN', type: 'A', ip: '192.0.2.0' },
      rdata: '192.0.2.0',
      lastSeen: '1970-01-01T00:00:05.000000Z',
    },
    {
      ...{
        id: expect.any(String),
        kind: 'HEADER_UPDATED',
        date: '1970-01-01T00:00:06.000000Z',
        source: null,
        routine: null,
      },
      // Recorded by an earlier version: when the old value was last seen is not known but by when it was new.
      ...{ name: 'server', old: 'a', new: 'b', lastSeen: '1970-01-01T00:00:04.000000Z' },
    },
  ]);
});

test('a domain that is not recorded is a 404, and null in GraphQL', async () => {
  expect(await get('', 'nothing.example')).toMatchObject({ status: 404, body: { code: 'DOMAIN_NOT_FOUND' } });
  const { data } = await ask('{ domain(name: "nothing.example") { changes(first: 1) { nodes { kind } } } }');
  expect(data.domain).toBeNull();
});

describe('a question that is not valid is rejected with what is wrong:', () => {
  test.each([
    ['?first=0', 'first must be an integer from 1 to 500.'],
    ['?first=501', 'first must be an integer from 1 to 500.'],
    ['?first=ten', 'first must be an integer from 1 to 500.'],
    ['?first=1&first=2', 'The query parameter first is given more than once.'],
    ['?order=newest', 'order: "newest" is not one of OLDEST_FIRST, NEWEST_FIRST.'],
    [
      '?kinds=HEADER_GONE&kinds=GONE',
      'kinds: "GONE" is not one of DNS_RECORD_ADDED, DNS_RECORD_REMOVED, HEADER_CREATED, HEADER_UPDATED, HEADER_GONE, HEADER_RETURNED, SITE_STATUS_CHANGED.',
    ],
    [
      '?from=2024-01-02T00:00:00Z&to=2024-01-01T00:00:00Z',
      'from, 2024-01-02T00:00:00.000000Z, is later than to, 2024-01-01T00:00:00.000000Z: exchange them.',
    ],
  ])('%s', async (query, detail) => {
    expect(await get(query)).toMatchObject({ status: 400, body: { code: 'INVALID_PARAMETER', detail } });
  });

  test('a page of no changes or of too many in GraphQL', async () => {
    for (const first of [0, -1, 501]) {
      const { errors } = await ask(
        `{ domain(name: "${NAME}") { changes(first: ${first}) { nodes { kind } } } }`,
      );
      expect(errors).toMatchObject([
        { message: 'first must be from 1 to 500.', extensions: { code: 'INVALID_PARAMETER' } },
      ]);
    }
  });
});

const FIRST_PLACE = { date: '0n', kind: 0, firstSeen: '0n', type: 'A', position: 0 };

describe('a cursor is INVALID_CURSOR', () => {
  let next = '';
  beforeAll(async () => {
    next = (await get('?first=10')).body.next ?? '';
  });

  test.each([
    ['in another order', () => `?order=NEWEST_FIRST&after=${next}`],
    ['of other kinds', () => `?kinds=DNS_RECORD_ADDED&after=${next}`],
    ['in another interval', () => `?to=2024-01-01T00:00:00Z&after=${next}`],
    ['that is changed', () => `?after=${next.slice(0, -2)}AA`],
    ['that is cut', () => `?after=${next.slice(0, 8)}`],
    ['that has more', () => `?after=${next}.`],
    ['that is none', () => '?after=next'],
    ['that is empty', () => '?after='],
  ])('%s', async (_case, query) => {
    expect(await get(query())).toMatchObject({ status: 400, body: { code: 'INVALID_CURSOR' } });
  });

  test.each([
    ['of a place that is none', null],
    ['of too few values', { date: '0n' }],
    ['of too many values', { ...FIRST_PLACE, more: 0 }],
    ['of a time that is no number', { ...FIRST_PLACE, date: 'x' }],
    ['of a time beyond all', { ...FIRST_PLACE, date: `${'9'.repeat(30)}n` }],
    ['of a position beyond all', { ...FIRST_PLACE, position: 2 ** 40 }],
    ['of a text that cannot be stored', { ...FIRST_PLACE, kind: 2, type: '\0' }],
  ])('%s, though it was made for the question', async (_case, place) => {
    const kinds = [
      ...['DNS_RECORD_ADDED', 'DNS_RECORD_REMOVED', 'HEADER_CREATED'],
      ...['HEADER_GONE', 'HEADER_RETURNED', 'HEADER_UPDATED', 'SITE_STATUS_CHANGED'],
    ];
    const question = `changes ${NAME} ${JSON.stringify(Object.entries({ kinds, newestFirst: false }))}`;
    // A place that is one, to see that the question is right.
    const sound = cursorsOf(question).write(FIRST_PLACE);
    expect((await get(`?after=${sound}`)).status).toBe(200);
    const { status, body } = await get(`?after=${cursorsOf(question).write(place)}`);
    expect([status, body.code]).toEqual([400, 'INVALID_CURSOR']);
  });

  test('of another domain', async () => {
    await insertDomain(service.database.pool, { name: 'other.example' });
    expect(await get(`?after=${next}`, 'other.example')).toMatchObject({ body: { code: 'INVALID_CURSOR' } });
  });

  test('but may be used with another length of the page, and in GraphQL', async () => {
    expect((await get(`?first=3&after=${next}`)).body.changes).toHaveLength(3);
    const { data } = await ask(
      `{ domain(name: "${NAME}") { changes(first: 2, after: "${next}") { nodes { date } edges { cursor } pageInfo { endCursor } } } }`,
    );
    expect(data.domain?.changes.nodes).toHaveLength(2);
    expect(data.domain?.changes.edges.at(-1)?.cursor).toBe(data.domain?.changes.pageInfo.endCursor);
  });
});

test('as of a time, a domain has no later changes, and its records no later removals', async () => {
  const { data } = await ask(
    `{ domain(name: "${NAME}", at: "1970-01-01T00:00:04Z") { changes(first: 100, order: NEWEST_FIRST) {
         nodes { kind ... on DnsRecordAdded { record { ... on DnsRecordEntry { removed } } } } pageInfo { hasNextPage } } } }`,
  );
  const { nodes = [], pageInfo } = data.domain?.changes ?? {};
  expect(nodes).toHaveLength(43);
  expect(nodes[0]?.kind).toBe('HEADER_RETURNED');
  expect(nodes.at(-1)).toEqual({ kind: 'DNS_RECORD_ADDED', record: { removed: null } });
  expect(pageInfo?.hasNextPage).toBe(false);
});

test('pages of long records are shorter, and have each change once', async () => {
  const { pool } = service.database;
  await insertDomain(pool, { name: 'long.example' });
  const entries = Array<string>(65_000).fill('');
  const records = Array.from({ length: 9 }, (_, at) => ({ type: 'TXT', rdata: { txt: `${at}`, entries } }));
  await insertDnsRecords(pool, 'long.example', records);
  await insertHeaderChanges(
    pool,
    'long.example',
    Array.from({ length: 12 }, (_, at) => ({
      name: 'a',
      observedAt: BigInt(at),
      // Each value goes before the next one comes.
      ...(at % 2 === 0 && { value: randomBytes(30_000).toString('hex') }),
    })),
  );
  const found = [];
  let longest = 0;
  for (let after = ''; ; ) {
    const { body } = await get(`?${after}`, 'long.example');
    found.push(...body.changes);
    longest = Math.max(longest, JSON.stringify(body).length);
    if (body.next === null) break;
    after = `after=${body.next}`;
  }
  expect(longest).toBeLessThan(700_000);
  expect(found).toHaveLength(21);
  expect(new Set(found.map((change) => JSON.stringify(change))).size).toBe(21);
});

describe('records in changes and differences were last seen', () => {
  const askSeen = (selection: string, at = '') =>
    ask(`{ domain(name: "seen.example"${at}) { ${selection} } }`).then(({ data }) => data.domain);

  beforeAll(async () => {
    const at = (second: number) => BigInt(second) * SECOND;
    const { pool } = service.database;
    await insertDomain(pool, { name: 'seen.example', created: SECOND, lastUpdate: at(10) });
    await pool.query(
      `UPDATE domain SET dns_first = $1, dns_latest = $2, dns_types = '{"A":{"digest":""}}' WHERE name = 'seen.example'`,
      [SECOND, at(10)],
    );
    await insertDnsRecords(pool, 'seen.example', [
      { type: 'A', rdata: { ip: '192.0.2.1' }, firstSeen: SECOND, lastSeen: at(4), removed: at(5) },
      { type: 'A', rdata: { ip: '192.0.2.2' }, firstSeen: SECOND },
    ]);
  });

  const SEEN = '... on DnsRecordEntry { removed lastSeen }';
  const time = (second: string) => `1970-01-01T00:00:${second}Z`;

  test('when the record says, also in an interval that ends before its removal', async () => {
    const changes = `changes(first: 9, kinds: [DNS_RECORD_ADDED], to: "${time('04.5')}") {
      nodes { ... on DnsRecordAdded { record { ${SEEN} } } } }`;
    expect(await askSeen(changes)).toEqual({
      changes: {
        nodes: [
          { record: { removed: time('05.000000'), lastSeen: time('04.000000') } },
          { record: { removed: null, lastSeen: time('10.000000') } },
        ],
      },
    });
  });

  test('up to an instant, whatever is selected beside them', async () => {
    const changes = `changes(first: 9) { nodes { ... on DnsRecordAdded { record { ${SEEN} } } } }`;
    const at = `, at: "${time('04.5')}"`;
    const seen = { removed: null, lastSeen: time('04.000000') };
    expect(await askSeen(changes, at)).toEqual({ changes: { nodes: [{ record: seen }, { record: seen }] } });
    expect(await askSeen(`${changes} dnsRecords { ${SEEN} }`, at)).toEqual({
      changes: { nodes: [{ record: seen }, { record: seen }] },
      dnsRecords: [seen, seen],
    });
  });

  test('up to the later time of a difference', async () => {
    const diff = (to: string) =>
      askSeen(`diff(from: "${time('00')}", to: "${time(to)}") { dnsRecordsAdded { ${SEEN} } }`);
    const seen = (second: string) => ({ removed: null, lastSeen: time(second) });
    expect(await diff('02')).toEqual({ diff: { dnsRecordsAdded: [seen('01.000000'), seen('01.000000')] } });
    expect(await diff('04.5')).toEqual({ diff: { dnsRecordsAdded: [seen('04.000000'), seen('04.000000')] } });
    expect(await diff('11')).toEqual({ diff: { dnsRecordsAdded: [seen('10.000000')] } });
  });
});

describe('with types and names', () => {
  const name = 'kinds.example';
  const MANY = 10_500;

  /** An address for each second, with a mail server and two headers in between. */
  beforeAll(async () => {
    const { pool } = service.database;
    await insertDomain(pool, { name, created: SECOND, lastUpdate: BigInt(MANY) * SECOND });
    const at = (second: number) => BigInt(second) * SECOND;
    await pool.query(
      `INSERT INTO dns_record (domain, first_seen, type, position, host, class, rdata, removed, last_seen)
       SELECT $1, second * 1000000::bigint, 'A', 0, $1, 'IN', '{"ip":"192.0.2.1"}'::json, (second + 1) * 1000000::bigint,
              second * 1000000::bigint
         FROM generate_series(0, $2::int - 1) AS second`,
      [name, MANY],
    );
    const mail = { type: 'MX', rdata: { pri: 10, target: 'mail.example' } };
    await insertDnsRecords(pool, name, [
      { ...mail, firstSeen: at(1), lastSeen: at(2), removed: at(3) },
      { ...mail, firstSeen: at(MANY - 5), lastSeen: at(MANY) },
    ]);
    await insertHeaderChanges(
      pool,
      name,
      ['server', 'via'].flatMap((header) =>
        [1, 2, 3].map((second) => ({ name: header, observedAt: at(second), value: `${header} ${second}` })),
      ),
    );
  });

  async function pagesOf(query: string): Promise<Page['changes'][]> {
    const pages = [];
    for (let after = ''; ; ) {
      const { body } = await get(`?first=100&${query}${after}`, name);
      pages.push(body.changes);
      if (body.next === null) return pages;
      after = `&after=${body.next}`;
    }
  }

  const inShort = (changes: Page['changes']) =>
    changes.map(({ kind, date, ...change }) => [
      kind,
      date.slice(11, 19),
      Object(change).name ?? Object(change).data?.type,
    ]);

  test.each(['OLDEST_FIRST', 'NEWEST_FIRST'])(
    'there are only changes of these, each once, however few of many they are, %s',
    async (order) => {
      const ordered = (changes: unknown[]) => (order === 'OLDEST_FIRST' ? changes : changes.toReversed());
      const mail = [
        ['DNS_RECORD_ADDED', '00:00:01', 'MX'],
        ['DNS_RECORD_REMOVED', '00:00:03', 'MX'],
        ['DNS_RECORD_ADDED', '02:54:55', 'MX'],
      ];
      const server = [
        ['HEADER_CREATED', '00:00:01', 'server'],
        ['HEADER_UPDATED', '00:00:02', 'server'],
        ['HEADER_UPDATED', '00:00:03', 'server'],
      ];
      const [added, removed, again] = mail;
      const [created, second, third] = server;
      const of = async (query: string) => inShort((await pagesOf(`order=${order}&${query}`)).flat());
      expect(await of('types=mx')).toEqual(ordered(mail));
      expect(await of('headers=Server')).toEqual(ordered(server));
      expect(await of('types=MX&headers=server')).toEqual(
        ordered([added, created, second, removed, third, again]),
      );
      expect(await of('types=MX&headers=server&kinds=HEADER_CREATED')).toEqual([created]);
      expect(await of('types=MX&kinds=HEADER_CREATED')).toEqual([]);
      expect(await of('types=NS')).toEqual([]);
    },
  );

  test('a page looks at a bounded number of records, and says where it ended', async () => {
    const pages = await pagesOf('types=MX&order=NEWEST_FIRST');
    expect(pages.length).toBeGreaterThanOrEqual(2);
    expect(pages.map(({ length }) => length).reduce((sum, length) => sum + length)).toBe(3);
  });

  test('what is no type is an error, and a cursor belongs to its types', async () => {
    expect((await get('?types=%21', name)).body.code).toBe('INVALID_PARAMETER');
    const { body } = await get('?first=1&types=A', name);
    expect((await get(`?first=1&types=A&after=${body.next}`, name)).status).toBe(200);
    expect((await get(`?first=1&types=MX&after=${body.next}`, name)).body.code).toBe('INVALID_CURSOR');
    expect((await get(`?first=1&after=${body.next}`, name)).body.code).toBe('INVALID_CURSOR');
  });
});

// The embedded database has one session: a lock would hold up the row, too.
describe.skipIf(TEST_SERVER === undefined)(
  'a domain that changes after its row was read, and before its page',
  () => {
    const name = 'racing.example';
    const LOCK = 'BEGIN; LOCK TABLE header_change IN ACCESS EXCLUSIVE MODE';
    const IS_WAITING = `SELECT FROM pg_locks WHERE relation = 'header_change'::regclass AND mode = 'AccessShareLock' AND NOT granted`;
    /** What is recorded, of which each is a state of its own. */
    let recorded = 1n;

    beforeAll(async () => {
      const { pool } = service.database;
      await insertDomain(pool, { name, created: SECOND, lastUpdate: 9n * SECOND });
      await insertHeaderChanges(pool, name, [{ name: 'server', observedAt: SECOND, value: 'a' }]);
    });

    /** Requests something whose page waits for the table of headers until a change is committed. */
    async function whileChanging<Response>(
      request: () => Promise<Response>,
      change: (client: PoolClient) => Promise<void> = recordChange,
    ): Promise<Response> {
      const { pool } = service.database;
      const client = await pool.connect();
      try {
        await client.query(LOCK);
        const response = request();
        await vi.waitUntil(async () => (await pool.query(IS_WAITING)).rowCount !== 0, { timeout: 5_000 });
        await change(client);
        await client.query('COMMIT');
        return await response;
      } finally {
        // Where it failed, the connection has the lock, which ends with it.
        client.release(true);
      }
    }

    async function recordChange(client: PoolClient): Promise<void> {
      recorded += 1n;
      await client.query(
        'INSERT INTO header_change (domain, name, observed_at, value) VALUES ($1, $2, $3, $4)',
        [name, 'server', recorded * SECOND, `v${recorded}`],
      );
      await client.query('UPDATE domain SET version = $1 WHERE name = $2', [recorded, name]);
    }

    async function getChanges(): Promise<{ status: number; tag: string | null; body: Page }> {
      const response = await fetch(`${service.url}/api/v1/domain/${name}/changes`);
      const { status, headers } = response;
      return { status, tag: headers.get('etag'), body: JSON.parse(await response.text()) };
    }

    test('has an entity tag and a page of one state in REST', async () => {
      const { tag, body } = await whileChanging(getChanges);
      expect(body.changes).toHaveLength(Number(recorded));
      expect(tag).toMatch(new RegExp(`^W/"${recorded}-`));
    });

    test('is not found if it is erased in between', async () => {
      const { status, body } = await whileChanging(getChanges, async (client) => {
        for (const [table, column] of [
          ['header_change', 'domain'],
          ['domain', 'name'],
        ]) {
          await client.query(`DELETE FROM ${table} WHERE ${column} = $1`, [name]);
        }
      });
      expect([status, body.code]).toEqual([404, 'DOMAIN_NOT_FOUND']);
    });
  },
);
