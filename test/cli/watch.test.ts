import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { outcomeOf } from '../../src/observer/outcome.js';
import { completeLeases, leaseDue } from '../../src/observer/schedule/leases.js';
import { failed } from '../../src/observer/verdict.js';
import { runDms } from '../journeys/dms-command.js';
import { emptyTestDatabase, openTestDatabase, type TestDatabase } from '../support/database.js';

let database: TestDatabase;

beforeAll(async () => {
  database = await openTestDatabase();
});

beforeEach(() => emptyTestDatabase(database));
afterAll(() => database.close());

function dms(args: readonly string[], input?: Buffer | string) {
  const stdin = input === undefined ? undefined : Readable.from([input]);
  return runDms(args, database.environment, stdin);
}

/** The list, without its times. */
async function listed(): Promise<[string, string][]> {
  const { stdout } = await dms(['watch', 'list', '--json']);
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
    .map(({ domain, every }) => [domain, every]);
}

test('dms watch adds domains in canonical form at a pace, changes it where one is given, and removes them', async () => {
  const added = await dms(['watch', 'add', 'Example.COM.', 'bücher.example', '--every', '6h']);
  expect([added.code, added.stdout]).toEqual([0, '2 added, 0 at a new interval, 0 already watched\n']);
  const twice = ['example.com', 'other.example', 'example.com'];
  const again = await dms(['watch', 'add', ...twice, '--every', '90m']);
  expect(again.stdout).toBe('1 added, 1 at a new interval, 0 already watched\n');
  expect(await listed()).toEqual([
    ['example.com', '90m'],
    ['other.example', '90m'],
    ['xn--bcher-kva.example', '6h'],
  ]);
  const without = await dms(['watch', 'add', 'example.com', 'third.example']);
  expect(without.stdout).toBe('1 added, 0 at a new interval, 1 already watched\n');
  expect((await listed()).slice(0, 3)).toContainEqual(['example.com', '90m']);
  expect(await listed()).toContainEqual(['third.example', '1d']);
  await dms(['watch', 'remove', 'third.example']);
  const removed = await dms(['watch', 'remove', 'example.com', 'unknown.example']);
  expect([removed.code, removed.stdout]).toEqual([0, '1 removed, 1 not watched\n']);
  expect((await listed()).map(([domain]) => domain)).toEqual(['other.example', 'xn--bcher-kva.example']);
});

test('dms watch reads names from a file or standard input, packed or not, with comments, and reports what is not a name', async () => {
  const text = '# a list\na.example\n\nB.EXAMPLE.  # twice\nb.example\nno name\nc.example';
  const { code, stdout, stderr } = await dms(['watch', 'add', '--from-file', '-'], gzipSync(text));
  expect(stdout).toBe('3 added, 0 at a new interval, 0 already watched\n');
  expect(stderr).toMatch(/^line 6 rejected: "no name" is not a domain name: /);
  expect(stderr).toContain('dms: 1 line is not a domain name; the others are done.\n');
  expect(code).toBe(1);
  expect(await listed()).toEqual([
    ['a.example', '1d'],
    ['b.example', '1d'],
    ['c.example', '1d'],
  ]);
});

test('dms watch takes many thousand names at once', async () => {
  const names = Array.from({ length: 12_345 }, (_, number) => `d${number}.example\n`).join('');
  expect((await dms(['watch', 'add', '--from-file', '-'], names)).stdout).toMatch(/^12345 added, /);
  expect((await dms(['watch', 'remove', '--from-file', '-'], names)).stdout).toBe(
    '12345 removed, 0 not watched\n',
  );
});

test('dms watch list does not say that a name exists of which no question was answered', async () => {
  await dms(['watch', 'add', 'example.com']);
  const now = BigInt(Date.now() + 60_000) * 1000n;
  const room = { places: 4, free: 4, low: 0 };
  const { domains } = await leaseDue(database.writingPrisma, now, now + 60_000_000n, room);
  expect(domains).toHaveLength(1);
  const silent = failed('timeout', '192.0.2.53:53 does not respond');
  const dns = new Map(['A', 'MX'].map((type) => [type, silent]));
  const outcome = outcomeOf(dns, failed('no-address', 'its addresses could not be resolved'));
  await completeLeases(
    database.writingPrisma,
    domains.map((domain) => ({ domain, observedAt: now, outcome, failures: 1, next: now + 1n })),
  );
  const { stdout } = await dms(['watch', 'list', '--json']);
  expect(JSON.parse(stdout)).toMatchObject({
    domain: 'example.com',
    outcome: { dns: { answered: [], nameExists: null } },
  });
});

test('dms watch list shows a table, or how to add a domain', async () => {
  await dms(['watch', 'add', 'example.com', '--every', '1h']);
  const { stdout } = await dms(['watch', 'list']);
  const [headings, row] = stdout.split('\n');
  expect(headings?.split(/ {2,}/)).toEqual(['domain', 'every', 'next', 'failures', 'last outcome']);
  expect(row).toMatch(/^example\.com +1h +\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ +0 +not yet by a worker$/);
  await dms(['watch', 'remove', 'example.com']);
  expect((await dms(['watch', 'list'])).stderr).toBe(
    'No domain is watched. To watch one: dms watch add DOMAIN --every 6h\n',
  );
});
