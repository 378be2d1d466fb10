import type { Pool, PoolClient } from 'pg';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Database, openDatabase } from '../../src/database/client.js';
import { partitionTables } from '../../src/database/distribution.js';
import { handBack, leaseDue } from '../../src/observer/schedule/leases.js';
import { watchDomains } from '../../src/observer/schedule/watch-list.js';
import { forget } from '../../src/recorder/forget.js';
import { createRecorder, type Recorder } from '../../src/recorder/recorder.js';
import { askGraphql, askRest } from '../support/ask.js';
import { standInForCitus } from '../support/citus.js';
import { databaseOfFile, IS_POOLED, onShards, TEST_SERVER } from '../support/database.js';
import { type ObservationParts, observation, timeText } from '../support/observations.js';
import { bearer, startTestService, type TestService } from '../support/service.js';

const PARTITIONS = 8;

interface Node {
  readonly 'Relation Name'?: string;
  /** How often it was executed, 0 where it was not needed; absent where plans alone count. */
  readonly 'Actual Loops'?: number;
  readonly Plans?: readonly Node[];
}

/** With the partitions whose tables were read, or are in the plan. */
type Executed = Readonly<{ statement: string; partitions: readonly string[] }>;

const HOMES = [
  // From the sixth execution on, a plan is for any name: it leaves partitions out while it is executed.
  { home: 'one server', executions: 7, isPlan: false },
  // Citus, as PostgreSQL, finds the shards when it plans, by what each table's own column is compared with.
  { home: 'a cluster', executions: 2, isPlan: true },
];

// A pooler's connections are not those that PostgreSQL tells of.
describe.skipIf(TEST_SERVER === undefined || IS_POOLED).each(HOMES)(
  'on tables that are divided as on $home, of one domain',
  ({ executions, isPlan }) => {
    const kept = databaseOfFile(async ({ pool }) => {
      await partitionTables(pool, PARTITIONS);
      if (isPlan) await standInForCitus(pool);
    });
    let database: Database;
    let service: TestService;
    let recorder: Recorder;
    let authorization: Readonly<Record<string, string>>;
    const executed: Executed[] = [];

    beforeAll(async () => {
      // From the next connection on, PostgreSQL sends the plan of each statement with its result.
      const { rows } = await kept.pool.query('SELECT quote_ident(current_database()) AS name');
      for (const setting of [
        'session_preload_libraries = auto_explain',
        'auto_explain.log_min_duration = 0',
        `auto_explain.log_analyze = ${isPlan ? 'off' : 'on'}`,
        'auto_explain.log_timing = off',
        'auto_explain.log_format = json',
        'auto_explain.log_level = notice',
        `plan_cache_mode = ${isPlan ? 'force_custom_plan' : 'auto'}`,
      ]) {
        await kept.pool.query(`ALTER DATABASE ${rows[0]?.name} SET ${setting}`);
      }
      const opened = await openDatabase(kept.options);
      database = isPlan ? onShards(opened) : opened;
      const pools = [database.pool, database.readPool, database.searchPool];
      for (const pool of pools) listen(pool, executed);
      // The connections from before.
      await kept.pool.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle'",
      );
      const isEmpty = () => pools.every(({ totalCount }) => totalCount === 0);
      await vi.waitUntil(isEmpty, { timeout: 10_000 });
      recorder = createRecorder(database.pool);
      service = await startTestService({ database, role: 'api' });
      authorization = bearer(await service.createToken());
      await fill(recorder);
      await kept.pool.query('ANALYZE');
    });
    afterAll(async () => {
      await service.stop();
      await database.close();
    });

    async function executedBy(work: (time: number) => Promise<unknown>): Promise<readonly Executed[]> {
      executed.length = 0;
      for (let time = 0; time < executions; time += 1) await work(time);
      expect(executed.filter(({ partitions }) => partitions.length > 0)).not.toEqual([]);
      return executed;
    }

    const inSeveral = (all: readonly Executed[]) => all.filter(({ partitions }) => partitions.length > 1);

    async function ask(query: string): Promise<void> {
      const { errors } = await askGraphql(service, query, {}, authorization);
      expect(errors).toBeUndefined();
    }

    test.each([
      '',
      '/dns',
      '/details',
      '/headers',
      '?at=2024-01-01T00:00:02Z',
      '/changes',
      '/diff?from=2024-01-01T00:00:01Z&to=2024-01-01T00:00:05Z',
    ])('GET /domain/{domain}%s reads one partition of each table', async (path) => {
      const found = await executedBy(async () => {
        const { status } = await askRest(service, `/domain/d1.example${path}`, authorization);
        expect(status).toBe(200);
      });
      expect(inSeveral(found)).toEqual([]);
    });

    const AT = ', at: "2024-01-01T00:00:02Z"';
    const PAGES = `dnsRecordsConnection(first: 5, types: ["A"]) { nodes { ... on ARecord { ip lastSeen } } }
      httpHeadersConnection(first: 5) { nodes { name lastSeen historyConnection(first: 5) { nodes { date } } } }`;
    test.each([
      ['', 'dnsRecordsConnection(first: 5) { nodes { __typename } }'],
      ['', PAGES],
      ['', 'changes(first: 5) { nodes { __typename } }'],
      ['', `changes(first: 5, order: NEWEST_FIRST, from: "${timeText(1)}") { nodes { __typename } }`],
      ['', 'dnsRecordCount httpHeaderCount changeCount version parts { name lastObserved lastAttempt }'],
      ['', `diff(from: "${timeText(1)}", to: "${timeText(5)}") { dnsRecordsAdded { __typename } }`],
      [AT, `${PAGES} changes(first: 5) { nodes { __typename } }`],
      [AT, 'changeCount parts { name } dnsRecords { __typename } httpHeaders { name history { date } }'],
    ])(
      'GraphQL reads one partition of each table for domain(name: "d1.example"%s) { %s }',
      async (at, fields) => {
        const found = await executedBy(() => ask(`{ domain(name: "d1.example"${at}) { ${fields} } }`));
        expect(inSeveral(found)).toEqual([]);
      },
    );

    test('a search across domains reads several partitions, as PostgreSQL tells', async () => {
      const search = '{ dnsRecords(where: { ip: "192.0.2.100" }, first: 5) { nodes { __typename } } }';
      expect(inSeveral(await executedBy(() => ask(search)))).not.toEqual([]);
    });

    // One server reads several domains by one statement.
    const testOfCluster = isPlan ? test : () => {};
    testOfCluster('a request for several domains has statements for one each', async () => {
      const names = Array.from({ length: 9 }, (_, number) => `"d${number}.example"`);
      const found = await executedBy(() =>
        ask(`{ domains(names: [${names}]) { lastUpdate dnsRecords { __typename } changeCount } }`),
      );
      expect(new Set(found.flatMap(({ partitions }) => partitions)).size).toBeGreaterThan(1);
      expect(inSeveral(found)).toEqual([]);
    });

    const at = (domain: string, seconds: number, octet: number): ObservationParts => {
      return { domain, at: seconds, records: [`192.0.2.${octet}`] };
    };
    test.each<[what: string, older: boolean, observationAt: (time: number) => ObservationParts]>([
      ['that changes', false, (time) => at('d2.example', 20 + time, 20 + time)],
      ['that changes nothing', false, (time) => at('d3.example', 20 + time, 200)],
      ['that is the first', false, (time) => at(`new${time}.example`, 1, 1)],
      ['from before what is known', true, (time) => at('d7.example', -time, time)],
    ])(
      'recording an observation %s reads and writes one partition of each table',
      async (_, older, partsAt) => {
        const found = await executedBy((time) =>
          recorder.record([observation({ ...partsAt(time), headers: { server: 'same' } })], older),
        );
        expect(inSeveral(found)).toEqual([]);
      },
    );

    test.each<[what: string, at: number, record: string]>([
      ['that change', 40, '192.0.2.40'],
      ['that change nothing', 50, '192.0.2.40'],
    ])(
      'recording observations of several domains, %s, reads and writes their partitions alone',
      async (_, at, record) => {
        const domains = ['d4.example', 'd5.example', 'd6.example'];
        const { rows } = await kept.pool.query<{ partition: string }>(
          "SELECT DISTINCT substring(tableoid::regclass::text FROM '_p([0-9]+)$') AS partition FROM domain WHERE name = ANY ($1)",
          [domains],
        );
        const theirs = new Set(rows.map(({ partition }) => partition));
        expect(theirs.size).toBeGreaterThan(1);
        const found = await executedBy((time) =>
          recorder.record(domains.map((domain) => observation({ domain, at: at + time, records: [record] }))),
        );
        expect(new Set(found.flatMap(({ partitions }) => partitions))).toEqual(theirs);
      },
    );

    test('taking a lease and returning it write one partition', async () => {
      await watchDomains(database.writingPrisma, ['d4.example'], 1_000_000n, 1n);
      const found = await executedBy(async () => {
        const [now, until] = [2n ** 52n, 2n ** 52n + 1n];
        const capacity = { places: 10, free: 10, low: 0 };
        const { domains } = await leaseDue(database.writingPrisma, now, until, capacity);
        expect(domains).toHaveLength(1);
        await handBack(database.writingPrisma, domains);
      });
      const writing = found.filter(({ statement }) => /UPDATE/.test(statement));
      expect(writing.length).toBeGreaterThan(0);
      expect(inSeveral(writing)).toEqual([]);
    });

    test('erasing a domain deletes from one partition of each table', async () => {
      const found = await executedBy((time) => forget(database, [`d${10 + time}.example`]));
      // Whether a name or text is known of other domains, too, is looked for in all.
      const deleting = found.filter(({ statement }) => /^\s*DELETE(?!.*known_)/s.test(statement));
      expect(inSeveral(deleting)).toEqual([]);
    });
  },
);

/** Enough that an index is better than reading all. */
async function fill(recorder: Recorder): Promise<void> {
  const domains = Array.from({ length: 1500 }, (_, number) => `d${number}.example`);
  for (const at of [1, 3, 6]) {
    const parts = { at, records: [`192.0.2.${at}`, '192.0.2.100'], headers: { server: `s${at}`, via: 'a' } };
    await recorder.record(domains.map((domain) => observation({ domain, ...parts })));
  }
}

function listen(pool: Pool, executed: Executed[]): void {
  const listenTo = (client: PoolClient) =>
    client.on('notice', ({ message = '' }) => {
      const json = /plan:\n(.*)$/s.exec(message)?.[1];
      if (json === undefined) return;
      const { 'Query Text': statement, Plan: plan }: { 'Query Text': string; Plan: Node } = JSON.parse(json);
      executed.push({ statement, partitions: [...new Set(partitionsOf(plan))].sort() });
    });
  pool.on('connect', listenTo);
}

/** The numbers of the partitions that a plan has read or written. */
function* partitionsOf({
  'Relation Name': table = '',
  'Actual Loops': loops,
  Plans: inner = [],
}: Node): Generator<string> {
  const number = /_p(\d+)$/.exec(table)?.[1];
  if (number !== undefined && loops !== 0) yield number;
  for (const node of inner) yield* partitionsOf(node);
}
