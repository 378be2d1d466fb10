import { expect, test } from 'vitest';
import { watchDomains } from '../../src/observer/schedule/watch-list.js';
import { openEvents } from '../support/events.js';
import { NOW } from '../support/observations.js';
import { serviceOfFile, startServiceForTest } from '../support/service.js';
import { allChanges, type ChangeItem } from './instants.js';

let all: readonly ChangeItem[];

const mailAt = (target: string) => ({ host: 'example.com', class: 'IN', type: 'MX', pri: 10, target });

const service = serviceOfFile({}, async ({ record, database }) => {
  const domains = ['example.com', 'www.example.com', 'notexample.com', 'other.example'];
  const looks = domains.flatMap((domain) =>
    [1, 2, 3, 4, 5, 6, 7].map((at) => {
      const letter = at < 3 ? 'a' : 'b';
      const records = [`192.0.2.${at % 2}`, mailAt(`${letter}.example`)];
      const headers = { server: letter, etag: `"${Math.min(at, 3)}"` };
      return { domain, at, records, headers };
    }),
  );
  await record(...looks);
  await watchDomains(database.writingPrisma, ['other.example'], null, NOW);
  all = await changesAt('changes', '');
});

function changesAt(path: string, query: string, first = 500) {
  return allChanges(service.url, path, [['first', String(first)], ...new URLSearchParams(query)]);
}

const isMx = ({ data }: ChangeItem) => data?.type === 'MX';

test.each<[query: string, isWanted: (item: ChangeItem) => boolean]>([
  ['notable=true', ({ routine }) => routine === null],
  ['notable=false', ({ routine }) => routine !== null],
  ['types=MX', isMx],
  ['types=mx&notable=true', (item) => isMx(item) && item.routine === null],
  ['headers=Server', ({ name }) => name === 'server'],
  ['types=MX&headers=server', (item) => isMx(item) || item.name === 'server'],
  ['types=MX&kinds=DNS_RECORD_REMOVED', (item) => isMx(item) && item.kind === 'DNS_RECORD_REMOVED'],
  ['domains=example.com', ({ domain }) => domain === 'example.com'],
  ['domains=*.example.com', ({ domain }) => domain === 'www.example.com'],
  ['domains=*.example.com&domains=other.example', ({ domain }) => /^(?:www|other)\./.test(domain)],
  ['registrableDomain=example.com', ({ domain }) => ['example.com', 'www.example.com'].includes(domain)],
  ['watched=true', ({ domain }) => domain === 'other.example'],
  ['watched=false&headers=server', ({ domain, name }) => domain !== 'other.example' && name === 'server'],
])(
  'the feed with %s has these changes and no others, on pages of any length, and in a stream',
  async (query, isWanted) => {
    const wanted = all.filter(isWanted);
    expect(wanted.length).toBeGreaterThan(0);
    expect(wanted.length).toBeLessThan(all.length);
    expect(await changesAt('changes', query)).toEqual(wanted);
    expect(await changesAt('changes', query, 11)).toEqual(wanted);
    expect(await changesAt('changes', `${query}&order=NEWEST_FIRST`, 7)).toEqual(wanted.toReversed());
    const { changes, next } = (await service.rest(`/changes?first=1&${query}`)).body;
    const stream = await openEvents(`${service.url}/api/v1/changes?${query}`, {
      headers: { 'last-event-id': next },
    });
    for (const change of wanted.slice(changes.length)) {
      const [event] = (await stream.until(({ data }) => data !== '')).slice(-1);
      expect(JSON.parse(event?.data ?? '')).toEqual(change);
    }
    stream.close();
  },
);

test('the feed with watched=true needs the scope watch:read, too', async () => {
  const anonymousScopes = new Set(['search:read'] as const);
  const other = await startServiceForTest({ database: service.database, anonymousScopes });
  expect((await other.rest('/changes?watched=true')).status).toBe(401);
});

test.each<[query: string, isWanted: (item: ChangeItem) => boolean]>([
  ['notable=true', ({ routine }) => routine === null],
  ['notable=false&types=A', ({ routine, data }) => routine !== null && data?.type === 'A'],
])('the changes of a domain with %s are those, on pages of any length', async (query, isWanted) => {
  const wanted = (await changesAt('domain/example.com/changes', '')).filter(isWanted);
  expect(wanted.length).toBeGreaterThan(0);
  expect(await changesAt('domain/example.com/changes', query, 2)).toEqual(wanted);
});
