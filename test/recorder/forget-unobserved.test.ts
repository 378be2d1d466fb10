import { beforeEach, describe, expect, test } from 'vitest';
import { forgetUnobserved } from '../../src/recorder/forget-unobserved.js';
import { createRecorder } from '../../src/recorder/recorder.js';
import { runDms } from '../journeys/dms-command.js';
import { databaseOfFile, emptyTestDatabase, openTestDatabase, TEST_SERVER } from '../support/database.js';
import { observation } from '../support/observations.js';
import { startTestService } from '../support/service.js';

const DAY = 86_400_000;

const database = databaseOfFile();
beforeEach(() => emptyTestDatabase(database));

/** Records a domain as it is observed now, whose text only it has. */
async function record(domain: string, at = 1): Promise<void> {
  const txt = { host: `www.${domain}`, class: 'IN', type: 'TXT', entries: [`text of ${domain}`] };
  const records = ['192.0.2.1', txt];
  const headers = { server: 'shared', via: `value of ${domain}` };
  await createRecorder(database.pool).record([
    observation({ domain, at, records, types: ['A', 'TXT'], headers }),
  ]);
}

/** Lets days pass since domains were recorded. */
async function pass(days: number, ...domains: readonly string[]): Promise<void> {
  const { pool } = database;
  const past = `recorded_at = recorded_at - ${days * DAY * 1000}`;
  await pool.query(`UPDATE domain SET ${past} WHERE name = ANY ($1)`, [domains]);
  // The feed is in the order of recording.
  await pool.query(`UPDATE change_feed SET ${past}`);
}

async function recorded(): Promise<string[]> {
  const { rows } = await database.pool.query('SELECT name FROM domain ORDER BY name');
  return rows.map(({ name }) => name);
}

/** Erases what was not observed for a day. @returns what was erased. */
async function forgetAll(): Promise<string[]> {
  const all: string[] = [];
  for (let after: string | null = ''; after !== null; ) {
    const step = await forgetUnobserved(database, after, DAY);
    all.push(...step.erased);
    after = step.last;
  }
  return all;
}

/** All that the tables hold, as text. */
async function stored(): Promise<string> {
  const tables = ['domain', 'dns_record', 'header_change', 'site_response', 'known_name', 'known_text'];
  const rows = await Promise.all(
    [...tables, 'change_feed'].map((table) => database.pool.query(`SELECT row::text FROM ${table} AS row`)),
  );
  return rows.flatMap((each) => each.rows.map(({ row }) => row)).join('\n');
}

describe('a domain that was not observed for longer than DOMAINS_KEPT', () => {
  test('is forgotten, its names and texts too, and the others are not', async () => {
    await record('old.example');
    await record('kept.example');
    await pass(2, 'old.example');
    expect(await stored()).toContain('old.example');
    const telemetry = { metricsPort: 0, metricsHost: '127.0.0.1', traces: false };
    const service = await startTestService({ database, domainsKept: DAY, telemetry });
    try {
      await expect.poll(recorded, { timeout: 30_000 }).toEqual(['kept.example']);
      const metrics = async () => (await fetch(`${service.metricsUrl}/metrics`)).text();
      await expect.poll(metrics).toMatch(/^dms_domains_forgotten_total 1$/m);
      const msg = 'erased domains that were not observed for DOMAINS_KEPT';
      expect(service.logged).toContainEqual(expect.objectContaining({ domains: 1, msg }));
    } finally {
      await service.stop();
    }
    expect(await stored()).not.toContain('old.example');
    for (const found of ['text of kept.example', 'value of kept.example', 'shared', 'www.kept.example']) {
      expect(await stored()).toContain(found);
    }
    expect(await runDms(['verify'], database.environment)).toMatchObject({ code: 0 });
  });

  test('is forgotten where the feed does not go back as far, and leaves it as it is', async () => {
    await record('old.example');
    await pass(5, 'old.example');
    await database.pool.query('DELETE FROM change_feed');
    await record('kept.example');
    expect((await forgetUnobserved(database, '', 3 * DAY)).erased).toEqual(['old.example']);
    expect(await stored()).not.toContain('old.example');
    const { rows } = await database.pool.query('SELECT domain FROM change_feed');
    expect(rows).toEqual([{ domain: 'kept.example' }]);
  });

  test('is forgotten wherever its name is in the order of names, and in whatever number', async () => {
    await database.pool.query(
      `INSERT INTO domain (name, version, recorded_at, created, last_update, dns_types)
       SELECT CASE number % 20 WHEN 0 THEN 'old' ELSE 'kept' END || number || '.example', 1,
              CASE number % 20 WHEN 0 THEN 1 ELSE (extract(epoch FROM now()) * 1000000)::bigint END, 1, 1, '{}'
         FROM generate_series(1, 1200) AS number`,
    );
    expect(await forgetAll()).toHaveLength(60);
    expect((await recorded()).map((name) => name.replace(/\d+/, ''))).toEqual(
      Array(1140).fill('kept.example'),
    );
  });

  test('is kept while it is watched', async () => {
    await record('watched.example');
    await pass(2, 'watched.example');
    await runDms(['watch', 'add', 'watched.example'], database.environment);
    expect(await forgetAll()).toEqual([]);
    await runDms(['watch', 'remove', 'watched.example'], database.environment);
    expect(await forgetAll()).toEqual(['watched.example']);
  });
});

describe('a domain that is observed meanwhile', () => {
  test('stays, also where the observation changes nothing', async () => {
    for (const domain of ['changed.example', 'same.example', 'old.example']) await record(domain);
    await pass(2, 'changed.example', 'same.example', 'old.example');
    await record('same.example', 2);
    await createRecorder(database.pool).record([
      observation({ domain: 'changed.example', at: 2, headers: { server: 'other' } }),
    ]);
    expect(await forgetAll()).toEqual(['old.example']);
  });

  test.skipIf(TEST_SERVER === undefined)(
    'stays with all of its history, if that is in progress while it is to be erased',
    async () => {
      await record('old.example');
      await pass(2, 'old.example');
      const before = await stored();
      const recorder = await database.pool.connect();
      await recorder.query('BEGIN');
      await recorder.query('UPDATE domain SET recorded_at = recorded_at + 2 * 86400000000');
      const forgetting = forgetAll();
      const waiting = 'SELECT FROM pg_locks WHERE NOT granted';
      while ((await database.pool.query(waiting)).rows.length === 0);
      await recorder.query('COMMIT');
      recorder.release();
      expect(await forgetting).toEqual([]);
      expect((await stored()).split('\n').slice(1)).toEqual(before.split('\n').slice(1));
    },
  );
});

test('an archive of old observations is kept from its import on', async () => {
  await record('archived.example');
  expect(await forgetAll()).toEqual([]);
});

test('nothing is forgotten by default', async () => {
  const other = await openTestDatabase();
  for (const { pool } of [database, other]) {
    await pool.query(
      `INSERT INTO domain (name, version, recorded_at, created, last_update, dns_types)
       VALUES ('old.example', 1, 1, 1, 1, '{}')`,
    );
  }
  const byDefault = await startTestService({ database });
  const forgetting = await startTestService({ database: other, domainsKept: DAY });
  try {
    // That both have had the time for it shows the one that is to.
    const left = async () => (await other.pool.query('SELECT FROM domain')).rows.length;
    await expect.poll(left, { timeout: 30_000 }).toBe(0);
    expect(await recorded()).toEqual(['old.example']);
  } finally {
    await Promise.all([byDefault.stop(), forgetting.stop()]);
    await other.close();
  }
});
