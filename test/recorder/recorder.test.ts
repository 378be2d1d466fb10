import type { Pool } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Database } from '../../src/database/client.js';
import { findViolations } from '../../src/history/violations.js';
import type { Observation } from '../../src/model/observation.js';
import { forget } from '../../src/recorder/forget.js';
import { readHistories, readStoredRows } from '../../src/recorder/read-histories.js';
import { createRecorder } from '../../src/recorder/recorder.js';
import { findOrphans, findStoredViolations } from '../../src/recorder/stored-violations.js';
import { emptyTestDatabase, openTestDatabase, TEST_SERVER } from '../support/database.js';
import { instant, type ObservationParts, observation } from '../support/observations.js';
import { HOUR, looks, observationOf } from '../support/site-looks.js';
import { watchTransactions } from '../support/watched-transactions.js';

let database: Database;

beforeAll(async () => {
  database = await openTestDatabase();
});

beforeEach(async () => {
  await emptyTestDatabase(database);
});

afterAll(async () => {
  await database.close();
});

function record(...parts: ObservationParts[]) {
  return createRecorder(database.pool).record(parts.map(observation));
}

async function stored() {
  const histories = [];
  for await (const history of readHistories(database.pool)) {
    histories.push(history);
  }
  return histories;
}

async function story() {
  return (await stored()).map(({ name, state, stays, headers, responses }) => ({
    name,
    state,
    stays,
    headers,
    responses,
  }));
}

describe('recording', () => {
  test('one batch or many, the stored history is the same', async () => {
    const parts: ObservationParts[] = [
      {
        at: 1,
        records: ['192.0.2.1', '192.0.2.2'],
        headers: { server: 'a', via: ['x', 'y'] },
        source: 'probe',
      },
      { at: 2, records: ['192.0.2.2', '192.0.2.3'], headers: { server: 'b' } },
      { at: 3, records: ['192.0.2.1'], types: ['A'], headers: { server: 'b', via: 'x, y' } },
      { at: 4, records: [], headers: {} },
      { domain: 'example.net', at: 2, headers: { server: 'z' } },
    ];
    const together = await record(...parts);
    const expected = await story();
    await emptyTestDatabase(database);
    const apart = [];
    for (const part of parts) {
      apart.push(await record(part));
    }
    expect(await story()).toEqual(expected);
    expect(apart.flatMap(({ newNames }) => newNames)).toEqual(together.newNames);
    for (const count of ['recordsAdded', 'recordsRemoved', 'headersCreated', 'headersUpdated'] as const) {
      expect(
        apart.reduce((sum, recording) => sum + recording[count], 0),
        count,
      ).toBe(together[count]);
    }
    expect(together).toMatchObject({
      newNames: ['example.com', 'example.net'],
      recordsAdded: 4,
      recordsRemoved: 4,
      headersCreated: 3,
      headersUpdated: 1,
    });
  });

  test('observations of a site in one batch or many, the stored history is the same, with HTTPS and the evidence', async () => {
    const recorder = createRecorder(database.pool);
    const observations = looks('https@0 http@1 neither@2 http@20 https@21 http@22 http@23 http@46').map(
      observationOf,
    );
    const { outcomes } = await recorder.record(observations);
    const expected = await story();
    expect(expected).toMatchObject([
      {
        state: {
          https: { latest: 21n * HOUR, declined: { first: 22n * HOUR, latest: 46n * HOUR, count: 3 } },
        },
        responses: [
          { observedAt: 0n, scheme: 'https', status: 200, address: '192.0.2.7' },
          { observedAt: 46n * HOUR, scheme: 'http', status: 200, address: '192.0.2.7' },
        ],
      },
    ]);
    await emptyTestDatabase(database);
    const apart = [];
    for (const observation of observations) {
      expect((await recorder.preview([observation])).outcomes).toHaveLength(1);
      apart.push(...(await recorder.record([observation])).outcomes);
    }
    expect(apart).toEqual(outcomes);
    expect(await story()).toEqual(expected);
    for (const history of await stored()) expect(findViolations(history)).toEqual([]);
  });

  test('a domain that is forgotten leaves no response behind', async () => {
    await createRecorder(database.pool).record(looks('https@0').map(observationOf));
    await forget(database, ['example.com']);
    expect((await database.pool.query('SELECT FROM site_response')).rowCount).toBe(0);
  });

  test('who observed a record first, and who saw it gone, is kept', async () => {
    await record({ at: 1, records: ['192.0.2.1'], source: 'one' });
    await record({ at: 2, records: [], source: 'two' });
    const [history] = await stored();
    expect(history?.stays[0]).toMatchObject({
      source: 'one',
      removal: { source: 'two', removed: instant(2), lastSeen: instant(1) },
    });
  });

  test('an unchanged observation updates one row, and no other table', async () => {
    await record({ at: 1, records: ['192.0.2.1'], headers: { server: 'a' } });
    const before = await rowVersions();
    await record({ at: 2, records: ['192.0.2.1'], headers: { server: 'a' } });
    const after = await rowVersions();
    expect(after.domain).not.toEqual(before.domain);
    expect(after.others).toEqual(before.others);
  });

  test('a version grows with every recorded observation, and stale ones leave it', async () => {
    await record({ at: 1, records: [] });
    const [first] = await stored();
    await record({ at: 2, records: [] }, { at: 3, records: [] });
    const [second] = await stored();
    await record({ at: 2, records: ['192.0.2.1'] });
    const [third] = await stored();
    expect((second?.version ?? 0n) - (first?.version ?? 0n)).toBeGreaterThanOrEqual(2n);
    expect(third?.version).toBe(second?.version);
  });

  test('a version is never used twice, not even by a domain that was erased and is recorded again', async () => {
    const recorder = createRecorder(database.pool);
    await recorder.record([observation({ at: 1, records: [] }), observation({ at: 2, records: [] })]);
    const [first] = await stored();
    await forget(database, ['example.com']);
    await recorder.record([observation({ at: 1, records: [] })]);
    const [second] = await stored();
    expect(second?.version).toBeGreaterThan(first?.version ?? 0n);
  });

  test('nor are the versions of one that is recorded, erased and recorded again within a second', async () => {
    const versions = new Set<bigint>();
    for (let life = 0; life < 5; life += 1) {
      for (let at = 1; at <= 5; at += 1) {
        await record({ at, records: [] });
        versions.add((await stored())[0]?.version ?? 0n);
      }
      await forget(database, ['example.com']);
    }
    expect(versions.size).toBe(25);
  });

  test('a record of 65,000 bytes, 1,000 records and 300 headers of 16 kB fit on one domain', async () => {
    const records = Array.from({ length: 1000 }, (_, index) => `10.0.${index >> 8}.${index & 255}`);
    const headers = Object.fromEntries(
      Array.from({ length: 300 }, (_, index) => [`x-${index}`, `${index} `.padEnd(16_000, 'v')]),
    );
    const long = { host: 'example.com', class: 'IN', type: 'TXT', entries: Array(254).fill('t'.repeat(255)) };
    await record({ at: 1, records: [...records, long], headers });
    const [history] = await stored();
    expect(history?.stays).toHaveLength(1001);
    expect(history?.headers).toHaveLength(300);
    expect(history && findViolations(history)).toEqual([]);
  });

  test('times before 1684 and after 2255 are kept to the microsecond', async () => {
    const early = { ...observation({ at: 0, records: ['192.0.2.1'] }), observedAt: -62_167_219_199_999_999n };
    const late = { ...observation({ at: 0, records: [] }), observedAt: 253_402_300_799_999_999n };
    await createRecorder(database.pool).record([early, late]);
    const [history] = await stored();
    expect(history?.state).toMatchObject({ created: early.observedAt, lastUpdate: late.observedAt });
    expect(history?.stays[0]?.removal).toMatchObject({
      lastSeen: early.observedAt,
      removed: late.observedAt,
    });
  });
});

async function rowVersions() {
  const { rows: domain } = await database.pool.query('SELECT ctid, xmin FROM domain');
  const { rows: records } = await database.pool.query('SELECT ctid, xmin FROM dns_record');
  const { rows: headers } = await database.pool.query('SELECT ctid, xmin FROM header_change');
  return { domain, others: [records, headers] };
}

describe('two writers', () => {
  test('writers of the same domains at the same time leave a sound history, and lose nothing', async () => {
    const domains = Array.from({ length: 20 }, (_, index) => `d${index}.example`);
    const writer = async (part: 'A' | 'MX', order: readonly string[]) => {
      const recorder = createRecorder(database.pool);
      for (let at = 1; at <= 10; at += 1) {
        await recorder.record(
          order.map((domain) => {
            const rdata = part === 'A' ? { ip: `192.0.2.${at}` } : { pri: at, target: 'mail.example' };
            const data = { host: domain, class: 'IN', type: part, ...rdata };
            return observation({ domain, at, types: [part], records: [data] });
          }),
        );
      }
    };
    await Promise.all([writer('A', domains), writer('MX', [...domains].reverse())]);
    const histories = await stored();
    expect(histories).toHaveLength(20);
    for (const history of histories) {
      expect(findViolations(history)).toEqual([]);
      expect(history.stays).toHaveLength(20);
    }
  });

  test('the same observations by two writers at once are recorded once', async () => {
    const parts = Array.from(
      { length: 30 },
      (_, index): ObservationParts => ({ at: index, records: [`192.0.2.${index}`] }),
    );
    const runs = await Promise.all([record(...parts), record(...parts)]);
    const [history] = await stored();
    expect(history?.stays).toHaveLength(30);
    expect(history && findViolations(history)).toEqual([]);
    expect(runs.reduce((sum, { recordsAdded }) => sum + recordsAdded, 0)).toBe(30);
  });
});

describe('forgetting', () => {
  test('erases every trace of the domains named, of no other, and tells which were there', async () => {
    await record(
      { domain: 'one.example', at: 1, records: ['192.0.2.1'], headers: { server: 'a' } },
      { domain: 'two.example', at: 1, records: ['192.0.2.2'], headers: { server: 'b' } },
    );
    expect(await forget(database, ['one.example', 'unknown.example'])).toEqual(['one.example']);
    expect((await stored()).map(({ name }) => name)).toEqual(['two.example']);
    expect(await findOrphans(database.writingPrisma)).toEqual([]);
  });

  test('while the domain is being recorded leaves all of it or nothing', async () => {
    const recorder = createRecorder(database.pool);
    const recording = (async () => {
      for (let at = 1; at <= 40; at += 1) {
        await recorder.record([
          observation({ at, records: [`192.0.2.${at}`], headers: { server: String(at) } }),
        ]);
      }
    })();
    for (let time = 0; time < 10; time += 1) {
      await forget(database, ['example.com']);
    }
    await recording;
    expect(await findOrphans(database.writingPrisma)).toEqual([]);
    for (const history of await stored()) {
      expect(findViolations(history)).toEqual([]);
    }
  });

  test.skipIf(TEST_SERVER === undefined).each([1, 2])(
    'leaves a domain whole that is recorded for the first time after statement %i of the erasure',
    async (place) => {
      const recorder = createRecorder(database.pool);
      const observed = observation({ at: 1, records: ['192.0.2.1'], headers: { server: 'a' } });
      let deletions = 0;
      const prisma = watchTransactions(database.pool, {
        async after(text) {
          if (!text.trimStart().startsWith('DELETE')) return;
          deletions += 1;
          if (deletions === place) await recorder.record([observed]);
        },
      });
      expect(await forget({ ...database, writingPrisma: prisma }, ['example.com'])).toEqual([]);
      const [history] = await stored();
      expect(history?.stays).toHaveLength(1);
      expect(history && findViolations(history)).toEqual([]);
    },
  );
});

test('a header that is left out of observations, and is known from before, costs only the first of them a reading', async () => {
  const { httpHeaders: _, ...rest } = observation({ at: 2, headers: {} });
  const ignoredHeaders = new Set(['connection', 'date']);
  const partial = (
    at: number,
    server: string,
    ignored: ReadonlySet<string> = ignoredHeaders,
  ): Observation => ({
    ...rest,
    observedAt: observation({ at, headers: {} }).observedAt,
    httpHeaders: new Map([['server', server]]),
    ignoredHeaders: ignored,
  });
  const read: string[] = [];
  const pool = new Proxy(database.pool, {
    get: (target, key) =>
      key !== 'query'
        ? Reflect.get(target, key)
        : (statement: string, values: unknown[]) => {
            read.push(JSON.stringify(statement));
            return target.query(statement, values);
          },
  });
  const recorder = createRecorder(pool);
  const record = async (one: Observation) => {
    read.length = 0;
    const { outcomes } = await recorder.record([one]);
    const loaded = read.some((text) => text.includes('header_change'));
    for await (const rows of readStoredRows(database.pool)) expect(findStoredViolations(rows)).toEqual([]);
    return [outcomes[0]?.kind, loaded];
  };
  const full = (at: number, server: string) => observation({ at, headers: { server, connection: 'close' } });
  await record(full(1, 'a'));
  expect(await record(partial(2, 'a'))).toEqual(['unchanged', true]);
  expect(await record(partial(3, 'a'))).toEqual(['unchanged', false]);
  expect(await record(partial(4, 'b'))).toEqual(['changed', true]);
  expect(await record(partial(5, 'b'))).toEqual(['unchanged', false]);
  expect(await record(full(6, 'b'))).toEqual(['unchanged', false]);
  expect(await record(partial(7, 'b'))).toEqual(['unchanged', false]);
  expect(await record(partial(8, 'b', new Set(['date'])))).toEqual(['changed', true]);
  expect(await record(partial(9, 'b'))).toEqual(['unchanged', false]);
});

/** A pool whose statements are changed before they are sent. */
function changing(pool: Pool, change: (text: string) => string): Pool {
  return new Proxy(pool, {
    get: (target, key) =>
      key === 'connect'
        ? async () => {
            const client = await target.connect();
            return new Proxy(client, {
              get(_, method) {
                const member: unknown = Reflect.get(client, method);
                if (method !== 'query') return typeof member === 'function' ? member.bind(client) : member;
                return (text: string, values?: unknown[]) => client.query(change(text), values);
              },
            });
          }
        : Reflect.get(target, key),
  });
}

test.each(['server', 'cluster'])(
  'while domains are recorded, and erased, each is read as of one instant: on a %s',
  async (home) => {
    let locked = 0;
    const pool = changing(database.pool, (text) => {
      locked += text.includes('FOR SHARE') ? 1 : 0;
      // The nodes of a cluster have no snapshot in common.
      return home === 'cluster' ? text.replace('ISOLATION LEVEL REPEATABLE READ', '') : text;
    });
    const names = ['a.example', 'b.example', 'c.example'];
    // As many records as headers, in each state.
    const recordAt = (at: number) => {
      const parts = { at, records: [`192.0.2.${at % 250}`], headers: { server: `s${at}` } };
      return record(...names.map((domain) => ({ domain, ...parts })));
    };
    await recordAt(1);
    let isReading = true;
    const recording = (async () => {
      for (let at = 2; isReading; at += 1) {
        if (at % 10 === 0) await forget(database, ['b.example']);
        await recordAt(at);
      }
    })();
    const read: unknown[] = [];
    try {
      for (let reading = 0; reading < 100; reading += 1) {
        for await (const rows of readStoredRows(pool)) {
          const { domain, stays, headers } = rows;
          const latest = stays.at(-1)?.firstSeen;
          read.push([
            findStoredViolations(rows),
            domain.lastUpdate === latest,
            stays.length - headers.length,
          ]);
        }
      }
    } finally {
      isReading = false;
      await recording;
    }
    // On a server, which may be a standby, nothing is locked.
    if (home === 'server') expect(locked).toBe(0);
    expect(read.length).toBeGreaterThan(100);
    expect(new Set(read.map((one) => JSON.stringify(one)))).toEqual(new Set([JSON.stringify([[], true, 0])]));
  },
);
