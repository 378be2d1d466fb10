import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type Database, openConnections } from '../../src/database/client.js';
import { createRecorder } from '../../src/recorder/recorder.js';
import { openMigrated, TEST_SERVER } from '../support/database.js';
import { keepUntilEnd } from '../support/keep.js';
import { IS_LONG, repeats } from '../support/long-form.js';
import { observation, timeText } from '../support/observations.js';
import { HAS_POSTGRESQL, PostgresqlCluster } from '../support/postgresql-cluster.js';
import { startServiceForTest, startTestService, type TestService } from '../support/service.js';
import { runDms } from './dms-command.js';

const DOMAINS = Array.from({ length: 10 }, (_, number) => `d${number}.example`);
/** Batches that are recorded before, and after, what a test is about. */
const SOME = 20;

/** By default, several processes of PostgreSQL read a table of 8 MB or more: 150,000 records have 20 MB. */
const STORED = `
  INSERT INTO domain (name, version, recorded_at, created, last_update, dns_types)
  SELECT 'd' || number || '.example', 1, 1, 1, 1, '{}' FROM generate_series(1, ${repeats(50_000, 200)}) AS number;
  INSERT INTO dns_record (domain, first_seen, type, position, host, class, rdata)
  SELECT name, 1, type, 0, name, 'IN', rdata
    FROM domain, (VALUES ('A', '{"ip":"192.0.2.7"}'::json), ('AAAA', '{"ipv6":"2001:db8::7"}'),
                         ('TXT', '{"txt":"text","entries":["text"]}')) AS record (type, rdata)`;

/** What docs/operating.md has between fences, below a heading of the third level. */
async function documented(heading: string): Promise<string[]> {
  const [, section = ''] = (await readFile('docs/operating.md', 'utf8')).split(`### ${heading}\n`);
  const [own = ''] = section.split(/^##/m);
  return [...own.matchAll(/^```\w*\n(.*?)^```$/gms)].map(([, content = '']) => content);
}

// On servers of its own, whichever home the other tests have: once is enough.
describe.skipIf(!HAS_POSTGRESQL || TEST_SERVER !== undefined)('a backup of a PostgreSQL server', () => {
  const keep = keepUntilEnd();
  let primary: PostgresqlCluster;
  let database: Database;
  let service: TestService;
  let recording: Recording;

  beforeAll(async () => {
    const [configuration = ''] = await documented('A PostgreSQL server: to a point in time');
    const parallel: Record<string, string> = IS_LONG ? {} : { min_parallel_table_scan_size: '0' };
    primary = keep(await PostgresqlCluster.start({ ...settingsIn(configuration), ...parallel }));
    await primary.shell('mkdir -p backups/wal');
    database = keep(await openMigrated(primary.url));
    service = keep(await startTestService({ database, role: 'api' }));
    recording = startRecording(database, service);
  });

  function settingsIn(configuration: string): Record<string, string> {
    const lines = configuration.matchAll(/^(\w+) = '?(.*?)'?$/gm);
    const values = [...lines].map(([, name = '', value = '']) => [name, here(value)] as const);
    return { ...Object.fromEntries(values), fsync: 'off' };
  }

  /** The folders of the test are below that of the server, in which it and the commands run. */
  function here(text: string): string {
    return text
      .replaceAll('/var/backups/dms', 'backups')
      .replaceAll('/var/lib/postgresql/data/', './')
      .replaceAll('/var/lib/postgresql/restored', 'restored');
  }

  /** A domain that is recorded so rarely that its version is the time of that. */
  const askRare = (of: TestService, headers = {}) => ask(of, headers, 'rare.example');

  async function recordRare(server: string): Promise<void> {
    const at = server === 'lost' ? 2 : 1;
    const rare = observation({ domain: 'rare.example', at, headers: { server } });
    await createRecorder(database.pool).record([rare]);
  }

  async function run(block: string | undefined, restoredUrl = ''): Promise<void> {
    const isOwn = (line: string) => line.includes('npx dms');
    const lines = (block ?? expect.fail('docs/operating.md has fewer commands')).split('\n');
    const environment = { DATABASE_URL: primary.url, RESTORED_URL: restoredUrl };
    await primary.shell(here(lines.filter((line) => !isOwn(line)).join('\n')), environment);
    for (const line of lines.filter(isOwn)) {
      const [, command = ''] = /^DATABASE_URL="\$RESTORED_URL" npx dms (\w+)$/.exec(line) ?? [];
      expect(await runDms([command], { DATABASE_URL: restoredUrl })).toMatchObject({ code: 0 });
    }
  }

  test('tables that PostgreSQL reads with several processes are indexed by these, also anew, in partitions, vacuumed, and restored from a dump', async () => {
    const url = (database: string) => new URL(`/${database}`, primary.url).href;
    const dms = (database: string, ...args: readonly string[]) =>
      runDms(args, { DATABASE_URL: url(database) });
    const findsAddresses = async (where: string) => {
      for (const ip of ['192.0.2.7', '2001:db8::7']) {
        const { stdout } = await dms(where, 'search', '--ip', ip, '--json', '--limit', '2');
        expect(stdout.split('\n').filter((line) => line.includes(ip))).toHaveLength(2);
      }
    };
    await primary.run('CREATE DATABASE large');
    expect(await dms('large', 'migrate')).toMatchObject({ code: 0 });
    const { pool, close } = await openConnections({ databaseUrl: url('large'), dataDirectory: '/none' });
    await pool.query(STORED);
    await findsAddresses('large');
    for (const statement of ['TABLE', 'TABLE CONCURRENTLY'])
      await pool.query(`REINDEX ${statement} dns_record`);
    expect(await dms('large', 'migrate', '--partitions', '2')).toMatchObject({ code: 0 });
    for (const statement of ['REINDEX TABLE', 'VACUUM (ANALYZE)'])
      await pool.query(`${statement} dns_record`);
    await close();
    const blocks = (await documented('A PostgreSQL server: dumps')).join('\n');
    const commands = blocks.match(/^.*\b(?:pg_dump|createdb|pg_restore) --.*$/gm) ?? [];
    await primary.shell(commands.join('\n').replaceAll('/var/backups/dms', 'backups'), {
      DATABASE_URL: url('large'),
      RESTORED_URL: url('restored'),
    });
    await findsAddresses('restored');
    await primary.run('DROP DATABASE large', 'DROP DATABASE restored');
  });

  test.skipIf(!IS_LONG)(
    'a dump that is made while observations are recorded has all that was acknowledged before, whole, and goes on from there',
    async () => {
      const [dump, restore] = await documented('A PostgreSQL server: dumps');
      const restoredUrl = new URL('/restored', primary.url).href;
      await recording.record(SOME);
      await recordRare('before');
      const rare = await askRare(service);
      const cursorBefore = await endOfFeed(service);
      await recording.record(SOME);
      const before = recording.acknowledged;
      await recording.recordDuring(() => run(dump));
      const after = recording.acknowledged;
      expect(after).toBeGreaterThan(before);
      await recording.record(SOME);
      await recordRare('lost');
      const rareLost = await askRare(service);
      const cursorAfter = await endOfFeed(service);
      await run(restore?.replace(/^psql .*\n/m, ''), restoredUrl);

      const restored = await openMigrated(restoredUrl);
      onTestFinished(() => restored.close());
      const again = await startServiceForTest({ database: restored, role: 'api' });
      // The state of one moment: of each domain as much, and as the primary knew it then.
      const last = (await exported({ DATABASE_URL: restoredUrl })).length / DOMAINS.length;
      expect(Number.isInteger(last)).toBe(true);
      expect(last).toBeGreaterThanOrEqual(before);
      expect(last).toBeLessThanOrEqual(after);
      const then = await exported({ DATABASE_URL: primary.url }, '--at', timeText(last));
      expect(await exported({ DATABASE_URL: restoredUrl })).toEqual(then);
      const found = await ask(again);
      expect(recording.bodies.get(found.etag)).toBe(found.body);

      expect(await changes(again, cursorAfter)).toMatchObject({ code: 'INVALID_CURSOR' });
      expect((await changes(again, cursorBefore)).changes.length).toBeGreaterThan(0);

      // A client that has what was lost gets what there is.
      const [, lost] = [...recording.bodies.keys()].slice(-2);
      expect(lost).not.toBe(found.etag);
      expect((await ask(again, { 'if-none-match': String(lost) })).status).toBe(200);
      await run(/^psql .*\n/m.exec(restore ?? '')?.[0], restoredUrl);
      expect(await askRare(again, { 'if-modified-since': rareLost.date })).toMatchObject({
        status: 200,
        body: rare.body,
      });

      // Recorded differently from there on: no ETag and no cursor stands for two states.
      const other = startRecording(restored, again, last, 'other');
      await other.record(after - last + 2 * SOME);
      expect([...other.bodies.keys()].filter((etag) => recording.bodies.has(etag))).toEqual([]);
      expect(await changes(again, cursorAfter)).toMatchObject({ code: 'INVALID_CURSOR' });
      expect(await runDms(['verify'], { DATABASE_URL: restoredUrl })).toMatchObject({ code: 0 });
    },
  );

  test('a base backup and the log restore the moment before a mistake: nothing acknowledged is lost, whatever the server was doing when it stopped', async () => {
    const [, baseBackup, prepare = ''] = await documented('A PostgreSQL server: to a point in time');
    await recording.recordDuring(() => run(baseBackup));
    await recording.record(SOME);
    const [moment] = await primary.run('SELECT clock_timestamp()::text AS now');
    const forgotten = await runDms(['forget', '--yes', ...DOMAINS], { DATABASE_URL: primary.url });
    expect(forgotten.code).toBe(0);
    await service.stop();
    await database.close();
    await primary.stop();
    await run(prepare.replace('2024-03-01 10:20:30.123456+00', String(moment?.['now'])));

    const restored = await PostgresqlCluster.startOn(join(primary.folder, 'restored'), { fsync: 'off' });
    onTestFinished(() => restored.stop());
    const isRecovering = async () => (await restored.run('SELECT pg_is_in_recovery() AS is'))[0]?.['is'];
    await expect.poll(isRecovering, { timeout: 60_000 }).toBe(false);
    const environment = { DATABASE_URL: restored.url };
    expect(await exported(environment)).toHaveLength(recording.acknowledged * DOMAINS.length);
    expect(await runDms(['verify'], environment)).toMatchObject({ code: 0 });
  });
});

type Recording = ReturnType<typeof startRecording>;

/** Records batches of one observation of each domain, and keeps the responses of the first one by ETag. */
function startRecording(database: Database, service: TestService, acknowledged = 0, text = 'server') {
  const recording = { acknowledged, bodies: new Map<string, string>(), record, recordDuring };
  async function recordBatch(): Promise<void> {
    const at = recording.acknowledged + 1;
    const parts = { at, records: [`192.0.2.${at % 250}`], headers: { server: `${text} ${at}` } };
    await createRecorder(database.pool).record(DOMAINS.map((domain) => observation({ domain, ...parts })));
    recording.acknowledged = at;
    const { etag, body } = await ask(service);
    recording.bodies.set(etag, body);
  }
  async function record(batches: number): Promise<void> {
    for (let batch = 0; batch < batches; batch += 1) await recordBatch();
  }
  async function recordDuring(work: () => Promise<void>): Promise<void> {
    let isOver = false;
    const working = work().finally(() => {
      isOver = true;
    });
    while (!isOver) await recordBatch();
    await working;
  }
  return recording;
}

async function ask({ rest }: TestService, headers = {}, domain = DOMAINS[0]) {
  const { status, fields, text } = await rest(`/domain/${domain}`, headers);
  return { status, etag: fields.get('etag') ?? '', date: fields.get('date') ?? '', body: text };
}

async function changes({ rest }: TestService, after?: string) {
  const parameters = new URLSearchParams({ first: '500', ...(after && { after }) });
  return (await rest(`/changes?${parameters}`)).body;
}

/** The cursor after all that is recorded. */
async function endOfFeed(of: TestService): Promise<string> {
  let page = await changes(of);
  while (page.changes.length > 0) page = await changes(of, page.next);
  return page.next;
}

/** The observations that have the same history, of all domains. */
async function exported(environment: Readonly<Record<string, string>>, ...options: readonly string[]) {
  const { stdout } = await runDms(['export', ...options, ...DOMAINS], environment);
  return stdout.trim().split('\n');
}
