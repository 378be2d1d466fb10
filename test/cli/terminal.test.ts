import { existsSync } from 'node:fs';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { dmsInShell, runDms, startDms } from '../journeys/dms-command.js';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { IS_LONG } from '../support/long-form.js';
import { observationLine } from '../support/observations.js';

let database: TestDatabase;

const NAMES = ['one.example', 'two.example'];
const LINES = NAMES.map((domain) => `${observationLine({ domain, at: 1, records: ['192.0.2.1'] })}\n`).join(
  '',
);

beforeAll(async () => {
  database = await openTestDatabase();
  await dms(['import', '-'], LINES);
  await dms(['watch', 'add', ...NAMES]);
  await dms(['token', 'create', '--name', 'a']);
});
afterAll(() => database.close());

function dms(args: readonly string[], input = '') {
  return runDms(args, database.environment, Readable.from([input]));
}

test.each([
  ['import - -q', LINES, ''],
  ['--quiet watch add one.example', '', ''],
  ['verify --quiet', '', ''],
  ['migrate -q', '', ''],
  ['export -q one.example', '', '{"domain":"one.example"'],
  ['-q token create --name quiet', '', 'dms_'],
])('--quiet leaves results and errors: dms %s', async (command, input, result) => {
  const { code, stdout, stderr } = await dms(command.split(' '), input);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout.slice(0, result.length || 1)).toBe(result);
});

test('--quiet leaves the lines that an import rejects, and its exit code', async () => {
  const { code, stdout, stderr } = await dms(['import', '-q', '-'], 'broken\n');
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/line 1/);
});

test('- stands for the names on standard input in dms export, watch and forget', async () => {
  const LIST = '# a list\nTWO.example.\n\none.example # twice\none.example\n';
  const { stdout } = await dms(['export', '-'], LIST);
  expect(stdout.match(/(?<="domain":")[^"]+/g)).toEqual(NAMES);
  const added = await dms(['watch', 'add', '-', 'three.example'], LIST);
  expect(added.stdout).toMatch(/^1 added, .* 2 already watched/);
  expect((await dms(['watch', 'remove', '-'], 'three.example')).stdout).toBe('1 removed, 0 not watched\n');
  await dms(['import', '-'], observationLine({ domain: 'three.example', at: 1, records: [] }));
  expect((await dms(['forget', '-', '--yes'], 'three.example\n')).stdout).toBe('erased three.example\n');
});

const NO_DOMAIN = 'dms: Standard input names no domain: write one name per line.';
test.each([
  ['export', 'no name\none.example\n', 1, 'line 1 rejected: "no name" is not a domain name'],
  ['export', 'a..b\n', 1, 'dms: 1 line is not a domain name; correct them, since nothing was done.'],
  ['export', '# none\n', 1, NO_DOMAIN],
  ['observe', '', 1, NO_DOMAIN],
  ['follow', '', 1, NO_DOMAIN],
  ['forget', 'one.example', 2, 'dms: Standard input cannot name the domains and confirm: add --yes.'],
])(
  'nothing is done where standard input does not name the domains: dms %s - of %j',
  async (command, input, exitCode, line) => {
    const { code, stdout, stderr } = await dms([command, '-'], input);
    expect([code, stdout]).toEqual([exitCode, '']);
    expect(stderr).toContain(line);
  },
);

test('dms token list --json is an object a line, without the token', async () => {
  const [line = ''] = (await dms(['token', 'list', '--json'])).stdout.split('\n');
  expect(JSON.parse(line)).toEqual({
    name: 'a',
    scopes: ['dns:read', 'headers:read', 'details:read', 'search:read', 'watch:read'],
    createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]+\.\d{6}Z$/),
    ...{ expiresAt: null, lastUsed: null, revokedAt: null, state: 'valid' },
  });
});

const COMMANDS = [
  'export',
  'show one.example',
  'search --ip 192.0.2.1',
  'watch list',
  'token list',
  'verify',
  'migrate',
  'completion bash',
  '--help',
];

describe.skipIf(!existsSync('/dev/full'))('standard output that cannot be written', () => {
  test.each(COMMANDS)('standard output whose disk is full ends dms %s with one line', async (command) => {
    expect(await dmsInShell(`${command} > /dev/full`, database.environment)).toMatchObject({
      code: 1,
      stderr:
        'dms: standard output cannot be written, since its disk is full: make room there, or name a file on another.\n',
    });
  });

  test.each(IS_LONG ? COMMANDS : ['export', 'token list', '--help'])(
    'standard output whose reader has closed it ends dms %s in silence',
    async (command) => {
      expect(await dmsInShell(`${command} | sleep 0`, database.environment)).toMatchObject({
        code: 0,
        stderr: '',
      });
    },
  );

  test('standard error that cannot be written changes nothing of a result', async () => {
    expect(await dmsInShell('watch nosuch 2> /dev/full', database.environment)).toMatchObject({ code: 2 });
  });
});

test('Ctrl-C ends dms follow at once, also while the reader of its output waits', async () => {
  const { child, result } = startDms(['follow', '--all', '--json', 'blocked.example'], database.environment);
  child.stdout?.pause();
  // More than a pipe holds.
  const headers = Object.fromEntries(Array.from({ length: 8 }, (_, at) => [`x-${at}`, 'x'.repeat(16_000)]));
  for (let at = 1; at < 20; at += 1) {
    await dms(
      ['import', '-q', '-'],
      observationLine({ domain: 'blocked.example', at, headers: { ...headers, 'x-at': `${at}` } }),
    );
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  child.kill('SIGINT');
  const [code] = await new Promise<[number | null]>((resolve) =>
    child.once('exit', (exit) => resolve([exit])),
  );
  expect(code).toBe(130);
  child.stdout?.resume();
  await result;
});
