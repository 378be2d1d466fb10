import { existsSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { dmsInShell, runDms } from '../journeys/dms-command.js';
import { newDataDirectory, removeDataDirectory } from '../support/data-directory.js';
import { emptyTestDatabase, openTestDatabase, type TestDatabase } from '../support/database.js';

let database: TestDatabase;

beforeAll(async () => {
  database = await openTestDatabase();
});
beforeEach(() => emptyTestDatabase(database));
afterAll(() => database.close());

function token(...args: string[]) {
  return runDms(['token', ...args], database.environment);
}

describe('dms token create', () => {
  test('prints the token alone on standard output, and the rest beside it', async () => {
    const { code, stdout, stderr } = await token('create', '--name', 'dashboard');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^dms_[A-Za-z0-9_-]{43}\n$/);
    expect(stderr).toContain('This is the only time it is shown.');
    expect(stderr).not.toContain(stdout.trim());
  });

  test('gives all scopes, or those that are named', async () => {
    await token('create', '--name', 'all');
    await token(
      'create',
      '--name',
      'some',
      '--scope',
      'headers:read',
      '--scope',
      'dns:read',
      '--scope',
      'dns:read',
    );
    await token('create', '--name', 'list', '--scope', 'headers:read,dns:read', '--scope', 'details:read');
    const { rows } = await database.pool.query('SELECT name, scopes FROM access_token ORDER BY name');
    expect(rows).toEqual([
      { name: 'all', scopes: ['dns:read', 'headers:read', 'details:read', 'search:read', 'watch:read'] },
      { name: 'list', scopes: ['dns:read', 'headers:read', 'details:read'] },
      { name: 'some', scopes: ['dns:read', 'headers:read'] },
    ]);
  });

  test.each([
    ['90d', 90n * 86_400_000_000n],
    ['12h', 43_200_000_000n],
    ['30m', 1_800_000_000n],
  ])('--expires %s is counted from now', async (duration, microseconds) => {
    await token('create', '--name', 'a', '--expires', duration);
    const { rows } = await database.pool.query(
      'SELECT expires_at - created_at AS lifetime FROM access_token',
    );
    expect(rows).toEqual([{ lifetime: microseconds }]);
  });

  test('rejects a name that another token has', async () => {
    await token('create', '--name', 'a');
    const { code, stdout, stderr } = await token('create', '--name', 'a');
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toBe('dms: A token named "a" exists: choose another name.\n');
  });
});

describe.skipIf(!existsSync('/dev/full'))('a token that cannot be printed', () => {
  test.each([
    ['its disk is full', '> /dev/full', /its disk is full: make room there, or name a file on another\.$/],
    ['its reader has closed it', '| sleep 0', /its reader has closed it\.$/],
  ])('since %s, is not made, and its name stays free', async (_reason, redirection, reason) => {
    const { stderr, code } = await dmsInShell(
      `token create --name lost ${redirection}`,
      database.environment,
    );
    expect(stderr.trimEnd()).toMatch(
      /^dms: No token was created: standard output cannot be written, since .*$/,
    );
    expect(stderr.trimEnd()).toMatch(reason);
    expect(code).toBe(1);
    expect((await token('create', '--name', 'lost')).code).toBe(0);
  });
});

test('dms token create says that it has made a new database, and where', { timeout: 120_000 }, async () => {
  const directory = await newDataDirectory();
  try {
    const create = (name: string) => runDms(['token', 'create', '--name', name], { DATA_DIR: directory });
    const first = await create('a');
    expect([first.code, first.stdout]).toEqual([0, expect.stringMatching(/^dms_\S+\n$/)]);
    expect(first.stderr).toContain(
      `There was no database: a new one was created (embedded, in ${directory}). If the service uses another one, `,
    );
    expect((await create('b')).stderr).not.toContain('a new one was created');
  } finally {
    await removeDataDirectory(directory);
  }
});

describe('dms token list', () => {
  test('shows name, scopes, times and state, and never a token or its digest', async () => {
    const made = await token('create', '--name', 'gone', '--scope', 'dns:read');
    await token('create', '--name', 'good one', '--expires', '90d');
    await token('revoke', 'gone');
    await database.pool.query(
      `INSERT INTO access_token (digest, name, scopes, created_at, expires_at, last_used)
       VALUES (sha256('old'), 'old', '{dns:read}', 1709288430123456, 1709288431000000, 1709288430500000)`,
    );
    const { code, stdout, stderr } = await token('list');
    expect([code, stderr]).toEqual([0, '']);
    const lines = stdout.trimEnd().split('\n');
    expect(lines.map((line) => line.split(/ {2,}/))).toEqual([
      ['name', 'scopes', 'created', 'expires', 'last used', 'state'],
      ['old', 'dns:read', '2024-03-01T10:20:30Z', '2024-03-01T10:20:31Z', '2024-03-01T10:20:30Z', 'expired'],
      ['gone', 'dns:read', expect.stringMatching(/Z$/), 'never', 'never', 'revoked'],
      [
        ...[
          'good one',
          'dns:read headers:read details:read search:read watch:read',
          expect.stringMatching(/Z$/),
        ],
        ...[expect.stringMatching(/Z$/), 'never', 'valid'],
      ],
    ]);
    expect(stdout).not.toContain(made.stdout.trim().slice(4));
  });

  test('says so where there is none', async () => {
    expect(await token('list')).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'There are no tokens. To create one: dms token create --name NAME\n',
    });
  });
});

describe('dms token revoke', () => {
  test('says when a token was revoked before', async () => {
    await token('create', '--name', 'a');
    expect(await token('revoke', 'a')).toMatchObject({ code: 0, stdout: 'revoked a\n', stderr: '' });
    const again = await token('revoke', 'a');
    expect([again.code, again.stderr]).toEqual([0, '']);
    expect(again.stdout).toMatch(/^a was revoked before, at \d{4}-\d\d-\d\dT[\d:.]+Z\n$/);
  });

  test('and its name cannot be used again', async () => {
    await token('create', '--name', 'a');
    await token('revoke', 'a');
    const { code, stdout, stderr } = await token('create', '--name', 'a');
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(
      /^dms: The token named "a" was revoked at \S+Z, and names are not reused: choose another name\.\n$/,
    );
  });

  test('exits 1 for a name that no token has', async () => {
    expect(await token('revoke', 'nobody')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: 'dms: No token is named "nobody": dms token list shows all tokens.\n',
    });
  });
});
