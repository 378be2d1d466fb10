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

describe('--quiet leaves results and errors', () => {
  test.each([
    [['import', '-', '-q'], LINES, ''],
    [['--quiet', 'watch', 'add', 'one.example'], '', ''],
    [['verify', '--quiet'], '', ''],
    [['migrate', '-q'], '', ''],
    [['export', '-q', 'one.example'], '', '{"domain":"one.example"'],
    [['-q', 'token', 'create', '--name', 'quiet'], '', 'dms_'],
  ])('dms %j', async (args, input, result) => {
    const { code, stdout, stderr } = await dms(args, input);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout.slice(0, result.length || 1)).toBe(result);
  });

  test('and the lines that an import rejects, with its exit code', async () => {
    const { code, stdout, stderr } = await dms(['import', '-q', '-'], 'broken\n');
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/line 1/);
  });
});

describe('- stands for the names on standard input', () => {
  const LIST = '# a list\nTWO.example.\n\none.example # twice\none.example\n';

  test('in dms export, observe, watch and forget', async () => {
    const { stdout } = await dms(['export', '-'], LIST);
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).domain),
    ).toEqual(NAMES);
    expect((await dms(['watch', 'add', '-', 'three.example'], LIST)).stdout).toMatch(
      /^1 added, .* 2 already watched/,
    );
    expect((await dms(['watch', 'remove', '-'], 'three.example')).stdout).toBe('1 removed, 0 not watched\n');
    await dms(['import', '-'], observationLine({ domain: 'three.example', at: 1, records: [] }));
    expect((await dms(['forget', '-', '--yes'], 'three.example\n')).stdout).toBe('erased three.example\n');
  });

  test.each([
    [['export', '-'], 'no name\none.example\n', 1, 'line 1 rejected: "no name" is not a domain name'],
    [
      ['export', '-'],
      'no name\none.example\n',
      1,
      'dms: 1 line is not a domain name; correct them, since nothing was done.',
    ],
    [['export', '-'], '# none\n', 1, 'dms: Standard input names no domain: write one name per line.'],
    [['observe', '-'], '', 1, 'dms: Standard input names no domain: write one name per line.'],
    [['follow', '-'], '', 1, 'dms: Standard input names no domain: write one name per line.'],
    [
      ['forget', '-'],
      'one.example',
      2,
      'dms: Standard input cannot name the domains and confirm: add --yes.',
    ],
  ])('and nothing is done where it cannot: dms %j of %j', async (args, input, exitCode, line) => {
    const { code, stdout, stderr } = await dms(args, input);
    expect([code, stdout]).toEqual([exitCode, '']);
    expect(stderr).toContain(line);
  });
});

describe('--json', () => {
  test('of dms import is its summary as one object', async () => {
    const { code, stdout } = await dms(['import', '--json', '-'], LINES);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      formats: ['dms'],
      seconds: expect.any(Number),
      ...{ linesRead: 2, recorded: 0, changed: 0, unchanged: 0, alreadyKnown: 2, contradicting: 0, stale: 0 },
      ...{
        older: 0,
        lost: 0,
        partial: 0,
        rejected: 0,
        domains: 2,
        domainsExact: true,
        newDomains: 0,
        dnsRecordsAdded: 0,
        dnsRecordsRemoved: 0,
      },
      ...{ httpHeadersCreated: 0, httpHeadersUpdated: 0, remarks: [] },
    });
  });

  test('of dms token list is an object a line, without the token', async () => {
    const [line = ''] = (await dms(['token', 'list', '--json'])).stdout.split('\n');
    expect(JSON.parse(line)).toEqual({
      name: 'a',
      scopes: ['dns:read', 'headers:read', 'details:read', 'search:read', 'watch:read'],
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]+\.\d{6}Z$/),
      ...{ expiresAt: null, lastUsed: null, revokedAt: null, state: 'valid' },
    });
  });

  test('of dms verify is an object for each violation', async () => {
    expect(await dms(['verify', '--json'])).toMatchObject({ code: 0, stdout: '', stderr: '' });
    await database.pool.query(
      "INSERT INTO header_change VALUES ('orphan.example', 'server', 1, 'x', null, null)",
    );
    const { code, stdout } = await dms(['verify', '--json']);
    await database.pool.query("DELETE FROM header_change WHERE domain = 'orphan.example'");
    expect([code, JSON.parse(stdout)]).toEqual([
      1,
      { violation: 'orphan.example: records, headers or responses without a row for the domain' },
    ]);
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
  test.each(COMMANDS)('since its disk is full ends dms %s with one line', async (command) => {
    expect(await dmsInShell(`${command} > /dev/full`, database.environment)).toMatchObject({
      code: 1,
      stderr:
        'dms: standard output cannot be written, since its disk is full: make room there, or name a file on another.\n',
    });
  });

  test.each(IS_LONG ? COMMANDS : ['export', 'token list', '--help'])(
    'since its reader has closed it ends dms %s in silence',
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

test('dms show takes the domain before --diff and after its times', async () => {
  const times = ['2023-01-01T00:00:00Z', '2024-01-01T00:00:00Z'];
  const [before, after] = await Promise.all([
    dms(['show', 'one.example', '--diff', ...times]),
    dms(['show', '--diff', ...times, 'one.example']),
  ]);
  expect(after).toEqual(before);
  expect(after.stdout).toMatch(/^one\.example from /);
});
