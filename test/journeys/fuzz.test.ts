import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import pLimit from 'p-limit';
import { beforeAll, expect, test } from 'vitest';
import { createTestHome, type TestHome } from '../support/database.js';
import {
  AUDIENCE,
  type IdentityProvider,
  ISSUER,
  startIdentityProvider,
} from '../support/identity-provider.js';
import { keepUntilEnd } from '../support/keep.js';
import { repeats, say } from '../support/long-form.js';
import { type RawOutcome, sendRaw } from '../support/raw-http.js';
import { bearer } from '../support/service.js';
import { runDms } from './dms-command.js';
import { type FuzzRequest, type FuzzToken, fuzzRequests } from './fuzz-requests.js';
import { type Serving, serve } from './serving.js';

/** bench/fuzz.js sets more. */
const REQUESTS = Number(process.env['FUZZ_REQUESTS'] ?? repeats(4000, 400));
const SEED = Number(process.env['FUZZ_SEED'] ?? Date.now() % 1_000_000);
const AT_ONCE = 8;

const UNLIMITED = '1000000000';
const NOWHERE = 'http://127.0.0.1:1/';

/** In bytes, of an answer. */
const MOST_BYTES = 25_000_000;

let home: TestHome;
let provider: IdentityProvider;
let signed: readonly FuzzToken[];
const keep = keepUntilEnd();

beforeAll(async () => {
  home = keep(await createTestHome());
  const samples = fileURLToPath(new URL('../../samples/observations.ndjson', import.meta.url));
  await runDms(['import', samples], home.environment);
  provider = await startIdentityProvider();
  keep(provider.web);
  const exp = Math.floor(Date.now() / 1000) + 86_400;
  const good = { exp, scope: 'dns:read headers:read details:read' };
  const token = (claims: object) => provider.sign({ claims: { ...good, ...claims } });
  const right = [token({}), token({ padding: 'a'.repeat(6_000) })];
  const wrong = [
    token({ exp: 1 }),
    token({ exp: 1e300 }),
    token({ aud: 'other' }),
    token({ padding: 'a'.repeat(40_000) }),
    // Where the keys are is the service's to know: nothing may be fetched from here.
    provider.sign({ claims: good, header: { kid: 'none', jku: NOWHERE, x5u: NOWHERE } }),
    provider.sign({ payload: '['.repeat(5_000) }),
    provider.sign({ payload: `{"a":${'['.repeat(3_000)}${']'.repeat(3_000)}}` }),
  ];
  signed = [
    ...(await Promise.all(right)).map((each) => ({ token: each, isValid: true })),
    ...(await Promise.all(wrong)).map((each) => ({ token: each, isValid: false })),
  ];
});

/** Starts a service which has the provider's keys: this process makes requests for seconds, in which it serves no keys. */
async function serveWithKeys(): Promise<Serving> {
  const service = keep(
    await serve({
      ...home.environment,
      // A worker would query DNS servers.
      ROLE: 'api',
      AUTH_JWKS_URL: provider.jwksUrl.href,
      AUTH_ISSUER: ISSUER,
      AUTH_AUDIENCE: AUDIENCE,
      RATE_LIMIT_ANONYMOUS: UNLIMITED,
      RATE_LIMIT_TOKEN: UNLIMITED,
      // Without it, garbage that is not collected yet would look like a leak.
      NODE_OPTIONS: '--max-old-space-size=140',
    }),
  );
  const headers = bearer(signed[0]?.token ?? '');
  const ask = () => fetch(`${service.url}/api/v1/domain/example.com`, { headers });
  await expect.poll(async () => (await ask()).status).toBe(200);
  return service;
}

/** What a client may be told, beside what is right. */
const CODES = new Set(
  (
    'INVALID_DOMAIN INVALID_PARAMETER UNAUTHENTICATED FORBIDDEN DOMAIN_NOT_FOUND NOT_FOUND METHOD_NOT_ALLOWED ' +
    'PAYLOAD_TOO_LARGE UNSUPPORTED_MEDIA_TYPE HEADERS_TOO_LARGE NOT_ACCEPTABLE QUERY_TOO_COMPLEX BAD_REQUEST ' +
    'GRAPHQL_PARSE_FAILED GRAPHQL_VALIDATION_FAILED BAD_USER_INPUT OPERATION_RESOLUTION_FAILURE ' +
    'PERSISTED_QUERY_NOT_FOUND'
  ).split(' '),
);

/** What only the inside knows. None of the requests holds one of these, so that no answer can repeat it. */
const INSIDE =
  /node_modules|\bat \S+ \(|\bat (?:async )?(?:file|node):|prisma|\.[jt]s:\d+|pg_|\bECONN|SQLSTATE|TypeError|RangeError|Maximum call stack|Cannot read|is not a function|relation "/i;

/** What is right with 200 where the answer is no JSON of the API: the media type by the path. */
const PAGES: readonly (readonly [paths: RegExp, type: RegExp])[] = [
  [/^\/(?:graphiql|api\/v1\/docs)?$/, /^text\/html; charset=utf-8$/],
  [/^\/assets\/.*\.css$/, /^text\/css; charset=utf-8$/],
  [/^\/assets\/.*\.js$/, /^text\/javascript; charset=utf-8$/],
  [/^\/api\/v1\/openapi\.json$/, /^application\/(?:json|[\w.+-]*openapi\+json)/],
  [/^\/metrics$/, /^text\/plain/],
];

function wrongWith(outcome: RawOutcome, { statuses, path }: FuzzRequest): string | undefined {
  // Any complete input, even if it is not HTTP, gets a response with the reason: no kind of request may be closed
  // without a word. Only clients that stop amid a request are, and none of these does.
  if (outcome.kind !== 'answered') return `no answer: ${outcome.kind}`;
  const { status, fields, body } = outcome.response;
  if (status >= 500 || statuses?.includes(status) === false) return `the status ${status}`;
  if (fields.get('x-request-id') === undefined) return 'no x-request-id';
  const type = fields.get('content-type') ?? '';
  const page = PAGES.find(([paths]) => path !== undefined && paths.test(path));
  if (status === 200 && page !== undefined) return page[1].test(type) ? undefined : `the media type ${type}`;
  if (/html/i.test(type) || /<html|<!doctype/i.test(body.replaceAll('<!DOCTYPE html>', ''))) return 'HTML';
  if (INSIDE.test(body)) return 'a message from the inside';
  return body === '' ? undefined : wrongWithJson(type, body);
}

function wrongWithJson(type: string, body: string): string | undefined {
  if (!/^application\/([a-z-]+\+)?json(;|$)/.test(type)) return `the media type ${type}`;
  let answer: { code?: unknown; errors?: { extensions?: { code?: unknown } }[] };
  try {
    answer = JSON.parse(body);
  } catch {
    return 'a body that is not JSON';
  }
  const codes = [answer.code, ...(answer.errors ?? []).map(({ extensions }) => extensions?.code ?? null)];
  const unknown = codes.find((code) => code !== undefined && !CODES.has(String(code)));
  return unknown === undefined ? undefined : `the code ${unknown}`;
}

/**
 * All that the program says on standard error, from its start to its end, at the level of warnings: the first
 * line where a request with that field has come.
 */
const SAID =
  /^(?:\{"level":"warn","time":\d+,"msg":"X-Forwarded-For comes with requests [^"\n]*"\}\n)?Stopping: requests in progress are completed first\.\n$/;

const HAS_PROC = existsSync('/proc/self/status');

/** The memory of the service in MB; 0 where the system does not tell it, or the service is gone. */
async function memory({ child }: Serving): Promise<number> {
  const status = await readFile(`/proc/${child.pid}/status`, 'utf8').catch(() => '');
  return Math.round(Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1024);
}

/** Sends some requests, counts what comes of them, and tells what was wrong with their answers. */
async function sendAll(requests: readonly FuzzRequest[], port: number, tally: Map<string, number>) {
  const findings = await pLimit(AT_ONCE).map(requests, async (request) => {
    const outcome = await sendRaw(port, request.octets, MOST_BYTES);
    const key = `${request.kind}: ${outcome.kind === 'answered' ? outcome.response.status : outcome.kind}`;
    tally.set(key, (tally.get(key) ?? 0) + 1);
    const wrong = wrongWith(outcome, request);
    const response = JSON.stringify(outcome).slice(0, 600);
    return wrong === undefined
      ? []
      : [{ wrong, request: request.octets.toString('latin1', 0, 600), response }];
  });
  return findings.flat();
}

/** Requests are made as they are needed: some have a body of half a megabyte. */
const BATCH = 500;

test(
  'every request is answered, and none brings a 5xx, HTML, a stack, a message from the inside, memory that grows, or the end',
  async () => {
    const service = await serveWithKeys();
    const port = Number(new URL(service.url).port);
    const tally = new Map<string, number>();
    const [findings, memories]: [object[], number[]] = [[], []];
    for (let sent = 0; sent < REQUESTS; sent += BATCH) {
      const numRuns = Math.min(BATCH, REQUESTS - sent);
      const requests = fc.sample(fuzzRequests(signed), { numRuns, seed: SEED + sent });
      findings.push(...(await sendAll(requests, port, tally)));
      memories.push(await memory(service));
    }
    const ended = await service.end();
    say(`seed ${SEED} (set FUZZ_SEED to repeat), ${REQUESTS} requests`);
    for (const [outcome, count] of [...tally].sort()) say(`${outcome}: ${count}`);
    say(`memory in MB after each ${BATCH}: ${memories.join(' ')}`);
    expect.soft(findings.slice(0, 5)).toEqual([]);
    expect.soft(ended).toMatchObject({ code: 0, signal: null });
    expect.soft(ended.stderr).toMatch(SAID);
    if (HAS_PROC) expect.soft(memories.filter((megabytes) => !(megabytes > 0))).toEqual([]);
    const before = [...memories.slice(0, 3), ...memories.slice(memories.length / 4, memories.length / 2)];
    expect.soft(Math.min(...memories.slice(-3))).toBeLessThan(Math.max(...before) + 64);
  },
  120_000 + REQUESTS * 50,
);
