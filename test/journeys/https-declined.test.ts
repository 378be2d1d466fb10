import { Resolver } from 'node:dns/promises';
import { createConnection } from 'node:net';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readSettings } from '../../src/config/env.js';
import { formatInstant, parseInstant } from '../../src/model/instant.js';
import { listWatched, watchDomains } from '../../src/observer/schedule/watch-list.js';
import { startObserving } from '../../src/observing.js';
import { readHistories } from '../../src/recorder/read-histories.js';
import { createLogger } from '../../src/telemetry/logging.js';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { type DebianServers, HAS_DEBIAN_SERVERS, startDebianServers } from '../support/debian-servers.js';
import { runDms } from './dms-command.js';

const HOUR = 3_600_000_000n;
const START = parseInstant('2026-01-01T00:00:00Z');
/** From one look to the next; what is watched every four hours is due by then. */
const STEP = 8n * HOUR;

const ZONE = `$ORIGIN example.test.
$TTL 60
@ SOA ns1 hostmaster 1 7200 900 1209600 300
@ NS ns1
@ A 127.0.0.1
ns1 A 127.0.0.1
`;
const SECURE = 'add_header Strict-Transport-Security "max-age=63072000"; return 200 "ok";';
const PLAIN = 'return 301 https://example.test/;';

describe.skipIf(!HAS_DEBIAN_SERVERS)('a site of nginx that is observed every eight hours', () => {
  let servers: DebianServers;
  let database: TestDatabase;
  let stopObserving: (() => Promise<void>) | undefined;
  let clock = START;

  beforeAll(async () => {
    servers = await startDebianServers(ZONE, PLAIN, SECURE);
    database = await openTestDatabase();
    const settings = readSettings({
      DNS_SERVERS: `127.0.0.1:${servers.resolverPort}`,
      OBSERVE_PRIVATE: 'allow',
      OBSERVE_HTTPS_PORT: String(servers.tlsPort),
      OBSERVE_HTTP_PORT: String(servers.sitePort),
    });
    const telemetry = { registry: new Registry(), tracing: null };
    const log = createLogger({ level: 'silent', secrets: [] });
    stopObserving = startObserving(settings, database, log, () => clock, telemetry);
  });

  afterAll(async () => {
    await stopObserving?.();
    await database?.close();
    await servers?.close();
  });

  /** Settles when nginx answers, with TLS or without. */
  async function showing(tls: boolean): Promise<void> {
    const ports = () => Promise.all([accepts(servers.sitePort), accepts(servers.tlsPort)]);
    await expect.poll(ports, { timeout: 60_000, interval: 50 }).toEqual([true, tls]);
  }

  /** Settles when the zone is answered for. */
  async function resolving(): Promise<void> {
    const resolver = new Resolver({ timeout: 500, tries: 1 });
    resolver.setServers([`127.0.0.1:${servers.resolverPort}`]);
    const ask = () => resolver.resolve4('example.test').catch(() => []);
    await expect.poll(ask, { timeout: 60_000, interval: 50 }).toEqual(['127.0.0.1']);
  }

  /** Lets the next look be made by the worker, with TLS or without, and gives what the watch list says. */
  async function look(tls: boolean): Promise<unknown> {
    servers.setSite(PLAIN, tls ? SECURE : undefined);
    await showing(tls);
    clock += STEP;
    await expect.poll(async () => (await watched()).at, { timeout: 60_000, interval: 50 }).toBe(clock);
    return (await watched()).http;
  }

  async function watched() {
    for await (const [domain] of listWatched(database.writingPrisma)) {
      return { at: domain?.observedAt, http: domain?.outcome?.http, failures: domain?.failures };
    }
    throw new Error('nothing is watched');
  }

  /** The changes of headers and the evidence, with the hours of their times. */
  async function story() {
    for await (const { headers, responses } of readHistories(database.pool)) {
      const hours = (time: bigint) => Number((time - START) / HOUR);
      return {
        changed: [...new Set(headers.map(({ observedAt }) => hours(observedAt)))],
        held: headers
          .filter(({ name }) => name === 'strict-transport-security')
          .map(({ value }) => value !== null),
        evidence: responses.map(({ observedAt, scheme, status }) => [hours(observedAt), scheme, status]),
      };
    }
    throw new Error('nothing is recorded');
  }

  test('keeps its headers while HTTPS is rejected for one look, and loses them once it is gone for a day', async () => {
    const secure = { scheme: 'https', status: 200, address: '127.0.0.1' };
    const plain = { scheme: 'http', status: 301, address: '127.0.0.1' };
    const heldBack = (checks: number, since: bigint) => ({
      ...plain,
      heldBack: { since: formatInstant(since), checks, until: formatInstant(since + 24n * HOUR) },
    });
    await Promise.all([resolving(), showing(true)]);
    await watchDomains(database.writingPrisma, ['example.test'], 4n * HOUR, clock);
    await expect.poll(async () => (await watched()).at).toBe(START);
    const before = await story();
    expect(before).toEqual({ changed: [0], held: [true], evidence: [[0, 'https', 200]] });

    expect(await look(false)).toEqual(heldBack(1, START + STEP));
    expect((await watched()).failures).toBe(0);
    const { stdout } = await runDms(['watch', 'list'], database.environment);
    expect(stdout).toContain(
      'DNS ok; HTTP 301 from 127.0.0.1, not recorded: HTTPS answered before, and has been declined since ' +
        '2026-01-01T08:00:00Z (1 check); HTTP counts after 3 checks, from 2026-01-02T08:00:00Z\n',
    );
    expect(await look(true)).toEqual(secure);
    expect(await story()).toEqual(before);

    const gone = clock + STEP;
    for (const checks of [1, 2, 3]) expect(await look(false)).toEqual(heldBack(checks, gone));
    expect(await story()).toEqual(before);
    expect(await look(false)).toEqual(plain);
    expect(await story()).toEqual({
      changed: expect.arrayContaining([0, 48]),
      held: [true, false],
      evidence: [
        [0, 'https', 200],
        [48, 'http', 301],
      ],
    });
    expect(await runDms(['verify'], database.environment)).toMatchObject({ code: 0 });
  });
});

/** Whether a process listens at a port. */
function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(port, '127.0.0.1');
    socket.once('connect', () => resolve(true));
    socket.once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
