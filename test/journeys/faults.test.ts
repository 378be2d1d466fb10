import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import pg from 'pg';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Database } from '../../src/database/client.js';
import { createRecorder } from '../../src/recorder/recorder.js';
import { graphqlRequest } from '../support/ask.js';
import { openMigrated, TEST_SERVER } from '../support/database.js';
import { keepUntilEnd } from '../support/keep.js';
import { repeats } from '../support/long-form.js';
import { observation } from '../support/observations.js';
import { HAS_POSTGRESQL, PostgresqlCluster } from '../support/postgresql-cluster.js';
import { expectProbes } from '../support/probes.js';
import { bearer, startTestService, type TestService } from '../support/service.js';
import { runDms } from './dms-command.js';

const ROUNDS = repeats(10, 2);

// What Node.js offers under a flag only, which may be set at any time.
setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

/** The memory of this process that is in use, in MB, when all garbage is collected. */
function memoryInUse(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1_000_000;
}

/** Follows requests that servers of this process get, without keeping any. */
function followRequests() {
  const followed: WeakRef<object>[] = [];
  const follow = (message: unknown) => {
    for (const part of ['request', 'response'])
      followed.push(new WeakRef(Reflect.get(Object(message), part)));
  };
  subscribe('http.server.request.start', follow);
  return {
    /** How many of them, and of their responses, are still in memory. */
    count() {
      collectGarbage();
      return followed.filter((reference) => reference.deref() !== undefined).length;
    },
    stop: () => unsubscribe('http.server.request.start', follow),
  };
}

// On a server of its own, whichever home the other tests have: once is enough.
describe.skipIf(!HAS_POSTGRESQL || TEST_SERVER !== undefined)('where the database fails', () => {
  const keep = keepUntilEnd();
  let cluster: PostgresqlCluster;
  let database: Database;
  let service: TestService;
  /** Has a token that no request has sent yet: the database has to be queried for it. */
  let token: Record<string, string>;

  beforeAll(async () => {
    cluster = keep(await PostgresqlCluster.start({ fsync: 'off', max_connections: '30' }));
    database = keep(await openMigrated(cluster.url));
    await record(1);
    service = keep(await startTestService({ database, role: 'api' }));
  });

  beforeEach(async () => {
    token = bearer(await service.createToken());
  });

  afterEach(async () => {
    await cluster.start();
    await expect.poll(async () => (await ask(address(), token)).status).toBe(200);
  });

  const address = (operation = '') => `${service.url}/api/v1/domain/example.com${operation}`;

  const ask = (url: string, headers = {}) => fetch(url, { headers });

  const askByGraphql = (headers = {}) => {
    const query = '{ domain(name: "example.com") { name } }';
    return fetch(`${service.url}/graphql`, graphqlRequest(query, {}, headers));
  };

  /** Stops the server and starts it again, so that connections have what was set. */
  const restart = () => cluster.stop().then(() => cluster.start());

  async function record(at: number): Promise<void> {
    const recorder = createRecorder(database.pool);
    await recorder.record([observation({ at, records: ['192.0.2.1'], headers: { server: `at ${at}` } })]);
  }

  async function expectUnavailable(response: Response): Promise<void> {
    expect(response.status).toBe(503);
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
    const text = await response.text();
    expect(text).toContain('"UNAVAILABLE"');
    expect(text).not.toMatch(/127\.0\.0\.1|ECONN|postgres|prisma/i);
  }

  async function expectEverythingUnavailable(): Promise<void> {
    await expectUnavailable(await ask(address()));
    await expectUnavailable(await ask(address('/dns'), token));
    await expectUnavailable(await ask(address(), token));
    await expectUnavailable(await askByGraphql(token));
    const open = await askByGraphql();
    expect(Number(open.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await open.json()).toMatchObject({ errors: [{ extensions: { code: 'UNAVAILABLE' } }] });
    await expectProbes(service.url, 503);
  }

  test('a service answers 503 with Retry-After while its database is gone, to tokens too, and answers again when it is back', async () => {
    await cluster.stop();
    await expectEverythingUnavailable();
    await expect(database.readPool.query('SELECT 1')).rejects.toThrow();
    await cluster.start();
    expect((await ask(address('/dns'), token)).status).toBe(200);
    expect((await askByGraphql(token)).status).toBe(200);
    await database.readPool.query('SELECT 1');
    await expectProbes(service.url, 200);
  });

  test('a service answers 503 while its database has no connection left, and recovers when it has', async () => {
    const held: pg.Client[] = [];
    await restart();
    try {
      // Those that are kept for administrators too: the user of the tests is one.
      for (let full = false; !full; ) {
        const client = new pg.Client({ connectionString: cluster.url });
        client.on('error', () => {});
        held.push(client);
        full = await client.connect().then(
          () => false,
          () => true,
        );
      }
      await expectEverythingUnavailable();
      await expect(record(50)).rejects.toMatchObject({ code: '53300' });
    } finally {
      await Promise.all(held.map((client) => client.end().catch(() => {})));
    }
    await expect.poll(async () => (await fetch(`${service.url}/readyz`)).status).toBe(200);
  });

  test('a service whose database is read-only answers as always, tokens included, and says plainly that nothing can be recorded', async () => {
    await cluster.run('ALTER DATABASE postgres SET default_transaction_read_only = on');
    try {
      await restart();
      expect((await ask(address())).status).toBe(200);
      expect((await ask(address('/dns'), token)).status).toBe(200);
      expect((await askByGraphql(token)).status).toBe(200);
      await expectProbes(service.url, 200);
      await expect(record(51)).rejects.toMatchObject({ code: '25006' });
      const created = await runDms(['token', 'create', '--name', 'x'], { DATABASE_URL: cluster.url });
      const said = /^dms: The database is read-only, so nothing can be written to it now: .+\n$/;
      expect(created).toMatchObject({ code: 1, stderr: expect.stringMatching(said) });
    } finally {
      await cluster.run(
        'SET default_transaction_read_only = off',
        'ALTER DATABASE postgres RESET default_transaction_read_only',
      );
      await cluster.stop();
    }
  });

  test('a service answers 503 where its database has no room left to sort in, and says plainly what to do when the disk is full', async () => {
    // A history that cannot be sorted in memory, and no room for it on the disk.
    await cluster.run(
      `INSERT INTO domain (name, version, recorded_at, created, last_update, dns_types, header_octets)
         VALUES ('large.example', 1, 0, 0, 1, '{}', 20000 * 200)`,
      `INSERT INTO header_change (domain, name, observed_at, value)
         SELECT 'large.example', 'n' || number % 7, number, repeat(md5(number::text), 4)
           FROM generate_series(1, 20000) AS number`,
      'ALTER DATABASE postgres SET work_mem = 64',
      'ALTER DATABASE postgres SET temp_file_limit = 0',
      'ALTER DATABASE postgres SET enable_indexscan = off',
      'ALTER DATABASE postgres SET enable_indexonlyscan = off',
    );
    // What a full disk makes PostgreSQL say, on every write.
    await cluster.run(
      `CREATE FUNCTION disk_full() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$`,
      'CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE ON domain EXECUTE FUNCTION disk_full()',
    );
    try {
      await restart();
      await expectUnavailable(await ask(`${service.url}/api/v1/domain/large.example`));
      expect((await ask(address())).status).toBe(200);
      await expect(record(52)).rejects.toMatchObject({ code: '53100' });
      await expectProbes(service.url, 200);
    } finally {
      await cluster.run('DROP FUNCTION disk_full CASCADE', 'ALTER DATABASE postgres RESET ALL');
      await restart();
    }
    await record(53);
    expect((await ask(`${service.url}/api/v1/domain/large.example`)).status).toBe(200);
  });

  test(`a service goes through ${ROUNDS * 100} requests to a database that is gone without keeping anything of them`, async () => {
    const statusOf = async () => {
      const answer = await ask(address());
      // A body that was not read holds its connection.
      await answer.arrayBuffer();
      return answer.status;
    };
    const hundredStatuses = async () => new Set(await Promise.all(Array.from({ length: 100 }, statusOf)));
    await cluster.stop();
    // What is made once, such as connections and caches, is there after the first.
    expect(await hundredStatuses()).toEqual(new Set([503]));
    const before = memoryInUse();
    const requests = followRequests();
    for (let round = 0; round < ROUNDS; round += 1) expect(await hundredStatuses()).toEqual(new Set([503]));
    requests.stop();
    await cluster.start();
    await hundredStatuses();
    // A connection has its latest request at hand: no more than there are connections.
    await expect.poll(() => requests.count()).toBeLessThan(repeats(400, 250));
    // 100 kB a request: the lines of the log, which the test keeps, are some of it.
    expect(memoryInUse() - before).toBeLessThan(repeats(100, 50));
    const open = await cluster.run("SELECT FROM pg_stat_activity WHERE application_name = 'dms'");
    expect(open.length).toBeLessThanOrEqual(20);
    const sockets = process.getActiveResourcesInfo().filter((resource) => resource === 'TCPSocketWrap');
    expect(sockets.length).toBeLessThan(500);
  });
});
