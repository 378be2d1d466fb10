import { setTimeout as pause } from 'node:timers/promises';
import fc from 'fast-check';
import { beforeAll, beforeEach, expect, inject, onTestFinished, test } from 'vitest';
import type { Viewer } from '../../src/auth/viewer.js';
import { type Database, openDatabase } from '../../src/database/client.js';
import { migrate } from '../../src/database/migrate.js';
import { parseDmsLine } from '../../src/importers/dms.js';
import { CHANGE_KINDS } from '../../src/model/change-kinds.js';
import type { Observation } from '../../src/model/observation.js';
import { forget } from '../../src/recorder/forget.js';
import { createRecorder } from '../../src/recorder/recorder.js';
import { graphqlRequest } from '../support/ask.js';
import { createTestHome, onShards, TEST_SERVER, type TestHome } from '../support/database.js';
import { type OpenEvents, openEvents, type ReceivedEvent } from '../support/events.js';
import { OWN_RECORD_FIELDS } from '../support/every-field.js';
import { anonymous, callerOf, openExecutor } from '../support/graphql-executor.js';
import { keepUntilEnd } from '../support/keep.js';
import { repeats } from '../support/long-form.js';
import { addressRecord, NOW, type ObservationParts, observation } from '../support/observations.js';
import { startServiceForTest, type TestService } from '../support/service.js';
import { allChanges } from './instants.js';
import { type ObservationLine, observationLine } from './random-observations.js';
import { expectSame } from './random-searches.js';

/** About how many changes are written while others read. */
const MANY_CHANGES = TEST_SERVER === undefined ? repeats(5_000, 200) : repeats(100_000, 1_000);

const MINUTE = 60_000;

let home: TestHome;
let database: Database;
let feed: Feed;
const keep = keepUntilEnd();

beforeAll(async () => {
  home = keep(await createTestHome(inject('testRun')));
  database = keep(await openDatabase(home.options));
  await migrate(database.pool);
  feed = openFeed(database);
});

// The row that a feed begins with stays: other tests' databases, which were emptied, have none.
beforeEach(() =>
  database.pool.query(`
    DELETE FROM change_feed WHERE number > (SELECT min(number) FROM change_feed);
    TRUNCATE domain, dns_record, header_change, site_response, known_name, known_text`),
);

interface Change {
  readonly id: string;
  readonly kind: string;
  readonly domain: string;
  readonly record?: { readonly type: string };
}

interface Page {
  readonly nodes: readonly Change[];
  readonly edges: readonly { readonly cursor: string }[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string };
}

type Question = Readonly<Record<string, unknown>>;

/** What never changes of a change. */
const PAGE = `{
  edges { cursor } pageInfo { hasNextPage endCursor }
  nodes {
    id kind domain { name } date source routine
    ... on DnsRecordAdded { record { ...data } } ... on DnsRecordRemoved { record { ...data } lastSeen }
    ... on HeaderCreated { name new } ... on HeaderUpdated { name old new lastSeen }
    ... on HeaderGone { name old lastSeen } ... on HeaderReturned { name new }
  }
}`;
const DATA = `fragment data on DnsRecord { ... on DnsRecordEntry { host class type firstSeen } ${OWN_RECORD_FIELDS} }`;
const FEED = `query ($domains: [String!], $kinds: [ChangeKind!], $order: ChangeOrder, $first: Int!, $after: String) {
  changes(domains: $domains, kinds: $kinds, order: $order, first: $first, after: $after) ${PAGE} } ${DATA}`;
const OF_DOMAIN = `query ($name: String!, $after: String) {
  domain(name: $name) { changes(first: 500, after: $after) ${PAGE} } } ${DATA}`;

type Feed = ReturnType<typeof openFeed>;

/**
 * The changes that a database's service answers with. Page by page at random, they are read by the statements for tables on one
 * server, and by those for tables that are distributed over a Citus cluster.
 */
function openFeed(opened: Database) {
  const services = [opened, onShards(opened)].map((database) => {
    const executor = openExecutor(database, { anonymous: 1e12, token: 1e12 });
    return { executor, ofAll: executor.prepare(FEED), ofDomain: executor.prepare(OF_DOMAIN) };
  });
  const viewer: Viewer = { ...anonymous(), scopes: new Set(['search:read'] as const) };
  const ask = async (operation: 'ofAll' | 'ofDomain', variables: object) => {
    const service = services[Math.floor(Math.random() * services.length)];
    if (service === undefined) throw new Error('There is no service.');
    const { primary } = service.executor;
    const { data, errors } = await service[operation].execute({ ...variables }, callerOf(viewer), primary);
    if (errors !== undefined) throw errors[0]?.originalError;
    return parsed(JSON.stringify(data));
  };
  const page = async (question: Question): Promise<Page> =>
    (await ask('ofAll', { first: 500, ...question })).changes;
  const pageOfDomain = async (name: string, after?: string): Promise<Page> =>
    (await ask('ofDomain', { name, after })).domain.changes;
  return {
    page,
    all: (question: Question = {}) => allOf((after) => page({ ...question, ...(after && { after }) })),
    ofDomain: (name: string) => allOf((after) => pageOfDomain(name, after)),
  };
}

/** An answer of GraphQL, a change's domain as its name. */
function parsed(text: string) {
  return JSON.parse(text, (key, value) => (key === 'domain' && value?.name) || value);
}

async function allOf(load: (after?: string) => Promise<Page>): Promise<Change[]> {
  const found: Change[] = [];
  for (let after: string | undefined; ; ) {
    const { nodes, pageInfo } = await load(after);
    found.push(...nodes);
    if (!pageInfo.hasNextPage) return found;
    after = pageInfo.endCursor;
  }
}

async function record(...parts: readonly ObservationParts[]): Promise<void> {
  await createRecorder(database.pool).record(parts.map(observation));
}

const NAMES = ['a.example', 'b.example', 'xn--bcher-kva.example'];

/** Records any observations of NAMES in batches. */
async function recordAny(): Promise<void> {
  const lines = roughlyByTime(fc.sample(observationLine(NAMES), 25));
  for (const batch of batchesOf(lines)) await createRecorder(database.pool).record(batch);
}

/** Most of them later than the one before, others late. */
function roughlyByTime(lines: readonly ObservationLine[]): ObservationLine[] {
  return lines
    .map((line) => ({ line, at: Date.parse(line.observedAt) + 3_000 * Math.random() }))
    .sort((one, other) => one.at - other.at)
    .map(({ line }) => line);
}

function batchesOf(lines: readonly ObservationLine[]): Observation[][] {
  const left = lines.map((line) => parseDmsLine(JSON.stringify(line), NOW));
  const batches: Observation[][] = [];
  while (left.length > 0) batches.push(left.splice(0, 1 + Math.floor(Math.random() * 30)));
  return batches;
}

const DOMAINS_AT_ONCE = 20;
const LINES_OF_GROUP = repeats(100, TEST_SERVER === undefined ? 25 : 100);

/** A writer's observations, those of one group of domains after the other. */
function linesOf(groups: number): ObservationLine[] {
  return Array.from({ length: groups }, (_, group) => {
    const names = Array.from({ length: DOMAINS_AT_ONCE }, (_, place) => `a${place}.g${group}.example`);
    return roughlyByTime(fc.sample(observationLine(names), LINES_OF_GROUP));
  }).flat();
}

/** Changes by domain and part, those of each in their order. */
function byPart(changes: readonly Change[]): readonly Change[] {
  const partOf = ({ domain, record }: Change) => `${domain} ${record?.type ?? 'HTTP'}`;
  return [...changes].sort((one, other) => partOf(one).localeCompare(partOf(other)));
}

/** Polls with pages of any size from the end of the last one, until nothing is new after the end of all writing. */
async function follow(reader: Feed, isOver: () => boolean): Promise<Change[]> {
  const seen: Change[] = [];
  for (let after: string | undefined; ; ) {
    const isLast = isOver();
    const first = [1, 2, 3, 10, 50, 100, 500][Math.floor(Math.random() * 7)] ?? 1;
    const { nodes, pageInfo } = await reader.page({ first, after });
    seen.push(...nodes);
    after = pageInfo.endCursor;
    if (pageInfo.hasNextPage) continue;
    if (isLast) return seen;
    await pause(Math.random() * 20);
  }
}

/** Listens from the beginning of the feed, cut off and back again at random, until it has heard all of it. */
async function listen<Item>(
  begin: string,
  open: (after: string) => Promise<OpenEvents>,
  heardIn: (event: ReceivedEvent) => { readonly changes: readonly Item[]; readonly end: string } | undefined,
  mostEvents: number,
  total: () => number,
): Promise<Item[]> {
  const heard: Item[] = [];
  for (let after = begin; heard.length < total(); ) {
    const stream = await open(after);
    for (let left = Math.random() * mostEvents; left > 0 && heard.length < total(); left -= 1) {
      const event = await Promise.race([stream.next(), pause(500)]);
      const found = event && heardIn(event);
      if (found === undefined) break;
      heard.push(...found.changes);
      after = found.end;
    }
    stream.close();
  }
  return heard;
}

const LIVE = `subscription ($after: String) { changes(after: $after) ${PAGE} } ${DATA}`;

/** Two that subscribe, and one of REST's event stream. */
function listeners({ url }: TestService, begin: string, total: () => number) {
  const subscribe = (after: string) => openEvents(`${url}/graphql`, graphqlRequest(LIVE, { after }));
  const resultIn = ({ event, data }: ReceivedEvent) => {
    const page: Page | undefined = event === 'next' ? parsed(data).data?.changes : undefined;
    return page && { changes: page.nodes, end: page.pageInfo.endCursor };
  };
  const ofRest = (after: string) =>
    openEvents(`${url}/api/v1/changes`, { headers: { 'last-event-id': after } });
  const itemIn = ({ event, data, id }: ReceivedEvent) =>
    event === 'message' ? { changes: data === '' ? [] : [JSON.parse(data)], end: id } : undefined;
  return Promise.all([
    listen<Change>(begin, subscribe, resultIn, 60, total),
    listen<Change>(begin, subscribe, resultIn, 60, total),
    listen<object>(begin, ofRest, itemIn, 4_000, total),
  ]);
}

async function beginOf(service: TestService): Promise<string> {
  const stream = await openEvents(`${service.url}/api/v1/changes`);
  const begin = await stream.next();
  stream.close();
  return begin?.id ?? '';
}

test(
  'readers that poll, and those that listen and are cut off at random, while eight writers record the same domains in any order, get every change exactly once, all in one order',
  async () => {
    // A group has about 900 changes, by chance and by who writes first.
    const groups = Math.ceil(MANY_CHANGES / 750);
    const written = Array.from({ length: 8 }, () => linesOf(groups));
    const batches = written.map(batchesOf);
    const batchCount = batches.flat().length;
    const others = await Promise.all(Array.from({ length: 5 }, () => openDatabase(home.options)));
    onTestFinished(() => Promise.all(others.map((other) => other.close())).then(() => {}));
    let [recorded, isOver] = [0, false];
    const write = async (own: readonly Observation[][], writer: number) => {
      const recorder = createRecorder(others[writer % 4]?.pool ?? database.pool);
      for (const batch of own) {
        await recorder.record(batch);
        recorded += 1;
      }
    };
    const read = async (reader: number) => {
      while (recorded < (batchCount * reader) / 3 && !isOver) await pause(5);
      return follow(openFeed(others[4] ?? database), () => isOver);
    };
    const service = await startServiceForTest({ database: others[3] ?? database });
    const begin = await beginOf(service);
    const writing = Promise.all(batches.map(write)).finally(() => {
      isOver = true;
    });
    let total = Number.POSITIVE_INFINITY;
    const listening = listeners(service, begin, () => total);
    const [all, second, third] = await Promise.all([read(0), read(1), read(2), writing]);
    const pages = await allChanges(service.url, 'changes', Object.entries({ first: '500', after: begin }));
    total = pages.length;
    const [subscriber, another, ofRest] = await listening;

    expect(all.length).toBeGreaterThan(MANY_CHANGES);
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
    const ofDomains: Change[] = [];
    for (const name of new Set(written.flat().map(({ domain }) => domain))) {
      ofDomains.push(...(await feed.ofDomain(name)));
    }
    expectSame(byPart(all), byPart(ofDomains));
    for (const other of [second, third, subscriber, another]) expectSame(other, all);
    expect(pages.length).toBe(all.length);
    expectSame(ofRest, pages);
  },
  repeats(20, 5) * MINUTE,
);

/** Waits until so many connections wait for locks. */
async function untilWaiting(connections: number): Promise<void> {
  const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  await expect.poll(async () => (await database.pool.query(waiting)).rowCount).toBe(connections);
}

test.skipIf(TEST_SERVER === undefined).each([
  ['its domain', `SELECT FROM domain WHERE name = 'late.example' FOR UPDATE`],
  ['a name, after it wrote its domain', `INSERT INTO known_name (name) VALUES ('www.late.example')`],
])(
  'a writer that has to wait for %s delays neither writers nor readers, whose cursors are before its changes',
  async (_for, lock) => {
    await record({ domain: 'late.example', at: 1, records: ['192.0.2.1'] });
    const before = (await feed.page({})).pageInfo.endCursor;
    const lateRecord = addressRecord('www.late.example', '192.0.2.2');
    let [late, soon]: [Promise<void>?, Page?] = [];
    const blocker = await database.pool.connect();
    try {
      await blocker.query('BEGIN');
      await blocker.query(lock);
      late = record({ domain: 'late.example', at: 2, records: [lateRecord] });
      await untilWaiting(1);
      await record({ domain: 'soon.example', at: 3, records: ['192.0.2.3'] });
      soon = await feed.page({ after: before });
    } finally {
      await blocker.query('ROLLBACK');
      blocker.release();
      await late;
    }
    expect(soon).toMatchObject({ nodes: [{ domain: 'soon.example' }], pageInfo: { hasNextPage: false } });
    const { nodes } = await feed.page({ after: soon.pageInfo.endCursor });
    expect(nodes).toMatchObject([
      { domain: 'late.example', kind: 'DNS_RECORD_ADDED', date: '2024-01-01T00:00:02.000000Z' },
      { domain: 'late.example', kind: 'DNS_RECORD_REMOVED', date: '2024-01-01T00:00:02.000000Z' },
    ]);
    expect(await feed.all({ after: before })).toEqual([...soon.nodes, ...nodes]);
  },
);

test.skipIf(TEST_SERVER === undefined)(
  'a writer that is held up while it commits delays no reader, and no reader passes its changes',
  async () => {
    const commit = `pg_advisory_xact_lock(1)`;
    await database.pool.query(`
      CREATE FUNCTION held() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM ${commit}; RETURN NULL; END';
      CREATE CONSTRAINT TRIGGER held AFTER INSERT ON change_feed DEFERRABLE INITIALLY DEFERRED
         FOR EACH ROW WHEN (new.domain = 'late.example') EXECUTE FUNCTION held()`);
    const blocker = await database.pool.connect();
    const writers: Promise<void>[] = [];
    let page: Page | undefined;
    try {
      await blocker.query(`BEGIN; SELECT ${commit}`);
      for (const name of ['late.example', 'soon.example']) {
        writers.push(record({ domain: name, at: 1, records: ['192.0.2.1'] }));
        await Promise.race([writers.at(-1), untilWaiting(writers.length)]);
      }
      page = await feed.page({});
    } finally {
      await blocker.query('ROLLBACK');
      blocker.release();
      await Promise.all(writers);
      await database.pool.query('DROP FUNCTION held CASCADE');
    }
    const rest = await feed.all({ after: page.pageInfo.endCursor });
    const domains = [...page.nodes, ...rest].map(({ domain }) => domain);
    expect(domains.sort()).toEqual(['late.example', 'soon.example']);
  },
);

test('a reader that has begun when nothing was recorded, and comes back when nothing is new, gets what is recorded later', async () => {
  const nothing = { nodes: [], pageInfo: { hasNextPage: false, endCursor: expect.any(String) } };
  let page = await feed.page({});
  expect(page).toMatchObject(nothing);
  for (const [at, server] of ['one', 'two', 'three'].entries()) {
    const idle = await feed.page({ after: page.pageInfo.endCursor });
    expect(idle).toMatchObject(nothing);
    await record({ at, headers: { server } });
    page = await feed.page({ after: idle.pageInfo.endCursor });
    expect(page).toMatchObject({ nodes: [{ new: server }], pageInfo: { hasNextPage: false } });
  }
  expect(await feed.page({ order: 'NEWEST_FIRST', domains: ['unknown.example'] })).toMatchObject(nothing);
});

test('pages of any size, of any domains and kinds, are the plain filter of the whole feed, the newest first in exactly the reverse order', async () => {
  await recordAny();
  await recordAny();
  const all = await feed.all();
  expect(all.length).toBeGreaterThan(30);
  expect(await feed.all({ first: 1 })).toEqual(all);
  expect(await feed.all({ first: 1, order: 'NEWEST_FIRST' })).toEqual([...all].reverse());
  const question = fc.record({
    domains: fc.option(fc.subarray([...NAMES, 'unknown.example']), { nil: undefined }),
    kinds: fc.option(fc.subarray<string>([...CHANGE_KINDS]), { nil: undefined }),
    order: fc.constantFrom('OLDEST_FIRST', 'NEWEST_FIRST'),
    first: fc.constantFrom(1, 2, 5, 40, 500),
  });
  const property = fc.asyncProperty(question, async ({ domains, kinds, order, first }) => {
    const filters = { ...(domains && { domains }), ...(kinds && { kinds }) };
    const chosen = all.filter(
      ({ domain, kind }) => domains?.includes(domain) !== false && kinds?.includes(kind) !== false,
    );
    const expected = order === 'OLDEST_FIRST' ? chosen : chosen.reverse();
    expect(await feed.all({ ...filters, order, first })).toEqual(expected);
  });
  await fc.assert(property, { numRuns: repeats(300, 8) });
  expect(await feed.all({ domains: ['BÜCHER.example.'] })).toEqual(
    all.filter(({ domain }) => domain === 'xn--bcher-kva.example'),
  );
});

test('pages may be empty where little of much is asked for, and lose nothing', async () => {
  await record({ at: 1, headers: { server: 'before' } });
  await database.pool.query(
    `INSERT INTO change_feed (domain, observed_at, types, counts, octets, recorded_at)
     SELECT NULL, n, '{A}', '{1,0,0,0,0,0}', 8, n FROM generate_series(1, 25000) AS n`,
  );
  await record({ at: 2, headers: { server: 'after' } });
  const all = await feed.all();
  expect(all.map(({ kind }) => kind)).toEqual(['HEADER_CREATED', 'HEADER_UPDATED']);
  for (const filter of [{}, { domains: ['example.com'] }, { kinds: ['HEADER_UPDATED', 'HEADER_CREATED'] }]) {
    for (const order of ['OLDEST_FIRST', 'NEWEST_FIRST']) {
      const sizes: number[] = [];
      const found = await allOf(async (after) => {
        const page = await feed.page({ ...filter, order, first: 1, after });
        sizes.push(page.nodes.length);
        return page;
      });
      expect(sizes).toContain(0);
      expect(found).toEqual(order === 'OLDEST_FIRST' ? all : [...all].reverse());
    }
  }
});

test.each<[string, (cursor: string) => Question]>([
  ['order', (after) => ({ after, order: 'NEWEST_FIRST' })],
  ['kind', (after) => ({ after, kinds: ['HEADER_CREATED'] })],
  ['domain', (after) => ({ after, domains: ['example.com'] })],
])('a cursor of the feed is of no question with another %s: it is INVALID_CURSOR', async (_of, question) => {
  await record({ at: 1, headers: { server: 'one', via: 'two' } });
  const cursor = (await feed.page({ first: 1 })).pageInfo.endCursor;
  await expect(feed.page(question(cursor))).rejects.toMatchObject({ code: 'INVALID_CURSOR' });
  expect((await feed.page({ after: cursor, first: 7 })).nodes).toHaveLength(1);
});

test.each([
  ['not kept any more', 'DELETE FROM change_feed WHERE number = (SELECT max(number) FROM change_feed)'],
  ['another since the database was restored', 'UPDATE change_feed SET recorded_at = recorded_at + 1'],
])(
  'a cursor of the feed whose place is %s is INVALID_CURSOR, and the message says what to do',
  async (_is, statement) => {
    await record({ at: 1, headers: { server: 'one', via: 'two' } });
    const { endCursor } = (await feed.page({ first: 1 })).pageInfo;
    const order = 'NEWEST_FIRST';
    const newest = await feed.page({ order, first: 1 });
    await database.pool.query(statement);
    await record({ at: 2, headers: { server: 'two' } });
    for (const question of [{ after: endCursor }, { order, after: newest.pageInfo.endCursor }]) {
      const message = expect.stringMatching(/restored.* begin without a cursor/);
      await expect(feed.page(question)).rejects.toMatchObject({ code: 'INVALID_CURSOR', message });
    }
    expect((await feed.page({})).nodes.length).toBeGreaterThan(0);
  },
);

test('a domain that is forgotten has no change in the feed, and readers continue from cursors at its changes', async () => {
  await recordAny();
  const [erased = ''] = NAMES;
  const isLeft = ({ domain }: Change) => domain !== erased;
  const oldest = await feed.page({ order: 'OLDEST_FIRST' });
  const newest = await feed.page({ order: 'NEWEST_FIRST' });
  expect(oldest.nodes.every(isLeft) || oldest.pageInfo.hasNextPage).toBe(false);
  await forget(database, [erased]);
  for (const [order, { nodes, edges }] of Object.entries({ OLDEST_FIRST: oldest, NEWEST_FIRST: newest })) {
    expect(await feed.all({ order })).toEqual(nodes.filter(isLeft));
    for (const [at, { cursor }] of edges.entries()) {
      expect(await feed.all({ order, after: cursor })).toEqual(nodes.slice(at + 1).filter(isLeft));
    }
  }
  await record({ domain: erased, at: 1, records: ['192.0.2.1'] });
  expect(await feed.all({ after: oldest.pageInfo.endCursor })).toMatchObject([{ domain: erased }]);
});
