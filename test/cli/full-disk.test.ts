import { spawnSync } from 'node:child_process';
import { mkdtemp, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PROGRAM } from '../journeys/dms-command.js';
import { prepareCommands } from '../support/commands.js';
import { IS_POOLED, TEST_SERVER } from '../support/database.js';
import { observationLine } from '../support/observations.js';

const commands = prepareCommands();

/** Runs a line of a shell whose data folder is on a small disk of its own. */
async function onSmallDisk(line: string) {
  const folder = await mkdtemp(join(tmpdir(), 'dms-small-disk-'));
  const script = `mount -t tmpfs -o size=4m tmpfs "$0" && ${line}`;
  const namespaces = ['--user', '--map-root-user', '--mount'];
  const args = [...namespaces, 'sh', '-c', script, folder, process.execPath, PROGRAM];
  const env = { PATH: process.env['PATH'], DATA_DIR: folder };
  const { status, stderr } = spawnSync('unshare', args, { cwd: tmpdir(), env, encoding: 'utf8' });
  await rmdir(folder);
  return { folder, status, stderr };
}

/** Whether the machine lets its users have disks of their own. */
const HAS_SMALL_DISKS = (await onSmallDisk('true')).status === 0;

test.skipIf(!HAS_SMALL_DISKS)('an embedded database that has no room to start says so', async () => {
  const { folder, status, stderr } = await onSmallDisk('"$1" "$2" import - </dev/null');
  expect([status, stderr]).toEqual([
    1,
    `dms: The data folder ${folder} cannot be used: its disk is full, less than 16 MB of it are free. ` +
      'Set DATA_DIR to a folder that this user owns, on a disk with room.\n',
  ]);
});

test.skipIf(!HAS_SMALL_DISKS)('dms doctor warns of a disk that will be full soon', async () => {
  const { stderr } = await onSmallDisk('DNS_SERVERS=127.0.0.1:9 "$1" "$2" doctor >&2');
  expect(stderr).toMatch(/^warning +disk +4 MB are free for .*: make room, or set DATA_DIR to a folder on/m);
});

/** PostgreSQL ends all connections where its log cannot be written, and tells one of them why. */
const DYING_SERVER = `CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF NEW.name = 'd5000.example' THEN
      WHILE NOT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'waiting') LOOP
        PERFORM pg_sleep(0.05);
        PERFORM pg_stat_clear_snapshot();
      END LOOP;
      PERFORM pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'waiting';
      PERFORM pg_sleep(0.3);
      RAISE EXCEPTION 'could not write to file: No space left on device' USING ERRCODE = '53100';
    ELSIF NEW.name = 'd10.example' THEN
      SET application_name = 'waiting';
      PERFORM pg_sleep(60);
    END IF;
    RETURN NEW;
  END $$;
  CREATE TRIGGER dying BEFORE INSERT ON domain FOR EACH ROW EXECUTE FUNCTION die();`;

test('an import that a lost node of a cluster ends does not say that the disk is full', async () => {
  await commands.database.pool.query(`
    CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE 'connection to the remote node 192.0.2.1:5432 failed' USING ERRCODE = 'io_error'; END $$;
    CREATE TRIGGER lost BEFORE INSERT ON domain FOR EACH ROW EXECUTE FUNCTION lose()`);
  const { code, stderr } = await commands.dms(['import', '-'], observationLine({ at: 1, records: [] }));
  expect(code).toBe(1);
  for (const part of ['192.0.2.1:5432 failed', 'or a node of its cluster is down'])
    expect(stderr).toContain(part);
  expect(stderr).not.toContain('is full');
});

test.skipIf(TEST_SERVER === undefined || IS_POOLED)(
  'an import says that the disk is full, although other connections are only lost by it',
  async () => {
    await commands.database.pool.query(`DROP TRIGGER IF EXISTS lost ON domain; ${DYING_SERVER}`);
    const lines = Array.from({ length: 6000 }, (_, at) =>
      observationLine({ domain: `d${at}.example`, at: 1, records: [] }),
    );
    const { code, stderr } = await commands.dms(['import', '-'], lines.join('\n'));
    expect([code, stderr]).toEqual([1, expect.stringContaining('dms: The disk of the database is full')]);
  },
);
