import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openConnections } from '../../src/database/client.js';
import { runDms, startDms, startLocalDms, startNpm } from '../journeys/dms-command.js';
import { beginRequest, untilServing } from '../journeys/serving.js';
import { graphqlRequest } from '../support/ask.js';
import { newDataDirectory, removeDataDirectory } from '../support/data-directory.js';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { insertDomain } from '../support/rows.js';
import { createTestToken } from '../support/service.js';
import { prepareFolder } from '../support/temporary-folder.js';

// A new embedded database takes seconds, and more on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const { write } = prepareFolder();

/** Serves in the process of the test. */
async function serve(environment: Record<string, string>) {
  const { stdout, result, stop } = startLocalDms(['serve'], { PORT: '0', ...environment });
  const end = () => {
    stop();
    return result;
  };
  onTestFinished(async () => void (await end()));
  return { ...(await untilServing(stdout, result)), end };
}

/** Serves in a process of its own, the API alone. */
async function startServing(environment: Record<string, string>) {
  const command = startDms(['serve'], { PORT: '0', ROLE: 'api', ...environment });
  onTestFinished(async () => {
    command.child.kill('SIGKILL');
    await command.result;
  });
  return { ...command, ...(await untilServing(command.child.stdout, command.result)) };
}

async function openDatabase(): Promise<TestDatabase> {
  const database = await openTestDatabase();
  onTestFinished(() => database.close());
  return database;
}

async function freshDirectory(): Promise<string> {
  const directory = await newDataDirectory();
  onTestFinished(() => removeDataDirectory(directory));
  return directory;
}

/** As a kill leaves it: with a database without a migration. */
async function unseededDirectory(): Promise<string> {
  const dataDirectory = await freshDirectory();
  await (await openConnections({ dataDirectory, graceMilliseconds: 0 })).close();
  return dataDirectory;
}

test('dms serve on a new embedded database records the samples, says so and where the database is, and prints a curl line that works', async () => {
  const dataDirectory = await freshDirectory();
  const { said } = await serve({ DATA_DIR: dataDirectory, SAMPLES: 'on' });
  expect(said).toMatch(/^Recorded \d+ sample domains \(SAMPLES=off starts empty\)\.$/m);
  expect(said).toMatch(new RegExp(`^Database: embedded, in ${dataDirectory}$`, 'm'));
  const response = await fetch(/^Try: +curl (\S+)$/m.exec(said)?.[1] ?? '');
  expect(await response.json()).toMatchObject({ domain: 'example.com' });
});

test('dms serve, killed before it recorded a sample, says at its next start that it has done so, and then no more', async () => {
  const dataDirectory = await unseededDirectory();
  const again = await serve({ DATA_DIR: dataDirectory, SAMPLES: 'on' });
  expect(again.said).toMatch(/^Recorded \d+ sample domains/m);
  await again.end();
  expect((await serve({ DATA_DIR: dataDirectory, SAMPLES: 'on' })).said).not.toContain('sample');
});

test('dms serve finds no samples wanted in a database that dms migrate has made, which says what it has done, and then that it is up to date', async () => {
  const dataDirectory = await freshDirectory();
  const stdout = expect.stringMatching(/^(applied \S+\n)+$/);
  const migrated = await runDms(['migrate'], { DATA_DIR: dataDirectory });
  expect(migrated).toMatchObject({ code: 0, stdout, stderr: '' });
  const again = await runDms(['migrate'], { DATA_DIR: dataDirectory });
  expect(again).toMatchObject({ code: 0, stdout: 'The database is up to date.\n', stderr: '' });
  expect((await serve({ DATA_DIR: dataDirectory, SAMPLES: 'on' })).said).not.toContain('sample');
});

test('dms serve starts empty with SAMPLES=off, though an earlier start was to record them', async () => {
  const { said, url } = await serve({ DATA_DIR: await unseededDirectory(), SAMPLES: 'off' });
  expect(said).toContain('Nothing is recorded yet: dms import FILE records.');
  expect((await fetch(`${url}/api/v1/domain/example.com`)).status).toBe(404);
});

test('dms serve prints a curl line with a place for the token where all need one, and that it listens everywhere', async () => {
  const database = await openDatabase();
  await insertDomain(database.pool, { name: 'example.com' });
  const settings = { AUTH_REQUIRED: 'all', HOST: '0.0.0.0', ROLE: 'api' };
  const { said, end } = await serve({ ...database.environment, ...settings });
  const [, header = '', url = ''] = /^Try: +curl -H '(.*)' (\S+)$/m.exec(said) ?? [];
  expect(header).toBe('authorization: Bearer <token>');
  const authorization = `Bearer ${await createTestToken(database, {})}`;
  expect((await fetch(url, { headers: { authorization } })).status).toBe(200);
  expect(said).toMatch(
    /^Serving at http:\/\/127\.0\.0\.1:\d+\/\n +and at every other address of this machine \(HOST=0\.0\.0\.0\)$/m,
  );
  expect((await end()).stderr).not.toContain('WARNING');
});

test('dms serve warns where everyone can read all that is recorded without a token', async () => {
  const { environment } = await openDatabase();
  const { end } = await serve({ ...environment, HOST: '0.0.0.0', AUTH_REQUIRED: 'scopes', ROLE: 'api' });
  expect((await end()).stderr).toMatch(
    /^dms: WARNING: everyone who can reach this service can read all .*: HOST is 0\.0\.0\.0,/m,
  );
});

test.each(['', '--workers=2'])(
  'dms serve %s exits 1 with one line that names PORT where the port is in use',
  async (option) => {
    const { environment } = await openDatabase();
    const occupant = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void occupant.close());
    await once(occupant, 'listening');
    const PORT = String(Object(occupant.address()).port);
    const stderr = /^dms: Port \d+ of 127\.0\.0\.1 is in use: set PORT to [^\n]+\n$/;
    const result = await startDms(['serve', option].filter(Boolean), { ...environment, PORT }).result;
    expect(result).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(stderr) });
  },
);

test('dms serve exits 1 where it cannot begin, also with a Redis that it tries to connect to', async () => {
  const database = await openDatabase();
  const PERSISTED_ONLY = write('operations.json', '{"a":"{ nonsense }"}');
  const settings = { PORT: '0', PERSISTED_ONLY, REDIS_URL: 'redis://127.0.0.1:1' };
  const { result } = startDms(['serve'], { ...database.environment, ...settings });
  const stderr = /\ndms: PERSISTED_ONLY: the operation a of the file is not allowed: [^\n]+\n$/;
  expect(await result).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(stderr) });
});

/** Has queries of these tables wait, until the test ends or a ROLLBACK. */
async function lockTables(database: TestDatabase, tables: string) {
  const lock = await database.pool.connect();
  onTestFinished(async () => lock.release(true));
  await lock.query(`BEGIN; LOCK TABLE ${tables} IN ACCESS EXCLUSIVE MODE`);
  return lock;
}

test('dms serve completes slow requests of both APIs, accepts no new ones, is not ready any more, and ends with exit code 0 on SIGTERM', async () => {
  const database = await openDatabase();
  await insertDomain(database.pool, { name: 'example.com' });
  const settings = { ...database.environment, METRICS_PORT: '0' };
  const { child, result, url, metricsUrl } = await startServing(settings);
  const lock = await lockTables(database, 'domain');
  const asked = [fetch(`${url}/api/v1/domain/example.com`), askGraphql(url)];
  await untilInFlight(metricsUrl, asked.length);
  child.kill('SIGTERM');
  await untilRejected(url);
  const ready = await fetch(`${metricsUrl}/readyz`);
  expect([ready.status, await ready.json()]).toMatchObject([503, { reason: 'The service is stopping.' }]);
  expect((await fetch(`${metricsUrl}/livez`)).status).toBe(200);
  await lock.query('ROLLBACK');
  const responses = await Promise.all(asked);
  expect(responses.map(({ status, headers }) => [status, headers.get('connection')])).toEqual([
    [200, 'close'],
    [200, 'close'],
  ]);
  expect(await responses[0]?.json()).toMatchObject({ domain: 'example.com' });
  expect(await responses[1]?.json()).toMatchObject({ data: { domain: { name: 'example.com' } } });
  expect(await result).toMatchObject({ code: 0, signal: null });
});

test('dms serve cuts off requests that never end when SHUTDOWN_TIMEOUT is over, and exits 0; logs no failure of them though the database does not answer', async () => {
  const database = await openDatabase();
  const settings = { ...database.environment, METRICS_PORT: '0', SHUTDOWN_TIMEOUT: '500ms' };
  const { child, result, url, metricsUrl } = await startServing(settings);
  await lockTables(database, 'domain, access_token');
  const { response } = beginRequest(url);
  const path = `${url}/api/v1/domain/example.com`;
  const withToken = { headers: { authorization: `Bearer dms_${'x'.repeat(43)}` } };
  const asked = Promise.allSettled([fetch(path), fetch(path, withToken), askGraphql(url)]);
  await untilInFlight(metricsUrl, 4);
  child.kill('SIGTERM');
  await response;
  expect((await asked).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  expect(await result).toMatchObject({
    ...{ code: 0, signal: null },
    stderr: 'Stopping: requests in progress are completed first.\n',
  });
});

/** With ten minutes to stop, and a request whose body is not complete. */
async function startWithRequest() {
  const { environment } = await openDatabase();
  const service = await startServing({ ...environment, METRICS_PORT: '0', SHUTDOWN_TIMEOUT: '10m' });
  const request = beginRequest(service.url);
  await untilInFlight(service.metricsUrl, 1);
  return { ...service, request };
}

test('dms serve ends at once on a second signal later', async () => {
  const { child, result, request } = await startWithRequest();
  const asking = setInterval(() => child.kill('SIGTERM'), 100);
  onTestFinished(async () => clearInterval(asking));
  await request.response;
  expect(await result).toMatchObject({ code: null, signal: 'SIGTERM' });
});

test('dms serve completes requests in progress on two signals at once, as by Ctrl-C in npm start', async () => {
  const { child, result, url, request } = await startWithRequest();
  child.kill('SIGINT');
  child.kill('SIGTERM');
  await untilRejected(url);
  request.finish();
  expect(await request.response).toMatch(/^HTTP\/1\.1 200 /);
  expect(await result).toMatchObject({ code: 0, signal: null });
});

test.each(['SIGTERM', 'SIGINT'] as const)('npm start passes %s on to the service', async (signal) => {
  const database = await openDatabase();
  const npm = startNpm({ ...database.environment, PORT: '0', ROLE: 'api' });
  const { url } = await untilServing(npm.child.stdout, npm.result);
  npm.child.kill(signal);
  expect((await npm.result).stderr).toContain('Stopping: requests in progress are completed first.');
  await expect(fetch(`${url}/livez`)).rejects.toThrow();
});

test('dms worker has probes and metrics on METRICS_PORT, and its port is freed when it ends', async () => {
  const database = await openDatabase();
  const settings = { METRICS_PORT: '0', DNS_SERVERS: '127.0.0.1:9' };
  const { child, result } = startDms(['worker'], { ...database.environment, ...settings });
  const metricsUrl = await new Promise<string>((resolve) => {
    child.stderr?.on('data', (part: string) => {
      const url = /^Metrics: (\S+)\/metrics$/m.exec(part)?.[1];
      if (url !== undefined) resolve(url);
    });
  });
  const ready = await fetch(`${metricsUrl}/readyz`);
  expect([ready.status, await ready.json()]).toEqual([200, { status: 'ok' }]);
  expect((await fetch(`${metricsUrl}/livez`)).status).toBe(200);
  expect(await (await fetch(`${metricsUrl}/metrics`)).text()).toContain('dms_observations_total');
  child.kill('SIGTERM');
  expect(await result).toMatchObject({ code: 0 });
  await expect(fetch(`${metricsUrl}/livez`)).rejects.toThrow();
});

test('the log of dms serve holds no secret, wherever a client sends it, up to its end with exit code 0 on SIGINT', async () => {
  const database = await openDatabase();
  // So that errors are logged: what a GraphQL query with secrets meets.
  const { child, result, url } = await startServing({ ...database.environment, LOG_LEVEL: 'debug' });
  await database.pool.query('ALTER TABLE domain RENAME TO gone');
  const secret = `dms_${'s3cret-'.repeat(7).slice(0, 43)}`;
  const get = (path: string, headers = {}) => fetch(url + path, { headers });
  const variables = { name: 'hunter2.example', password: 'hunter2' };
  const responses = await Promise.all([
    get(`/api/v1/domain/${secret}`),
    get('/api/v1/domain/example.com?access_token=hunter2'),
    get('/api/v1/domain/example.com;access_token=hunter2'),
    get('/', { authorization: `Bearer ${secret}` }),
    get('/', { authorization: 'Basic aHVudGVyMjpodW50ZXIy' }),
    get('/', { cookie: 'session=hunter2', 'x-api-key': 'hunter2', 'x-request-id': secret }),
    askGraphql(url, 'query($name: String!) { domain(name: $name) { name } }', variables),
    askGraphql(url, `{ domain(name: "${secret}") { name } }`),
    get('/graphql?query={domain(name:"hunter2.example"){name}}'),
  ]);
  for (const response of responses) await response.text();
  child.kill('SIGINT');
  const { code, signal, stderr } = await result;
  expect([code, signal]).toEqual([0, null]);
  expect(stderr).toContain('"msg":"request failed"');
  expect(stderr).toContain('/api/v1/domain/dms_[redacted]');
  expect(stderr).not.toMatch(/s3cret|hunter2|aHVudGVy/);
});

function askGraphql(url: string, query = '{ domain(name: "example.com") { name } }', variables = {}) {
  return fetch(`${url}/graphql`, graphqlRequest(query, variables));
}

/** Settles when the service takes no connections any more. */
async function untilRejected(url: string): Promise<void> {
  const probe = () => fetch(`${url}/livez`).catch(() => 'rejected');
  await expect.poll(probe, { timeout: 30_000 }).toBe('rejected');
}

/** Settles when so many requests are under way, as the metrics of a service tell. */
async function untilInFlight(metricsUrl: string, wanted: number): Promise<void> {
  const inFlight = async () =>
    /^dms_http_requests_in_flight (\d+)$/m.exec(await (await fetch(`${metricsUrl}/metrics`)).text())?.[1];
  await expect.poll(inFlight).toBe(String(wanted));
}
