import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { SCOPES } from '../../../src/auth/viewer.js';
import { STATUS_OF_CODE } from '../../../src/graphql/format-error.js';
import {
  CHANGE_KINDS,
  DOMAIN_CHANGE_KINDS,
  HEADER_CHANGES,
  RECORD_CHANGES,
} from '../../../src/model/change-kinds.js';
import { MAX_PER_PAGE } from '../../../src/model/cursor.js';
import { openApiDocument } from '../../../src/rest/v1/openapi/document.js';
import { ROUTES } from '../../../src/rest/v1/routes.js';
import { violationsOf } from '../../support/documented.js';
import { askRaw, responseOf } from '../../support/documented-fetch.js';
import { EVERY_BODY } from '../../support/every-record-type.js';
import {
  bearer,
  serviceOfFile,
  startServiceForTest,
  type TestService,
  withSamples,
} from '../../support/service.js';

interface Operation {
  readonly security: readonly object[];
  readonly parameters: readonly Parameter[];
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly example?: unknown }>> }>
  >;
}

interface Parameter {
  readonly name?: string;
  readonly in?: string;
  readonly required?: boolean;
  readonly allowReserved?: boolean;
  readonly example?: string;
  readonly $ref?: string;
}

interface Schema {
  readonly properties?: { readonly type?: { readonly const?: string } };
  readonly oneOf?: readonly { readonly $ref: string }[];
  readonly discriminator?: { readonly mapping: Readonly<Record<string, string>> };
}

interface Document {
  readonly paths: Readonly<Record<string, { readonly get: Operation }>>;
  readonly components: {
    readonly parameters: Readonly<Record<string, Parameter>>;
    readonly schemas: Readonly<Record<string, Schema>>;
  };
}

let document: Document;

const service = serviceOfFile({}, async (started) => {
  await withSamples(started);
  document = await readDocument(started);
});
const withoutTables = serviceOfFile({}, async (started) => {
  await withSamples(started);
  await started.database.pool.query('DROP TABLE dns_record, header_change, known_name, change_feed');
});
const withoutDatabase = serviceOfFile({ role: 'api', anonymousScopes: new Set(SCOPES) }, ({ database }) =>
  database.close(),
);

async function readDocument(asked: TestService): Promise<Document> {
  return JSON.parse(await (await asked.fetch('/api/v1/openapi.json')).text());
}

const operations = () => Object.values(document.paths).map(({ get }) => get);

/** Whether an operation needs no token where ANONYMOUS_SCOPES is not set. */
const isOpenByDefault = (scope: string | null) => scope === null || scope === 'search:read';

test('the OpenAPI document has every operation of the table under its path, with its maturity, scope and parameters, and 304 where it has validators', () => {
  const told = Object.entries(document.paths).map(([path, { get }]) => [path, get] as const);
  expect(told).toEqual(
    ROUTES.map(({ path, summary, operationId, 'x-maturity': maturity, scope, parameters }) => [
      path,
      expect.objectContaining({
        summary,
        operationId,
        'x-maturity': maturity,
        description: expect.stringContaining(`Maturity: **${maturity}**.`),
        security: isOpenByDefault(scope) ? [{}, { accessToken: [] }] : [{ accessToken: [scope] }],
        parameters: expect.arrayContaining(
          parameters.map(({ name, schema }) => expect.objectContaining({ name, schema })),
        ),
      }),
    ]),
  );
  const withoutValidators = told.filter(([, get]) => !('304' in get.responses)).map(([path]) => path);
  expect(withoutValidators).toEqual([
    ...['dns-records', 'http-headers', 'domains'].map((searched) => `/search/${searched}`),
    '/changes',
  ]);
});

test('the OpenAPI document names the kinds of changes, the codes of errors and the length of a page that there are', () => {
  const text = JSON.stringify(document);
  for (const values of [CHANGE_KINDS, DOMAIN_CHANGE_KINDS, RECORD_CHANGES, HEADER_CHANGES])
    expect(text).toContain(JSON.stringify(values));
  expect(text).toContain(JSON.stringify(Object.keys(STATUS_OF_CODE)));
  expect(text).toContain(`"maximum":${MAX_PER_PAGE},`);
});

test.each(['', '/a/dms'])('the server of the OpenAPI document has the base path "%s"', (basePath) => {
  const written = openApiDocument(ROUTES, { basePath, version: '1' });
  expect(written).toMatchObject({ servers: [{ url: `${basePath}/api/v1` }] });
});

test('the OpenAPI document and the start page show what ANONYMOUS_SCOPES opens as open', async () => {
  const anonymousScopes = new Set(['dns:read'] as const);
  const opened = await startServiceForTest({ database: service.database, anonymousScopes });
  const written = await readDocument(opened);
  const ofScope = (scope: string) => [[{ accessToken: [scope] }], true];
  const OPEN = [[{}, { accessToken: [] }], false];
  const told = ROUTES.map(({ path }) => written.paths[path]?.get ?? { security: [], responses: {} });
  expect(told.map(({ security, responses }) => [security, '403' in responses])).toEqual(
    ROUTES.map(({ scope }) => (scope === null || scope === 'dns:read' ? OPEN : ofScope(scope))),
  );
  expect(JSON.stringify(written)).toContain(
    "Needs no access token: the server's `ANONYMOUS_SCOPES` opens operations with the scope `dns:read`.",
  );
  const page = await (await opened.fetch('/')).text();
  expect(page.match(/no token needed/g)).toHaveLength(6);
});

test('the OpenAPI document passes the recommended rules of Redocly, with operations opened and closed, too', async () => {
  const server = { basePath: '', version: '1' };
  await lintedClean([
    document,
    openApiDocument(ROUTES, { ...server, anonymousScopes: new Set(SCOPES) }),
    openApiDocument(ROUTES, { ...server, tokenRequired: true }),
  ]);
});

test('every parameter and every 200 of the OpenAPI document has an example, which fits the schema', () => {
  const own = operations().flatMap(({ parameters }) => parameters.filter(({ $ref }) => $ref === undefined));
  const all = [...own, ...Object.values(document.components.parameters)];
  expect(all.filter(({ example }) => example === undefined)).toEqual([]);
  for (const [path, { get }] of Object.entries(document.paths)) {
    const { content = {} } = get.responses['200'] ?? {};
    expect(Object.values(content).map(({ example }) => example)).not.toContain(undefined);
    const [type = '', example] = Object.entries(content)[0] ?? [];
    const body = type.endsWith('json') ? JSON.stringify(example?.example) : String(example?.example);
    expect(violations(body, path.replace('{domain}', 'a.example'), type), path).toEqual([]);
  }
});

test('values that documents show as they are, with slashes, colons and asterisks, need no percent-encoding', () => {
  const all = operations().flatMap(({ parameters }) => parameters.filter((each) => each.in === 'query'));
  const reserved = all.filter(({ example }) => /[:/*]/.test(String(example)));
  // The example is an IPv4 address; those of IPv6 have colons.
  expect(new Set([...reserved.map(({ name }) => name), 'ip'])).toEqual(
    new Set(all.filter(({ allowReserved }) => allowReserved).map(({ name }) => name)),
  );
});

test('the OpenAPI document is of version 3.1.0, has no relative address where none may be, and each enumeration has its type', () => {
  expect(document).toMatchObject({ openapi: '3.1.0' });
  expect(document).not.toHaveProperty('externalDocs');
  const untyped: unknown[] = [];
  JSON.stringify(document, (_key, value) => {
    const isSchema = Array.isArray(value?.enum) || typeof value?.const === 'string';
    if (isSchema && value.type === undefined) untyped.push(value);
    return value;
  });
  expect(untyped).toEqual([]);
});

test('the type of a record tells which fields it has, to generators of types', () => {
  const { schemas } = document.components;
  for (const name of ['DnsRecordData', 'TypedRecordData']) {
    const { oneOf = [], discriminator } = schemas[name] ?? {};
    const mapped = Object.entries(discriminator?.mapping ?? {});
    expect(oneOf.length).toBeGreaterThan(10);
    for (const { $ref } of oneOf) {
      const type = schemas[$ref.replace('#/components/schemas/', '')]?.properties?.type?.const;
      const types = mapped.filter(([, schema]) => schema === $ref).map(([key]) => key);
      expect(types).toEqual(type === undefined ? expect.arrayContaining(['DS', 'HTTPS']) : [type]);
    }
  }
});

async function lintedClean(documents: readonly object[]): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'dms-test-openapi-'));
  const files = documents.map((_, number) => join(folder, `openapi-${number}.json`));
  await Promise.all(documents.map((each, number) => writeFile(files[number] ?? '', JSON.stringify(each))));
  const program = fileURLToPath(new URL('bin/cli.js', import.meta.resolve('@redocly/cli/package.json')));
  // It would report to its makers, and check for updates.
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_NOTIFICATIONS: 'true' };
  // TypedRecordData is for clients: no operation has it.
  const unused = '--skip-rule=no-unused-components';
  const lint = [program, 'lint', ...files, '--extends=recommended', unused, '--format=json'];
  const { stdout } = await promisify(execFile)(process.execPath, lint, { cwd: folder, env });
  await rm(folder, { recursive: true });
  // One report after another.
  const reports = stdout.trim().split(/(?<=^\})\s*(?=\{)/m);
  const clean = { totals: { errors: 0, warnings: 0, ignored: 0 }, problems: [] };
  expect(reports.map((report) => JSON.parse(report))).toMatchObject(documents.map(() => clean));
}

function violations(body: string, path = '/domain/a.example', mediaType = 'application/json') {
  const headers = new Headers({
    'content-type': `${mediaType}; charset=utf-8`,
    'x-request-id': 'a',
    etag: 'W/"1"',
    'last-modified': 'Mon, 01 Jan 2024 00:00:00 GMT',
    'cache-control': 'no-store',
    vary: 'Accept',
    ratelimit: '"anonymous";r=1;t=1',
    'ratelimit-policy': '"anonymous";q=1;w=60',
  });
  return violationsOf({ method: 'GET', path, status: 200, headers, body });
}

test.each([
  ['a key too many', '"domain":', '"x":1,"domain":'],
  ['a key too many in a record', '"type":"A",', '"type":"A","ttl":1,'],
  ['a key that is missing', '"removed":null', '"gone":null'],
  ['keys in another order', '"class":"IN","type":"A"', '"type":"A","class":"IN"'],
  ['a field of another type', '"type":"AAAA","ipv6"', '"type":"AAAA","ip"'],
  ['data in the place of the fields', '"ip":"192.0.2.7"', '"data":"192.0.2.7"'],
  ['a time with three digits', '30.123456Z', '30.123Z'],
  ['a number that is a text', '"pri":10', '"pri":"10"'],
])('what the OpenAPI document says of a body does not fit %s', (_what, right, wrong) => {
  expect(EVERY_BODY['']).toContain(right);
  expect(violations(EVERY_BODY[''].replace(right, wrong))).not.toEqual([]);
});

/** Parameters of which an operation requires one. */
const ONE_OF = new Set(['ip', 'value', 'match']);

/** A domain for each status that depends on it: none, and one that nothing is recorded of. */
const DOMAIN_OF_STATUS: Readonly<Record<string, string>> = { 400: '192.0.2.7', 404: 'nothing.example' };

/** Sends a request in the situation of each status; by the path after `/api/v1`. */
const ASK: Readonly<Record<string, (path: string) => Promise<Response>>> = {
  200: (path) => askWithToken(path),
  400: (path) => askWithToken(path),
  404: (path) => askWithToken(path),
  401: (path) => service.fetch(`/api/v1${path}`, { headers: bearer(`dms_${'A'.repeat(43)}`) }),
  403: async (path) => {
    const headers = bearer(await service.createToken({ scopes: ['search:read'] }));
    return service.fetch(`/api/v1${path}`, { headers });
  },
  413: (path) => ask(path, 'transfer-encoding: chunked', `1;${'a'.repeat(20_000)}\r\n`),
  431: (path) => ask(path, `x: ${'a'.repeat(20_000)}`),
  429: async (path) => {
    const rateLimits = { anonymous: 1, token: 1 };
    const limited = await startServiceForTest({ database: service.database, rateLimits });
    const headers = bearer(await service.createToken());
    await limited.fetch(`/api/v1${path}`, { headers });
    return limited.fetch(`/api/v1${path}`, { headers });
  },
  500: (path) => askWithToken(path, withoutTables),
  503: (path) => withoutDatabase.fetch(`/api/v1${path}`),
};

async function ask(path: string, field: string, body = ''): Promise<Response> {
  const octets = `GET /api/v1${path} HTTP/1.1\r\nhost: a\r\n${field}\r\nconnection: close\r\n\r\n${body}`;
  return responseOf(await askRaw(service.port, octets));
}

async function askWithToken(path: string, asked = service): Promise<Response> {
  return asked.fetch(`/api/v1${path}`, { headers: bearer(await asked.createToken()) });
}

test.each(ROUTES)('every documented response is given, as documented: $summary', async ({ path, scope }) => {
  const { parameters = [], responses = {} } = document.paths[path]?.get ?? {};
  const domainOfExample = parameters.find(({ name }) => name === 'domain')?.example;
  const query = new URLSearchParams();
  for (const { name = '', example, required, in: place } of parameters)
    if (place === 'query' && (required || ONE_OF.has(name))) query.set(name, String(example));
  const isOfDomain = path.startsWith('/domain/');
  const statuses = Object.keys(responses).filter((status) => responses[status]?.content !== undefined);
  const isExpected = (status: string) =>
    (status !== '403' || !isOpenByDefault(scope)) && (status !== '404' || isOfDomain);
  expect(new Set(statuses)).toEqual(new Set(Object.keys(ASK).filter(isExpected)));
  for (const status of statuses) {
    const domain = DOMAIN_OF_STATUS[status] ?? String(domainOfExample);
    // What fetch() gives is held against the document: documented-fetch.ts.
    const wrong = status === '400' && !isOfDomain ? '&first=0' : '';
    const response = await ASK[status]?.(`${path.replace('{domain}', domain)}?${query}${wrong}`);
    expect(response?.status).toBe(Number(status));
  }
});
