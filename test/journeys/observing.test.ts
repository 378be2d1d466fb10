import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestHome, type TestHome } from '../support/database.js';
import { type DnsTestServer, startDnsServer } from '../support/dns-server.js';
import { REJECTING_PORT, startHttpServer, type WebServer } from '../support/web-server.js';
import { type DmsCommand, runDms, startDms } from './dms-command.js';
import { FURTHER_TYPES, HEADERS, NEVER, RECORDS, STAGES, storyOf, zoneAt } from './observed-stages.js';
import { type LocalServing, serveLocally } from './serving.js';

let home: TestHome;
let dns: DnsTestServer;
let site: WebServer;
let api: LocalServing;
let worker: DmsCommand;
let environment: Record<string, string>;

beforeAll(async () => {
  home = await createTestHome();
  dns = await startDnsServer();
  site = await startHttpServer();
  environment = {
    ...home.environment,
    ROLE: 'api',
    DNS_SERVERS: `127.0.0.1:${dns.port}`,
    OBSERVE_DNS_TYPES: FURTHER_TYPES,
    OBSERVE_PRIVATE: 'allow',
    OBSERVE_HTTPS_PORT: String(REJECTING_PORT),
    OBSERVE_HTTP_PORT: String(site.port),
  };
  api = await serveLocally(environment);
});

afterAll(async () => {
  worker?.child.kill('SIGKILL');
  await api.close();
  await Promise.all([dns.close(), site.close()]);
  await home.remove();
});

/**
 * Goes from stage to stage. The site is requested last at each look: while it responds, no query is under
 * way, and zone and site can become others at one time. Each stage is looked at twice.
 *
 * @returns settles when the last stage was looked at twice.
 */
function playStages(): Promise<void> {
  let looks = 0;
  const play = (at: number) => dns.setZone(zoneAt(at));
  play(0);
  return new Promise((done) => {
    site.serve(({ fields }) => {
      const stage = STAGES[Math.floor(looks / 2)] ?? STAGES.at(-1);
      const isDomainItself = fields.some(([name, value]) => /^host$/i.test(name) && /^example/.test(value));
      if (isDomainItself) {
        looks += 1;
        if (looks % 2 === 0 && looks / 2 < STAGES.length) play(looks / 2);
        if (looks === 2 * STAGES.length) done();
      }
      return stage?.site ?? {};
    });
  });
}

test('zone and site that change three times are told exactly, with every type of record', async () => {
  const played = playStages();
  const added = await runDms(['watch', 'add', 'example.test', '--every', '1s'], environment);
  expect([added.code, added.stdout]).toEqual([0, '1 added, 0 at a new interval, 0 already watched\n']);
  worker = startDms(['worker'], environment);
  await played;
  worker.child.kill('SIGTERM');
  expect((await worker.result).code).toBe(0);

  expect(await storyOf(`${api.url}/api/v1/domain/example.test`)).toEqual({
    domain: 'example.test',
    created: 0,
    lastUpdate: 4,
    dnsRecords: RECORDS,
    httpHeaders: HEADERS,
  });
});

test('a CNAME is recorded as the name’s own, and the address that it leads to under the owner that has it', async () => {
  dns.setZone(zoneAt(0));
  const { code } = await runDms(['observe', 'www.example.test'], environment);
  expect(code).toBe(0);
  dns.setZone(zoneAt(2));
  await runDms(['observe', 'www.example.test'], environment);
  const { dnsRecords } = (await storyOf(`${api.url}/api/v1/domain/www.example.test`)) as {
    dnsRecords: unknown[];
  };
  const chain = (type: string, host: string, fields: object, firstSeen: number, removed: number) => ({
    data: { host, class: 'IN', type, ...fields },
    firstSeen,
    removed,
  });
  expect(dnsRecords).toEqual(
    expect.arrayContaining([
      chain('A', 'example.test', { ip: '127.0.0.1' }, 0, 1),
      chain('CNAME', 'www.example.test', { target: 'example.test' }, 0, 1),
      chain('A', 'other.example.test', { ip: '127.0.0.1' }, 1, NEVER),
      chain('CNAME', 'www.example.test', { target: 'other.example.test' }, 1, NEVER),
    ]),
  );
});
