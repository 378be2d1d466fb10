import { diag } from '@opentelemetry/api';
import { afterEach, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { runDms, startDms } from '../journeys/dms-command.js';
import { type LocalServing, serveLocally, untilServing } from '../journeys/serving.js';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { startDnsServer } from '../support/dns-server.js';
import { type OtlpReceiver, startOtlpReceiver } from '../support/otlp-receiver.js';
import { insertDomain } from '../support/rows.js';
import { REJECTING_PORT } from '../support/web-server.js';

let database: TestDatabase;
let collector: OtlpReceiver;
let environment: Record<string, string>;

beforeAll(async () => {
  database = await openTestDatabase();
  await insertDomain(database.pool, { name: 'example.com' });
  return () => database.close();
});

beforeEach(async () => {
  collector = await startOtlpReceiver();
  environment = {
    ...database.environment,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    // All that is seen is sent by the last flush, when the process stops.
    OTEL_BSP_SCHEDULE_DELAY: '600000',
  };
});
afterEach(() => collector.close());

/** Serves in the process of the test, where OpenTelemetry reads its variables itself. */
function serveTraced(settings: Readonly<Record<string, string>>): Promise<LocalServing> {
  const all = { ...environment, ROLE: 'api', ...settings };
  for (const [name, value] of Object.entries(all)) if (name.startsWith('OTEL_')) vi.stubEnv(name, value);
  onTestFinished(() => {
    vi.unstubAllEnvs();
    diag.disable();
  });
  return serveLocally(all);
}

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';
const CHILD = { traceparent: `00-${TRACE}-${PARENT}-01` };

async function request(url: string, headers: Record<string, string> = {}): Promise<void> {
  await (await fetch(url, { headers })).text();
}

test('a serving process sends a span for each request, under the client’s, and one for each statement under that', async () => {
  const serving = await serveTraced({ OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test' });
  const path = '/api/v1/domain/example.com?at=2024-06-01T00:00:00Z';
  await request(serving.url + path, { ...CHILD, 'x-request-id': 'traced-1' });
  await serving.close();
  const server = collector.spans.find(({ kind }) => kind === 2);
  expect(server).toMatchObject({
    traceId: TRACE,
    parentSpanId: PARENT,
    name: 'GET /api/v1/domain/{domain}',
    attributes: {
      'http.request.method': 'GET',
      'url.path': '/api/v1/domain/example.com',
      'url.scheme': 'http',
      'http.route': '/api/v1/domain/{domain}',
      'http.response.status_code': 200,
      'dms.request.id': 'traced-1',
    },
    resource: { 'service.name': 'domain-metadata-service', 'deployment.environment.name': 'test' },
  });
  expect(collector.spans.filter(({ kind }) => kind === 3)).toMatchObject([
    {
      traceId: TRACE,
      parentSpanId: server?.spanId,
      name: 'load domainHistory',
      attributes: { 'db.system.name': 'postgresql', 'db.operation.batch.size': 1 },
    },
  ]);
  expect(collector.text()).not.toContain('2024-06-01');
});

test('a serving process sends no secret of the settings, wherever a client has written it', async () => {
  const OTEL_EXPORTER_OTLP_HEADERS = 'x-collector=open-sesame';
  const serving = await serveTraced({ OTEL_EXPORTER_OTLP_HEADERS });
  const tracestate = `mine=open-sesame,yours=dms_${'t'.repeat(43)},other=stays`;
  const headers = { ...CHILD, 'x-request-id': 'my-open-sesame', tracestate };
  await request(`${serving.url}/api/v1/domain/open-sesame`, headers);
  await serving.close();
  const attributes = { 'url.path': '/api/v1/domain/[redacted]', 'dms.request.id': 'my-[redacted]' };
  expect(collector.spans.find(({ kind }) => kind === 2)).toMatchObject({ attributes });
  expect(collector.text()).not.toMatch(/open-sesame|tttt/);
  expect(collector.text()).toContain('mine=[redacted],yours=dms_[redacted],other=stays');
});

test('a serving process names the service as OTEL_SERVICE_NAME says, and samples as OTEL_TRACES_SAMPLER says', async () => {
  const sampler = { OTEL_SERVICE_NAME: 'mine', OTEL_TRACES_SAMPLER: 'parentbased_always_off' };
  const serving = await serveTraced(sampler);
  await request(serving.url);
  await request(serving.url, CHILD);
  await serving.close();
  expect(collector.spans).toMatchObject([{ traceId: TRACE, resource: { 'service.name': 'mine' } }]);
});

test('a serving process sends nothing where traces are turned off', async () => {
  const serving = await serveTraced({ OTEL_SDK_DISABLED: 'true' });
  await request(serving.url);
  await serving.close();
  expect(collector.text()).toBe('');
});

test('a serving process writes the trace’s id in the line of the log, and ends in time without its collector', async () => {
  await collector.close();
  const command = startDms(['serve'], { ...environment, ROLE: 'api', PORT: '0', LOG_LEVEL: 'info' });
  const { url } = await untilServing(command.child.stdout, command.result);
  await request(url, CHILD);
  command.child.kill('SIGTERM');
  const { code, stderr } = await command.result;
  expect([code, stderr]).toEqual([0, expect.stringContaining(`"traceId":"${TRACE}"`)]);
  const reason = `connect ECONNREFUSED ${new URL(collector.url).host}`;
  expect(stderr).toMatch(
    new RegExp(`"level":"warn","time":\\d+,"reason":"${reason}","msg":"[\\w ]*traces could not be sent"`),
  );
});

test('a worker sends a span for each observation, and for each batch that it records', async () => {
  const dns = await startDnsServer();
  onTestFinished(() => dns.close());
  const observing = {
    ...environment,
    DNS_SERVERS: `127.0.0.1:${dns.port}`,
    OBSERVE_PRIVATE: 'allow',
    OBSERVE_HTTPS_PORT: String(REJECTING_PORT),
    OBSERVE_HTTP_PORT: String(REJECTING_PORT),
  };
  await runDms(['watch', 'add', 'observed.example', '--every', '1h'], observing);
  const worker = startDms(['worker'], observing);
  const observed = 'SELECT FROM watched_domain WHERE outcome IS NOT NULL';
  await expect.poll(async () => (await database.pool.query(observed)).rows.length).toBe(1);
  worker.child.kill('SIGTERM');
  expect(await worker.result).toMatchObject({ code: 0 });
  const spanOf = (wanted: string) => collector.spans.find(({ name }) => name === wanted);
  expect(spanOf('observe')).toMatchObject({ kind: 1, attributes: { 'dms.domain': 'observed.example' } });
  expect(spanOf('record')).toMatchObject({ kind: 3, attributes: { 'db.system.name': 'postgresql' } });
});
