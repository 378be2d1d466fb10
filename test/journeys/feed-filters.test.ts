import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { watchDomains } from '../../src/observer/schedule/watch-list.js';
import { createRecorder } from '../../src/recorder/recorder.js';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { NOW, type ObservationParts, observation } from '../support/observations.js';
import { startTestService, type TestService } from '../support/service.js';

interface Item {
  readonly domain: string;
  readonly kind: string;
  readonly routine: string | null;
  readonly name?: string;
  readonly data?: { readonly type: string };
}

let database: TestDatabase;
let service: TestService;

const MX = (target: string) => ({ host: 'example.com', class: 'IN', type: 'MX', pri: 10, target });
const LOOKS: readonly ObservationParts[] = [
  { at: 1, records: ['192.0.2.1', MX('a.example')], headers: { server: 'a', etag: '"1"' } },
  { at: 2, records: ['192.0.2.2', MX('a.example')], headers: { server: 'a', etag: '"2"' } },
  { at: 3, records: ['192.0.2.1', MX('b.example')], headers: { server: 'b', etag: '"3"' } },
  ...Array.from({ length: 4 }, (_, turn) => ({
    at: 4 + turn,
    records: [`192.0.2.${(turn % 2) + 1}`, MX('b.example')],
    headers: { server: 'b', etag: '"3"' },
  })),
];
const DOMAINS = ['example.com', 'www.example.com', 'notexample.com', 'other.example'];

beforeAll(async () => {
  database = await openTestDatabase();
  await createRecorder(database.pool).record(
    DOMAINS.flatMap((domain) => LOOKS.map((look) => observation({ ...look, domain }))),
  );
  await watchDomains(database.writingPrisma, ['other.example'], null, NOW);
  service = await startTestService({ database });
});
afterAll(async () => {
  await service.stop();
  await database.close();
});

/** All changes of a question, by pages of a length. */
async function changesOf(query: string, first = 500): Promise<Item[]> {
  const all: Item[] = [];
  for (let after = ''; ; ) {
    const path = `/api/v1/changes?first=${first}${query && `&${query}`}${after && `&after=${after}`}`;
    const response = await fetch(service.url + path);
    const { changes, next } = (await response.json()) as { readonly changes: Item[]; readonly next: string };
    all.push(...changes);
    if (changes.length === 0 && !(response.headers.get('link') ?? '').includes('next')) return all;
    after = next;
  }
}

describe('the feed, filtered', () => {
  const isMx = ({ data }: Item) => data?.type === 'MX';
  test.each<[query: string, isWanted: (item: Item) => boolean]>([
    ['notable=true', ({ routine }) => routine === null],
    ['notable=false', ({ routine }) => routine !== null],
    ['types=MX', isMx],
    ['types=mx&notable=true', (item) => isMx(item) && item.routine === null],
    ['headers=Server', ({ name }) => name === 'server'],
    ['types=MX&headers=server', (item) => isMx(item) || item.name === 'server'],
    ['types=MX&kinds=DNS_RECORD_REMOVED', (item) => isMx(item) && item.kind === 'DNS_RECORD_REMOVED'],
    ['domains=example.com', ({ domain }) => domain === 'example.com'],
    ['domains=*.example.com', ({ domain }) => domain === 'www.example.com'],
    [
      'domains=*.example.com&domains=other.example',
      ({ domain }) => ['www.example.com', 'other.example'].includes(domain),
    ],
    ['registrableDomain=example.com', ({ domain }) => ['example.com', 'www.example.com'].includes(domain)],
    ['watched=true', ({ domain }) => domain === 'other.example'],
    ['watched=false&headers=server', ({ domain, name }) => domain !== 'other.example' && name === 'server'],
  ])('%s has these changes and no others, whatever the length of its pages', async (query, isWanted) => {
    const all = await changesOf('');
    const wanted = all.filter(isWanted);
    expect(wanted.length).toBeGreaterThan(0);
    expect(wanted.length).toBeLessThan(all.length);
    expect(await changesOf(query)).toEqual(wanted);
    expect(await changesOf(query, 3)).toEqual(wanted);
    expect(await changesOf(`${query}&order=NEWEST_FIRST`, 7)).toEqual(wanted.toReversed());
  });

  test('notable changes are what somebody wants to know: the first of a rotation, another server, another mail host', async () => {
    const notable = await changesOf('domains=example.com&notable=true');
    expect(new Set(notable.map(({ name, data }) => name ?? data?.type))).toEqual(
      new Set(['A', 'MX', 'server']),
    );
    const reasons = new Set(
      (await changesOf('domains=example.com&notable=false')).map(({ routine }) => routine),
    );
    expect(reasons).toEqual(new Set(['INITIAL', 'VALIDATOR', 'ROTATING']));
  });

  test('a stream has the same as pages', async () => {
    for (const query of [
      'notable=true',
      'types=MX&headers=server',
      'domains=*.example.com',
      'watched=true',
    ]) {
      const wanted = await changesOf(query);
      const start = await fetch(`${service.url}/api/v1/changes?first=1&${query}`);
      const { changes, next } = (await start.json()) as { readonly changes: Item[]; readonly next: string };
      const expected = wanted.slice(changes.length);
      const found: Item[] = [];
      const aborter = new AbortController();
      const response = await fetch(`${service.url}/api/v1/changes?${query}`, {
        headers: { accept: 'text/event-stream', 'last-event-id': next },
        signal: aborter.signal,
      });
      let text = '';
      for await (const chunk of response.body ?? []) {
        text += new TextDecoder().decode(chunk as Uint8Array);
        found.length = 0;
        for (const [, data] of text.matchAll(/^data: (.*)\n\n/gm)) found.push(JSON.parse(data ?? '') as Item);
        if (found.length >= expected.length) break;
      }
      aborter.abort();
      expect(found).toEqual(expected);
    }
  });

  test('watched needs the scope watch:read, too', async () => {
    const other = await startTestService({ database, anonymousScopes: new Set(['search:read']) });
    try {
      const { status } = await fetch(`${other.url}/api/v1/changes?watched=true`);
      expect(status).toBe(401);
    } finally {
      await other.stop();
    }
  });
});

test.each([
  ['notable=true', ({ routine }: Item) => routine === null],
  ['notable=false&types=A', ({ routine, data }: Item) => routine !== null && data?.type === 'A'],
])('the changes of a domain with %s are those, whatever the length of the pages', async (query, isWanted) => {
  const of = async (more: string) => {
    const all: Item[] = [];
    for (let after: string | null = ''; after !== null; ) {
      const path: string = `/api/v1/domain/example.com/changes?${more}${after && `&after=${after}`}`;
      const body = (await (await fetch(service.url + path)).json()) as {
        changes: Item[];
        next: string | null;
      };
      all.push(...body.changes);
      after = body.next;
    }
    return all;
  };
  const wanted = (await of('first=500')).filter(isWanted);
  expect(wanted.length).toBeGreaterThan(0);
  expect(await of(`first=2&${query}`)).toEqual(wanted);
});
