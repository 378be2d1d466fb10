import { Resolver } from 'node:dns/promises';
import { createConnection } from 'node:net';
import { Registry } from 'prom-client';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { readSettings } from '../../src/config/env.js';
import { parseDmsLine } from '../../src/importers/dms.js';
import { formatInstant, parseInstant } from '../../src/model/instant.js';
import { listWatched, watchDomains } from '../../src/observer/schedule/watch-list.js';
import { startObserving } from '../../src/observing.js';
import { readHistories } from '../../src/recorder/read-histories.js';
import { createRecorder } from '../../src/recorder/recorder.js';
import { createLogger } from '../../src/telemetry/logging.js';
import { databaseOfFile, emptyTestDatabase } from '../support/database.js';
import { HAS_DEBIAN_SERVERS, startDebianServers } from '../support/debian-servers.js';
import { startDnsServer } from '../support/dns-server.js';
import { repeats } from '../support/long-form.js';
import { observationLine, timeText } from '../support/observations.js';
import { startReceiver } from '../support/receiver.js';
import { settingsToObserve, startHttpServer } from '../support/web-server.js';
import { runDms } from './dms-command.js';

const HOUR = 3_600_000_000n;
const WAITING = { timeout: 60_000, interval: 50 };

const database = databaseOfFile();
/** The clock of the observer and the sender, in microseconds. */
let clock = 0n;

// What watches ends after a test, and may write until then.
beforeEach(() => emptyTestDatabase(database));

/** Observes and notifies, by the clock, until the test ends. */
function startWatching(environment: Readonly<Record<string, string>>): void {
  const settings = readSettings({ NOTIFY_PRIVATE: 'allow', ...environment });
  const trace = <Result>(_name: string, _kind: string, _attributes: object, work: () => Promise<Result>) =>
    work();
  const monitoring = { registry: new Registry(), trace, observing: () => {} };
  const log = createLogger({ level: 'silent', secrets: [] });
  onTestFinished(startObserving(settings, database, log, () => clock, monitoring));
}

/** Settles when all that is watched has been observed at this time of the clock, and gives what is listed. */
async function observed() {
  const listed = async () => {
    const all = [];
    for await (const batch of listWatched(database.writingPrisma)) all.push(...batch);
    return all;
  };
  await expect
    .poll(async () => (await listed()).every(({ observedAt }) => observedAt === clock), WAITING)
    .toBe(true);
  return listed();
}

const dms = (...args: readonly string[]) =>
  runDms(args, { ...database.environment, NOTIFY_PRIVATE: 'allow' });

test('whoever watches five domains is told of the one whose mail server moves, by its next look, and of none of the addresses that rotate', async () => {
  const [dns, site, receiver] = await Promise.all([startDnsServer(), startHttpServer(), startReceiver()]);
  onTestFinished(() => Promise.all([dns.close(), site.close(), receiver.close()]).then(() => {}));
  const domains = [1, 2, 3, 4, 5].map((number) => `d${number}.example`);
  /** Of a pool of three addresses another one, another serial, ETag and nonce. */
  const records = (turn: number, domain: string, mail: string) => [
    { type: 'SOA', data: `ns1.example.net. hostmaster.example.net. ${turn} 7200 900 1209600 300` },
    { type: 'NS', data: 'ns1.example.net.' },
    { type: 'A', data: '127.0.0.1' },
    { type: 'A', data: `127.0.0.${2 + ((turn * Number(domain[1]) + (turn >> 1)) % 3)}` },
    { type: 'MX', data: `10 ${mail}` },
  ];
  const fields = (turn: number): Record<string, string> => {
    const policy = `script-src 'nonce-${turn}'`;
    return { Server: 'nginx', ETag: `"${turn}"`, 'Content-Security-Policy': policy };
  };
  const MAIL = 'mail.example.net.';
  clock = BigInt(Date.now()) * 1000n;
  // What was recorded before tells that the addresses rotate.
  const past = Array.from({ length: 10 }, (_, turn) => turn).flatMap((turn) =>
    domains.map((domain) => {
      const own = records(turn, domain, MAIL).map((data) => ({ host: domain, class: 'IN', ...data }));
      const at = Date.parse(timeText(0)) / -1000 + Date.now() / 1000 + (turn - 10) * 7200;
      const line = observationLine({ domain, at, records: own, headers: fields(turn), status: 200 });
      return parseDmsLine(line, clock);
    }),
  );
  await createRecorder(database.pool).record(past);
  let turn = 10;
  const look = async (moved = '') => {
    const zones = domains.map((domain) => {
      const own = records(turn, domain, domain === moved ? 'elsewhere.example.' : MAIL);
      return `$ORIGIN ${domain}.\n${own.map(({ type, data }) => `@ ${type} ${data}\n`).join('')}`;
    });
    dns.setZone(zones.join(''));
    site.serve({ fields: Object.entries(fields(turn)) });
    turn += 1;
    clock += 2n * HOUR;
    await observed();
  };
  startWatching(settingsToObserve(dns.port, site.port));
  expect(await dms('watch', 'add', ...domains, '--every', '1h')).toMatchObject({ code: 0 });
  const options = '--watched --watch-failures 3'.split(' ');
  const added = await dms('notify', 'add', 'ops', '--url', receiver.url, ...options);
  expect(added).toMatchObject({ code: 0, stdout: expect.stringContaining('whsec_') });
  for (let quiet = 0; quiet < repeats(6, 2); quiet += 1) await look();
  expect(receiver.received).toEqual([]);
  await look('d3.example');
  await vi.waitFor(() => expect(receiver.received).toHaveLength(1), WAITING);
  for (let quiet = 0; quiet < repeats(4, 1); quiet += 1) await look('d3.example');
  expect(receiver.received.map(({ body }) => JSON.parse(body).data.changes)).toMatchObject([
    [
      { domain: 'd3.example', kind: 'DNS_RECORD_ADDED', rdata: '10 elsewhere.example.' },
      { domain: 'd3.example', kind: 'DNS_RECORD_REMOVED', rdata: '10 mail.example.net.' },
    ],
  ]);
});

const ZONE = `$ORIGIN example.test.
$TTL 60
@ SOA ns1 hostmaster 1 7200 900 1209600 300
@ NS ns1
@ A 127.0.0.1
ns1 A 127.0.0.1
`;
const SECURE = 'add_header Strict-Transport-Security "max-age=63072000"; return 200 "ok";';
const PLAIN = 'return 301 https://example.test/;';

test.skipIf(!HAS_DEBIAN_SERVERS)(
  'a site of nginx that is observed every eight hours keeps its headers while HTTPS is rejected for one look, and loses them once it is gone for a day',
  async () => {
    const servers = await startDebianServers(ZONE, PLAIN, SECURE);
    onTestFinished(servers.close);
    const start = parseInstant('2026-01-01T00:00:00Z');
    clock = start;
    const showing = async (tls: boolean) => {
      const ports = () => Promise.all([servers.sitePort, servers.tlsPort].map(accepts));
      await expect.poll(ports, WAITING).toEqual([true, tls]);
    };
    /** Lets the next look be made, with TLS or without, and gives what the watch list says. */
    const look = async (tls: boolean) => {
      servers.setSite(PLAIN, tls ? SECURE : undefined);
      await showing(tls);
      clock += 8n * HOUR;
      return (await observed())[0];
    };
    /** The changes of headers and the evidence, with the hours of their times. */
    const story = async () => {
      const hours = (time: bigint) => Number((time - start) / HOUR);
      for await (const { headers, responses } of readHistories(database.pool)) {
        const held = headers.filter(({ name }) => name === 'strict-transport-security');
        return {
          changed: [...new Set(headers.map(({ observedAt }) => hours(observedAt)))],
          held: held.map(({ value }) => value !== null),
          evidence: responses.map(({ observedAt, scheme, status }) => [hours(observedAt), scheme, status]),
        };
      }
      return 'nothing is recorded';
    };
    const secure = { scheme: 'https', status: 200, address: '127.0.0.1' };
    const plain = { scheme: 'http', status: 301, address: '127.0.0.1' };
    const heldBack = (checks: number, since: bigint) => ({
      ...plain,
      heldBack: { since: formatInstant(since), checks, until: formatInstant(since + 24n * HOUR) },
    });

    await showing(true);
    await resolving(servers.resolverPort);
    await watchDomains(database.writingPrisma, ['example.test'], 4n * HOUR, clock);
    const settings = settingsToObserve(servers.resolverPort, servers.sitePort);
    startWatching({ ...settings, OBSERVE_HTTPS_PORT: String(servers.tlsPort) });
    await observed();
    const before = { changed: [0], held: [true], evidence: [[0, 'https', 200]] };
    expect(await story()).toEqual(before);

    const held = { http: heldBack(1, start + 8n * HOUR) };
    expect(await look(false)).toMatchObject({ failures: 0, outcome: held });
    expect((await dms('watch', 'list')).stdout).toContain(
      'DNS ok; HTTP 301 from 127.0.0.1, not recorded: HTTPS answered before, and has been declined since ' +
        '2026-01-01T08:00:00Z (1 check); HTTP counts after 3 checks, from 2026-01-02T08:00:00Z\n',
    );
    expect((await look(true))?.outcome?.http).toEqual(secure);
    expect(await story()).toEqual(before);

    const gone = clock + 8n * HOUR;
    for (const checks of [1, 2, 3])
      expect((await look(false))?.outcome?.http).toEqual(heldBack(checks, gone));
    expect(await story()).toEqual(before);
    expect((await look(false))?.outcome?.http).toEqual(plain);
    const evidence = [...before.evidence, [48, 'http', 301]];
    expect(await story()).toEqual({
      changed: expect.arrayContaining([0, 48]),
      held: [true, false],
      evidence,
    });
    expect(await dms('verify')).toMatchObject({ code: 0 });
  },
);

async function resolving(port: number): Promise<void> {
  const resolver = new Resolver({ timeout: 500, tries: 1 });
  resolver.setServers([`127.0.0.1:${port}`]);
  await expect.poll(() => resolver.resolve4('example.test').catch(() => []), WAITING).toEqual(['127.0.0.1']);
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(port, '127.0.0.1', () => resolve(true));
    socket.on('error', () => resolve(false)).on('connect', () => socket.destroy());
  });
}
