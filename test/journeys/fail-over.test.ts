import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Database } from '../../src/database/client.js';
import { openMigrated, TEST_SERVER } from '../support/database.js';
import { headerChanger } from '../support/events.js';
import { freePort } from '../support/free-port.js';
import { HAS_POSTGRESQL, PostgresqlCluster } from '../support/postgresql-cluster.js';
import { startTestService, type TestService } from '../support/service.js';

/** Starts an address on loopback that leads to a server, and later to another. */
async function startAddress(first: PostgresqlCluster) {
  let target = first;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(portOf(target), '127.0.0.1');
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {}).on('close', () => [client, upstream].map((each) => each.destroy()));
    }
    client.pipe(upstream).pipe(client);
  });
  const port = await freePort();
  await once(server.listen(port, '127.0.0.1'), 'listening');
  return {
    port,
    moveTo(cluster: PostgresqlCluster) {
      target = cluster;
    },
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

const portOf = ({ url }: PostgresqlCluster) => Number(new URL(url).port);

describe.skipIf(!HAS_POSTGRESQL || TEST_SERVER !== undefined)('with two standbys', () => {
  let primary: PostgresqlCluster;
  let standby: PostgresqlCluster;
  let other: PostgresqlCluster;
  let address: Awaited<ReturnType<typeof startAddress>>;
  let database: Database;
  let service: TestService;

  beforeAll(async () => {
    primary = await PostgresqlCluster.start({ max_connections: '60', wal_keep_size: '256MB' });
    standby = await primary.startReplica({ wal_keep_size: '256MB' });
    other = await primary.startReplica();
    address = await startAddress(primary);
    const databaseUrl = `postgresql://dms@127.0.0.1:${address.port}/postgres`;
    database = await openMigrated(databaseUrl);
    const readReplicas = { databaseUrl, urls: [standby.url, other.url], mostBehind: 60_000 };
    service = await startTestService({ database, role: 'api', readReplicas });
  });
  afterAll(async () => {
    await service?.stop();
    await database?.close();
    address?.close();
    for (const cluster of [other, standby, primary]) await cluster?.remove();
  });

  async function ask(path: string) {
    const response = await fetch(service.url + path);
    return { status: response.status, body: JSON.parse(await response.text()) };
  }

  async function states(): Promise<readonly string[]> {
    const { body } = await ask('/readyz');
    return body.databases.map(({ state }: { readonly state: string }) => state);
  }

  test('after a fail-over by the documented steps, a service goes on without a restart: reads, recording, cursors, and the other standby', async () => {
    const record = headerChanger(database);
    await record('one');
    await record('two');
    await standby.caughtUp(primary);
    await other.caughtUp(primary);
    await expect.poll(states).toEqual(['in use', 'in use', 'in use']);
    const before = await ask('/api/v1/changes?first=1');
    expect(before).toMatchObject({ status: 200 });

    const steps =
      /^### Fail-over$.*?^```sh\n(.*?)^```$/ms.exec(await readFile('docs/operating.md', 'utf8'))?.[1] ?? '';
    await primary.shell(steps, {
      FORMER_DATA: primary.folder,
      STANDBY: standby.url,
      OTHER_STANDBY: other.url,
      CONNECTION_TO_NEW_PRIMARY: `host=127.0.0.1 port=${portOf(standby)} user=dms`,
    });
    expect((await ask('/api/v1/domain/example.com')).status).toBe(200);
    address.moveTo(standby);

    await expect.poll(() => record('three').then(() => 'recorded', String)).toBe('recorded');
    await expect.poll(states).toEqual(['in use', 'in use', 'in use']);
    const after = await ask(`/api/v1/changes?after=${encodeURIComponent(before.body.next)}`);
    expect([after.status, JSON.stringify(after.body).includes('three')]).toEqual([200, true]);
    await other.caughtUp(standby);
    const [row] = await other.run("SELECT count(*)::int AS found FROM header_change WHERE value = 'three'");
    expect(row).toEqual({ found: 1 });
  });
});
