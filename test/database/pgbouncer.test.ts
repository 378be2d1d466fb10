import { Readable } from 'node:stream';
import { beforeAll, describe, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../src/database/client.js';
import { runDms } from '../journeys/dms-command.js';
import { answersOf, serveLocally } from '../journeys/serving.js';
import { TEST_SERVER } from '../support/database.js';
import { observationLine } from '../support/observations.js';
import { CONNECT_QUERY, HAS_PGBOUNCER, type Pgbouncer, startPgbouncer } from '../support/pgbouncer.js';
import { PostgresqlCluster } from '../support/postgresql-cluster.js';
import { bearer } from '../support/service.js';

describe.skipIf(!HAS_PGBOUNCER || TEST_SERVER !== undefined)('behind PgBouncer in transaction mode', () => {
  let cluster: PostgresqlCluster;
  let pooler: Pgbouncer;
  let plain: Pgbouncer;

  beforeAll(async () => {
    cluster = await PostgresqlCluster.start();
    pooler = await startPgbouncer(cluster.url, CONNECT_QUERY);
    plain = await startPgbouncer(cluster.url);
    return async () => {
      await Promise.all([pooler.close(), plain.close()]);
      await cluster.remove();
    };
  });

  async function whileOpen(databaseUrl: string, work: (database: Database) => Promise<void>) {
    const options = { databaseUrl, dataDirectory: '/nonexistent', queryMilliseconds: 1000 };
    const database = await openDatabase(options);
    await work(database).finally(() => database.close());
  }

  test('statements behind PgBouncer have no names, so each may run on another connection', async () => {
    await whileOpen(pooler.url, async ({ prisma }) => {
      for (let round = 0; round < 3; round += 1) {
        const numbers = Array.from({ length: 20 }, (_, number) => number);
        const asked = numbers.map((number) => prisma.$queryRaw`SELECT ${number}::int AS number`);
        expect(await Promise.all(asked)).toEqual(numbers.map((number) => [{ number }]));
      }
      expect(await prisma.$queryRaw`SELECT name FROM pg_prepared_statements WHERE name <> ''`).toEqual([]);
    });
  });

  test('no setting remains behind PgBouncer for other clients of the same connections', async () => {
    await whileOpen(plain.url, async ({ prisma, readPool }) => {
      await prisma.$queryRaw`SELECT 1`;
      const { rows } = await readPool.query(
        "SELECT current_setting('jit') AS jit, current_setting('statement_timeout') AS timeout",
      );
      expect(rows).toEqual([{ jit: 'on', timeout: '0' }]);
    });
  });

  test('a statement behind PgBouncer that takes too long is reported, and ended on the server', async () => {
    await whileOpen(pooler.url, async ({ readPool }) => {
      const answer = readPool.query('SELECT pg_sleep(1000)');
      await expect(answer).rejects.toMatchObject({ code: 'UNAVAILABLE' });
      const running = "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%'";
      await expect.poll(() => cluster.run(running)).toEqual([]);
    });
  });

  test('every command works behind PgBouncer, and the API answers', async () => {
    const environment = { DATABASE_URL: pooler.url };
    const run = async (args: readonly string[], lines: readonly string[] = []) => {
      const result = await runDms(args, environment, Readable.from(lines.map((line) => `${line}\n`)));
      expect(result).toMatchObject({ code: 0 });
      return result.stdout;
    };
    const domains = Array.from({ length: 100 }, (_, number) => `d${number}.example`);
    const lines = [1, 2, 3].flatMap((at) =>
      domains.map((domain) =>
        observationLine({ domain, at, records: [`192.0.2.${at}`], headers: { server: `nginx ${at}` } }),
      ),
    );
    await run(['import', '-'], lines);
    expect((await run(['export'])).trim().split('\n').length).toBeGreaterThanOrEqual(100);
    await run(['watch', 'add', 'd1.example']);
    const token = (await run(['token', 'create', '--name', 'pooled'])).trim();
    const { url, close } = await serveLocally({ ...environment, ROLE: 'api' });
    const answers = await answersOf(url, domains);
    const withToken = await fetch(`${url}/api/v1/domain/d1.example/dns`, { headers: bearer(token) });
    expect([...answers.values()].filter((text) => !text.includes('"dnsRecords":[{'))).toEqual([]);
    expect(withToken.status).toBe(200);
    await close();
    expect(await run(['search', '--ip', '192.0.2.3'])).toContain('d1');
    await run(['show', 'd1.example']);
    await run(['forget', '--yes', 'd2.example']);
    await run(['verify']);
  });
});
