import { readFileSync } from 'node:fs';
import { expect, onTestFinished, test, vi } from 'vitest';
import { headerChanger } from '../support/events.js';
import { serviceOfFile, startServiceForTest, startTestService, withSamples } from '../support/service.js';
import { documentedCode, folderOfFile } from './documented-clients.js';

const folder = folderOfFile();
const service = serviceOfFile({}, withSamples);

/** When an address of example.com was still there, which is gone today. */
const THEN = '2023-03-01T00:00:00Z';

interface Shown {
  readonly domain: { readonly id: string; readonly dnsRecords: readonly object[] };
}

/** How many changes example.com has in the samples. */
const CHANGES = 29;

/** The time of clients who wait in a folder passes at once, that of budgets with it: in milliseconds, how long each wait was. */
function skipWaits(path: string): readonly number[] {
  const waits: number[] = [];
  const wait = globalThis.setTimeout;
  vi.useFakeTimers({ toFake: ['performance', 'Date'] });
  onTestFinished(() => void vi.useRealTimers());
  vi.stubGlobal('setTimeout', (work: () => void, milliseconds: number) => {
    if (!new Error().stack?.includes(path)) return wait(work, milliseconds);
    waits.push(milliseconds);
    vi.advanceTimersByTime(milliseconds);
    return wait(work, 0);
  });
  onTestFinished(() => void vi.unstubAllGlobals());
  return waits;
}

test.each(['Apollo Client', 'urql'])('the documented versions of %s are those of these tests', (heading) => {
  const project = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  const documented = (documentedCode(heading, '').get('sh') ?? '').matchAll(/(\S+)@([\d.]+)/g);
  const packages = Object.fromEntries(Array.from(documented, ([, name, version]) => [name, version]));
  expect(Object.keys(packages).length).toBeGreaterThan(1);
  expect({ ...project.dependencies, ...project.devDependencies }).toMatchObject(packages);
});

function expectThenAndNow(then: Shown, now: Shown): void {
  const data = '2001:db8::7';
  expect(then.domain.dnsRecords).toContainEqual(expect.objectContaining({ data, removed: null }));
  const removed = '2023-05-20T14:30:12.345678Z';
  expect(now.domain.dnsRecords).toContainEqual(expect.objectContaining({ data, removed }));
}

test('Apollo Client, as documented, shows the present after the past was read, and the past after the present', async () => {
  const { client, DOMAIN } = await folder.load('Apollo Client', service.url);
  const read = async (at: string | undefined, fetchPolicy: string): Promise<Shown> =>
    (await client.query({ query: DOMAIN, variables: { name: 'example.com', at }, fetchPolicy })).data;
  const now = await read(undefined, 'network-only');
  const then = await read(THEN, 'network-only');
  expectThenAndNow(then, now);
  expect(await read(undefined, 'cache-only')).toEqual(now);
  expect(await read(THEN, 'cache-only')).toEqual(then);
});

test('Apollo Client, as documented, joins the pages of a domain, and keeps what fragments on interfaces select', async () => {
  const { client, CHANGES } = await folder.load('Apollo Client', service.url);
  const query = client.watchQuery({ query: CHANGES, variables: { name: 'example.com' } });
  const subscription = query.subscribe({});
  onTestFinished(() => subscription.unsubscribe());
  const edges = () => query.getCurrentResult().data?.domain?.changes?.edges ?? [];
  await expect.poll(() => edges().length).toBe(5);
  const { endCursor } = query.getCurrentResult().data.domain.changes.pageInfo;
  await query.fetchMore({ variables: { after: endCursor } });
  await expect.poll(() => edges().length).toBe(10);
  expect(new Set(edges().map(({ node }: { node: { id: string } }) => node.id)).size).toBe(10);
});

test('Apollo Client, as documented, tells a domain that is unknown from a name that is not valid', async () => {
  const { allChanges } = await folder.load('Apollo Client', service.url);
  expect(await allChanges('unknown.example')).toBeNull();
  // Also where the error might be cached.
  await expect(allChanges('a b')).rejects.toThrow('is not a domain name');
  await expect(allChanges('a b')).rejects.toThrow('is not a domain name');
});

test('Apollo Client, as documented, waits for as long as a limit says, and gets all', async () => {
  const rateLimits = { anonymous: 5, token: 5 };
  const limited = await startServiceForTest({ database: service.database, rateLimits });
  const waits = skipWaits(folder.path);
  const { allChanges } = await folder.load('Apollo Client', limited.url);
  const changes: readonly { readonly id: string }[] = await allChanges('example.com');
  expect([changes.length, new Set(changes.map(({ id }) => id)).size]).toEqual([CHANGES, CHANGES]);
  expect(waits.length).toBeGreaterThan(1);
  for (const wait of waits) expect(wait).toBeLessThanOrEqual(60_000);
});

test('Apollo Client, as documented, listens by its HttpLink, and is told the cursor to come back with', async () => {
  const stopped = await startTestService();
  await withSamples(stopped);
  const change = headerChanger(stopped.database);
  const { listen } = await folder.load('Apollo Client', stopped.url);
  const heard: unknown[] = [];
  const domains = ['new.example'];
  const subscription = listen({ domains }, { next: (result: unknown) => heard.push(result) });
  onTestFinished(() => subscription.unsubscribe());
  const pageInfo = { endCursor: expect.stringMatching(/.+/) };
  await expect.poll(() => heard).toMatchObject([{ data: { changes: { nodes: [], pageInfo } } }]);
  await change('one', 'new.example');
  const node = { __typename: 'HeaderCreated', domain: { name: 'new.example' } };
  await expect.poll(() => heard[1]).toMatchObject({ data: { changes: { nodes: [node], pageInfo } } });
  const [, { data }] = heard as [unknown, { data: { changes: { pageInfo: { endCursor: string } } } }];
  await stopped.stop();
  const extensions = { code: 'UNAVAILABLE', cursor: data.changes.pageInfo.endCursor };
  const error = { name: 'CombinedGraphQLErrors', errors: [{ extensions }] };
  await expect.poll(() => heard[2]).toMatchObject({ data: undefined, error });
  await expect.poll(() => subscription.closed).toBe(true);
  expect(heard).toHaveLength(3);
});

test('Apollo Client, as documented, keeps the fields beside one that fails', async () => {
  const { client } = await folder.load('Apollo Client', service.url);
  const { gql } = await import('@apollo/client');
  const query = gql`{ good: domain(name: "example.com") { id name } bad: domain(name: "a b") { id name } }`;
  const { data, error } = await client.query({ query });
  expect(data).toMatchObject({ good: { name: 'example.com' }, bad: null });
  expect(error.errors[0].extensions.code).toBe('INVALID_DOMAIN');
});

/** As the one in a browser, without a disk. */
function memoryStorage() {
  const kept: Record<string, unknown> = {};
  return {
    kept,
    writeData: async (entries: object) => void Object.assign(kept, entries),
    readData: async () => ({ ...kept }),
    writeMetadata: () => {},
    readMetadata: async () => [],
    onOnline: () => {},
  };
}

const DOMAIN = `query ($name: String!, $at: Timestamp) { domain(name: $name, at: $at) { id at
  dnsRecords { ... on DnsRecordEntry { id data removed } }
  diff(from: "2023-03-01T00:00:00Z", to: "2024-01-01T00:00:00Z") { httpHeaders { name difference } } } }`;

test('urql with graphcache, as documented, shows the past and the present apart, also without a connection, and has no remarks', async () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
  onTestFinished(() => warn.mockRestore());
  // Where it is "test", graphcache keeps nothing.
  vi.stubEnv('NODE_ENV', 'development');
  onTestFinished(() => void vi.unstubAllEnvs());
  const { createClient } = await folder.load('urql', service.url);
  const storage = memoryStorage();
  const read = async (
    client: ReturnType<typeof createClient>,
    at: string | undefined,
    requestPolicy: string,
  ): Promise<Shown> => {
    const result = await client.query(DOMAIN, { name: 'example.com', at }, { requestPolicy }).toPromise();
    expect(result.error).toBeUndefined();
    return result.data;
  };
  const online = createClient(storage);
  const now = await read(online, undefined, 'network-only');
  const then = await read(online, THEN, 'network-only');
  expectThenAndNow(then, now);
  expect(await read(online, undefined, 'cache-only')).toEqual(now);
  await expect.poll(() => JSON.stringify(storage.kept)).toContain(then.domain.id);
  // Short queries are sent by GET.
  expect(service.logged).toContainEqual(expect.objectContaining({ path: '/graphql', method: 'GET' }));

  const offline = createClient(storage);
  vi.stubGlobal('fetch', () => Promise.reject(new TypeError('Failed to fetch')));
  onTestFinished(() => void vi.unstubAllGlobals());
  expect(await read(offline, undefined, 'cache-first')).toEqual(now);
  expect(await read(offline, THEN, 'cache-first')).toEqual(then);
  expect(warn.mock.calls).toEqual([]);
});

test('urql with graphcache, as documented, reads a list to its last page, none of a domain that is unknown, and fails for a name that is not valid', async () => {
  const { allChanges, createClient } = await folder.load('urql', service.url);
  const ids = new Set<string>();
  for await (const { id } of allChanges(createClient(), 'example.com')) ids.add(id);
  expect(ids.size).toBe(CHANGES);
  const read = (name: string) => allChanges(createClient(), name).next();
  expect(await read('unknown.example')).toEqual({ done: true, value: undefined });
  await expect(read('a b')).rejects.toThrow('is not a domain name');
});
