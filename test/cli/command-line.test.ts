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

const COMMANDS = [
  'serve',
  'worker',
  'observe',
  'watch',
  'notify',
  'import',
  'show',
  'search',
  'follow',
  'check',
  'export',
  'forget',
  'token',
  'doctor',
  'backup',
  'restore',
  'migrate',
  'verify',
  'completion',
];

describe('--help', () => {
  test('of dms names every command, on standard output', async () => {
    const { code, stdout, stderr } = await dms(['--help']);
    expect([code, stderr]).toEqual([0, '']);
    expect([...stdout.matchAll(/^ {2}(\w+)(?: <\S+>| \[\S+\])* {2,}\S/gm)].map(([, name]) => name)).toEqual([
      ...COMMANDS,
      'help',
    ]);
  });

  test.each([...COMMANDS.map((name) => [name]), ['token', 'create'], ['token', 'list'], ['token', 'revoke']])(
    'of dms %s %s is answered',
    async (...path) => {
      const words = path.filter((word) => word !== undefined);
      const { code, stdout, stderr } = await dms([...words, '--help']);
      expect([code, stderr]).toEqual([0, '']);
      expect(stdout).toMatch(new RegExp(`^Usage: dms ${words.join(' ')}`));
    },
  );

  test('is what dms alone shows, with examples', async () => {
    const { code, stdout, stderr } = await dms([]);
    expect([code, stderr, stdout]).toEqual([0, '', (await dms(['--help'])).stdout]);
    expect(stdout).toMatch(/^Examples:\n {2}dms serve {2,}/m);
  });

  test('is answered whatever the settings are', async () => {
    expect((await dms(['serve', '--help'], { PORT: 'http' })).code).toBe(0);
  });
});

test.each([
  ['a requested text is written', ['--help'], 0, 'stdout'],
  ['the use is wrong', ['servr'], 2, 'stderr'],
  ['it fails', ['export'], 1, 'stderr'],
] as const)('the process exits with the code where %s: dms %j', async (_when, args, code, stream) => {
  const { result } = startDms(args, { DATA_DIR: join(folder, 'never-made') });
  const empty = stream === 'stdout' ? { stderr: '' } : { stdout: '' };
  expect(await result).toMatchObject({
    code,
    signal: null,
    ...empty,
    [stream]: expect.stringMatching(/\n$/),
  });
});

test('--version gives the version of package.json', async () => {
  const { version } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'));
  expect(await dms(['--version'])).toMatchObject({ code: 0, stdout: `${version}\n`, stderr: '' });
});

describe('a wrong use exits 2 with one line that says what to write instead', () => {
  test.each([
    [['token'], 'Name what to do: dms token create, dms token list, dms token revoke.'],
    [['servr'], "Unknown command 'servr': did you mean dms serve? All commands: dms --help"],
    [['help', 'nosuch'], "Unknown command 'nosuch'. All commands: dms --help"],
    [['token', 'help', 'nosuch'], "Unknown command 'nosuch'. All commands: dms token --help"],
    [
      ['serve', '--port', '4001'],
      "Unknown option '--port'. Settings come from the environment: PORT=4001 dms serve",
    ],
    [
      ['serve', '--data-dir=/srv/dms'],
      "Unknown option '--data-dir=/srv/dms'. Settings come from the environment: DATA_DIR=/srv/dms dms serve",
    ],
    [
      ['serve', '--database-url', 'postgresql://a:hunter2@b/c'],
      "Unknown option '--database-url'. Settings come from the environment: DATABASE_URL=… dms serve",
    ],
    [['token', 'delete'], "Unknown command 'delete'. All commands: dms token --help"],
    [['ixport'], "Unknown command 'ixport': did you mean dms export or dms import? All commands: dms --help"],
    [['serve', '--prot', '1'], "Unknown option '--prot'. Write: dms serve [options]"],
    [['serve', 'now'], 'Too many arguments for'],
    [['import'], "Missing required argument 'file'. Write: dms import [options] <file...>"],
    [
      ['token', 'create'],
      "Required option '--name <name>' not specified. Write: dms token create --name <name>",
    ],
    [
      ['token', 'create', '--name'],
      "Option '--name <name>' argument missing. Write: dms token create --name <name>",
    ],
    [['token', 'create', '--name', '-x'], '"-x" is not a valid token name: write 1 to 64 letters, digits, '],
    [
      ['token', 'create', '--name', 'a\nb'],
      '"a\\nb" is not a valid token name: write 1 to 64 letters, digits, ',
    ],
    [
      ['token', 'create', '--name', 'a', '--scope', 'dns'],
      '"dns" is not a scope: write one or more of dns:read, headers:read, details:read, search:read, watch:read.',
    ],
    [
      ['token', 'create', '--name', 'a', '--expires', 'soon'],
      '"soon" is not a duration: write seconds, minutes, hours, days or weeks, such as 10s, 30m, 12h, 90d or 2w.',
    ],
    [['token', 'create', '--name', 'a', '--expires', '0d'], '"0d" is not a duration: '],
    [
      ['token', 'create', '--name', 'a', '--expires', '36526d'],
      '"36526d" is too long: write at most 36525d, a hundred years.',
    ],
    [['token', 'create', '--name', 'a', '--expires', '99999999999999d'], '"99999999999999d" is too long: '],
    [
      ['token', 'create', '--name', 'a', '--scope', 'dns:read,dns'],
      '"dns" is not a scope: write one or more of dns:read, headers:read, details:read, search:read, watch:read.',
    ],
    [['token', 'create', '--name', 'a', '--scope', ''], '"" is not a scope: '],
    [['token', 'revoke'], "Missing required argument 'name'. Write: dms token revoke [options] <name>"],
    [['watch'], 'Name what to do: dms watch add, dms watch remove, dms watch list.'],
    [['watch', 'add'], 'Name the domains, or a file of them with --from-file FILE; - is standard input.'],
    [
      ['watch', 'add', 'a.example', '--every', '6'],
      '"6" is not a duration: write seconds, minutes, hours, days or weeks',
    ],
    [['watch', 'add', 'a b'], '"a b" is not a domain name: '],
    [['watch', 'remove'], 'Name the domains, or a file of them with --from-file FILE; - is standard input.'],
    [['observe'], "Missing required argument 'domain'. Write: dms observe [options] <domain...>"],
    [
      ['observe', '192.0.2.1'],
      '"192.0.2.1" is not a domain name: it is an IP address. Write a name; that of the address itself is 1.2.0.192.in-addr.arpa.',
    ],
    [
      ['forget', '2001:db8::1'],
      '"2001:db8::1" is not a domain name: it is an IP address. Write a name; that of the address itself is the one ',
    ],
    [
      ['observe', 'https://www.example.com:8443/a?b#c'],
      '"https://www.example.com:8443/a?b#c" is not a domain name: write www.example.com.',
    ],
    [
      ['watch', 'add', 'http://bücher.example/'],
      '"http://bücher.example/" is not a domain name: write bücher.example.',
    ],
    [['watch', 'remove', 'example.com/'], '"example.com/" is not a domain name: write example.com.'],
    [['export', 'example.com:443'], '"example.com:443" is not a domain name: write example.com.'],
    [['observe', 'https://a b/'], '"https://a b/" is not a domain name: '],
    [['export', 'a b'], '"a b" is not a domain name: '],
  ])('dms %j', async (args, line) => {
    const { code, stdout, stderr } = await dms(args);
    expect(stderr).toMatch(/^dms: [^\n]+\n$/);
    expect(stderr).toContain(`dms: ${line}`);
    expect([code, stdout]).toEqual([2, '']);
  });

  test.each(['serve', 'migrate', 'verify', 'export'])('a bad setting stops dms %s', async (command) => {
    const { code, stdout, stderr } = await dms([command], { PORT: 'http' });
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toBe('dms: PORT is "http": write a whole number from 0 to 65535.\n');
  });
});

describe('a failure exits 1 with one line', () => {
  const UNREACHABLE = { DATABASE_URL: 'postgresql://dms:hunter2@127.0.0.1:9/dms' };

  test('without the password of the database, and without a stack', async () => {
    const { code, stdout, stderr } = await dms(['token', 'list'], UNREACHABLE);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^dms: [^\n]+\n$/);
    expect(stderr).not.toContain('hunter2');
  });

  test('and with its stack where LOG_LEVEL is debug', async () => {
    const { code, stderr } = await dms(['token', 'list'], { ...UNREACHABLE, LOG_LEVEL: 'debug' });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^dms: OperationError: .*\n {4}at /);
    expect(stderr).not.toContain('hunter2');
  });
});

describe('in a folder without a database', () => {
  test.each([
    ['verify'],
    ['export'],
    ['export', 'example.com'],
    ['watch', 'list'],
    ['forget', 'example.com', '--yes'],
    ['token', 'list'],
    ['token', 'revoke', 'a'],
  ])('dms %s %s exits 1, says so, and makes none', async (...words) => {
    const args = words.filter((word) => word !== undefined);
    for (const path of ['never-made', 'empty']) {
      const dataDirectory = join(folder, path);
      if (path === 'empty') await mkdir(dataDirectory, { recursive: true });
      const { code, stdout, stderr } = await dms(args, { DATA_DIR: dataDirectory });
      expect(stderr).toBe(
        `dms: There is no database in ${dataDirectory}: run the command in the folder of the service's data, or set DATA_DIR.\n`,
      );
      expect([code, stdout]).toEqual([1, '']);
      if (path === 'empty') expect(await readdir(dataDirectory)).toEqual([]);
    }
    expect(await readdir(folder)).not.toContain('never-made');
  });
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

test('a reader that goes before all is written is no failure', async () => {
  const child = spawn(process.execPath, [PROGRAM, '--help'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stdout.destroy();
  const said = text(child.stderr);
  const [code] = await once(child, 'close');
  expect([code, await said]).toEqual([0, '']);
});
