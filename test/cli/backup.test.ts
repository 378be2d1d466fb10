import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../src/database/client.js';
import { changingDomains } from '../journeys/changing-domains.js';
import { type CommandResult, PROGRAM, runDms, startDms } from '../journeys/dms-command.js';
import { answersOf, differences, serveLocally } from '../journeys/serving.js';
import { newDataDirectory, removeDataDirectory } from '../support/data-directory.js';
import { TEST_SERVER } from '../support/database.js';
import { repeats } from '../support/long-form.js';
import { copyTemplate } from '../support/template.js';

const DOMAINS = Array.from({ length: repeats(30, 8) }, (_, number) => `d${number}.example`);
/** Of observations of each, while a backup is made. */
const ROUNDS = repeats(100, 12);

let folder: string;
/** Of the service. */
let dataDirectory: string;
/** Made new for each test. */
let emptyDirectory: string;
/** A backup of the service's data, whole. */
let backup: string;

const dms = (args: readonly string[], directory = dataDirectory, input?: Readable): Promise<CommandResult> =>
  runDms(args, { DATA_DIR: directory }, input);
const SUCCESS = { code: 0 };

function lines(rounds: number): Readable {
  return Readable.from([...changingDomains(DOMAINS.length, rounds, 1)].map((line) => `${line}\n`));
}

/** What restoring a file says, and what it leaves in the data folder: of what succeeds, without the folder of sockets. */
async function restore(file: string): Promise<{ code: number | null; said: string; left: string[] }> {
  const { code, stderr } = await dms(['restore', file], emptyDirectory);
  const left = (await readdir(emptyDirectory)).filter((name) => code !== 0 || name !== 'run');
  return { code, said: stderr, left };
}

describe.skipIf(TEST_SERVER !== undefined)('a backup of the embedded database', () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'dms-backup-test-'));
    dataDirectory = await newDataDirectory();
    await copyTemplate(dataDirectory);
    expect(await dms(['import', '-'], dataDirectory, lines(4))).toMatchObject(SUCCESS);
    backup = join(folder, 'whole.tar.gz');
    expect(await dms(['backup', backup])).toMatchObject(SUCCESS);
  });

  beforeEach(async () => {
    emptyDirectory = join(folder, `empty-${Math.random().toString(36).slice(2)}`);
    await mkdir(emptyDirectory);
  });

  afterAll(async () => {
    await removeDataDirectory(dataDirectory);
    await rm(folder, { recursive: true });
  });

  test('a backup made while the service runs, and restored elsewhere, gives every answer byte for byte, and its tokens', async () => {
    const file = join(folder, 'served.tar.gz');
    await dms(['token', 'create', '--name', 'kept']);
    const serving = await serveLocally({ DATA_DIR: dataDirectory });
    const [made, expected] = await Promise.all([dms(['backup', file]), answersOf(serving.url, DOMAINS)]);
    await serving.close();
    const stdout = expect.stringMatching(/^Backed up to .+ \(\d+\.\d MB\)\.\n$/);
    expect(made).toMatchObject({ code: 0, stdout });

    expect(await restore(file)).toMatchObject({ code: 0, left: ['postgresql-18'] });
    expect(await dms(['verify'], emptyDirectory)).toMatchObject(SUCCESS);
    expect((await dms(['token', 'list'], emptyDirectory)).stdout).toContain('kept');
    const restored = await serveLocally({ DATA_DIR: emptyDirectory });
    const found = await answersOf(restored.url, DOMAINS);
    await restored.close();
    expect(differences(expected, found)).toEqual([]);
  });

  test('a backup made in the middle of an import contains what was recorded by then, and nothing incomplete', async () => {
    const file = join(folder, 'importing.tar.gz');
    const database = await openDatabase({ dataDirectory });
    onTestFinished(() => database.close());
    const count = async () =>
      Number((await database.pool.query('SELECT count(*) FROM header_change')).rows[0]?.count);
    const before = await count();
    let made: Promise<CommandResult> | undefined;
    /** Of which the backup is begun when the first half is recorded. */
    async function* observations(): AsyncGenerator<string> {
      let left = ROUNDS * DOMAINS.length;
      for await (const line of lines(ROUNDS)) {
        yield line;
        left -= 1;
        if (left !== (ROUNDS / 2) * DOMAINS.length) continue;
        await expect.poll(count).toBeGreaterThan(before);
        made = dms(['backup', file]);
      }
    }
    const input = Readable.from(observations());
    const importing = startDms(['import', '-'], { DATA_DIR: dataDirectory }, input);
    expect(await importing.result).toMatchObject(SUCCESS);
    expect(await made).toMatchObject(SUCCESS);

    expect(await restore(file)).toMatchObject(SUCCESS);
    expect(await dms(['verify'], emptyDirectory)).toMatchObject(SUCCESS);
    expect(await dms(['import', '-'], emptyDirectory, lines(ROUNDS))).toMatchObject(SUCCESS);
    const [one, other] = await Promise.all([dms(['export']), dms(['export'], emptyDirectory)]);
    expect(other.stdout).toBe(one.stdout);
  });

  test('a backup can be read by its owner only, and goes through a pipe as well', async () => {
    expect((await stat(backup)).mode & 0o777).toBe(0o600);
    const environment = { ...process.env, DATA_DIR: dataDirectory };
    const options = { env: environment, cwd: folder, encoding: 'buffer', maxBuffer: 1e9 } as const;
    const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, 'backup', '-'], options);
    const restored = await dms(['restore', '-'], emptyDirectory, Readable.from([stdout]));
    expect(restored).toMatchObject(SUCCESS);
    expect(await dms(['verify'], emptyDirectory)).toMatchObject(SUCCESS);
  });

  test.each(['file', '-'])(
    'a backup that a signal stops while files are copied leaves nothing, and says so: dms backup %s',
    async (target) => {
      const place = join(folder, `stopped-${target}`);
      await mkdir(place);
      // Long to copy, and it takes no room where it is; its name comes first.
      const large = join(dataDirectory, 'postgresql-18', '0');
      await writeFile(large, '');
      await truncate(large, 8_000_000_000);
      onTestFinished(() => rm(large));
      const args = ['backup', target === '-' ? '-' : join(place, target)];
      const { child, result } = startDms(args, { DATA_DIR: dataDirectory, TMPDIR: place });
      await expect.poll(() => bytesIn(place), { timeout: 60_000, interval: 20 }).toBeGreaterThan(300_000);
      child.kill('SIGTERM');
      const stderr = 'dms: Stopped by a signal: nothing was written.\n';
      expect(await result).toEqual({ code: 143, signal: null, stdout: '', stderr });
      expect(await readdir(place)).toEqual([]);
    },
  );

  test('a backup whose reader stops before its end leaves nothing', async () => {
    const place = join(folder, 'unread');
    await mkdir(place);
    const { child, result } = startDms(['backup', '-'], { DATA_DIR: dataDirectory, TMPDIR: place });
    child.stdout?.once('data', () => child.stdout?.destroy());
    await result;
    expect(await readdir(place)).toEqual([]);
  });

  /** The size of all files under a folder. */
  async function bytesIn(place: string): Promise<number> {
    const names = await readdir(place, { recursive: true });
    const sizes = names.map((name) => stat(join(place, name)).then(({ size }) => size));
    return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
  }

  test('dms backup never replaces a file without --force', async () => {
    const file = join(folder, 'there.tar.gz');
    await writeFile(file, 'mine');
    const stderr = `dms: ${file} already exists: choose another name, or replace it with --force.\n`;
    expect(await dms(['backup', file])).toMatchObject({ code: 1, stderr });
    expect(await readFile(file, 'utf8')).toBe('mine');
    expect(await dms(['backup', '--force', file])).toMatchObject(SUCCESS);
    expect((await stat(file)).size).toBeGreaterThan(1_000_000);
    expect((await readdir(folder)).filter((name) => name.includes('unfinished'))).toEqual([]);
  });

  test('a backup is not restored over a database, and the line says what to do', async () => {
    const said = /^dms: .+ already has a database, which is never overwritten: set DATA_DIR to .+\n$/;
    const stderr = expect.stringMatching(said);
    expect(await dms(['restore', backup])).toMatchObject({ code: 1, stderr });
    expect(await dms(['verify'])).toMatchObject(SUCCESS);
  });

  test.each([
    [['backup', '.'], '. is a folder: name a file in it.'],
    [
      ['backup', 'none/x.tar.gz'],
      'none/x.tar.gz cannot be written, since the folder none does not exist: create it, or name another file.',
    ],
    [['restore', '.'], '. is a folder: name a file in it.'],
    [['restore', 'none.tar.gz'], 'none.tar.gz does not exist: check the path.'],
  ])('a path that cannot hold a backup is an error of one line: dms %j', async (args, line) => {
    const directory = args[0] === 'backup' ? dataDirectory : emptyDirectory;
    expect(await dms(args, directory)).toMatchObject({ code: 1, stdout: '', stderr: `dms: ${line}\n` });
  });

  test('dms restore that was killed leaves no database, and can be restored again', async () => {
    const args = ['restore', '-'];
    const { child, result } = startDms(args, { DATA_DIR: emptyDirectory }, await halfOf(backup));
    await expect.poll(() => readdir(emptyDirectory)).toContainEqual(expect.stringMatching(/^restoring-/));
    child.kill('SIGKILL');
    await result;
    expect(await readdir(emptyDirectory)).not.toContain('postgresql-18');
    expect(await dms(['verify'], emptyDirectory)).toMatchObject({ code: 1 });
    expect(await restore(backup)).toMatchObject({ code: 0, left: ['postgresql-18'] });
  });

  test('a backup is not restored while the process of a database that was moved away has it open', async () => {
    const folder = join(emptyDirectory, 'in-use');
    await mkdir(folder, { mode: 0o700 });
    await copyTemplate(folder);
    const inUse = await openDatabase({ dataDirectory: folder, graceMilliseconds: 0 });
    try {
      await rename(join(folder, 'postgresql-18'), join(emptyDirectory, 'moved'));
      const stderr = expect.stringContaining('already has a database');
      expect(await dms(['restore', backup], folder)).toMatchObject({ code: 1, stderr });
    } finally {
      await inUse.close();
    }
  });

  test('two dms restore at once into one folder do not disturb each other: the first to finish is kept', async () => {
    const slow = await halfOf(backup);
    const { result } = startDms(['restore', '-'], { DATA_DIR: emptyDirectory }, slow);
    const unfinished = expect.stringMatching(/^restoring-/);
    await expect.poll(() => readdir(emptyDirectory)).toContainEqual(unfinished);
    expect(await restore(backup)).toMatchObject({ code: 0, left: ['postgresql-18', unfinished] });
    const whole = await readFile(backup);
    slow.end(whole.subarray(whole.length / 2));
    const stderr = expect.stringContaining('already has a database');
    expect(await result).toMatchObject({ code: 1, stderr });
    expect(await readdir(emptyDirectory)).toEqual(['postgresql-18']);
  });

  /** The first half of a backup, and then nothing. */
  async function halfOf(file: string): Promise<PassThrough> {
    const whole = await readFile(file);
    const half = new PassThrough();
    half.write(whole.subarray(0, whole.length / 2));
    return half;
  }
});

test.each([
  ['backup', 'pg_dump'],
  ['restore', 'pg_restore'],
])('with DATABASE_URL, dms %s names PostgreSQL’s own %s', async (command, tool) => {
  const environment = { DATABASE_URL: 'postgresql://dms@127.0.0.1:1/none' };
  const stderr = expect.stringMatching(new RegExp(`^dms: DATABASE_URL is set, .+ ${tool} .+\\n$`));
  expect(await runDms([command, '/tmp/dms-none.tar.gz'], environment)).toMatchObject({ code: 1, stderr });
});
