import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { watchDomains } from '../../src/observer/schedule/watch-list.js';
import { runDms, startDms } from '../journeys/dms-command.js';
import { beginRequest, untilServing } from '../journeys/serving.js';
import { openTestDatabase, TEST_SERVER } from '../support/database.js';
import { rcode } from '../support/dns-behaviours.js';
import { startDnsServer } from '../support/dns-server.js';
import { IS_LONG } from '../support/long-form.js';
import { observationLine } from '../support/observations.js';
import { childrenOf, isRunning } from '../support/processes.js';

const SLOW = { timeout: 120_000 };
const WORKERS = 2;

const database = await openTestDatabase();
afterAll(() => database.close());

type Service = Awaited<ReturnType<typeof start>>;

/** Starts a service for one test. */
async function serve(environment: Readonly<Record<string, string>>): Promise<Service> {
  const service = await start(environment);
  onTestFinished(() => end(service));
  return service;
}

async function end({ child, result, processId }: Service): Promise<void> {
  for (const id of childrenOf(processId)) process.kill(id, 'SIGCONT');
  child.kill('SIGKILL');
  await result;
}

async function start(environment: Readonly<Record<string, string>>) {
  const settings = { ...database.environment, PORT: '0', METRICS_PORT: '0', ROLE: 'api', ...environment };
  const command = startDms(['serve', '--workers', String(WORKERS)], settings);
  const { child, result } = command;
  let log = '';
  child.stderr?.on('data', (part: string) => {
    log += part;
  });
  const { said, url, metricsUrl } = await untilServing(child.stdout, result);
  expect(said.match(/Stop with Ctrl-C\./g)).toHaveLength(1);
  /** `processId` is that of the first one; `log` what it has written to standard error so far. */
  return { ...command, url, metricsUrl, processId: child.pid ?? 0, log: () => log };
}

/** The response to a request on a connection of its own. */
async function send(url: string, options: { signal?: AbortSignal; localAddress?: string } = {}) {
  const sent = request(url, { agent: new Agent({ keepAlive: false }), ...options }).end();
  const [response] = await once(sent, 'response');
  return { status: response.statusCode, fields: response.headers, body: await text(response) };
}

/** What comes of a probe: its status, or that there was no response. */
async function probe(url: string): Promise<number | 'rejected' | 'silent'> {
  // A connection that is handed over to a process which ends is closed only when the first one ends (node:cluster).
  const signal = AbortSignal.timeout(1_000);
  return send(`${url}/livez`, { signal }).then(
    ({ status }) => status,
    () => (signal.aborted ? 'silent' : 'rejected'),
  );
}

/** Requests whose bodies are not complete, on connections of their own, which all processes have begun to read. */
async function beginRequests(service: Service) {
  const begun = Array.from({ length: WORKERS }, () => beginRequest(service.url));
  await expect.poll(async () => (await series(service)).get('dms_http_requests_in_flight')).toBe(WORKERS);
  return begun;
}

/** The value of each series, by its name and labels. */
async function series({ metricsUrl }: Service): Promise<Map<string, number>> {
  const lines = (await send(`${metricsUrl}/metrics`)).body.split('\n');
  return new Map(
    lines
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]),
  );
}

/** The file that a process runs; of one that is ending, nothing. */
function programOf(processId: number): string | undefined {
  try {
    return readFileSync(`/proc/${processId}/cmdline`, 'utf8').split('\0')[1];
  } catch {
    return undefined;
  }
}

const NOT_FOUND = 'dms_http_requests_total{api="page",operation="page",status="404"}';

describe('the processes of dms serve --workers', SLOW, () => {
  const SETTINGS = { RATE_LIMIT_ANONYMOUS: '3' };
  let service: Service;
  /** Its clients, each from an address of its own: one more for each run of a test. */
  let clients = 0;

  beforeAll(async () => {
    const line = observationLine({ at: 1, records: ['192.0.2.1'] });
    await runDms(['import', '-'], database.environment, Readable.from([line]));
    service = await start(SETTINGS);
  });
  beforeEach(async () => {
    // A test that killed it runs once more.
    if (service.child.signalCode !== null) service = await start(SETTINGS);
  });
  afterEach(() => {
    for (const id of childrenOf(service.processId)) process.kill(id, 'SIGCONT');
  });
  afterAll(() => end(service));

  /** Its processes, once all run the program: one that was forked just now is still a copy of the first. */
  async function workers(): Promise<number[]> {
    let found: number[] = [];
    const programs = () => {
      found = childrenOf(service.processId);
      return found.map(programOf);
    };
    // It does not install or build, as dms.js would where the checkout has changed meanwhile.
    const program = expect.stringMatching(/\/dist\/main\.js$/);
    await expect.poll(programs).toEqual(Array.from({ length: WORKERS }, () => program));
    return found;
  }

  test('the processes of dms serve --workers answer connections to one port, each of them', async () => {
    const [one = 0, other = 0] = await workers();
    process.kill(one, 'SIGSTOP');
    let answered = 0;
    const requests = Array.from({ length: 4 }, async () => {
      await send(`${service.url}/livez`);
      answered += 1;
    });
    // The process that does not respond has got one, and gets no other until it takes that.
    await expect.poll(() => answered).toBe(3);
    process.kill(other, 'SIGSTOP');
    process.kill(one, 'SIGCONT');
    await Promise.all(requests);
    process.kill(other, 'SIGCONT');
  });

  test('the processes of dms serve --workers count a client together, without Redis', async () => {
    const left: string[] = [];
    clients += 1;
    const localAddress = `127.0.0.${1 + clients}`;
    for (let time = 0; time < 4; time += 1) {
      const { status, fields } = await send(`${service.url}/api/v1/domain/example.com`, { localAddress });
      left.push(`${status} ${/r=\d+/.exec(fields.ratelimit)}`);
    }
    expect(left).toEqual(['200 r=2', '200 r=1', '200 r=0', '429 r=0']);
  });

  test('the processes of dms serve --workers are replaced when they are killed, and requests go on; metrics are the sums of all that run', async () => {
    const [killed = 0, kept = 0] = await workers();
    const before = (await series(service)).get(NOT_FOUND) ?? 0;
    for (let time = 0; time < 4; time += 1) await send(`${service.url}/nothing`);
    await expect.poll(async () => (await series(service)).get(NOT_FOUND)).toBe(before + 4);
    process.kill(killed, 'SIGKILL');
    await expect.poll(() => probe(service.url), { interval: 20 }).toBe(200);
    await expect.poll(() => childrenOf(service.processId)).not.toContain(killed);
    expect(await workers()).toContain(kept);
    const reported = /^{"level":"error",.*"signal":"SIGKILL",.*"a process has ended: [^"]*"}$/m;
    await expect.poll(service.log).toMatch(reported);

    let after = 0;
    const count = async () => {
      after = (await series(service)).get(NOT_FOUND) ?? 0;
      return after;
    };
    // While a process starts, a scrape may fail.
    await expect.poll(count).toBeGreaterThan(0);
    process.kill(kept, 'SIGSTOP');
    // The other one gets the first.
    const requests = [send(`${service.url}/nothing`), send(`${service.url}/nothing`)];
    expect((await Promise.any(requests)).status).toBe(404);
    process.kill(kept, 'SIGCONT');
    await Promise.all(requests);
    await expect.poll(async () => (await series(service)).get(NOT_FOUND)).toBe(after + 2);
  });

  test('the processes of dms serve --workers tell what they read in the database once', async () => {
    const all = await series(service);
    expect(all.get('dms_import_lines_total{outcome="changed"}')).toBe(1);
    expect(all.get('process_start_time_seconds')).toBeGreaterThan(1e9);
  });

  test('the processes of dms serve --workers end when the first one is killed', async () => {
    const running = childrenOf(service.processId);
    expect(running).toHaveLength(WORKERS);
    service.child.kill('SIGKILL');
    await expect.poll(() => running.filter(isRunning)).toEqual([]);
    await expect.poll(() => probe(service.url)).toBe('rejected');
  });
});

// On a server, and in the long form.
describe.skipIf(TEST_SERVER === undefined && !IS_LONG)('dms serve --workers', SLOW, () => {
  test.each([
    ['SIGTERM to the first process', 'SIGTERM', false],
    ['Ctrl-C, which comes to all of them', 'SIGINT', true],
  ] as const)(
    'dms serve --workers completes requests in progress in every process on %s, and ends with 0',
    async (_what, name, toAll) => {
      const service = await serve({ SHUTDOWN_TIMEOUT: '10m' });
      const requests = await beginRequests(service);
      const children = childrenOf(service.processId);
      for (const id of [service.processId, ...(toAll ? children : [])]) process.kill(id, name);
      await expect.poll(() => probe(service.url), { interval: 20 }).toBe('rejected');
      const { status, body } = await send(`${service.metricsUrl}/readyz`);
      const stopping = { status: 'unavailable', reason: 'The service is stopping.' };
      expect([status, JSON.parse(body)]).toEqual([503, stopping]);
      for (const { finish } of requests) finish();
      for (const { response } of requests) expect(await response).toMatch(/^HTTP\/1\.1 200 /);
      expect(await service.result).toMatchObject({
        ...{ code: 0, signal: null },
        stderr: 'Stopping: requests in progress are completed first.\n',
      });
      expect(children.filter(isRunning)).toEqual([]);
    },
  );
});

describe.skipIf(!IS_LONG)('dms serve --workers in the long form', SLOW, () => {
  test('dms serve --workers ends all processes at once on a second signal later', async () => {
    const service = await serve({ SHUTDOWN_TIMEOUT: '10m' });
    const requests = await beginRequests(service);
    const children = childrenOf(service.processId);
    const again = setInterval(() => service.child.kill('SIGTERM'), 100);
    onTestFinished(async () => clearInterval(again));
    expect(await service.result).toMatchObject({ code: null, signal: 'SIGTERM' });
    await Promise.all(requests.map(({ response }) => response));
    await expect.poll(() => children.filter(isRunning)).toEqual([]);
  });

  test('dms serve --workers kills a process that does not stop, says so, and ends with 1', async () => {
    const service = await serve({ SHUTDOWN_TIMEOUT: '1s' });
    const children = childrenOf(service.processId);
    const [hanging = 0] = children;
    process.kill(hanging, 'SIGSTOP');
    service.child.kill('SIGTERM');
    const { code, stderr } = await service.result;
    expect(code).toBe(1);
    expect(stderr).toContain(`"pid":${hanging},"msg":"a process does not stop: it is killed"`);
    expect(children.filter(isRunning)).toEqual([]);
  });

  test('dms serve --workers has domains observed by one of the processes, and by the one that replaces it', async () => {
    const dns = await startDnsServer();
    onTestFinished(() => dns.close());
    const names = Array.from({ length: 3 }, (_, number) => `d${number}.example`);
    const asked = new Set<string>();
    let most = 0;
    for (const name of [...names, 'late.example']) {
      dns.behave(name, async (question) => {
        asked.add(name);
        most = Math.max(most, asked.size);
        await pause(100);
        asked.delete(name);
        return rcode(3)(question);
      });
    }
    const service = await serve({
      ...{ ROLE: 'all', DNS_SERVERS: `127.0.0.1:${dns.port}`, OBSERVE_DNS_TIMEOUT: '5s' },
      ...{ OBSERVE_CONCURRENCY: '1', OBSERVE_LEASE: '30s' },
    });
    const now = () => BigInt(Date.now()) * 1000n;
    const countObserved = () => database.prisma.watchedDomain.count({ where: { observedAt: { not: null } } });
    await watchDomains(database.prisma, names, null, now());
    await expect.poll(countObserved).toBe(names.length);
    const [leader = 0] = childrenOf(service.processId);
    process.kill(leader, 'SIGKILL');
    await watchDomains(database.prisma, ['late.example'], null, now());
    await expect.poll(countObserved).toBe(names.length + 1);
    expect(most).toBe(1);
  });
});
