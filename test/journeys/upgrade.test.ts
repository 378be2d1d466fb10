import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import type pg from 'pg';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type Database, openDatabase } from '../../src/database/client.js';
import { migrate } from '../../src/database/migrate.js';
import { readStoredRows } from '../../src/recorder/read-histories.js';
import { findStoredViolations } from '../../src/recorder/stored-violations.js';
import { graphqlRequest } from '../support/ask.js';
import { createTestHome, TEST_SERVER } from '../support/database.js';
import { keepUntilEnd } from '../support/keep.js';
import { observationLine } from '../support/observations.js';
import { HAS_POSTGRESQL } from '../support/postgresql-cluster.js';
import { prepareFolder } from '../support/temporary-folder.js';
import { runDms, startDms } from './dms-command.js';
import { type Serving, serve } from './serving.js';

const TABLES = ['domain', 'dns_record', 'header_change', 'site_response', 'change_feed', 'known_text'];
const COLUMNS = TABLES.map((table) => `ALTER TABLE ${table} ADD COLUMN of_tomorrow text;\n`).join('');

/** Each has the name of the domain in its response. */
const REQUESTS: readonly ((name: string) => readonly [path: string, init?: RequestInit])[] = [
  (name) => [`/api/v1/domain/${name}`],
  (name) => [`/api/v1/changes?domains=${name}`],
  (name) => ['/graphql', graphqlRequest(`{ domain(name: "${name}") { name dnsRecords { __typename } } }`)],
];

describe('with a process that serves', () => {
  const keep = keepUntilEnd();
  const { folder } = prepareFolder();
  let environment: Readonly<Record<string, string>>;
  let database: Database;
  let serving: Serving;

  beforeAll(async () => {
    const home = keep(await createTestHome());
    environment = { ...home.environment, ROLE: 'api' };
    serving = keep(await serve(environment));
    database = keep(await openDatabase(home.options));
  });

  async function migrateTo(name: string, sql: string): Promise<readonly string[]> {
    await cp('prisma/migrations', folder, { recursive: true });
    await mkdir(join(folder, name));
    await writeFile(join(folder, name, 'migration.sql'), sql);
    return migrate(database.pool, pathToFileURL(`${folder}/`));
  }

  async function readiness(url: string): Promise<string> {
    const response = await fetch(`${url}/readyz`);
    return `${response.status} ${await response.text()}`;
  }

  const READY = '200 {"status":"ok"}\n';

  /** Requests one thing after another until it is stopped. @returns what came instead of a right response. */
  async function askOn(stopped: AbortSignal): Promise<string[]> {
    const wrong: string[] = [];
    for (let turn = 0; !stopped.aborted; turn += 1) {
      const name = `d${turn % 5}.example`;
      const [path, init] = REQUESTS[turn % REQUESTS.length]?.(name) ?? [''];
      const response = await fetch(serving.url + path, init);
      const body = await response.text();
      const isRight = response.status === 200 && body.includes(`"${name}"`) && !body.includes('"errors"');
      if (!isRight) wrong.push(`${response.status} ${body}`);
      const ready = await readiness(serving.url);
      if (ready !== READY) wrong.push(ready);
    }
    return wrong;
  }

  function lines(from: number, to: number): string {
    return Array.from({ length: to - from }, (_, place) => {
      const at = from + place;
      const parts = { records: [`192.0.2.${at}`, '192.0.2.200'], headers: { server: `${at}` } };
      return `${observationLine({ domain: `d${at % 5}.example`, at, ...parts })}\n`;
    }).join('');
  }

  async function recorded(name: string): Promise<string | undefined> {
    const response = await fetch(`${serving.url}/api/v1/domain/${name}`);
    const body: { httpHeaders?: { history: { new: string }[] }[] } = JSON.parse(await response.text());
    return body.httpHeaders?.[0]?.history.at(-1)?.new;
  }

  test('while a later version adds columns and an index, a process of this version stays ready, no request fails, and it records as before', async () => {
    const input = new PassThrough();
    const importing = startDms(['import', '-'], environment, input);
    input.write(lines(0, 10));
    while ((await recorded('d4.example')) !== '9') await pause(20);

    const stopped = new AbortController();
    const asking = Promise.all(Array.from({ length: 4 }, () => askOn(stopped.signal)));
    const index = 'CREATE INDEX domain_of_tomorrow ON domain (of_tomorrow) WHERE of_tomorrow IS NOT NULL;';
    expect(await migrateTo('9000_expands', COLUMNS + index)).toEqual(['9000_expands']);
    input.end(lines(10, 100));
    expect(await importing.result).toMatchObject({ code: 0 });
    stopped.abort();
    expect((await asking).flat()).toEqual([]);
    expect(await recorded('d4.example')).toBe('99');
    for await (const rows of readStoredRows(database.pool)) expect(findStoredViolations(rows)).toEqual([]);
  });

  test.skipIf(TEST_SERVER === undefined)(
    'a process is not held up by a migration that waits for a long transaction, such as that of pg_dump',
    async () => {
      const dump = await database.pool.connect();
      await dump.query('BEGIN; LOCK TABLE domain IN ACCESS SHARE MODE');
      const migrating = migrateTo('9001_waits', 'ALTER TABLE domain ADD COLUMN later text;');
      const waiting = `SELECT FROM pg_locks WHERE NOT granted AND relation = 'domain'::regclass`;
      while ((await database.pool.query(waiting)).rows.length === 0) await pause(10);
      expect(await recorded('d4.example')).toBe('99');
      await dump.query('COMMIT');
      dump.release();
      expect(await migrating).toEqual(['9001_waits']);
      expect(await readiness(serving.url)).toBe(READY);
    },
  );

  test('once a later version has migrated the database, no process and no command of this one can be started any more, and each says why', async () => {
    for (const args of [['serve'], ['worker'], ['migrate'], ['verify']]) {
      const { code, stderr } = await runDms(args, { ...environment, PORT: '0' });
      expect([args, code]).toEqual([args, 1]);
      expect(stderr).toMatch(
        /^dms: The database has the migration 900[01]_\w+, which this version of the program does not know\. Run the version that applied it, or a later one/,
      );
    }
    expect(await readiness(serving.url)).toBe(READY);
  });
});

// The embedded database is carried over by export and import.
test.skipIf(TEST_SERVER === undefined || !HAS_POSTGRESQL)(
  'a database from before the first release is refused, and taken over by the documented step',
  async () => {
    const home = await createTestHome();
    onTestFinished(home.remove);
    const database = await openDatabase(home.options);
    onTestFinished(() => database.close());
    const times = { time_first: 1e9, time_last: 1e9 + 1 };
    const sighted = { rrname: 'example.com', rrtype: 'A', rdata: ['192.0.2.1'], ...times };
    for (const line of [observationLine({ at: 1, headers: { via: 'a' } }), JSON.stringify(sighted)]) {
      const { code } = await runDms(['import', '-'], home.environment, Readable.from([line]));
      expect(code).toBe(0);
    }
    const before = await runDms(['export'], home.environment);
    await returnToBaseline(database.pool);
    await database.pool.query(`
      ALTER TABLE schema_migration ADD COLUMN works_since text;
      UPDATE schema_migration SET name = '0024_site_address', checksum = 'x';
      INSERT INTO schema_migration VALUES ('0001_observations', 'x', 1, NULL), ('0023_erased_text', 'x', 1, '0019_works_since')`);
    expect(await runDms(['verify'], home.environment)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('The database has the migration 0001_observations, which this version'),
    });

    const [, step = ''] = /^```sh\n(baseline=.*?)^```$/ms.exec(await readFile('CHANGELOG.md', 'utf8')) ?? [];
    const script = step.replaceAll('npx dms', 'node bin/dms.js');
    const env = { ...home.environment, PATH: process.env['PATH'] };
    const { stdout } = await promisify(execFile)('bash', ['-euc', script], { env });
    expect(stdout).toContain('No violations in 1 domains');
    expect(await runDms(['export'], home.environment)).toEqual(before);
  },
);

const { folder: baseline } = prepareFolder();

/** Makes the tables anew as the first migration does, with the rows that are there. */
async function returnToBaseline(pool: pg.Pool): Promise<void> {
  const tables = ['domain', 'dns_record', 'header_change', 'known_name', 'known_text', 'change_feed'];
  const stored: [table: string, rows: string][] = [];
  for (const table of tables) {
    const { rows } = await pool.query(`SELECT json_agg(${table})::text AS rows FROM ${table}`);
    stored.push([table, rows[0].rows]);
  }
  await pool.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
  await cp('prisma/migrations/0001_baseline', join(baseline, '0001_baseline'), { recursive: true });
  await migrate(pool, pathToFileURL(`${baseline}/`));
  for (const [table, rows] of stored) {
    await pool.query(`TRUNCATE ${table}`);
    const columns = await pool.query(
      `SELECT string_agg(attname, ', ') AS names FROM pg_attribute
       WHERE attrelid = '${table}'::regclass AND attnum > 0 AND attgenerated = ''`,
    );
    const { names } = columns.rows[0];
    await pool.query(
      `INSERT INTO ${table} (${names}) SELECT ${names} FROM json_populate_recordset(NULL::${table}, $1)`,
      [rows],
    );
  }
}
