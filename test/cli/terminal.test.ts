import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { beforeAll, expect, test } from 'vitest';
import { dmsInShell, startDms } from '../journeys/dms-command.js';
import { prepareCommands } from '../support/commands.js';
import { IS_LONG } from '../support/long-form.js';
import { observationLine } from '../support/observations.js';

const commands = prepareCommands();
const { dms, said } = commands;

const NAMES = ['one.example', 'two.example'];
const LINES = NAMES.map((domain) => observationLine({ domain, at: 1, records: ['192.0.2.1'] })).join('\n');

beforeAll(async () => {
  await dms(['import', '-'], LINES);
  await dms(['watch', 'add', ...NAMES]);
  await dms(['token', 'create', '--name', 'a']);
});

const inShell = (line: string) => dmsInShell(line, commands.database.environment);

test.each([
  ['import - -q', LINES, ''],
  ['--quiet watch add one.example', '', ''],
  ['verify --quiet', '', ''],
  ['migrate -q', '', ''],
  ['export -q one.example', '', '{"domain":"one.example"'],
  ['-q token create --name quiet', '', 'dms_'],
])('--quiet leaves results and errors: dms %s', async (command, input, result) => {
  const stdout = await said(command.split(' '), input);
  expect(stdout.slice(0, result.length || 1)).toBe(result);
});

test('--quiet leaves the lines that an import rejects, and its exit code', async () => {
  const stderr = expect.stringContaining('line 1');
  expect(await dms(['import', '-q', '-'], 'broken\n')).toMatchObject({ code: 1, stdout: '', stderr });
});

test('- stands for the names on standard input in dms export, watch and forget', async () => {
  const LIST = '# a list\nTWO.example.\n\none.example # twice\none.example\n';
  expect((await said(['export', '-'], LIST)).match(/(?<="domain":")[^"]+/g)).toEqual(NAMES);
  expect(await said(['watch', 'add', '-', 'three.example'], LIST)).toMatch(/^1 added, .* 2 already watched/);
  expect(await said(['watch', 'remove', '-'], 'three.example')).toBe('1 removed, 0 not watched\n');
  await dms(['import', '-'], observationLine({ domain: 'three.example', at: 1, records: [] }));
  expect(await said(['forget', '-', '--yes'], 'three.example\n')).toBe('erased three.example\n');
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

const OTHERS = [
  'show one.example',
  'search --ip 192.0.2.1',
  'watch list',
  'verify',
  'migrate',
  'completion bash',
];
const COMMANDS = ['export', 'token list', '--help', ...(IS_LONG ? OTHERS : [])];

const testFull = test.skipIf(!existsSync('/dev/full'));

testFull.each(COMMANDS)('standard output whose disk is full ends dms %s with one line', async (command) => {
  const stderr = /^dms: standard output cannot be written, since its disk is full: [^\n]+\n$/;
  const result = { code: 1, stderr: expect.stringMatching(stderr) };
  expect(await inShell(`${command} > /dev/full`)).toMatchObject(result);
});

test.each(COMMANDS)('standard output whose reader has closed it ends dms %s in silence', async (command) => {
  expect(await inShell(`${command} | sleep 0`)).toMatchObject({ code: 0, stderr: '' });
});

testFull('standard error that cannot be written changes nothing of a result', async () => {
  expect(await inShell('watch nosuch 2> /dev/full')).toMatchObject({ code: 2 });
});

test('Ctrl-C ends dms follow at once, also while the reader of its output waits', async () => {
  const follow = ['follow', '--all', '--json', 'blocked.example'];
  const { child, result } = startDms(follow, commands.database.environment);
  child.stdout?.pause();
  // More than a pipe holds.
  const headers = Object.fromEntries(Array.from({ length: 8 }, (_, at) => [`x-${at}`, 'x'.repeat(16_000)]));
  for (let at = 1; at < 20; at += 1) {
    const changed = { ...headers, 'x-at': `${at}` };
    await dms(['import', '-'], observationLine({ domain: 'blocked.example', at, headers: changed }));
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  child.kill('SIGINT');
  expect((await once(child, 'exit'))[0]).toBe(130);
  child.stdout?.resume();
  await result;
});
