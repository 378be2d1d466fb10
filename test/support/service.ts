import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { startApplication } from '../../src/application.js';
import { createToken } from '../../src/auth/tokens.js';
import { SCOPES } from '../../src/auth/viewer.js';
import { readSettings } from '../../src/config/env.js';
import type { Settings } from '../../src/config/settings.js';
import type { Database } from '../../src/database/client.js';
import type { TimeLimits } from '../../src/http/server.js';
import { recordSamples } from '../../src/importers/samples.js';
import { createRecorder } from '../../src/recorder/recorder.js';
import { createLogger } from '../../src/telemetry/logging.js';
import { askGraphql, askRest } from './ask.js';
import { openTestDatabase } from './database.js';
import { requireDocumented, requireDocumentedAnswers } from './documented-fetch.js';
import { type ObservationParts, observation } from './observations.js';

export interface TestServiceOptions extends Partial<Settings> {
  /** An open, migrated database, which stays open; absent: one of the service's own. */
  readonly database?: Database;
  /** How long clients may take; absent: as long as always. */
  readonly timeLimits?: TimeLimits;
}

/** By default a token has a name of its own, all scopes, and no end. */
type TestToken = Partial<Parameters<typeof createToken>[1]>;

export type TestService = Awaited<ReturnType<typeof startTestService>>;

/**
 * Starts the whole service; without limits that a test meets by chance. What its REST v1 answers to fetch()
 * must be documented: documented-fetch.ts.
 */
export async function startTestService(options: TestServiceOptions = {}) {
  const { database: given, timeLimits, ...overrides } = options;
  const database = given ?? (await openTestDatabase());
  const logged: Readonly<Record<string, unknown>>[] = [];
  const settings = { ...readSettings(TEST_ENVIRONMENT), ...overrides };
  const stream = { write: (line: string) => logged.push(JSON.parse(line)) };
  const log = createLogger({ level: 'info', stream, secrets: settings.secrets });
  const { url, port, metricsUrl, stop } = await startApplication(settings, {
    database,
    log,
    ...(timeLimits && { timeLimits }),
  });
  const endRequirement = requireDocumentedAnswers(url);
  return {
    /** With the base path, and without a slash at the end. */
    url,
    port,
    /** Of the port of the metrics, without a slash at the end; null: they have none of their own. */
    metricsUrl,
    database,
    /** What was logged so far, an object a line. */
    logged,
    createToken: (token: TestToken = {}) => createTestToken(database, token),
    record: (...parts: ObservationParts[]) =>
      createRecorder(database.pool).record(parts.map((each) => observation(each))),
    fetch: (path: string, init?: RequestInit) => fetch(url + path, init),
    graphql: (query: string, variables = {}, headers = {}) => askGraphql({ url }, query, variables, headers),
    /** What is answered must be documented. @param path After `/api/v1`. */
    async rest(path: string, fields = {}) {
      const answer = await askRest({ url }, path, fields);
      const { status, text, fields: headers } = answer;
      const response = new Response(text || null, { status, headers });
      await requireDocumented('GET', `/api/v1${path.replace(/\?.*/s, '')}`, response);
      return answer;
    },
    async stop() {
      endRequirement();
      await stop();
      if (given === undefined) await database.close();
    },
  };
}

/**
 * The service of a test file: it starts before its tests, and stops after them.
 *
 * @param options A function where they have what an earlier one has, such as its database.
 */
export function serviceOfFile(
  options: TestServiceOptions | (() => TestServiceOptions) = {},
  prepare?: (service: TestService) => Promise<unknown>,
): TestService {
  const service: TestService = Object.create(null);
  beforeAll(async () => {
    Object.assign(service, await startTestService(typeof options === 'function' ? options() : options));
    await prepare?.(service);
  });
  afterAll(() => service.stop?.());
  return service;
}

/** The same, stopped when the test has ended. */
export async function startServiceForTest(options: TestServiceOptions = {}): Promise<TestService> {
  const service = await startTestService(options);
  onTestFinished(() => service.stop());
  return service;
}

/** Records the samples in the database of a service. */
export const withSamples = ({ database }: Pick<TestService, 'database'>) =>
  recordSamples(createRecorder(database.pool), BigInt(Date.now()) * 1000n);

const TEST_ENVIRONMENT = {
  // The suite has to hold with kept responses and without.
  CACHE_MB: process.env['CACHE_MB'],
  PORT: '0',
  RATE_LIMIT_ANONYMOUS: '1000000',
  RATE_LIMIT_TOKEN: '1000000',
  // Deleting comes a minute after the start, among the statements that a test counts.
  CHANGES_KEPT: 'off',
};

let tokens = 0;

export function createTestToken(database: Database, token: TestToken): Promise<string> {
  tokens += 1;
  const { name = `test ${process.pid} ${tokens}`, scopes = SCOPES, expiresAt = null } = token;
  const createdAt = BigInt(Date.now()) * 1000n;
  return createToken(database.prisma, { name, scopes, createdAt, expiresAt });
}

export function bearer(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` };
}
