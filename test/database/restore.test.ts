import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { type Headers, pack } from 'tar-stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { backUpEmbedded } from '../../src/database/backup.js';
import { openDatabase } from '../../src/database/client.js';
import { restoreEmbedded } from '../../src/database/restore.js';
import { OperationError } from '../../src/model/errors.js';
import { randomNumbers } from '../journeys/changing-domains.js';
import { newDataDirectory, removeDataDirectory } from '../support/data-directory.js';
import { IS_LONG, repeats } from '../support/long-form.js';
import { copyTemplate } from '../support/template.js';

let folder: string;
let dataDirectory: string;
let file: string;
/** Of a backup that is whole. */
let whole: Buffer;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dms-restore-test-'));
  dataDirectory = await newDataDirectory();
  await copyTemplate(dataDirectory);
  const database = await openDatabase({ dataDirectory, graceMilliseconds: 0 });
  file = join(folder, 'whole.tar');
  await backUpEmbedded(database, { dataDirectory, file });
  await database.close();
  whole = await readFile(file);
});

afterAll(async () => {
  await removeDataDirectory(dataDirectory);
  await rm(folder, { recursive: true });
});

/** Why an archive is refused; that nothing is left of it. */
async function refusalOf(archive: Buffer): Promise<string> {
  const target = await mkdtemp(join(folder, 'target-'));
  const error = await restoreEmbedded(target, Readable.from(chunksOf(archive)), 'x.tar').then(
    () => new Error('It was restored.'),
    (reason: unknown) => reason,
  );
  expect(await readdir(target)).toEqual([]);
  if (error instanceof OperationError) return error.message;
  throw error;
}

function* chunksOf(archive: Buffer): Generator<Buffer> {
  for (let place = 0; place < archive.length; place += 100_000)
    yield archive.subarray(place, place + 100_000);
}

test('a backup that is whole is restored, with every file as it was', async () => {
  const target = await mkdtemp(join(folder, 'target-'));
  const files = await restoreEmbedded(target, createReadStream(file), file);
  expect(files).toBeGreaterThan(900);
  const control = join('postgresql-18', 'global', 'pg_control');
  expect(await readdir(join(target, 'postgresql-18', 'base'))).toEqual(
    await readdir(join(dataDirectory, 'postgresql-18', 'base')),
  );
  expect((await readFile(join(target, control))).length).toBe(8192);
});

test('a refused backup leaves no data folder that was not there', async () => {
  const target = join(folder, 'never-made');
  await expect(restoreEmbedded(target, Readable.from([Buffer.from('text')]), 'x.tar')).rejects.toThrow();
  expect(await readdir(folder)).not.toContain('never-made');
});

describe('a backup is refused, with nothing left of it,', () => {
  test('when it is cut off anywhere', async () => {
    const ends = [
      ...[0, 100, 512, 1536, 2048, 100_000],
      ...(IS_LONG ? [whole.length >> 1, whole.length - 2048] : []),
      whole.length - 1536,
    ];
    for (const end of ends) {
      const refusal = await refusalOf(whole.subarray(0, end));
      expect([end, refusal]).toEqual([
        end,
        expect.stringMatching(/^x\.tar is (?:damaged: .+|no backup that dms backup has made\.)$/),
      ]);
    }
  });

  test('when one bit of a header or of a file is wrong', async () => {
    const random = randomNumbers(2);
    for (let time = 0; time < repeats(12, 2); time += 1) {
      const corrupt = Buffer.from(whole);
      const place = placeInContent(Math.floor(random() * whole.length));
      corrupt[place] = (corrupt[place] ?? 0) ^ (1 << Math.floor(random() * 8));
      expect([place, await refusalOf(corrupt)]).toEqual([place, expect.stringMatching(/^x\.tar .+\.$/)]);
    }
  });

  /** The first place from there on that is no padding: in an archive, that is zeros. */
  function placeInContent(from: number): number {
    for (let place = from; place < whole.length; place += 1) if (whole[place] !== 0) return place;
    return 0;
  }

  test('when something follows its end', async () => {
    const more = await archiveOf([[{ name: 'postgresql-18/more' }, 'x']]);
    const endOfArchive = 1024;
    const refusal = await refusalOf(Buffer.concat([whole.subarray(0, whole.length - endOfArchive), more]));
    expect(refusal).toMatch(/^x\.tar is damaged: something follows its end\./);
  });

  test.each<[string, Headers]>([
    ['a name that leads out of the folder', { name: 'postgresql-18/../../evil' }],
    ['an absolute name', { name: '/tmp/dms-evil' }],
    ['a name outside of the database', { name: 'run/owner.1' }],
    ['a name with a NUL', { name: 'postgresql-18/a\0b' }],
    ['a symbolic link', { name: 'postgresql-18/base', type: 'symlink', linkname: '/tmp' }],
    ['a hard link', { name: 'postgresql-18/base', type: 'link', linkname: '/etc/passwd' }],
    ['a device', { name: 'postgresql-18/base', type: 'character-device' }],
    ['a file in the place of a folder', { name: 'postgresql-18/PG_VERSION/x' }],
    ['the same file twice', { name: 'postgresql-18/PG_VERSION' }],
  ])('when it holds %s', async (_case, header) => {
    expect(await refusalOf(await hostileArchive(header))).toMatch(/^x\.tar is damaged: .+$/);
  });

  test.each([
    [
      '{"format":1,"postgresql":17}',
      /^x\.tar is of PostgreSQL 17, and this program has PostgreSQL 18\. Restore/,
    ],
    ['{"format":2,"postgresql":18}', /^x\.tar was made by a newer version of this program/],
    ['no JSON', /^x\.tar is no backup that dms backup has made\.$/],
  ])('when it begins with %s', async (head, message) => {
    expect(await refusalOf(await archiveOf([[{ name: 'dms-backup.json' }, head]]))).toMatch(message);
  });

  test('when it is another archive, or none', async () => {
    expect(await refusalOf(await archiveOf([[{ name: 'a' }, 'b']]))).toMatch(/^x\.tar is no backup/);
    for (const text of ['', 'text', 'text'.repeat(10_000)]) {
      expect(await refusalOf(Buffer.from(text))).toMatch(/^x\.tar is no backup/);
    }
    expect(await refusalOf(gzipSync(whole))).toMatch(/^x\.tar is packed by gzip: unpack it first/);
  });
});

type Entries = readonly (readonly [Headers, string])[];

/** An archive that is whole, with its checksum, but for one entry that no backup has. */
function hostileArchive(header: Headers): Promise<Buffer> {
  const marks = 'directory postgresql-18 0\nfile postgresql-18/PG_VERSION 3\n18\n';
  const tail = { files: 3, sha256: createHash('sha256').update(marks).digest('hex') };
  return archiveOf([
    [{ name: 'dms-backup.json' }, '{"format":1,"postgresql":18}'],
    [{ name: 'postgresql-18', type: 'directory' }, ''],
    [{ name: 'postgresql-18/PG_VERSION' }, '18\n'],
    [header, ''],
    [{ name: 'dms-backup-end.json' }, JSON.stringify(tail)],
  ]);
}

function archiveOf(entries: Entries): Promise<Buffer> {
  const archive = pack();
  for (const [header, content] of entries) archive.entry(header, content);
  archive.finalize();
  return buffer(Readable.from(archive));
}
