import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseDmsLine } from '../../../src/importers/dms.js';
import { formatInstant, type Instant, parseInstant } from '../../../src/model/instant.js';
import { createRecorder } from '../../../src/recorder/recorder.js';
import { isTime } from '../../../src/rest/v1/parameters.js';
import { ROUTES } from '../../../src/rest/v1/routes.js';
import { bearer, startTestService, type TestService } from '../../support/service.js';

const HOUR = 3_600_000_000n;
const started: Instant = BigInt(Date.now()) * 1_000n;

/** An address of six domains, of which one comes and goes every two hours. */
const OBSERVED = [20n, 18n, 16n, 14n].map((hours) => formatInstant(started - hours * HOUR));

let service: TestService;
let headers: Record<string, string>;

beforeAll(async () => {
  service = await startTestService({ role: 'api' });
  headers = bearer(await service.createToken());
  const lines = [1, 2, 3, 4, 5, 6].flatMap((number) =>
    OBSERVED.map((observedAt, at) => ({
      domain: `a${number}.example`,
      observedAt,
      dnsRecords: at % 2 === 1 ? [] : [{ host: 'a.example', class: 'IN', type: 'A', ip: '192.0.2.7' }],
      httpHeaders: { server: 'nginx', via: String(at) },
    })),
  );
  await createRecorder(service.database.pool).record(
    lines.map((line) => parseDmsLine(JSON.stringify(line), started)),
  );
});
afterAll(() => service.stop());

async function get(path: string, fields: Record<string, string> = {}) {
  const response = await fetch(`${service.url}${path}`, { headers: { ...headers, ...fields } });
  const text = await response.text();
  return {
    status: response.status,
    text,
    // A feed may be XML.
    body: /^[{[]/.test(text) ? JSON.parse(text) : {},
    fields: response.headers,
  };
}

/** The path and query of the next page. */
function linkOf(fields: Headers): string | undefined {
  return /^<(\/[^>]*)>; rel="next"$/.exec(fields.get('link') ?? '')?.[1];
}

const search = (query: string) => `/api/v1/search/dns-records?ip=192.0.2.7&${query}`;

test('a date is its midnight, UTC, and its response is kept and revalidated as that of any time', async () => {
  const date = '2024-02-29';
  const byDate = await get(`/api/v1/domain/a1.example?at=${new Date().toISOString().slice(0, 10)}`);
  const byTime = await get(`/api/v1/domain/a1.example?at=${new Date().toISOString().slice(0, 10)}T00:00:00Z`);
  expect([byDate.status, byDate.text]).toEqual([byTime.status, byTime.text]);
  const changes = await get(`/api/v1/domain/a1.example/changes?from=${date}`);
  expect(changes.fields.get('etag')).toMatch(/^W\//);
  const again = await get(`/api/v1/domain/a1.example/changes?from=${date}`, {
    'if-none-match': changes.fields.get('etag') ?? '',
  });
  expect(again.status).toBe(304);
});

test.each(['', '/details', '/headers', '/dns'])(
  'a duration is an instant so long before now, and nobody keeps the response: /domain/{domain}%s',
  async (operation) => {
    const path = `/api/v1/domain/a1.example${operation}`;
    // Between two observations, for longer than any test takes.
    const byTime = await get(`${path}?at=${formatInstant(started - 15n * HOUR)}`);
    const byDuration = await get(`${path}?at=15h`, { 'if-none-match': '*' });
    expect([byDuration.status, byDuration.text]).toEqual([200, byTime.text]);
    expect(byTime.fields.get('etag')).not.toBeNull();
    expect(byDuration.fields.get('etag')).toBeNull();
    expect(byDuration.fields.get('last-modified')).toBeNull();
    expect(byDuration.fields.get('cache-control')).toBe('no-store');
  },
);

test('the times of a difference may be durations, and the body says which instants they were', async () => {
  const { body } = await get('/api/v1/domain/a1.example/diff?from=17h&to=15h');
  const [from, to] = [parseInstant(body.from), parseInstant(body.to)];
  expect(to - from).toBe(2n * HOUR);
  expect(body.dnsRecordsAdded).toHaveLength(1);
  const { fields } = await get('/api/v1/domain/a1.example/diff?from=17h&to=15h');
  expect(fields.get('cache-control')).toBe('no-store');
});

test('a time that is not one is rejected with what to write instead, and so is one in GraphQL that is not RFC 3339', async () => {
  const { status, body } = await get(search('seenFrom=yesterday'));
  expect([status, body.detail]).toEqual([
    400,
    'seenFrom: "yesterday" is not a time: write it like 2024-03-01T10:20:30Z, a date like 2024-03-01, a duration back from now like 36h, 30d or 2w, or now.',
  ]);
  for (const at of ['2024-03-01', '30d']) {
    const response = await fetch(`${service.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query: `{ domain(name: "a1.example", at: "${at}") { name } }` }),
    });
    expect(await response.text()).toContain('is not an RFC 3339 time');
  }
});

test.each(
  ROUTES.flatMap(({ path, parameters }) =>
    parameters.filter(isTime).map(({ name }) => [path, name] as const),
  ),
)('a date and a duration are accepted by %s as %s', async (path, name) => {
  const others = ['ip=192.0.2.7', 'name=via&value=1', 'from=2024-01-01', 'to=1h'];
  const known = ROUTES.find((route) => route.path === path)?.parameters.map((each) => each.name) ?? [];
  const query = others.filter((text) => {
    const [parameter = ''] = text.split('=');
    return known.includes(parameter) && parameter !== name;
  });
  for (const time of ['2025-01-01', '2w']) {
    const asked = `${path.replace('{domain}', 'a1.example')}?${[...query, `${name}=${time}`].join('&')}`;
    const { status, body } = await get(`/api/v1${asked}`);
    expect([200, 404], JSON.stringify(body)).toContain(status);
  }
});

describe('pages of a question with a duration', () => {
  const question = 'seenFrom=21h&seenTo=1ms&first=2';

  test('are all of the instant that the first one had, with the same duration or by the links', async () => {
    const whole = (await get(search('seenFrom=21h&seenTo=1ms'))).body.matches;
    expect(whole).toHaveLength(12);
    const first = await get(search(question));
    const instants = new URLSearchParams(linkOf(first.fields)?.split('?')[1]);
    expect(instants.get('seenFrom')).toMatch(/^\d{4}-.*Z$/);
    expect(first.fields.get('cache-control')).toBe('no-store');
    for (const byLink of [false, true]) {
      const matches = [...first.body.matches];
      for (let page = first; page.body.next !== null; ) {
        const link = linkOf(page.fields) ?? '';
        const linked = new URLSearchParams(link.split('?')[1]);
        expect(linked.get('after')).toBe(page.body.next);
        expect([linked.get('seenFrom'), linked.get('seenTo')]).toEqual([
          instants.get('seenFrom'),
          instants.get('seenTo'),
        ]);
        page = await get(byLink ? link : search(`${question}&after=${page.body.next}`));
        expect(page.status).toBe(200);
        matches.push(...page.body.matches);
      }
      expect(matches).toEqual(whole);
    }
  });

  test('and a cursor of one duration is none of another, nor of the same one as asked at another moment', async () => {
    const { next } = (await get(search(question))).body;
    const moment = BigInt(next.split('.')[1]);
    for (const query of [
      `${question.replace('21h', '22h')}&after=${next}`,
      `${question}&after=${next.split('.')[0]}`,
      `${question}&after=${next.split('.')[0]}.${moment + 1n}`,
      `${question}&after=${next}0`,
    ]) {
      const { status, body } = await get(search(query));
      expect([status, body.code]).toEqual([400, 'INVALID_CURSOR']);
    }
  });

  test('changes of a domain too, which have validators only with instants', async () => {
    const path = '/api/v1/domain/a1.example/changes?first=3';
    const first = await get(`${path}&from=19h`);
    expect([first.fields.get('etag'), first.fields.get('cache-control')]).toEqual([null, 'no-store']);
    const byDuration = await get(`${path}&from=19h&after=${first.body.next}`);
    const byLink = await get(linkOf(first.fields) ?? '');
    expect(byLink.body).toMatchObject({ changes: byDuration.body.changes });
    expect(byLink.body.changes).not.toHaveLength(0);
    expect(byLink.fields.get('etag')).toMatch(/^W\//);
  });
});

describe('the link to the next page', () => {
  test('is a path with the query, its cursor that of the body, and only where a page follows', async () => {
    const first = await get(search('types=A&types=AAAA&first=11'));
    expect(linkOf(first.fields)).toBe(search(`types=A&types=AAAA&first=11&after=${first.body.next}`));
    const last = await get(linkOf(first.fields) ?? '');
    expect(last.body).toMatchObject({ matches: [expect.anything()], next: null });
    expect(last.fields.get('link')).toBeNull();
  });

  test('of what changed anywhere ends where nothing is new, though there is a cursor', async () => {
    const changes = [];
    let pages = 0;
    for (let path: string | undefined = '/api/v1/changes?first=20'; path !== undefined; pages += 1) {
      const { body, fields } = await get(path);
      changes.push(...body.changes);
      path = linkOf(fields);
      expect(body.next).toEqual(expect.any(String));
    }
    expect(changes).toHaveLength((await get('/api/v1/changes?first=500')).body.changes.length);
    expect(pages).toBeGreaterThan(2);
  });

  test('is in HEAD, too, and has the base path', async () => {
    const below = await startTestService({ database: service.database, basePath: '/a/dms' });
    const response = await fetch(`${below.url}/api/v1/search/domains?match=*.example&first=1`, {
      method: 'HEAD',
    });
    expect(linkOf(response.headers)).toMatch(
      /^\/a\/dms\/api\/v1\/search\/domains\?match=\*\.example&first=1&after=/,
    );
    await below.stop();
  });

  test('is left out of a question so long that a proxy would not pass it on', async () => {
    const many = Array.from({ length: 200 }, (_, at) => `domains=a${at}.example`).join('&');
    const { body, fields } = await get(`/api/v1/changes?${many}&first=1`);
    expect([body.changes.length, fields.get('link')]).toEqual([1, null]);
  });
});
