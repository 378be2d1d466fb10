import type { Pool, QueryConfig } from 'pg';
import { beforeEach, describe, expect, test } from 'vitest';
import { findViolations } from '../../src/history/violations.js';
import type { Observation } from '../../src/model/observation.js';
import { forget } from '../../src/recorder/forget.js';
import { readHistories, readStoredRows } from '../../src/recorder/read-histories.js';
import { createRecorder, type Recording } from '../../src/recorder/recorder.js';
import { findOrphans, findStoredViolations } from '../../src/recorder/stored-violations.js';
import { databaseOfFile, emptyTestDatabase, TEST_SERVER } from '../support/database.js';
import { repeats } from '../support/long-form.js';
import { instant, type ObservationParts, observation } from '../support/observations.js';
import { HOUR, looks, observationOf } from '../support/site-looks.js';
import { watchTransactions } from '../support/watched-transactions.js';

const database = databaseOfFile();
beforeEach(() => emptyTestDatabase(database));

function record(...parts: ObservationParts[]): Promise<Recording> {
  return createRecorder(database.pool).record(parts.map(observation));
}

/** What is stored, which breaks no rule. */
async function stored() {
  const histories = [];
  for await (const history of readHistories(database.pool)) {
    expect(findViolations(history)).toEqual([]);
    histories.push(history);
  }
  return histories;
}

async function story() {
  return (await stored()).map(({ version: _version, recordedAt: _recordedAt, ...told }) => told);
}

const SITE = looks('https@0 http@1 neither@2 http@20 https@21 http@22 http@23 http@46').map(observationOf);

/** Nothing but its status changes. */
const FLAPPING = Array.from({ length: 30 }, (_, at) => {
  return { domain: 'status.example', at: at * 3600, headers: {}, status: at % 2 === 0 ? 200 : 503 };
});

describe('recording', () => {
  test('one batch or many, the stored history is the same, with HTTPS and the evidence, and so are outcomes and counts', async () => {
    const first = { records: ['192.0.2.1', '192.0.2.2'], headers: { server: 'a', via: ['x', 'y'] } };
    const parts: ObservationParts[] = [
      { at: 1, ...first, source: 'probe' },
      { at: 2, records: ['192.0.2.2', '192.0.2.3'], headers: { server: 'b' } },
      { at: 3, records: ['192.0.2.1'], types: ['A'], headers: { server: 'b', via: 'x, y' } },
      { at: 4, records: [], headers: {} },
      { domain: 'example.net', at: 2, headers: { server: 'z' } },
    ];
    const ofSite = SITE.map((each) => ({ ...each, domain: 'site.example' }));
    const observations = [...parts.map(observation), ...ofSite, ...FLAPPING.map(observation)];
    const recorder = createRecorder(database.pool);
    const together = await recorder.record(observations);
    const counts = { recordsAdded: 4, recordsRemoved: 4, headersCreated: 4, headersUpdated: 2 };
    const newNames = ['example.com', 'example.net', 'site.example', 'status.example'];
    expect(together).toMatchObject({ ...counts, newNames });
    const expected = await story();
    const declined = { first: 22n * HOUR, latest: 46n * HOUR, count: 3 };
    const response = { status: 200, address: '192.0.2.7' };
    expect(expected[2]).toMatchObject({
      state: { https: { latest: 21n * HOUR, declined } },
      responses: [
        { ...response, observedAt: 0n, scheme: 'https' },
        { ...response, observedAt: 46n * HOUR, scheme: 'http' },
      ],
    });
    await emptyTestDatabase(database);
    const apart: Recording[] = [];
    for (const each of observations) {
      expect((await recorder.preview([each])).outcomes).toHaveLength(1);
      apart.push(await recorder.record([each]));
    }
    expect(await story()).toEqual(expected);
    expect(apart.flatMap(({ outcomes }) => outcomes)).toEqual(together.outcomes);
    expect(apart.flatMap((recording) => recording.newNames)).toEqual(newNames);
    for (const count of ['recordsAdded', 'recordsRemoved', 'headersCreated', 'headersUpdated'] as const) {
      const sum = apart.reduce((total, recording) => total + recording[count], 0);
      expect([count, sum]).toEqual([count, together[count]]);
    }
  });

  test('who observed a record first, and who saw it gone, is kept', async () => {
    await record({ at: 1, records: ['192.0.2.1'], source: 'one' });
    await record({ at: 2, records: [], source: 'two' });
    const [history] = await stored();
    const removal = { source: 'two', removed: instant(2), lastSeen: instant(1) };
    expect(history?.stays[0]).toMatchObject({ source: 'one', removal });
  });

  test('an unchanged observation updates one row, and no other table', async () => {
    const rowVersions = () =>
      Promise.all(
        ['domain', 'dns_record', 'header_change'].map(
          async (table) => (await database.pool.query(`SELECT ctid, xmin FROM ${table}`)).rows,
        ),
      );
    await record({ at: 1, records: ['192.0.2.1'], headers: { server: 'a' } });
    const [domain, ...others] = await rowVersions();
    await record({ at: 2, records: ['192.0.2.1'], headers: { server: 'a' } });
    const [domainAfter, ...othersAfter] = await rowVersions();
    expect(domainAfter).not.toEqual(domain);
    expect(othersAfter).toEqual(others);
  });

  test('a version grows with every recorded observation, and stale ones leave it', async () => {
    const versions: bigint[] = [];
    for (const times of [[1], [2, 3], [2]]) {
      await record(...times.map((at) => ({ at, records: [] })));
      for (const { version } of await stored()) versions.push(version);
    }
    const [first = 0n, second = 0n, third] = versions;
    expect(second - first).toBeGreaterThanOrEqual(2n);
    expect(third).toBe(second);
  });

  test('a version is never used twice, not even by a domain that is recorded, erased and recorded again within a second', async () => {
    const versions = new Set<bigint>();
    for (let life = 0; life < 5; life += 1) {
      for (let at = 1; at <= 5; at += 1) {
        await record({ at, records: [] });
        for (const { version } of await stored()) versions.add(version);
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
  });

  test('times before 1684 and after 2255 are kept to the microsecond', async () => {
    const [early, late] = [-62_167_219_199_999_999n, 253_402_300_799_999_999n];
    await createRecorder(database.pool).record([
      { ...observation({ at: 0, records: ['192.0.2.1'] }), observedAt: early },
      { ...observation({ at: 0, records: [] }), observedAt: late },
    ]);
    const [history] = await stored();
    expect(history?.state).toMatchObject({ created: early, lastUpdate: late });
    expect(history?.stays[0]?.removal).toMatchObject({ lastSeen: early, removed: late });
  });
});

describe('two writers', () => {
  test('writers of the same domains at the same time leave a sound history, and lose nothing', async () => {
    const domains = Array.from({ length: 20 }, (_, index) => `d${index}.example`);
    const writer = async (type: 'A' | 'MX', order: readonly string[]) => {
      for (let at = 1; at <= 10; at += 1) {
        const rdata = type === 'A' ? { ip: `192.0.2.${at}` } : { pri: at, target: 'mail.example' };
        const recordOf = (host: string) => ({ host, class: 'IN', type, ...rdata });
        await record(...order.map((domain) => ({ domain, at, types: [type], records: [recordOf(domain)] })));
      }
    };
    await Promise.all([writer('A', domains), writer('MX', domains.toReversed())]);
    expect((await stored()).map(({ stays }) => stays.length)).toEqual(Array(20).fill(20));
  });

  test('the same observations by two writers at once are recorded once', async () => {
    const parts = Array.from({ length: 30 }, (_, at) => ({ at, records: [`192.0.2.${at}`] }));
    const runs = await Promise.all([record(...parts), record(...parts)]);
    expect((await stored()).map(({ stays }) => stays.length)).toEqual([30]);
    expect(runs.reduce((sum, { recordsAdded }) => sum + recordsAdded, 0)).toBe(30);
  });
});

describe('forgetting', () => {
  test('erases every trace of the domains named, of no other, and tells which were there', async () => {
    const parts = { at: 1, records: ['192.0.2.1'], headers: { server: 'a' }, status: 200 };
    await record({ domain: 'one.example', ...parts }, { domain: 'two.example', ...parts });
    expect(await forget(database, ['one.example', 'unknown.example'])).toEqual(['one.example']);
    expect((await stored()).map(({ name, responses }) => [name, responses.length])).toEqual([
      ['two.example', 1],
    ]);
    expect(await findOrphans(database.writingPrisma)).toEqual([]);
  });

  test('while the domain is being recorded leaves all of it or nothing', async () => {
    const recording = (async () => {
      for (let at = 1; at <= 40; at += 1) {
        await record({ at, records: [`192.0.2.${at}`], headers: { server: String(at) } });
      }
    })();
    for (let time = 0; time < 10; time += 1) await forget(database, ['example.com']);
    await recording;
    expect(await findOrphans(database.writingPrisma)).toEqual([]);
    await stored();
  });

  test.skipIf(TEST_SERVER === undefined).each([1, 2])(
    'leaves a domain whole that is recorded for the first time after statement %i of the erasure',
    async (place) => {
      let deletions = 0;
      const prisma = watchTransactions(database.pool, {
        async after(text) {
          if (!text.trimStart().startsWith('DELETE')) return;
          deletions += 1;
          if (deletions === place) await record({ at: 1, records: ['192.0.2.1'], headers: { server: 'a' } });
        },
      });
      expect(await forget({ ...database, writingPrisma: prisma }, ['example.com'])).toEqual([]);
      expect((await stored()).map(({ stays }) => stays.length)).toEqual([1]);
    },
  );
});

/** A pool whose statements are changed before they are sent, and those of its clients. */
function changing<Queryable extends object>(target: Queryable, change: (text: string) => string): Queryable {
  return new Proxy(target, {
    get(_, key) {
      const member: unknown = Reflect.get(target, key);
      if (typeof member !== 'function') return member;
      if (key === 'connect') return async () => changing(await member.call(target), change);
      if (key !== 'query') return member.bind(target);
      return (statement: string | QueryConfig, values?: unknown[]) =>
        typeof statement === 'string'
          ? member.call(target, change(statement), values)
          : member.call(target, { ...statement, text: change(statement.text) });
    },
  });
}

test('a header that is left out of observations, and is known from before, costs only the first of them a reading', async () => {
  const read: string[] = [];
  const pool: Pool = changing(database.pool, (text) => {
    read.push(text);
    return text;
  });
  const full = (at: number, server: string) => observation({ at, headers: { server, connection: 'close' } });
  const partial = (at: number, server: string, ...ignored: readonly string[]): Observation => {
    return { ...observation({ at, headers: { server } }), ignoredHeaders: new Set(['date', ...ignored]) };
  };
  const recordOne = async (one: Observation) => {
    read.length = 0;
    const { outcomes } = await createRecorder(pool).record([one]);
    const isLoaded = read.some((text) => text.includes('FROM header_change'));
    for await (const rows of readStoredRows(database.pool)) expect(findStoredViolations(rows)).toEqual([]);
    return [outcomes[0]?.kind, isLoaded];
  };
  await recordOne(full(1, 'a'));
  expect(await recordOne(partial(2, 'a', 'connection'))).toEqual(['unchanged', true]);
  expect(await recordOne(partial(3, 'a', 'connection'))).toEqual(['unchanged', false]);
  expect(await recordOne(partial(4, 'b', 'connection'))).toEqual(['changed', true]);
  expect(await recordOne(partial(5, 'b', 'connection'))).toEqual(['unchanged', false]);
  expect(await recordOne(full(6, 'b'))).toEqual(['unchanged', false]);
  expect(await recordOne(partial(7, 'b', 'connection'))).toEqual(['unchanged', false]);
  expect(await recordOne(partial(8, 'b'))).toEqual(['changed', true]);
  expect(await recordOne(partial(9, 'b', 'connection'))).toEqual(['unchanged', false]);
});

test.each(['server', 'cluster'])(
  'while domains are recorded, and erased, each is read as of one instant: on a %s',
  async (home) => {
    // The nodes of a cluster have no snapshot in common.
    const pool = changing(database.pool, (text) =>
      home === 'cluster' ? text.replace('ISOLATION LEVEL REPEATABLE READ', '') : text,
    );
    // As many records as headers, in each state.
    const recordAt = (at: number) => {
      const parts = { at, records: [`192.0.2.${at % 250}`], headers: { server: `s${at}` } };
      return record(...['a.example', 'b.example', 'c.example'].map((domain) => ({ domain, ...parts })));
    };
    await recordAt(1);
    let isReading = true;
    const recording = (async () => {
      for (let at = 2; isReading; at += 1) {
        if (at % 10 === 0) await forget(database, ['b.example']);
        await recordAt(at);
      }
    })();
    const read: string[] = [];
    try {
      for (let reading = 0; reading < repeats(100, 50); reading += 1) {
        for await (const rows of readStoredRows(pool)) {
          const { domain, stays, headers } = rows;
          const isLatest = domain.lastUpdate === stays.at(-1)?.firstSeen;
          const violations = findStoredViolations(rows);
          read.push(JSON.stringify([violations, isLatest, stays.length - headers.length]));
        }
      }
    } finally {
      isReading = false;
      await recording;
    }
    expect(read.length).toBeGreaterThan(100);
    expect(new Set(read)).toEqual(new Set(['[[],true,0]']));
  },
);
