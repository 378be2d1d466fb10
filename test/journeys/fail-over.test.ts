import { readFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Database } from '../../src/database/client.js';
import { openMigrated, TEST_SERVER } from '../support/database.js';
import { headerChanger } from '../support/events.js';
import { keepUntilEnd } from '../support/keep.js';
import { HAS_POSTGRESQL, PostgresqlCluster } from '../support/postgresql-cluster.js';
import { startTestService, type TestService } from '../support/service.js';
import { listen } from '../support/web-server.js';

/** Starts an address on loopback that leads to a server, and later to another. */
async function startAddress(first: PostgresqlCluster) {
  let target = first;
  const server = createServer((client) => {
    const upstream = connect(portOf(target), '127.0.0.1');
    for (const socket of [client, upstream]) {
      socket.on('error', () => {}).on('close', () => [client, upstream].map((each) => each.destroy()));
    }
    client.pipe(upstream).pipe(client);
  });
  return Object.assign(await listen(server), {
    moveTo(cluster: PostgresqlCluster) {
      target = cluster;
    },
  });
}

const portOf = ({ url }: PostgresqlCluster) => Number(new URL(url).port);

describe.skipIf(!HAS_POSTGRESQL || TEST_SERVER !== undefined)('with two standbys', () => {
  const keep = keepUntilEnd();
  let primary: PostgresqlCluster;
  let standby: PostgresqlCluster;
  let other: PostgresqlCluster;
  let address: Awaited<ReturnType<typeof startAddress>>;
  let database: Database;
  let service: TestService;

  beforeAll(async () => {
    primary = keep(await PostgresqlCluster.start({ max_connections: '60', wal_keep_size: '256MB' }));
    standby = keep(await primary.startReplica({ wal_keep_size: '256MB' }));
    other = keep(await primary.startReplica());
    address = keep(await startAddress(primary));
    const databaseUrl = `postgresql://dms@127.0.0.1:${address.port}/postgres`;
    database = keep(await openMigrated(databaseUrl));
    const readReplicas = { databaseUrl, urls: [standby.url, other.url], mostBehind: 60_000 };
    service = keep(await startTestService({ database, role: 'api', readReplicas }));
  });

  async function states(): Promise<readonly string[]> {
    const { databases } = JSON.parse(await (await service.fetch('/readyz')).text());
    return databases.map(({ state }: { readonly state: string }) => state);
  }

  test('after a fail-over by the documented steps, a service goes on without a restart: reads, recording, cursors, and the other standby', async () => {
    const record = headerChanger(database);
    await record('one');
    await record('two');
    await standby.caughtUp(primary);
    await other.caughtUp(primary);
    await expect.poll(states).toEqual(['in use', 'in use', 'in use']);
    const before = await service.rest('/changes?first=1');
    expect(before).toMatchObject({ status: 200 });

    const steps =
      /^### Fail-over$.*?^```sh\n(.*?)^```$/ms.exec(await readFile('docs/operating.md', 'utf8'))?.[1] ?? '';
    await primary.shell(steps, {
      FORMER_DATA: primary.folder,
      STANDBY: standby.url,
      OTHER_STANDBY: other.url,
      CONNECTION_TO_NEW_PRIMARY: `host=127.0.0.1 port=${portOf(standby)} user=dms`,
    });
    expect((await service.rest('/domain/example.com')).status).toBe(200);
    address.moveTo(standby);

    await expect.poll(() => record('three').then(() => 'recorded', String)).toBe('recorded');
    await expect.poll(states).toEqual(['in use', 'in use', 'in use']);
    const after = await service.rest(`/changes?after=${encodeURIComponent(before.body.next)}`);
    expect([after.status, after.text.includes('three')]).toEqual([200, true]);
    await other.caughtUp(standby);
    const [row] = await other.run("SELECT count(*)::int AS found FROM header_change WHERE value = 'three'");
    expect(row).toEqual({ found: 1 });
  });
});
