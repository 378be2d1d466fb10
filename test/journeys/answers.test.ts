import { expect, test } from 'vitest';
import { type ObservationParts, timeText } from '../support/observations.js';
import { serviceOfFile } from '../support/service.js';

const service = serviceOfFile();

const rest = async (path: string) => (await service.rest(`/${path}`)).body;

test('a TXT of 4,000 bytes in segments, 1,000 addresses and 300 headers, one of 16 kB, come back exactly, by REST and by GraphQL', async () => {
  const entries = Array.from({ length: 16 }, (_, index) => `"${index}" ü \\000 \\255 `.padEnd(246, 'x'));
  const txt = { host: 'large.example', class: 'IN', type: 'TXT', txt: entries.join(''), entries };
  const addresses = Array.from({ length: 1000 }, (_, index) => `10.1.${index >> 8}.${index & 255}`);
  const names = Array.from({ length: 300 }, (_, index) => `x-${String(index).padStart(3, '0')}`);
  const long = 'v'.repeat(16_384);
  const headers = Object.fromEntries(names.map((name) => [name, name === 'x-007' ? long : name]));
  await service.record({ domain: 'large.example', at: 1, records: [txt, ...addresses], headers });
  const ips = [...addresses].sort().map((ip) => ({ ip }));
  const { dnsRecords, httpHeaders } = await rest('domain/large.example');
  expect(dnsRecords.map(({ data }: { data: object }) => data)).toMatchObject([...ips, txt]);
  expect(httpHeaders).toMatchObject(names.map((name) => ({ name, value: headers[name] })));
  const query = `{ domain(name: "large.example") {
    dnsRecords { ... on TxtRecord { txt entries } ... on ARecord { ip } }
    httpHeaders { name value history { event date new old } } } }`;
  const { data } = await service.graphql(query);
  const text = { txt: entries.join(''), entries };
  expect(data).toEqual({ domain: { dnsRecords: [...ips, text], httpHeaders } });
});

const HEADERS = { server: 'nginx' };
const LOOKS: readonly ObservationParts[] = [
  { at: 0, headers: HEADERS },
  { at: 1, headers: HEADERS, status: 200, source: 'probe' },
  { at: 2, headers: HEADERS, status: 200 },
  { at: 2.5, headers: HEADERS },
  { at: 3, headers: HEADERS, status: 503, source: 'probe' },
  { at: 4, headers: HEADERS, status: 200 },
  { at: 5, headers: HEADERS, status: 200 },
];
const micros = (at: number) => timeText(at).replace('Z', '000Z');
const STATUSES = [
  { date: micros(3), oldStatus: 200, newStatus: 503, routine: null, source: 'probe' },
  { date: micros(4), oldStatus: 503, newStatus: 200, routine: null, source: null },
];

async function statusesAt(path: string) {
  const { changes }: { changes: Record<string, unknown>[] } = await rest(path);
  return changes
    .filter(({ kind }) => kind === 'SITE_STATUS_CHANGED')
    .map(({ id: _id, domain: _domain, kind: _kind, ...status }) => status);
}

test('another status with the same headers is a change: in a domain, the feed, CSV, by its id, and as the site now and at a time; the first that is known and unknown ones are none; no count has it', async () => {
  const { outcomes } = await service.record(...LOOKS.map((look) => ({ ...look, domain: 'site.example' })));
  const kinds = ['changed', 'unchanged', 'unchanged', 'unchanged', 'changed', 'changed', 'unchanged'];
  expect(outcomes.map(({ kind }) => kind)).toEqual(kinds);
  for (const path of [
    'domain/site.example/changes',
    'changes?domains=site.example&kinds=SITE_STATUS_CHANGED',
    'changes?domains=site.example&notable=true',
  ]) {
    expect(await statusesAt(path)).toEqual(STATUSES);
  }
  const newest = 'domain/site.example/changes?order=NEWEST_FIRST&first=2';
  expect(await statusesAt(newest)).toEqual(STATUSES.toReversed());
  expect(await statusesAt('domain/site.example/changes?headers=server')).toEqual([]);
  const { data } = await service.graphql(
    `query ($during: Timestamp!, $before: Timestamp!) { now: domain(name: "site.example") { changeCount ...S }
      during: domain(name: "site.example", at: $during) { ...S } before: domain(name: "site.example", at: $before) { ...S } }
     fragment S on Domain { lastChange site { scheme status firstSeen lastSeen } }`,
    { during: timeText(3), before: timeText(2) },
  );
  const siteIs = (status: number, first: number, last: number) => ({
    lastChange: micros(0),
    site: { scheme: 'http', status, firstSeen: micros(first), lastSeen: micros(last) },
  });
  expect(data).toEqual({
    now: { changeCount: 1, ...siteIs(200, 4, 5) },
    during: siteIs(503, 3, 3),
    before: siteIs(200, 1, 1),
  });
  const { text: csv } = await service.rest('/domain/site.example/changes', { accept: 'text/csv' });
  expect(csv).toContain(`${micros(3)},site.example,SITE_STATUS_CHANGED,,,200,503,,probe,`);
  expect(csv).toContain(`${micros(4)},site.example,SITE_STATUS_CHANGED,,,503,200,,,`);
  for (const { id } of (await rest('domain/site.example/changes')).changes) {
    expect((await service.graphql(`{ node(id: "${id}") { id } }`)).data).toEqual({ node: { id } });
  }
});
