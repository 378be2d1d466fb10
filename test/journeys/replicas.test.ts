import { setTimeout as pause } from 'node:timers/promises';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createTokenVerifier } from '../../src/auth/token-verifier.js';
import { revokeToken } from '../../src/auth/tokens.js';
import type { Database } from '../../src/database/client.js';
import { Replicas } from '../../src/database/replicas.js';
import { UnauthenticatedError } from '../../src/model/errors.js';
import { openMigrated, TEST_SERVER } from '../support/database.js';
import { headerChanger, openEvents } from '../support/events.js';
import { keepUntilEnd } from '../support/keep.js';
import { IS_LONG } from '../support/long-form.js';
import { HAS_POSTGRESQL, PostgresqlCluster } from '../support/postgresql-cluster.js';
import {
  bearer,
  createTestToken,
  startServiceForTest,
  startTestService,
  type TestService,
} from '../support/service.js';

type Shown = Readonly<{ state: string; reason: string | null; lag: number | null }>;

type Addressed = Readonly<{ url: string }>;

/** The settings of a service that reads from replicas. @param mostBehind In milliseconds. */
function readingFrom(primary: Addressed, replicas: readonly Addressed[], mostBehind = 60_000) {
  const urls = replicas.map(({ url }) => url);
  return { role: 'api', readReplicas: { databaseUrl: primary.url, urls, mostBehind } } as const;
}

async function databases({ url }: Addressed): Promise<readonly Shown[]> {
  const body: { databases: readonly Shown[] } = JSON.parse(await (await fetch(`${url}/readyz`)).text());
  return body.databases;
}

describe.skipIf(!HAS_POSTGRESQL || TEST_SERVER !== undefined)('with a replica of the database', () => {
  const keep = keepUntilEnd();
  let primary: PostgresqlCluster;
  let replica: PostgresqlCluster;
  let database: Database;
  /** Reads from the replica. */
  let service: TestService;
  /** Another process, which reads from the primary only. */
  let other: TestService;
  let record: ReturnType<typeof headerChanger>;

  beforeAll(async () => {
    primary = keep(await PostgresqlCluster.start({ max_connections: '60', wal_keep_size: '256MB' }));
    replica = keep(await primary.startReplica({ max_standby_streaming_delay: '0' }));
    database = keep(await openMigrated(primary.url));
    record = headerChanger(database);
    await record('one');
    await replica.caughtUp(primary);
    service = keep(await startTestService({ database, ...readingFrom(primary, [replica]) }));
    other = keep(await startTestService({ database, role: 'api' }));
  });

  async function openReplica() {
    const { readReplicas } = readingFrom(primary, [replica]);
    const replicas = await Replicas.open(database, { ...readReplicas, onChange: () => {} });
    const home = replicas.any();
    if (home === undefined) throw new Error('The replica cannot be used.');
    onTestFinished(() => replicas.close());
    return home.prisma;
  }

  const DOMAIN = '/domain/example.com';

  const read = async (of: TestService, path: string) => (await of.rest(path)).body;

  /** Works while the replica has what was there before, and nothing that is recorded meanwhile. */
  async function whileBehind(work: () => Promise<void>): Promise<void> {
    await replica.caughtUp(primary);
    await replica.whilePaused(work);
  }

  async function untilReplicaIs(state: string, of = service): Promise<void> {
    await expect.poll(async () => (await databases(of))[1]?.state).toBe(state);
  }

  test('responses are read from the replica, and a client that sends the validators it has never gets an older answer from one that is behind', async () => {
    await untilReplicaIs('in use');
    await replica.caughtUp(primary);
    const { fields: before } = await service.rest(DOMAIN);
    await replica.whilePaused(async () => {
      await record('two');
      const later = await other.rest(DOMAIN);
      const field = (name: string) => later.fields.get(name) ?? '';
      const [etag, lastModified] = [field('etag'), field('last-modified')];
      // On a busy machine, the replica may be left out for a moment.
      const tagBehind = async () => (await service.rest(DOMAIN)).fields.get('etag');
      await expect.poll(tagBehind).toBe(before.get('etag'));
      for (const condition of [{ 'if-none-match': etag }, { 'if-none-match': `"x", ${etag}` }]) {
        const again = await service.rest(DOMAIN, condition);
        expect([again.status, again.fields.get('etag'), again.text]).toEqual([304, etag, '']);
      }
      // A date does not tell which state the client has.
      const since = await service.rest(DOMAIN, { 'if-modified-since': lastModified });
      expect(since.fields.get('etag')).toBe(etag);
      // Of another operation: there is no body of this one that the client has.
      const { fields } = await other.rest(`${DOMAIN}/changes`);
      const body = await service.rest(DOMAIN, { 'if-none-match': fields.get('etag') ?? '' });
      expect([body.status, body.text]).toEqual([200, later.text]);
    });
  });

  test('a domain that the replica does not have yet is read from the primary, and so are the next pages of its changes', async () => {
    await whileBehind(async () => {
      await record('1', 'new.example');
      await record('2', 'new.example');
      const path = '/domain/new.example';
      const { fields } = await other.rest(path);
      expect((await service.rest(path)).status).toBe(200);
      expect((await service.rest(path, { 'if-none-match': fields.get('etag') ?? '' })).status).toBe(304);
      const first = await read(other, `${path}/changes?first=1`);
      const next = await read(service, `${path}/changes?first=1&after=${first.next}`);
      expect(next.changes).toMatchObject([{ new: '2' }]);
      const page = async (of: TestService, after: string | null) => {
        const query = `{ domain(name: "new.example") { changes(first: 1, after: ${JSON.stringify(after)}) {
          pageInfo { endCursor } nodes { ... on HeaderUpdated { new } } } } }`;
        return (await of.graphql(query)).data.domain.changes;
      };
      const { pageInfo } = await page(other, null);
      expect((await page(service, pageInfo.endCursor)).nodes).toEqual([{ new: '2' }]);
    });
  });

  test('a reader of the feed goes on where its cursor names a change that the replica does not have yet', async () => {
    await whileBehind(async () => {
      await record('three');
      const { changes } = await read(other, '/changes?order=NEWEST_FIRST&first=1');
      expect(changes).toMatchObject([{ new: 'three' }]);
      const live = await openEvents(`${other.url}/api/v1/changes`);
      const cursor = (await live.next())?.id ?? '';
      live.close();
      expect(await read(service, `/changes?after=${cursor}`)).toMatchObject({ changes: [] });
      const resumed = await openEvents(`${service.url}/api/v1/changes`, {
        headers: { 'last-event-id': cursor },
      });
      expect(await resumed.next()).toMatchObject({ data: '', id: cursor });
      await record('four');
      expect(JSON.parse((await resumed.next())?.data ?? '')).toMatchObject({ old: 'three', new: 'four' });
      resumed.close();
    });
  });

  test('the domain of a change of the feed is as late as the change, and so is what its id names', async () => {
    await whileBehind(async () => {
      await record('of the feed');
      const query =
        '{ changes(order: NEWEST_FIRST, first: 1) { nodes { id domain { version lastChange } } } }';
      const [feed, ofPrimary] = [await service.graphql(query), await other.graphql(query)];
      expect(feed.data).toEqual(ofPrimary.data);
      const { id } = feed.data.changes.nodes[0];
      expect((await service.graphql(`{ node(id: "${id}") { id } }`)).data.node).toEqual({ id });
    });
  });

  test("a reader of a domain's changes misses none where the next page comes from a replica that is behind", async () => {
    await record('1', 'paged.example');
    await whileBehind(async () => {
      for (const value of ['2', '3', '4']) await record(value, 'paged.example');
      const path = '/domain/paged.example/changes?order=NEWEST_FIRST&first=1';
      const first = await read(other, path);
      const second = await read(service, `${path}&after=${first.next}`);
      const third = await read(service, `${path}&after=${second.next}`);
      expect([first, second, third].map(({ changes }) => changes[0].new)).toEqual(['4', '3', '2']);
      // All of the answer is of one version, of which its entity tag is.
      const next = `${path}&after=${first.next}`;
      const { fields } = await service.rest(next);
      expect(fields.get('etag')).toBe((await other.rest(next)).fields.get('etag'));
      const query = `{ domain(name: "paged.example") { version changeCount changes(first: 1, after: "${first.next}", order: NEWEST_FIRST) { nodes { id } } } }`;
      const [one, primaries] = [await service.graphql(query), await other.graphql(query)];
      expect(one.data).toEqual(primaries.data);
      expect(one.data.domain).toMatchObject({ changeCount: 4, changes: { nodes: [{}] } });
    });
  });

  test('a replica that is behind when the process starts, or further than is allowed, is left out and told by how much, until it has caught up', async () => {
    const serveStrictly = (mostBehind = 1_000) =>
      startServiceForTest({ database, ...readingFrom(primary, [replica], mostBehind) });
    const strict = await serveStrictly();
    await untilReplicaIs('in use', strict);
    const late: TestService[] = [];
    await whileBehind(async () => {
      await record('late', 'late.example');
      for (const mostBehind of [60_000, 1_000]) {
        const each = await serveStrictly(mostBehind);
        late.push(each);
        expect((await databases(each))[1]).toMatchObject({ state: 'left out', lag: null });
      }
      await untilReplicaIs('left out', strict);
      expect((await databases(strict))[1]?.lag).toBeGreaterThan(1);
      for (const each of [strict, ...late.slice(1)]) {
        const reason = async () => (await databases(each))[1]?.reason;
        await expect.poll(reason).toMatch(/^It is \d+\.\d s behind the primary\.$/);
      }
      for (const each of [strict, ...late])
        expect((await each.rest('/domain/late.example')).status).toBe(200);
    });
    for (const each of [strict, ...late]) await untilReplicaIs('in use', each);
  });

  test('a new token works at once, although the replica does not have it yet', async () => {
    await whileBehind(async () => {
      const token = await createTestToken(database, {});
      expect((await service.rest(`${DOMAIN}/dns`, bearer(token))).status).toBe(200);
    });
  });

  test('a revoked token is refused, also by whom reads from a replica that is behind', async () => {
    const token = await createTestToken(database, { name: 'revoked' });
    await replica.caughtUp(primary);
    const prisma = await openReplica();
    const now = () => BigInt(Date.now()) * 1000n;
    await replica.whilePaused(async () => {
      await revokeToken(database.prisma, 'revoked', now());
      const verify = createTokenVerifier(database.prisma, now, () => prisma);
      await expect(verify(token)).rejects.toThrow(UnauthenticatedError);
    });
  });

  test('a statement that the replica cancels, for what it replays, is read on the primary', async () => {
    // A row to wait at.
    await createTestToken(database, {});
    await replica.caughtUp(primary);
    const prisma = await openReplica();
    const slow = prisma.$queryRaw`
      SELECT pg_is_in_recovery() AS "isReplica", count(pg_sleep(CASE WHEN pg_is_in_recovery() THEN 100 END))::int AS slept
        FROM (SELECT 1 FROM access_token LIMIT 1) AS token`.then((rows) => rows);
    await expect
      .poll(() => replica.run("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'"))
      .toHaveLength(1);
    await primary.run('BEGIN; LOCK TABLE access_token IN ACCESS EXCLUSIVE MODE; COMMIT');
    expect(await slow).toEqual([{ isReplica: false, slept: 0 }]);
    expect(await prisma.$queryRaw`SELECT pg_is_in_recovery() AS "isReplica"`).toEqual([{ isReplica: true }]);
  });

  /** Asks again and again while the work is done. @returns the statuses of the answers, each once. */
  async function whileAsking(work: () => Promise<void>, of = service): Promise<number[]> {
    const statuses = new Set<number>();
    let isDone = false;
    const client = async () => {
      while (!isDone) {
        const response = await of.fetch(`/api/v1${DOMAIN}`);
        await response.text();
        statuses.add(response.status);
      }
    };
    const clients = [client(), client(), client()];
    await work().finally(() => {
      isDone = true;
    });
    await Promise.all(clients);
    return [...statuses];
  }

  const untilPrimaryIs = (state: string) =>
    expect.poll(async () => (await databases(service))[0]?.state).toBe(state);

  test('a replica that goes away costs no request, and is read from again when it is back', async () => {
    await untilReplicaIs('in use');
    const statuses = await whileAsking(async () => {
      await replica.kill();
      await untilReplicaIs('left out');
      await replica.start();
      await untilReplicaIs('in use');
    });
    expect(statuses).toEqual([200]);
    expect(service.logged.map(({ msg }) => msg)).toEqual(
      expect.arrayContaining(['the replica is left out', 'the replica is read from again']),
    );
  });

  test.skipIf(!IS_LONG)('a replica that hangs costs no request', async () => {
    const hanging = () => replica.whileFrozen(() => untilReplicaIs('left out'));
    expect(await whileAsking(hanging)).toEqual([200]);
    await untilReplicaIs('in use');
  });

  test('the loss of the primary costs no read', async () => {
    const token = await service.createToken();
    const newer = { 'if-none-match': 'W/"9000000000000000000-abcdefgh"' };
    await replica.caughtUp(primary);
    const statuses = await whileAsking(async () => {
      await primary.stop();
      await untilPrimaryIs('left out');
      expect((await service.fetch('/readyz')).status).toBe(200);
      expect((await service.rest(`${DOMAIN}/dns`, bearer(token))).status).toBe(200);
      // What only the primary can know is not guessed.
      const unknown = bearer(`dms_${'x'.repeat(43)}`);
      for (const [path, more] of [
        [`${DOMAIN}/dns`, newer],
        [`${DOMAIN}/dns`, unknown],
        ['/changes', {}],
      ] as const) {
        const { status, fields } = await service.rest(path, { ...bearer(token), ...more });
        expect([path, status, fields.has('retry-after')]).toEqual([path, 503, true]);
      }
      await primary.start();
      await untilPrimaryIs('in use');
    });
    expect(statuses).toEqual([200]);
    await record('after the loss');
  });

  test.skipIf(!IS_LONG)('while the primary is away, one replica of two is enough', async () => {
    const second = await primary.startReplica();
    onTestFinished(() => second.remove());
    const of = await startServiceForTest({ database, ...readingFrom(primary, [replica, second]) });
    const states = async () => (await databases(of)).map(({ state }) => state);
    await expect.poll(states).toEqual(['in use', 'in use', 'in use']);
    const statuses = await whileAsking(async () => {
      await primary.stop();
      await expect.poll(states).toEqual(['left out', 'in use', 'in use']);
      await second.kill();
      await expect.poll(states).toEqual(['left out', 'in use', 'left out']);
    }, of);
    // What was being read from the one that is lost cannot be read elsewhere.
    expect([200, 503]).toEqual(expect.arrayContaining(statuses));
    for (let time = 0; time < 10; time += 1) expect((await of.rest(DOMAIN)).status).toBe(200);
    await primary.start();
    await untilPrimaryIs('in use');
  });

  test('another database of the replica is never read from', async () => {
    await primary.run('CREATE DATABASE other');
    await replica.caughtUp(primary);
    const url = new URL(replica.url);
    url.pathname = '/other';
    const of = await startServiceForTest({ database, ...readingFrom(primary, [{ url: url.href }]) });
    const reason = 'It is no replica of the database at DATABASE_URL.';
    expect((await databases(of))[1]).toMatchObject({ state: 'left out', reason });
    expect((await of.rest(DOMAIN)).status).toBe(200);
  });

  test('a replica that was promoted is left out: it is another database from then on', async () => {
    await replica.run('SELECT pg_promote()');
    const reason = async () => (await databases(service))[1]?.reason;
    await expect.poll(reason).toBe('It is no replica any more: it takes writes itself.');
  });
});

describe.skipIf(!HAS_POSTGRESQL || TEST_SERVER !== undefined || !IS_LONG)('after a failover', () => {
  const keep = keepUntilEnd();
  let former: PostgresqlCluster;
  let promoted: PostgresqlCluster;
  /** Of the former primary, with what it wrote last. */
  let strayed: PostgresqlCluster;
  let database: Database;

  beforeAll(async () => {
    former = keep(await PostgresqlCluster.start({ wal_keep_size: '256MB' }));
    const before = await openMigrated(former.url);
    promoted = keep(await former.startReplica());
    strayed = keep(await former.startReplica());
    await promoted.caughtUp(former);
    await promoted.stop();
    await headerChanger(before)('lost', 'lost.example');
    await strayed.caughtUp(former);
    await before.close();
    await former.shutDown();
    await promoted.start();
    await promoted.run('SELECT pg_promote()');
    database = keep(await openMigrated(promoted.url));
  });

  const optionsFor = (replica: PostgresqlCluster) => ({
    database,
    ...readingFrom(promoted, [replica], 1_800_000),
  });

  /** While the new primary's log grows beyond what the other has, with a process started anew. */
  async function neverReads(replica: PostgresqlCluster, ofReplica: { isRestarted: boolean }): Promise<void> {
    const record = headerChanger(database);
    for (let start = 0; start < 2; start += 1) {
      const of = await startTestService(optionsFor(replica));
      for (let time = 0; time < 50; time += 1) await record(`value ${time}`, `new${start}.example`);
      await promoted.run('SELECT pg_switch_wal()');
      for (let second = 0; second < 4; second += 1) {
        expect((await fetch(`${of.url}/api/v1/domain/lost.example`)).status).toBe(404);
        const reason = expect.stringContaining('another past');
        expect((await databases(of))[1]).toMatchObject({ state: 'left out', reason });
        await pause(1000);
      }
      await of.stop();
      if (ofReplica.isRestarted) {
        await replica.stop();
        await replica.start();
      }
    }
  }

  test('a replica with changes that the new primary does not have is never read from', () =>
    neverReads(strayed, { isRestarted: true }));

  test('a former primary that was started as a standby without pg_rewind is never read from', async () => {
    await former.follow(promoted);
    await former.start();
    // PostgreSQL itself refuses its next start: it knows the new timeline by then.
    await neverReads(former, { isRestarted: false });
  });

  test('a new replica of the new primary is read from', async () => {
    const good = await promoted.startReplica();
    onTestFinished(() => good.remove());
    const of = await startServiceForTest(optionsFor(good));
    const state = async () => (await databases(of))[1]?.state;
    await expect.poll(state).toBe('in use');
    // A primary that starts again is another one, until its replica has what it has written since.
    await promoted.stop();
    await promoted.start();
    await expect.poll(state).toBe('in use');
  });
});

describe.skipIf(!HAS_POSTGRESQL || TEST_SERVER !== undefined || !IS_LONG)('with synchronous standbys', () => {
  const keep = keepUntilEnd();
  test('the start warns of a replica that is none of them: it shows commits before the primary does', async () => {
    const primary = keep(await PostgresqlCluster.start({ wal_keep_size: '256MB' }));
    const synchronous = keep(await primary.startReplica({ cluster_name: 'one' }));
    const other = keep(await primary.startReplica({ cluster_name: 'other' }));
    await primary.run(
      "ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (one, two)'",
      'SELECT pg_reload_conf()',
    );
    const database = keep(await openMigrated(primary.url));
    const of = keep(await startTestService({ database, ...readingFrom(primary, [synchronous, other]) }));
    const warnings = of.logged.filter(({ msg }) => String(msg).includes('synchronous_standby_names'));
    const told = expect.stringContaining(new URL(other.url).port);
    expect(warnings.map(({ replica }) => replica)).toEqual([told]);
  });
});
