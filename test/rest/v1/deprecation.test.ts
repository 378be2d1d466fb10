import { createServer, type Server } from 'node:http';
import type { Express } from 'express';
import { Registry } from 'prom-client';
import request from 'supertest';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAuthentication } from '../../../src/auth/authenticate.js';
import { createTokenVerifier } from '../../../src/auth/token-verifier.js';
import { createApp } from '../../../src/http/app.js';
import { createLimiters } from '../../../src/rates/limiters.js';
import { type Deprecation, deprecationFields } from '../../../src/rest/v1/deprecation.js';
import { createRestV1, type RestHandler } from '../../../src/rest/v1/handler.js';
import { openApiDocument } from '../../../src/rest/v1/openapi/document.js';
import { problemOf, sendProblem } from '../../../src/rest/v1/problem.js';
import { ROUTES, type Route } from '../../../src/rest/v1/routes.js';
import { createLogger } from '../../../src/telemetry/logging.js';
import { createRequestMetrics } from '../../../src/telemetry/request-metrics.js';
import { openTestDatabase, type TestDatabase } from '../../support/database.js';
import { anonymous, openDoor } from '../../support/graphql-door.js';
import { insertDomain } from '../../support/rows.js';

const NOTICE = 'https://dms.example/changes';
const DEPRECATION: Deprecation = {
  since: new Date('2026-01-01T00:00:00Z'),
  notice: NOTICE,
  sunset: new Date('2026-07-01T00:00:00Z'),
};
const TOLD = {
  deprecation: '@1767225600',
  sunset: 'Wed, 01 Jul 2026 00:00:00 GMT',
  link: `<${NOTICE}>; rel="deprecation"; type="text/html", <${NOTICE}>; rel="sunset"; type="text/html"`,
};
const TABLE: readonly Route[] = ROUTES.map((route) =>
  route.name === 'Get domain' ? { ...route, deprecation: DEPRECATION } : route,
);

let database: TestDatabase;
let server: Server;
let url: string;

beforeAll(async () => {
  database = await openTestDatabase();
  await insertDomain(database.pool, { name: 'example.com' });
  const rest = createRestV1(openDoor(database), { maxAge: 0 }, TABLE);
  server = createServer((request, response) => {
    rest(request, response, request.url ?? '', anonymous()).catch((error) =>
      sendProblem(
        request,
        response,
        problemOf(error, () => {}),
      ),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await database.close();
});

async function noticesAt(path: string): Promise<[status: number, object]> {
  const { status, headers } = await fetch(url + path);
  return [status, Object.fromEntries(Object.keys(TOLD).map((name) => [name, headers.get(name)]))];
}

const NOTHING = { deprecation: null, sunset: null, link: null };

describe('an operation that the table deprecates', () => {
  test('tells so in its answers, found or refused', async () => {
    expect(await noticesAt('/domain/example.com')).toEqual([200, TOLD]);
    expect(await noticesAt('/domain/example.net')).toEqual([404, TOLD]);
    expect(await noticesAt('/domain/a..b')).toEqual([400, TOLD]);
  });

  test('leaves the others alone', async () => {
    expect(await noticesAt('/domain/example.com/dns')).toEqual([401, NOTHING]);
    expect(await noticesAt('/nothing')).toEqual([404, NOTHING]);
  });

  test('is deprecated in the OpenAPI document, with its header fields and its last day', () => {
    const document = openApiDocument(TABLE, { basePath: '', version: '1' });
    const reference = (name: string) => ({ $ref: `#/components/headers/${name}` });
    const fields = {
      Deprecation: reference('Deprecation'),
      Sunset: reference('Sunset'),
      Link: reference('Link'),
    };
    expect(document).toMatchObject({
      paths: {
        '/domain/{domain}': {
          get: {
            deprecated: true,
            description: expect.stringContaining(
              `Deprecated since 2026-01-01. It answers until 2026-07-01. What to use instead: <${NOTICE}>`,
            ),
            responses: { 200: { headers: fields }, 404: { headers: fields } },
          },
        },
      },
      components: { headers: { Deprecation: {}, Sunset: {}, Link: {} } },
    });
    expect(document).not.toHaveProperty(['paths', '/domain/{domain}/dns', 'get', 'deprecated']);
  });
});

describe('through the whole way of a request', () => {
  const REFUSED = { authorization: 'Bearer unknown' };
  const ASKED: readonly (readonly [status: number, path: string, headers: Record<string, string>])[] = [
    [200, '/domain/example.com', {}],
    [404, '/domain/example.net', {}],
    [401, '/domain/example.com', REFUSED],
    [429, '/domain/example.com', REFUSED],
  ];

  test('every answer has the fields that the document requires of its status, a refused token too', async () => {
    const { components, paths } = JSON.parse(
      JSON.stringify(openApiDocument(TABLE, { basePath: '', version: '1' })),
    );
    const app = appOf(createRestV1(openDoor(database), { maxAge: 0 }, TABLE));
    for (const [status, path, headers] of ASKED) {
      const response = await request(app).get(`/api/v1${path}`).set(headers);
      expect(response.status).toBe(status);
      const documented = Object.keys(paths['/domain/{domain}'].get.responses[status].headers);
      const required = documented.filter((name) => components.headers[name].required === true);
      expect(Object.keys(response.headers)).toEqual(
        expect.arrayContaining(required.map((name) => name.toLowerCase())),
      );
    }
  });

  /** Which lets nobody fail twice. */
  function appOf(rest: RestHandler): Express {
    const failures = createLimiters().penalties('failures', 1, { complaint: 'Too many.', onRefused() {} });
    return createApp({
      basePath: '',
      access: { tokenRequired: false, anonymousScopes: new Set() },
      sandbox: false,
      trustProxy: 0,
      corsOrigins: [],
      log: createLogger({ level: 'silent' }),
      metrics: createRequestMetrics(new Registry()),
      tracing: null,
      redact: (text) => text,
      authenticate: createAuthentication({
        tokens: createTokenVerifier(database.prisma, () => 0n),
        anonymousScopes: new Set(),
        failures,
      }),
      failures,
      rest,
      graphql: (_request, _response, next) => next(),
    });
  }
});

test('a deprecation whose end is not decided has no Sunset', () => {
  const { sunset: _undecided, ...deprecation } = DEPRECATION;
  expect(deprecationFields(deprecation)).toEqual({
    deprecation: '@1767225600',
    link: `<${NOTICE}>; rel="deprecation"; type="text/html"`,
  });
});

test('an operation that would end before it is deprecated is refused', () => {
  const sunset = new Date('2025-12-31T23:59:59Z');
  expect(() => deprecationFields({ ...DEPRECATION, sunset })).toThrow(RangeError);
});

test('no operation is deprecated today: its answers say nothing of it, nor does the document', () => {
  expect(ROUTES.filter(({ deprecation }) => deprecation !== undefined)).toEqual([]);
  const document = JSON.stringify(openApiDocument(ROUTES, { basePath: '', version: '1' }));
  expect(document).not.toContain('#/components/headers/Deprecation');
});
