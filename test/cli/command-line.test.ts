import { spawnSync } from 'node:child_process';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PROGRAM, runDms, startDms } from '../journeys/dms-command.js';
import { prepareFolder } from '../support/temporary-folder.js';

const { folder, write } = prepareFolder();

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
  ['a requested text is written', '--help', 0, { stdout: expect.stringMatching(/\n$/), stderr: '' }],
  ['the use is wrong', 'servr', 2, { stdout: '', stderr: expect.stringMatching(/\n$/) }],
  ['it fails', 'export', 1, { stdout: '', stderr: expect.stringMatching(/\n$/) }],
])('the process exits with the code where %s: dms %s', async (_when, argument, code, said) => {
  const { result } = startDms([argument], { DATA_DIR: join(folder, 'never-made') });
  expect(await result).toMatchObject({ code, signal: null, ...said });
});

test('--version gives the version of package.json', async () => {
  const { version } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'));
  expect(await dms(['--version'])).toMatchObject({ code: 0, stdout: `${version}\n`, stderr: '' });
});

const WORKERS = 'Write a whole number from 1 to 64, or auto.';
const CREATE = 'token create --name a';

test.each([
  ['token', 'Usage: dms token '],
  ['servr', "dms: unknown command 'servr'\n(Did you mean serve?)\nTo see how it is used, add --help.\n"],
  ['servr --help', "dms: unknown command 'servr'\n"],
  ['token delete', "dms: unknown command 'delete'"],
  ['serve --workrs 2', "dms: unknown option '--workrs'\n(Did you mean --workers?)\n"],
  ['serve --database-url=postgresql://a:hunter2@b/c', '://[redacted]@b/c'],
  ['serve --workers=0', `'0' is invalid. ${WORKERS}`],
  ['serve --workers 65', WORKERS],
  ['serve now', "dms: too many arguments for 'serve'"],
  ['import', "dms: missing required argument 'file'"],
  ['import - --observed-at yesterday', "'--observed-at <time>' argument 'yesterday' is invalid. "],
  ['import - --observed-at 2999-01-01', "'--observed-at <time>' argument '2999-01-01' is invalid. "],
  ['token create', "dms: required option '--name <name>' not specified"],
  ['token create --name', "dms: option '--name <name>' argument missing"],
  ['token create --name -x', 'dms: "-x" is not a valid token name: write 1 to 64 letters, '],
  ['token create --name a\tb', 'dms: "a\\tb" is not a valid token name: '],
  [`${CREATE} --scope dns:read,dns`, "'dns:read,dns' is invalid. Write one or more of dns:read, headers:"],
  [`${CREATE} --scope `, "'--scope <scope>' argument '' is invalid."],
  [`${CREATE} --expires 0d`, "'0d' is invalid. Write 10s, 30m, 12h, 90d or 2w, for example, and at most "],
  [`${CREATE} --expires 36526d`, 'at most 36525d.'],
  ['watch add a.example --every 6', "'--every <duration>' argument '6' is invalid."],
  ['watch add', 'dms: Name the domains, or a file of them with --from-file FILE; - is standard input.'],
  ['watch add a..b', 'dms: "a..b" is not a domain name: '],
  ['check - --observe --at 1d', "'--observe' cannot be used with option '--at <time>'"],
  ['export --at yesterday', 'write it like 2024-03-01T10:20:30Z, a date '],
  ['export --at 9999-01-01T00:00:00Z', 'more than five minutes ahead'],
  ['export --types ADDRESS', 'the type "ADDRESS" is not known: write TYPE and its number'],
  ['export --format xml', 'Allowed choices are dms, cof, csv, zone'],
  ['observe 192.0.2.1', 'dms: "192.0.2.1" is not a domain name: it is an IP address.'],
  ['observe https://www.example.com:8443/a?b#c', '" is not a domain name: write www.example.com.'],
  ['watch remove http://bücher.example/', '" is not a domain name: write bücher.example.'],
  ['export example.com:443', 'dms: "example.com:443" is not a domain name: write example.com.'],
  ['observe https://a..b/', 'dms: "https://a..b/" is not a domain name: '],
])('a wrong use is told: dms %s', async (line, reason) => {
  const { code, stdout, stderr } = await dms(line.split(' '));
  expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(reason)]);
  expect(stderr).not.toContain('hunter2');
});

test.each(['serve', 'migrate', 'verify', 'export', 'doctor'])(
  'a bad setting stops dms %s',
  async (command) => {
    const stderr = 'dms: PORT is "http": write a whole number from 0 to 65535.\n';
    expect(await dms([command], { PORT: 'http' })).toMatchObject({ code: 2, stdout: '', stderr });
  },
);

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

const READING = ['verify', 'export', 'export example.com', 'show example.com', 'watch list', 'token list'];

test.each([...READING, 'forget example.com --yes', 'token revoke a'])(
  'without a database, dms %s exits 1, says so, and makes none',
  async (command) => {
    for (const path of ['never-made', 'empty']) {
      const dataDirectory = join(folder, path);
      if (path === 'empty') await mkdir(dataDirectory, { recursive: true });
      const stderr = `dms: There is no database in ${dataDirectory}: run the command in the folder of the service's data, or set DATA_DIR.\n`;
      const result = await dms(command.split(' '), { DATA_DIR: dataDirectory });
      expect(result).toMatchObject({ code: 1, stdout: '', stderr });
      if (path === 'empty') expect(await readdir(dataDirectory)).toEqual([]);
    }
    expect(await readdir(folder)).not.toContain('never-made');
  },
);

test.each([
  ['is read', 'SAMPLES=maybe\n', /^dms: SAMPLES is "maybe": write on or off\.\n$/],
  ['is below the environment', 'PATH=/nowhere\nROLE=none\n', /^dms: ROLE is "none": write all or api\.\n/],
])('a file .env in the working directory %s', (_what, content, said) => {
  write('.env', content);
  const options = { cwd: folder, env: { PATH: process.env['PATH'] }, encoding: 'utf8' } as const;
  expect(spawnSync(process.execPath, [PROGRAM, 'serve'], options).stderr).toMatch(said);
});
