import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Database, type DatabaseOptions, openDatabase } from '../../src/database/client.js';
import { byShortPath } from '../../src/database/embedded/claim.js';
import { inTransaction } from '../../src/database/transaction.js';
import { newDataDirectory, ownerOf, removeDataDirectory } from '../support/data-directory.js';
import { DatabaseUser } from '../support/database-user.js';
import { IS_LONG, repeats } from '../support/long-form.js';
import { ended, isRunning, killAtOnce } from '../support/processes.js';
import { copyTemplate } from '../support/template.js';

let dataDirectory: string;

beforeEach(async () => {
  dataDirectory = await newDataDirectory();
});

/** What a test has opened, to be closed before its folder is deleted. */
const closings: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closings.splice(0).reverse()) await close();
  await removeDataDirectory(dataDirectory);
});

async function open(options: Partial<DatabaseOptions> = {}): Promise<Database> {
  const database = await openDatabase({ dataDirectory, graceMilliseconds: 0, ...options });
  closings.push(() => database.close());
  return database;
}

async function startUser(directory = dataDirectory): Promise<DatabaseUser> {
  const user = await DatabaseUser.start({ dataDirectory: directory, graceMilliseconds: 0 });
  closings.push(() => user.kill());
  return user;
}

async function ownerOrThrow(directory = dataDirectory): Promise<number> {
  const owner = await ownerOf(directory);
  if (owner === null) throw new Error('No process has the database open.');
  return owner;
}

/** Settles once no process has the database open. */
async function ownerGone(directory = dataDirectory): Promise<void> {
  const owner = await ownerOf(directory);
  if (owner !== null) await ended(owner);
}

/** The folders for temporary files that lead to folders of sockets whose path is too long. */
async function shortPaths(): Promise<string[]> {
  const names = await readdir(tmpdir());
  return names.filter((name) => /^dms-\w{6}$/.test(name)).map((name) => join(tmpdir(), name));
}

async function claims(directory = dataDirectory): Promise<string[]> {
  const names = await readdir(join(directory, 'run'));
  return names.filter((name) => /^owner\.\d+$/.test(name));
}

async function count(database: Database, table: string): Promise<unknown> {
  const { rows } = await database.pool.query(`SELECT count(*) FROM ${table}`);
  return rows[0]?.count;
}

describe('one process has the embedded database open, and every process uses it', () => {
  let folder: string;
  let first: Database;
  let second: DatabaseUser;

  beforeAll(async () => {
    folder = await newDataDirectory();
    await copyTemplate(folder);
    const options = { dataDirectory: folder, graceMilliseconds: 0 };
    first = await openDatabase({ ...options, ifMissing: 'create-unseeded' });
    second = await DatabaseUser.start({ ...options, ifMissing: 'create-unseeded' });
  });

  afterAll(async () => {
    await first.close();
    await second.kill();
    await removeDataDirectory(folder);
  });

  test('it is to be seeded only if it was created so, whichever process opens it', () => {
    expect([first.unseeded, second.unseeded]).toEqual([false, false]);
  });

  test('a second process attaches to the first, and each sees what the other has committed', async () => {
    await first.pool.query('CREATE TABLE note (text text)');
    await first.pool.query(`INSERT INTO note VALUES ('from the first')`);
    expect(await second.query('SELECT text FROM note')).toEqual([{ text: 'from the first' }]);
    await second.query(`INSERT INTO note VALUES ('from the second')`);
    expect(await count(first, 'note')).toBe(2n);
    expect(await claims(folder)).toEqual(['owner.1']);
  });

  test('it stops after its last user has detached, and a later start finds what was committed', async () => {
    const owner = await ownerOrThrow(folder);
    await first.close();
    expect(await second.query('SELECT count(*) FROM note')).toEqual([{ count: 2n }]);
    expect(isRunning(owner)).toBe(true);

    await second.close();
    await ended(owner);
    expect(await ownerOf(folder)).toBeNull();
    second = await DatabaseUser.start({ dataDirectory: folder, graceMilliseconds: 0 });
    expect(second.createdNow).toBe(false);
    expect(await second.query('SELECT count(*) FROM note')).toEqual([{ count: 2n }]);
  });

  test.skipIf(!IS_LONG)('it stays open for as long as it has a user', async () => {
    const owner = await ownerOrThrow(folder);
    // Longer than it waits for its first.
    await pause(7000);
    expect(await ownerOrThrow(folder)).toBe(owner);
  });

  test('it stops by itself if the process that started it is killed', async () => {
    const owner = await ownerOrThrow(folder);
    await second.kill();
    await ended(owner);
    expect(await ownerOf(folder)).toBeNull();
  });
});

describe('a fresh folder on which processes start at once', () => {
  let folder: string;
  /** Does not exist yet. */
  let inner: string;
  let users: readonly DatabaseUser[];

  beforeAll(async () => {
    folder = await newDataDirectory();
    inner = join(folder, 'made', 'by', 'us');
    const options = { dataDirectory: inner, ifMissing: 'create-unseeded' } as const;
    users = await Promise.all(Array.from({ length: 5 }, () => DatabaseUser.start(options)));
  });

  afterAll(async () => {
    for (const user of users) await user.kill();
    await removeDataDirectory(inner);
    await rm(folder, { recursive: true });
  });

  test('five processes that start at once on a fresh folder come up on one database, which one has made', async () => {
    expect(users.filter((user) => user.createdNow)).toHaveLength(1);
    expect(await claims(inner)).toEqual(['owner.1']);

    await users[0]?.query('CREATE TABLE note (text text)');
    await Promise.all(users.map((user, number) => user.query(`INSERT INTO note VALUES ('${number}')`)));
    for (const user of users) {
      expect(await user.query('SELECT count(*) FROM note')).toEqual([{ count: 5n }]);
    }
  });

  test('the data folder and the folder of sockets in it are for their owner only', async () => {
    for (const made of [inner, join(inner, 'run'), join(inner, 'postgresql-18')]) {
      expect((await stat(made)).mode & 0o777, made).toBe(0o700);
    }
  });

  test('a new database that is to be seeded is known as unseeded to every opening, until one marks it as seeded', async () => {
    expect(users.map(({ unseeded }) => unseeded)).toEqual(Array(5).fill(true));
    const first = await open({ dataDirectory: inner, ifMissing: 'create-unseeded' });
    const second = await open({ dataDirectory: inner });
    expect([second.createdNow, second.unseeded]).toEqual([false, true]);
    await second.markSeeded();
    await first.markSeeded();
    const options = { dataDirectory: inner, ifMissing: 'create-unseeded' } as const;
    expect((await open(options)).unseeded).toBe(false);
  });
});

describe('a data folder whose first start was interrupted', () => {
  let folder: string;
  /** Makes the database. */
  let made: Database;
  /** Is opened meanwhile, where none may be made. */
  let joined: Database;

  beforeAll(async () => {
    folder = await newDataDirectory();
    const unfinished = join(folder, 'postgresql-18.new');
    await mkdir(unfinished);
    await writeFile(join(unfinished, 'PG_VERSION'), '18\n');
    // By a process that was killed while it made an unseeded database.
    await writeFile(join(folder, 'unfilled'), '');
    const options = { dataDirectory: folder, graceMilliseconds: 0 };
    [made, joined] = await Promise.all([
      openDatabase(options),
      vi
        .waitFor(async () => expect(await claims(folder)).toEqual(['owner.1']), { timeout: 60_000 })
        .then(() => openDatabase({ ...options, ifMissing: 'fail' })),
    ]);
  });

  afterAll(async () => {
    await made.close();
    await joined.close();
    await removeDataDirectory(folder);
  });

  test('gets a complete database', async () => {
    const { rows } = await made.pool.query(
      `SELECT current_setting('server_version_num')::int / 10000 AS major`,
    );
    expect(rows).toEqual([{ major: 18 }]);
    expect(await readdir(folder)).not.toContain('postgresql-18.new');
  });

  test('is unseeded if its maker says so, not if an earlier one that was killed did', () => {
    expect(made.unseeded).toBe(false);
  });

  test('is opened where none may be made, while one is being made and afterwards', async () => {
    expect([made.createdNow, joined.createdNow]).toEqual([true, false]);
    await made.close();
    await joined.close();
    await ownerGone(folder);
    expect((await open({ dataDirectory: folder, ifMissing: 'fail' })).createdNow).toBe(false);
  });
});

describe('the embedded database of a running service comes back', () => {
  let folder: string;
  let database: Database;

  beforeAll(async () => {
    folder = await newDataDirectory();
    await copyTemplate(folder);
    database = await openDatabase({ dataDirectory: folder, graceMilliseconds: 0 });
    await database.pool.query('CREATE TABLE note AS SELECT 1 AS number');
  });

  afterAll(async () => {
    await database.close();
    await removeDataDirectory(folder);
  });

  test('when its process is killed: the next query works, and committed data is there', async () => {
    const owner = await ownerOrThrow(folder);
    await killAtOnce(owner);
    expect(await count(database, 'note')).toBe(1n);
    expect(await database.prisma.$queryRaw`SELECT number FROM note`).toEqual([{ number: 1 }]);
    expect(await ownerOrThrow(folder)).not.toBe(owner);
  });

  test('when its socket is removed: it is started again, and found by every process', async () => {
    const owner = await ownerOrThrow(folder);
    await rm(join(folder, 'run', '.s.PGSQL.5432'));
    await ended(owner);
    expect(await count(database, 'note')).toBe(1n);
    expect(await database.prisma.$queryRaw`SELECT number FROM note`).toEqual([{ number: 1 }]);
    expect(await (await startUser(folder)).query('SELECT number FROM note')).toEqual([{ number: 1 }]);
  });

  test('when a statement breaks the engine', async () => {
    await expect(database.pool.query('COPY note FROM STDIN')).rejects.toThrow();
    await expect.poll(() => count(database, 'note')).toBe(1n);
  });

  test('when it is killed repeatedly while several processes use it', async () => {
    const user = await startUser(folder);
    await database.pool.query('CREATE TABLE entry (number integer)');
    let committed = 0n;
    for (let round = 0; round < repeats(3, 2); round += 1) {
      const inserts = Array.from({ length: 200 }, () =>
        database.pool.query('INSERT INTO entry VALUES (1)').then(
          () => 1n,
          () => 0n,
        ),
      );
      await inserts[20];
      await killAtOnce(await ownerOrThrow(folder));
      for (const insert of inserts) committed += await insert;
      expect(await count(database, 'entry')).toBeGreaterThanOrEqual(committed);
    }
    const fresh = await startUser(folder);
    const [row] = await fresh.query('SELECT count(*) FROM entry');
    expect(row?.['count']).toBeGreaterThanOrEqual(committed);
    await user.close();
  });

  test('when all processes were killed: the data folder is claimed anew', async () => {
    await database.close();
    await ownerGone(folder);
    const user = await startUser(folder);
    const before = await claims(folder);
    const owner = await ownerOrThrow(folder);
    process.kill(owner, 'SIGKILL');
    await user.kill();
    await ended(owner);

    const again = await open({ dataDirectory: folder });
    expect(await count(again, 'note')).toBe(1n);
    expect(await claims(folder)).toHaveLength(1);
    expect(await claims(folder)).not.toEqual(before);
  });

  test('but not as an empty one if its folder was deleted under a running service, which gives it as the reason', async () => {
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

describe('the clients of the embedded database do not disturb each other', () => {
  let database: Database;

  let folder: string;

  beforeAll(async () => {
    folder = await newDataDirectory();
    await copyTemplate(folder);
    database = await openDatabase({ dataDirectory: folder, graceMilliseconds: 0, poolSize: 16 });
    await database.pool.query('CREATE TABLE note (client integer, number integer)');
  });

  beforeEach(() => database.pool.query('TRUNCATE note'));

  afterAll(async () => {
    await database.close();
    await removeDataDirectory(folder);
  });

  test('the parts of sixteen clients’ queries and transactions never mix, whatever their size', async () => {
    const ROUNDS = repeats(60, 11);
    const long = 'x'.repeat(200_000);
    const ask = (client: number, number: number) => {
      const text = number % 10 === 0 ? long : '';
      return {
        text: `SELECT ${client} AS client, $1::int AS number, length($2) AS length`,
        values: [number, text],
      };
    };
    const work = async (client: number) => {
      for (let number = 0; number < ROUNDS; number += 1) {
        const query = ask(client, number);
        const expected = { client, number, length: query.values[1]?.toString().length };
        if (client % 3 === 0) {
          await inTransaction(database.pool, async (connection) => {
            await connection.query('INSERT INTO note VALUES ($1, $2)', [client, number]);
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
    expect(await count(database, 'note')).toBe(6n * BigInt(ROUNDS));
  });

  test('a client killed within a transaction leaves no lock and nothing of what it wrote', async () => {
    const user = await startUser(folder);
    await user.query('BEGIN');
    await user.query('INSERT INTO note VALUES (1, 1)');
    await user.query('LOCK TABLE note');
    await user.kill();
    await database.pool.query('INSERT INTO note VALUES (2, 2)');
    expect((await database.pool.query('SELECT client FROM note')).rows).toEqual([{ client: 2 }]);
  });

  test('a client that disconnects in the middle of a query, within a failed transaction, blocks no other', async () => {
    const socket = byShortPath(join(folder, 'run', '.s.PGSQL.5432'), (path) => createConnection(path));
    socket.write(startup());
    await new Promise((resolve) => socket.once('data', resolve));
    socket.write(message('Q', 'BEGIN\0'));
    await new Promise((resolve) => socket.once('data', resolve));
    socket.write(message('P', '\0SELECT missing()\0\0\0'));
    await new Promise((resolve) => socket.once('data', resolve));
    socket.destroy();
    await database.pool.query('INSERT INTO note VALUES (2, 2)');
    expect(await count(database, 'note')).toBe(1n);
  });

  test('none of their statements has a name, which all would share', async () => {
    await database.prisma.$queryRaw`SELECT ${1}::int`;
    expect(await database.prisma.domain.findMany()).toEqual([]);
    expect(await count(database, 'pg_prepared_statements')).toBe(0n);
  });
});

describe('the data folder', () => {
  test('may have a path of more than 108 characters, and leaves nothing in the folder for temporary files', async () => {
    const deep = join(dataDirectory, 'long-name-'.repeat(12), 'another-long-name-'.repeat(8));
    await mkdir(deep, { recursive: true, mode: 0o700 });
    await copyTemplate(deep);
    const before = await shortPaths();
    const first = await open({ dataDirectory: deep, poolSize: 2 });
    await first.pool.query('CREATE TABLE note AS SELECT 1 AS number');
    const second = await DatabaseUser.start({ dataDirectory: deep });
    expect(await second.query('SELECT number FROM note')).toEqual([{ number: 1 }]);
    await second.close();

    await killAtOnce(await ownerOrThrow(deep));
    expect(await Promise.all([count(first, 'note'), count(first, 'note')])).toEqual([1n, 1n]);
    await first.close();
    expect((await shortPaths()).filter((path) => !before.includes(path))).toEqual([]);
    await removeDataDirectory(deep);
  });

  test('of another major version of PostgreSQL is never opened: the message says to dump and load', async () => {
    await mkdir(join(dataDirectory, 'postgresql-17'));
    await expect(open()).rejects.toThrow(/postgresql-17 holds a database of PostgreSQL 17, .* Dump it /);

    await rm(join(dataDirectory, 'postgresql-17'), { recursive: true });
    await mkdir(join(dataDirectory, 'postgresql-18'));
    await writeFile(join(dataDirectory, 'postgresql-18', 'PG_VERSION'), '19\n');
    await expect(open()).rejects.toThrow(/holds a database of PostgreSQL 19, .* Dump it /);
    expect(await readdir(join(dataDirectory, 'postgresql-18'))).toEqual(['PG_VERSION']);
  });

  test('that is not a data folder of PostgreSQL is left alone', async () => {
    await mkdir(join(dataDirectory, 'postgresql-18'));
    await expect(open()).rejects.toThrow(/is not a data folder of PostgreSQL/);
  });

  test('without a database is an error if none may be made, and nothing is made', async () => {
    const missing = join(dataDirectory, 'missing');
    for (const folder of [dataDirectory, missing]) {
      await expect(open({ dataDirectory: folder, ifMissing: 'fail' })).rejects.toThrow(
        `There is no database in ${folder}: run the command in the folder of the service's data, or set DATA_DIR.`,
      );
    }
    expect(await readdir(dataDirectory)).toEqual([]);
  });

  test('that cannot be made is an error of one line that names it', async () => {
    await writeFile(join(dataDirectory, 'file'), '');
    const impossible = join(dataDirectory, 'file', 'data');
    await expect(open({ dataDirectory: impossible })).rejects.toThrow(
      /^The data folder .*file\/data cannot be used: .*$/,
    );
  });
});

function message(kind: string, body: string): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(4 + body.length);
  return Buffer.concat([Buffer.from(kind), length, Buffer.from(body)]);
}

function startup(): Buffer {
  return message('', `\0\x03\0\0user\0postgres\0database\0postgres\0\0`);
}
