import { Registry } from 'prom-client';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { readSettings } from '../../src/config/env.js';
import { listWatched } from '../../src/observer/schedule/watch-list.js';
import { startObserving } from '../../src/observing.js';
import { createLogger } from '../../src/telemetry/logging.js';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { type DnsTestServer, startDnsServer } from '../support/dns-server.js';
import { repeats } from '../support/long-form.js';
import { startReceiver } from '../support/receiver.js';
import { startHttpServer, type WebServer } from '../support/web-server.js';
import { runDms } from './dms-command.js';

/** In microseconds, from one look to the next: what is watched every hour is due by then. */
const STEP = 7_200_000_000n;
const WAITING = { timeout: 60_000, interval: 50 };
const DOMAINS = Array.from({ length: 5 }, (_, at) => `d${at + 1}.example`);

let database: TestDatabase;
let dns: DnsTestServer;
let site: WebServer;
let receiver: Awaited<ReturnType<typeof startReceiver>>;
let stopObserving: (() => Promise<void>) | undefined;
/** The clock of the observer and the sender. */
let clock = BigInt(Date.now()) * 1000n;
let looks = 0;
const mail = new Map(DOMAINS.map((name) => [name, 'mail.example.net.']));

beforeAll(async () => {
  [database, dns, site, receiver] = await Promise.all([
    ...[openTestDatabase(), startDnsServer(), startHttpServer(), startReceiver()],
  ] as const);
  const settings = readSettings({
    DNS_SERVERS: `127.0.0.1:${dns.port}`,
    OBSERVE_PRIVATE: 'allow',
    NOTIFY_PRIVATE: 'allow',
    OBSERVE_HTTPS_PORT: '1',
    OBSERVE_HTTP_PORT: String(site.port),
  });
  const telemetry = { registry: new Registry(), tracing: null };
  stopObserving = startObserving(
    settings,
    database,
    createLogger({ level: 'silent', secrets: [] }),
    () => clock,
    telemetry,
  );
}, 60_000);

afterAll(async () => {
  await stopObserving?.();
  await Promise.all([database?.close(), dns?.close(), site?.close(), receiver?.close()]);
});

/** A step later: of a pool of four addresses another two, another serial, ETag and nonce. */
async function look(): Promise<void> {
  looks += 1;
  const zones = DOMAINS.map((name, at) =>
    [
      `$ORIGIN ${name}.`,
      `@ SOA ns1.example.net. hostmaster.example.net. ${looks} 7200 900 1209600 300`,
      '@ NS ns1.example.net.',
      '@ A 127.0.0.1',
      `@ A 127.0.0.${2 + ((looks * (at + 1) + (looks >> 1)) % 3)}`,
      `@ MX 10 ${mail.get(name)}`,
    ].join('\n'),
  );
  dns.setZone(zones.join('\n'));
  site.serve({
    fields: [
      ['Server', 'nginx'],
      ['ETag', `"${looks}"`],
      ['Content-Security-Policy', `script-src 'nonce-${looks}'`],
    ],
  });
  clock += STEP;
  const observed = async () => {
    const times: (bigint | null | undefined)[] = [];
    for await (const batch of listWatched(database.writingPrisma)) {
      times.push(...batch.map(({ observedAt }) => observedAt));
    }
    return times;
  };
  await expect.poll(observed, WAITING).toEqual(DOMAINS.map(() => clock));
}

function dms(...args: readonly string[]) {
  return runDms(args, { ...database.environment, NOTIFY_PRIVATE: 'allow' });
}

test('whoever watches five domains is told of the one whose mail server moves, by its next look, and of none of the addresses that rotate', async () => {
  expect(await dms('watch', 'add', ...DOMAINS, '--every', '1h')).toMatchObject({ code: 0 });
  // Until it is known that the addresses rotate.
  for (let known = 0; known < 8; known += 1) await look();
  const added = await dms(
    'notify',
    'add',
    'ops',
    '--url',
    receiver.url,
    '--watched',
    '--watch-failures',
    '3',
  );
  expect(added).toMatchObject({ code: 0, stdout: expect.stringContaining('whsec_') });
  for (let quiet = 0; quiet < repeats(6, 3); quiet += 1) await look();
  expect(receiver.received).toEqual([]);
  mail.set('d3.example', 'elsewhere.example.');
  await look();
  await vi.waitFor(() => expect(receiver.received).toHaveLength(1), WAITING);
  for (let quiet = 0; quiet < repeats(4, 2); quiet += 1) await look();
  const told = receiver.received.map(({ body }) => JSON.parse(body).data.changes);
  expect(told).toEqual([
    [
      expect.objectContaining({
        domain: 'd3.example',
        kind: 'DNS_RECORD_ADDED',
        rdata: '10 elsewhere.example.',
      }),
      expect.objectContaining({
        domain: 'd3.example',
        kind: 'DNS_RECORD_REMOVED',
        rdata: '10 mail.example.net.',
      }),
    ],
  ]);
});
