import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runDms, startDms } from '../journeys/dms-command.js';

const PROGRAM = fileURLToPath(new URL('../../bin/dms.js', import.meta.url));

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dms-test-cli-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** Nothing that is tried here may get as far as a database. */
function dms(args: readonly string[], environment: Record<string, string> = {}) {
  return runDms(args, { DATA_DIR: join(folder, 'never-made'), ...environment });
}

test('dms alone shows its help, and --help that of every command, whatever the settings are', async () => {
  const queue: string[][] = [[]];
  for (const path of queue) {
    const { code, stdout, stderr } = await dms([...path, '--help'], { PORT: 'http' });
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(new RegExp(`^Usage: ${['dms', ...path].join(' ')} `));
    const [, commands = ''] = stdout.split('\nCommands:\n');
    const names = [...commands.matchAll(/^ {2}(\w+)/gm)].map(([, name = '']) => name);
    queue.push(...names.filter((name) => name !== 'help' && name !== 'dms').map((name) => [...path, name]));
  }
  expect(queue.length).toBeGreaterThan(25);
  expect((await dms([])).stdout).toBe((await dms(['--help'])).stdout);
});

test.each([
  ['a requested text is written', ['--help'], 0, 'stdout'],
  ['the use is wrong', ['servr'], 2, 'stderr'],
  ['it fails', ['export'], 1, 'stderr'],
] as const)('the process exits with the code where %s: dms %j', async (_when, args, code, stream) => {
  const { result } = startDms(args, { DATA_DIR: join(folder, 'never-made') });
  const empty = stream === 'stdout' ? { stderr: '' } : { stdout: '' };
  const said = { [stream]: expect.stringMatching(/\n$/) };
  expect(await result).toMatchObject({ code, signal: null, ...empty, ...said });
});

test('--version gives the version of package.json', async () => {
  const { version } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'));
  expect(await dms(['--version'])).toMatchObject({ code: 0, stdout: `${version}\n`, stderr: '' });
});

const CREATE = ['token', 'create', '--name', 'a'];

describe('a wrong use exits 2 and says on standard error what is wrong', () => {
  test.each([
    [['token'], 'Usage: dms token '],
    [['servr'], "dms: unknown command 'servr'\n(Did you mean serve?)\nTo see how it is used, add --help.\n"],
    [['token', 'delete'], "dms: unknown command 'delete'"],
    [['serve', '--port', '4001'], "dms: unknown option '--port'"],
    [['serve', '--workrs', '2'], "dms: unknown option '--workrs'\n(Did you mean --workers?)\n"],
    [['serve', '--database-url=postgresql://a:hunter2@b/c'], '://[redacted]@b/c'],
    [['serve', '--workers=0'], "'0' is invalid. Write a whole number from 1 to 64, or auto."],
    [['serve', '--workers', '65'], 'Write a whole number from 1 to 64, or auto.'],
    [['serve', '--workers=-1'], 'Write a whole number from 1 to 64, or auto.'],
    [['serve', '--workers', '2.5'], 'Write a whole number from 1 to 64, or auto.'],
    [['serve', 'now'], "dms: too many arguments for 'serve'"],
    [['import'], "dms: missing required argument 'file'"],
    [['token', 'create'], "dms: required option '--name <name>' not specified"],
    [['token', 'create', '--name'], "dms: option '--name <name>' argument missing"],
    [['token', 'create', '--name', '-x'], 'dms: "-x" is not a valid token name: write 1 to 64 letters, '],
    [['token', 'create', '--name', 'a\nb'], 'dms: "a\\nb" is not a valid token name: '],
    [
      [...CREATE, '--scope', 'dns:read,dns'],
      "'dns:read,dns' is invalid. Write one or more of dns:read, headers:",
    ],
    [[...CREATE, '--scope', ''], "'--scope <scope>' argument '' is invalid."],
    [[...CREATE, '--expires', 'soon'], "'soon' is invalid. Write 10s, 30m, 12h, 90d or 2w, for example, "],
    [[...CREATE, '--expires', '0d'], "'0d' is invalid."],
    [
      [...CREATE, '--expires', '36526d'],
      "'36526d' is invalid. Write 10s, 30m, 12h, 90d or 2w, for example, and at most 36525d.",
    ],
    [[...CREATE, '--expires', '99999999999999d'], 'at most 36525d.'],
    [['watch', 'add', 'a.example', '--every', '6'], "'--every <duration>' argument '6' is invalid."],
    [
      ['watch', 'add'],
      'dms: Name the domains, or a file of them with --from-file FILE; - is standard input.',
    ],
    [['watch', 'add', 'a b'], 'dms: "a b" is not a domain name: '],
    [['observe', '192.0.2.1'], 'dms: "192.0.2.1" is not a domain name: it is an IP address.'],
    [['observe', 'https://www.example.com:8443/a?b#c'], '" is not a domain name: write www.example.com.'],
    [['watch', 'remove', 'http://bücher.example/'], '" is not a domain name: write bücher.example.'],
    [['export', 'example.com:443'], 'dms: "example.com:443" is not a domain name: write example.com.'],
    [['observe', 'https://a b/'], 'dms: "https://a b/" is not a domain name: '],
  ])('a wrong use is told: dms %j', async (args, reason) => {
    const { code, stdout, stderr } = await dms(args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(reason);
    expect(stderr).not.toContain('hunter2');
  });

  test.each(['serve', 'migrate', 'verify', 'export'])('a bad setting stops dms %s', async (command) => {
    const { code, stdout, stderr } = await dms([command], { PORT: 'http' });
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toBe('dms: PORT is "http": write a whole number from 0 to 65535.\n');
  });
});

test.each([
  ['with one line', {}, /^dms: [^\n]+\n$/],
  ['with its stack where LOG_LEVEL is debug', { LOG_LEVEL: 'debug' }, /^dms: OperationError: .*\n {4}at /],
] as const)('a failure exits 1 %s, without the password of the database', async (_how, settings, said) => {
  const DATABASE_URL = 'postgresql://dms:hunter2@127.0.0.1:9/dms';
  const { code, stdout, stderr } = await dms(['token', 'list'], { DATABASE_URL, ...settings });
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(said);
  expect(stderr).not.toContain('hunter2');
});

test.each([
  ['verify'],
  ['export'],
  ['export example.com'],
  ['show example.com'],
  ['watch list'],
  ['forget example.com --yes'],
  ['token list'],
  ['token revoke a'],
])('without a database, dms %s exits 1, says so, and makes none', async (command) => {
  for (const path of ['never-made', 'empty']) {
    const dataDirectory = join(folder, path);
    if (path === 'empty') await mkdir(dataDirectory, { recursive: true });
    const { code, stdout, stderr } = await dms(command.split(' '), { DATA_DIR: dataDirectory });
    expect(stderr).toBe(
      `dms: There is no database in ${dataDirectory}: run the command in the folder of the service's data, or set DATA_DIR.\n`,
    );
    expect([code, stdout]).toEqual([1, '']);
    if (path === 'empty') expect(await readdir(dataDirectory)).toEqual([]);
  }
  expect(await readdir(folder)).not.toContain('never-made');
});

/** Runs the program in the test's folder, where a file .env may be. */
async function dmsInFolder(args: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    cwd: folder,
    env: { PATH: process.env['PATH'] },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const said = text(child.stderr);
  await once(child, 'close');
  return said;
}

test('a file .env in the working directory is read, and the environment stands above it', async () => {
  await writeFile(join(folder, '.env'), 'SAMPLES=maybe\n');
  expect(await dmsInFolder(['serve'])).toBe('dms: SAMPLES is "maybe": write on or off.\n');
  await writeFile(join(folder, '.env'), 'PATH=/nowhere\nROLE=none\n');
  expect(await dmsInFolder(['serve'])).toBe('dms: ROLE is "none": write all or api.\n');
});

test('a line of .env that is no setting stops the program', async () => {
  await writeFile(join(folder, '.env'), 'PORT=5227\nuse tokens\nAUTH_REQUIRED=all\n');
  expect(await dmsInFolder(['serve'])).toMatch(
    /^dms: \.env, line 2: this is not a setting: write NAME=value, .* or # before a comment\.\n$/,
  );
});
