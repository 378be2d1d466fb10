import { chmod, mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { type Database, type DatabaseOptions, openDatabase } from '../../src/database/client.js';
import { byShortPath } from '../../src/database/embedded/claim.js';
import { inTransaction } from '../../src/database/transaction.js';
import { newDataDirectory, ownerOf, removeDataDirectory } from '../support/data-directory.js';
import { type DatabaseUser, startDatabaseUser } from '../support/database-user.js';
import { IS_LONG, repeats } from '../support/long-form.js';
import { ended, isRunning, killAtOnce } from '../support/processes.js';
import { copyTemplate } from '../support/template.js';

let dataDirectory: string;

beforeEach(async () => {
  dataDirectory = await newDataDirectory();
  // After all that the test opens is closed: what is registered last is done first.
  onTestFinished(() => removeDataDirectory(dataDirectory));
});

async function open(options: Partial<DatabaseOptions> = {}): Promise<Database> {
  const database = await openDatabase({ dataDirectory, graceMilliseconds: 0, ...options });
  onTestFinished(() => database.close());
  return database;
}

async function startUser(directory = dataDirectory, graceMilliseconds = 0): Promise<DatabaseUser> {
  const user = await startDatabaseUser({ dataDirectory: directory, graceMilliseconds });
  onTestFinished(() => user.kill());
  return user;
}

async function ownerOrThrow(directory = dataDirectory): Promise<number> {
  const owner = await ownerOf(directory);
  if (owner === null) throw new Error('No process has the database open.');
  return owner;
}

const claims = async (directory = dataDirectory) =>
  (await readdir(join(directory, 'run'))).filter((name) => /^owner\.\d+$/.test(name));

async function count(database: Database, table: string): Promise<unknown> {
  const { rows } = await database.pool.query(`SELECT count(*) FROM ${table}`);
  return rows[0]?.count;
}

const COUNT = 'SELECT count(*) FROM note';

test('a second process uses the database of the first, each sees what the other has committed, and the last to leave ends it', async () => {
  await copyTemplate(dataDirectory);
  const first = await open();
  const second = await startUser();
  await first.pool.query(`CREATE TABLE note AS SELECT 'from the first' AS text`);
  expect(await second.query('SELECT text FROM note')).toEqual([{ text: 'from the first' }]);
  await second.query(`INSERT INTO note VALUES ('from the second')`);
  expect(await count(first, 'note')).toBe(2n);
  expect(await claims()).toEqual(['owner.1']);

  const owner = await ownerOrThrow();
  await first.close();
  expect(await second.query(COUNT)).toEqual([{ count: 2n }]);
  // Longer than it waits for its first.
  if (IS_LONG) await pause(7000);
  expect([await ownerOrThrow(), isRunning(owner)]).toEqual([owner, true]);
  await second.close();
  await ended(owner);
  expect(await ownerOf(dataDirectory)).toBeNull();

  const third = await startUser();
  expect(third.createdNow).toBe(false);
  expect(await third.query(COUNT)).toEqual([{ count: 2n }]);
  const next = await ownerOrThrow();
  await third.kill();
  await ended(next);
});

test('a process that uses the database of another changes nothing in the data folder, which it may have read-only', async () => {
  await copyTemplate(dataDirectory);
  await open();
  const run = join(dataDirectory, 'run');
  const before = await stat(run);
  await open({ ifMissing: 'fail' });
  expect((await stat(run)).ctimeMs).toBe(before.ctimeMs);
});

test('five processes that start at once on a fresh folder come up on one database, which one has made, for its owner only', async () => {
  const inner = join(dataDirectory, 'made', 'by', 'us');
  onTestFinished(() => removeDataDirectory(inner));
  const users = await Promise.all(Array.from({ length: 5 }, () => startUser(inner, 3000)));
  expect(users.filter((user) => user.createdNow)).toHaveLength(1);
  expect(await claims(inner)).toEqual(['owner.1']);
  await users[0]?.query('CREATE TABLE note (text text)');
  await Promise.all(users.map((user, number) => user.query(`INSERT INTO note VALUES ('${number}')`)));
  for (const user of users) expect(await user.query(COUNT)).toEqual([{ count: 5n }]);
  for (const made of [join(inner, '..'), inner, join(inner, 'run'), join(inner, 'postgresql-18')]) {
    expect((await stat(made)).mode & 0o777, made).toBe(0o700);
  }
});

test('a data folder whose first start was interrupted gets a complete database', async () => {
  const unfinished = join(dataDirectory, 'postgresql-18.new');
  await mkdir(unfinished);
  await writeFile(join(unfinished, 'PG_VERSION'), '18\n');
  const making = open();
  await vi.waitFor(async () => expect(await claims()).toEqual(['owner.1']), { timeout: 60_000 });
  // Where none may be made, the one that is being made is opened.
  const joined = await open({ ifMissing: 'fail' });
  const made = await making;
  expect([made.createdNow, joined.createdNow]).toEqual([true, false]);
  const { rows } = await made.pool.query('SHOW server_version');
  expect(rows).toEqual([{ server_version: expect.stringMatching(/^18/) }]);
  expect(await readdir(dataDirectory)).not.toContain('postgresql-18.new');
});

describe('with a running service', () => {
  let folder: string;
  let database: Database;

  beforeAll(async () => {
    folder = await newDataDirectory();
    await copyTemplate(folder);
    database = await openDatabase({ dataDirectory: folder, graceMilliseconds: 0, poolSize: 16 });
    await database.pool.query('CREATE TABLE note AS SELECT 1 AS number');
    await database.pool.query('CREATE TABLE pair (client integer, number integer)');
  });

  afterAll(async () => {
    await database.close();
    await removeDataDirectory(folder);
  });

  test('the parts of sixteen clients’ queries and transactions never mix, whatever their size', async () => {
    await database.pool.query('TRUNCATE pair');
    const ROUNDS = repeats(60, 11);
    const work = async (client: number) => {
      for (let number = 0; number < ROUNDS; number += 1) {
        const length = [200_000][number % 10] ?? 0;
        const text = `SELECT ${client} AS client, $1::int AS number, length($2) AS length`;
        const query = { text, values: [number, 'x'.repeat(length)] };
        const expected = { client, number, length };
        if (client % 3 === 0) {
          await inTransaction(database.pool, async (connection) => {
            await connection.query('INSERT INTO pair VALUES ($1, $2)', [client, number]);
            expect((await connection.query(query)).rows).toEqual([expected]);
          });
        } else if (number % 7 === 0) {
          await expect(database.pool.query('SELECT missing($1)', [1])).rejects.toThrow('missing');
        } else {
          expect((await database.pool.query(query)).rows).toEqual([expected]);
        }
      }
    };
    await Promise.all(Array.from({ length: 16 }, (_, client) => work(client)));
    expect(await count(database, 'pair')).toBe(6n * BigInt(ROUNDS));
  });

  test('a client of the embedded database that is killed within a transaction leaves no lock and nothing of what it wrote', async () => {
    await database.pool.query('TRUNCATE pair');
    const user = await startUser(folder);
    await user.query('BEGIN');
    await user.query('INSERT INTO pair VALUES (1, 1)');
    await user.query('LOCK TABLE pair');
    await user.kill();
    await database.pool.query('INSERT INTO pair VALUES (2, 2)');
    expect((await database.pool.query('SELECT client FROM pair')).rows).toEqual([{ client: 2 }]);
  });

  test('a client of the embedded database that disconnects in the middle of a query, within a failed transaction, blocks no other', async () => {
    const socket = byShortPath(join(folder, 'run', '.s.PGSQL.5432'), (path) => createConnection(path));
    const startup = message('', `\0\x03\0\0user\0postgres\0database\0postgres\0\0`);
    for (const sent of [startup, message('Q', 'BEGIN\0'), message('P', '\0SELECT missing()\0\0\0')]) {
      socket.write(sent);
      await new Promise((resolve) => socket.once('data', resolve));
    }
    socket.destroy();
    expect(await count(database, 'note')).toBe(1n);
  });

  test('no statement of the clients of the embedded database has a name, which all would share', async () => {
    await database.prisma.$queryRaw`SELECT ${1}::int`;
    expect(await database.prisma.domain.findMany()).toEqual([]);
    expect(await count(database, 'pg_prepared_statements')).toBe(0n);
  });

  const breakEngine = async (owner: number) => {
    await expect(database.pool.query('COPY note FROM STDIN')).rejects.toThrow();
    await ended(owner);
  };

  test.each<[string, (owner: number) => Promise<unknown>]>([
    ['its process is killed', killAtOnce],
    ['its socket is removed', (owner) => rm(join(folder, 'run', '.s.PGSQL.5432')).then(() => ended(owner))],
    ['a statement breaks the engine', breakEngine],
  ])(
    'the embedded database comes back when %s: the next query works, and what is committed is there, for every process',
    async (_what, end) => {
      const owner = await ownerOrThrow(folder);
      await end(owner);
      expect(await count(database, 'note')).toBe(1n);
      expect(await database.prisma.$queryRaw`SELECT number FROM note`).toEqual([{ number: 1 }]);
      expect(await ownerOrThrow(folder)).not.toBe(owner);
      expect(await (await startUser(folder)).query('SELECT number FROM note')).toEqual([{ number: 1 }]);
    },
  );

  test('the embedded database loses no commit when it is killed repeatedly while several processes use it', async () => {
    const user = await startUser(folder);
    await database.pool.query('CREATE TABLE entry (number integer)');
    let committed = 0;
    for (let round = 0; round < repeats(3, 2); round += 1) {
      const inserts = Array.from({ length: 200 }, () => database.pool.query('INSERT INTO entry VALUES (1)'));
      const outcomes = Promise.allSettled(inserts);
      await inserts[20];
      await killAtOnce(await ownerOrThrow(folder));
      committed += (await outcomes).filter(({ status }) => status === 'fulfilled').length;
      expect(await count(database, 'entry')).toBeGreaterThanOrEqual(committed);
    }
    await user.close();
  });

  test('the data folder is claimed anew when all processes were killed', async () => {
    const first = await ownerOrThrow(folder);
    await database.close();
    await ended(first);
    const user = await startUser(folder);
    const before = await claims(folder);
    const owner = await ownerOrThrow(folder);
    process.kill(owner, 'SIGKILL');
    await user.kill();
    await ended(owner);

    const again = await open({ dataDirectory: folder });
    expect(await count(again, 'note')).toBe(1n);
    const after = await claims(folder);
    expect([after.length, after]).toEqual([1, expect.not.arrayContaining(before)]);
  });

  test('the embedded database does not come back as an empty one if its folder was deleted under a running service, which gives it as the reason', async () => {
    await copyTemplate(dataDirectory);
    const service = await open();
    expect(service.failure()).toBeNull();
    const owner = await ownerOrThrow();
    await rm(join(dataDirectory, 'run'), { recursive: true });
    await rm(join(dataDirectory, 'postgresql-18'), { recursive: true });
    await ended(owner);
    await expect
      .poll(() => service.failure())
      .toMatch(/^The data folder .+ cannot be used: ENOENT.+ Set DATA_DIR to a folder /);
    await service.close();
    expect(await readdir(dataDirectory)).toEqual([]);
  });
});

test('a data folder may have a path of more than 108 characters, and leaves nothing in the folder for temporary files', async () => {
  const shortPaths = async () => (await readdir('/tmp')).filter((name) => /^dms-\w{6}$/.test(name));
  const deep = join(dataDirectory, 'long-name-'.repeat(12), 'another-long-name-'.repeat(8));
  await mkdir(deep, { recursive: true, mode: 0o700 });
  await copyTemplate(deep);
  const before = await shortPaths();
  const first = await open({ dataDirectory: deep, poolSize: 2 });
  await first.pool.query('CREATE TABLE note AS SELECT 1 AS number');
  const second = await startUser(deep);
  expect(await second.query('SELECT number FROM note')).toEqual([{ number: 1 }]);
  await second.close();

  await killAtOnce(await ownerOrThrow(deep));
  expect(await Promise.all([count(first, 'note'), count(first, 'note')])).toEqual([1n, 1n]);
  await first.close();
  expect((await shortPaths()).filter((path) => !before.includes(path))).toEqual([]);
  await removeDataDirectory(deep);
});

test.each([
  ['postgresql-17', '17\n', /postgresql-17 holds a database of PostgreSQL 17, .* Dump it /],
  ['postgresql-18', '19\n', /holds a database of PostgreSQL 19, .* Dump it /],
  ['postgresql-18', undefined, / PG_VERSION cannot be read\. Restore /],
])(
  'a database that the program cannot open is left alone: %s with version %j',
  async (folder, version, reason) => {
    await mkdir(join(dataDirectory, folder));
    if (version !== undefined) await writeFile(join(dataDirectory, folder, 'PG_VERSION'), version);
    const before = await readdir(join(dataDirectory, folder));
    await expect(open()).rejects.toThrow(reason);
    expect(await readdir(join(dataDirectory, folder))).toEqual(before);
  },
);

test('a data folder without a database is an error if none may be made, and nothing is made', async () => {
  for (const folder of [dataDirectory, join(dataDirectory, 'missing')]) {
    await expect(open({ dataDirectory: folder, ifMissing: 'fail' })).rejects.toThrow(
      `There is no database in ${folder}: run the command in the folder of the service's data, or set DATA_DIR.`,
    );
  }
  expect(await readdir(dataDirectory)).toEqual([]);
});

test('a data folder that cannot be made is an error of one line that names it, with what to do', async () => {
  await writeFile(join(dataDirectory, 'file'), '');
  await expect(open({ dataDirectory: join(dataDirectory, 'file', 'data') })).rejects.toThrow(
    /^The data folder .*file\/data cannot be used: ENOTDIR.*\. Set DATA_DIR to a folder that this user owns, .*\.$/,
  );
});

test('a folder of sockets that others may enter is closed to them', async () => {
  await copyTemplate(dataDirectory);
  await mkdir(join(dataDirectory, 'run'));
  await chmod(join(dataDirectory, 'run'), 0o755);
  await open();
  expect((await stat(join(dataDirectory, 'run'))).mode & 0o777).toBe(0o700);
});

function message(kind: string, body: string): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(4 + body.length);
  return Buffer.concat([Buffer.from(kind), length, Buffer.from(body)]);
}
