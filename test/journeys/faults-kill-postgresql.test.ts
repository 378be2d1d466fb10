import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Database } from '../../src/database/client.js';
import { createRecorder } from '../../src/recorder/recorder.js';
import { graphqlRequest } from '../support/ask.js';
import { openMigrated, TEST_SERVER } from '../support/database.js';
import { keepUntilEnd } from '../support/keep.js';
import { repeats, say } from '../support/long-form.js';
import { observation } from '../support/observations.js';
import { HAS_POSTGRESQL, PostgresqlCluster } from '../support/postgresql-cluster.js';
import { bearer } from '../support/service.js';
import { changingDomains, randomNumbers } from './changing-domains.js';
import { runDms } from './dms-command.js';
import { type Serving, serve } from './serving.js';

/** bench/kill-service.js sets more. */
const KILLS = Number(process.env['POSTGRESQL_KILLS'] ?? repeats(2, 1));
const SEED = 7;
const DOMAINS = 50;
const CLIENTS = 12;
const SECOND = 1000;
/** In milliseconds: the longest wait for a response. */
const LONGEST_ANSWER = 12_000;

type Way = Readonly<{ name: string; ask: (domain: string) => Promise<Response> }>;

describe.skipIf(!HAS_POSTGRESQL || TEST_SERVER !== undefined)('with a PostgreSQL server of its own', () => {
  const keep = keepUntilEnd();
  let cluster: PostgresqlCluster;
  let serving: Serving;
  let database: Database;
  let ways: readonly Way[];
  const random = randomNumbers(SEED);
  const outcomes = new Map<string, number>();

  beforeAll(async () => {
    cluster = keep(await PostgresqlCluster.start());
    const environment = { DATABASE_URL: cluster.url, ROLE: 'api', LOG_LEVEL: 'silent' };
    const lines = changingDomains(DOMAINS, 5, SEED);
    const input = Readable.from([...lines].map((line) => `${line}\n`));
    expect(await runDms(['import', '-'], environment, input)).toMatchObject({ code: 0 });
    const { stdout } = await runDms(['token', 'create', '--name', 'load'], environment);
    serving = keep(await serve({ ...environment, RATE_LIMIT_TOKEN: '1000000000' }));
    database = keep(await openMigrated(cluster.url));
    const { url } = serving;
    const path = (domain: string) => `${url}/api/v1/domain/${domain}`;
    const headers = bearer(stdout.trim());
    const query = (domain: string) =>
      `{ domain(name: "${domain}") { lastUpdate dnsRecords { __typename } } }`;
    ways = [
      { name: 'REST', ask: (domain) => fetch(path(domain)) },
      { name: 'REST with a token', ask: (domain) => fetch(`${path(domain)}/dns`, { headers }) },
      { name: 'GraphQL', ask: (domain) => fetch(`${url}/graphql`, graphqlRequest(query(domain))) },
    ];
  });

  async function outcomeOf({ ask }: Way): Promise<string> {
    const response = await ask(`d${Math.floor(random() * DOMAINS)}.example`);
    const text = await response.text();
    if (response.status === 200 && !text.includes('"errors"')) return 'answered';
    const isTold = text.includes('"UNAVAILABLE"') && response.headers.has('retry-after');
    const statuses = text.includes('"errors"') ? [200, 503] : [503];
    if (isTold && statuses.includes(response.status)) return 'unavailable';
    return `${response.status} ${text.slice(0, 200)}`;
  }

  /** One client: a request after another, in every way in turn. */
  async function load(stopped: AbortSignal): Promise<void> {
    for (let turn = 0; !stopped.aborted; turn += 1) {
      const way = ways[turn % ways.length];
      if (way === undefined) return;
      const began = performance.now();
      const outcome = await outcomeOf(way);
      const late = performance.now() - began > LONGEST_ANSWER ? ' too late' : '';
      const key = `${way.name}: ${outcome}${late}`;
      outcomes.set(key, (outcomes.get(key) ?? 0) + 1);
    }
  }

  /** Records one observation after another, as an importer does: what fails is recorded again. */
  async function recordOn(stopped: AbortSignal): Promise<number> {
    const recorder = createRecorder(database.pool);
    let acknowledged = 0;
    while (!stopped.aborted) {
      const at = acknowledged + 1;
      const parts = { at, records: [`192.0.2.${at % 250}`], headers: { server: `${at}` } };
      try {
        await recorder.record([observation({ domain: 'recorded.example', ...parts })]);
        acknowledged = at;
      } catch {
        await pause(20);
      }
    }
    return acknowledged;
  }

  /** @returns how many milliseconds after the database takes connections every way is answered again. */
  async function killAndRestart(): Promise<number> {
    await cluster.kill();
    await pause(500 + random() * SECOND);
    await cluster.start();
    const began = performance.now();
    for (const way of ways) while ((await outcomeOf(way)) !== 'answered') await pause(5);
    return Math.round(performance.now() - began);
  }

  test(
    'a service whose PostgreSQL is killed under load answers 200 or 503, recovers by itself, and has all that was recorded, each once',
    async () => {
      const stopped = new AbortController();
      const clients = Array.from({ length: CLIENTS }, () => load(stopped.signal));
      const recording = recordOn(stopped.signal);
      for (let kill = 1; kill <= KILLS; kill += 1) {
        await pause(SECOND + random() * SECOND);
        say(`kill ${kill}: answered again ${await killAndRestart()} ms after the database`);
      }
      await pause(SECOND);
      stopped.abort();
      await Promise.all(clients);
      const acknowledged = await recording;

      say(`${acknowledged} observations acknowledged; ${JSON.stringify([...outcomes])}`);
      const wrong = [...outcomes.keys()].filter((key) => !/: (?:answered|unavailable)$/.test(key));
      expect(wrong).toEqual([]);
      for (const { name } of ways) expect(outcomes.get(`${name}: answered`)).toBeGreaterThan(0);
      const recorded = Array.from({ length: acknowledged }, (_, place) => `${place + 1}`);
      expect(await recordedValues()).toEqual(recorded);
      expect(await runDms(['verify'], { DATABASE_URL: cluster.url })).toMatchObject({ code: 0 });
    },
    (60 + 20 * KILLS) * SECOND,
  );

  async function recordedValues(): Promise<string[]> {
    const response = await fetch(`${serving.url}/api/v1/domain/recorded.example`);
    const body: { httpHeaders: { history: { new: string }[] }[] } = JSON.parse(await response.text());
    return body.httpHeaders.flatMap(({ history }) => history.map((item) => item.new));
  }
});
