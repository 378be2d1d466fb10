import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { dmsInShell, runDms } from '../journeys/dms-command.js';
import { prepareCommands } from '../support/commands.js';
import { newDataDirectory, removeDataDirectory } from '../support/data-directory.js';

const commands = prepareCommands({ emptied: true });

const token = (...args: string[]) => commands.dms(['token', ...args]);
const create = (name: string, ...options: string[]) => token('create', '--name', name, ...options);
const stored = async (columns: string) =>
  (await commands.database.pool.query(`SELECT ${columns} FROM access_token`)).rows;

test('dms token create prints the token alone on standard output, and the rest beside it', async () => {
  const { code, stdout, stderr } = await create('dashboard');
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^dms_[A-Za-z0-9_-]{43}\n$/)]);
  expect(stderr).toContain('This is the only time it is shown.');
  expect(stderr).not.toContain(stdout.trim());
});

test.each([
  ['', 'dns:read,headers:read,details:read,search:read,watch:read'],
  ['--scope headers:read --scope dns:read --scope dns:read', 'dns:read,headers:read'],
  ['--scope headers:read,dns:read --scope details:read', 'dns:read,headers:read,details:read'],
])('dms token create gives all scopes, or those that are named: %s', async (options, scopes) => {
  await create('a', ...options.split(' ').filter(Boolean));
  expect(await stored('scopes')).toEqual([{ scopes: scopes.split(',') }]);
});

test.each([
  ['90d', 90n * 86_400_000_000n],
  ['30m', 1_800_000_000n],
])('dms token create --expires %s is counted from now', async (duration, lifetime) => {
  await create('a', '--expires', duration);
  expect(await stored('expires_at - created_at AS lifetime')).toEqual([{ lifetime }]);
});

test.skipIf(!existsSync('/dev/full')).each([
  ['its disk is full', '> /dev/full'],
  ['its reader has closed it', '| sleep 0'],
])('a token that cannot be printed since %s is not made, and its name stays free', async (reason, output) => {
  const line = `token create --name lost ${output}`;
  const { stderr, code } = await dmsInShell(line, commands.database.environment);
  expect(stderr).toContain(`dms: No token was created: standard output cannot be written, since ${reason}`);
  expect(code).toBe(1);
  expect((await create('lost')).code).toBe(0);
});

test('dms token create says that it has made a new database, and where', { timeout: 120_000 }, async () => {
  const directory = await newDataDirectory();
  try {
    const createThere = (name: string) =>
      runDms(['token', 'create', '--name', name], { DATA_DIR: directory });
    const first = await createThere('a');
    expect([first.code, first.stdout]).toEqual([0, expect.stringMatching(/^dms_\S+\n$/)]);
    expect(first.stderr).toContain(
      `There was no database: a new one was created (embedded, in ${directory}). If the service uses another one, `,
    );
    expect((await createThere('b')).stderr).not.toContain('a new one was created');
  } finally {
    await removeDataDirectory(directory);
  }
});

test('dms token list shows name, scopes, times and state, also with --json, and never a token or its digest', async () => {
  const NONE = 'There are no tokens. To create one: dms token create --name NAME\n';
  expect(await token('list')).toMatchObject({ code: 0, stdout: '', stderr: NONE });
  const made = await create('gone', '--scope', 'dns:read');
  await create('good one', '--expires', '90d', '--scope', 'dns:read,headers:read');
  await token('revoke', 'gone');
  await commands.database.pool.query(
    `INSERT INTO access_token (digest, name, scopes, created_at, expires_at, last_used)
     VALUES (sha256('old'), 'old', '{dns:read}', 1709288430123456, 1709288431000000, 1709288430500000)`,
  );
  const shown = await commands.said(['token', 'list']);
  const time = expect.stringMatching(/Z$/);
  const old = ['2024-03-01T10:20:30Z', '2024-03-01T10:20:31Z', '2024-03-01T10:20:30Z'];
  const lines = shown.trimEnd().split('\n');
  expect(lines.map((line) => line.split(/ {2,}/))).toEqual([
    ['name', 'scopes', 'created', 'expires', 'last used', 'state'],
    ['old', 'dns:read', ...old, 'expired'],
    ['gone', 'dns:read', time, 'never', 'never', 'revoked'],
    ['good one', 'dns:read headers:read', time, time, 'never', 'valid'],
  ]);
  expect(shown).not.toContain(made.stdout.trim().slice(4));
  expect((await commands.objects(['token', 'list']))[0]).toEqual({
    name: 'old',
    scopes: ['dns:read'],
    createdAt: '2024-03-01T10:20:30.123456Z',
    expiresAt: '2024-03-01T10:20:31.000000Z',
    lastUsed: '2024-03-01T10:20:30.500000Z',
    revokedAt: null,
    state: 'expired',
  });
});

test('dms token revoke says when a token was revoked before, and exits 1 for a name that no token has', async () => {
  await create('a');
  expect(await commands.said(['token', 'revoke', 'a'])).toBe('revoked a\n');
  expect(await commands.said(['token', 'revoke', 'a'])).toMatch(
    /^a was revoked before, at \d{4}-\d\d-\d\dT[\d:.]+Z\n$/,
  );
  expect(await token('revoke', 'nobody')).toMatchObject({
    ...{ code: 1, stdout: '' },
    stderr: 'dms: No token is named "nobody": dms token list shows all tokens.\n',
  });
});
