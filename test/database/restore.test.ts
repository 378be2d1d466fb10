import { execFile } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { mkdtemp, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { gunzipSync, gzipSync } from 'node:zlib';
import { extract, type Headers, pack } from 'tar-stream';
import { beforeAll, expect, test } from 'vitest';
import { backUpEmbedded, restoreEmbedded } from '../../src/database/backup.js';
import { openDatabase } from '../../src/database/client.js';
import { attempt } from '../../src/model/attempt.js';
import { OperationError } from '../../src/model/errors.js';
import { randomNumbers } from '../journeys/changing-domains.js';
import { newDataDirectory, removeDataDirectory } from '../support/data-directory.js';
import { IS_LONG, repeats } from '../support/long-form.js';
import { copyTemplate } from '../support/template.js';
import { prepareFolder } from '../support/temporary-folder.js';

const { folder } = prepareFolder();
const dataDirectory = await newDataDirectory();
const file = join(folder, 'whole.tar.gz');
/** A complete backup of some of the files, which is rejected as one of all of them; in the long form, of all. */
let whole: Buffer;

beforeAll(async () => {
  await copyTemplate(dataDirectory);
  const database = await openDatabase({ dataDirectory, graceMilliseconds: 0 });
  await backUpEmbedded(database.pool, { dataDirectory, file });
  await database.close();
  const entries = await entriesIn(await readFile(file));
  // Every tenth file; and the two without which it is no database.
  const isKept = ([{ name, type }]: Entries[number], at: number) =>
    IS_LONG || type === 'directory' || at % 10 === 0 || /\/(?:PG_VERSION|pg_control)$/.test(name);
  whole = gzipSync(await archiveOf(entries.filter(isKept)));
  return () => removeDataDirectory(dataDirectory);
});

/** Why an archive is rejected; that nothing is left of it. */
async function rejectionOf(archive: Buffer): Promise<string> {
  const target = await mkdtemp(join(folder, 'target-'));
  const source = Readable.from([archive]);
  const error = await restoreEmbedded(target, source, 'x.tar.gz').catch((reason) => reason);
  expect(error).toBeInstanceOf(OperationError);
  expect(await readdir(target)).toEqual([]);
  return error.message;
}

test('a complete backup is restored with every file as it was, and tar alone unpacks it', async () => {
  const target = await mkdtemp(join(folder, 'target-'));
  await restoreEmbedded(target, createReadStream(file), file);
  const unpacked = await mkdtemp(join(folder, 'target-'));
  const { stdout } = await promisify(execFile)('tar', ['-xvzf', file, '-C', unpacked]);
  expect(stdout).toMatch(/\npostgresql-18\/global\/pg_control\n$/);
  const original = (await filesIn(dataDirectory)).filter((name) => !/^postmaster\.(pid|opts)$/.test(name));
  expect([await filesIn(target), await filesIn(unpacked)]).toEqual([original, original]);
});

async function filesIn(data: string): Promise<string[]> {
  return (await readdir(join(data, 'postgresql-18'), { recursive: true })).sort();
}

test('a backup is rejected, with nothing left of it, when it is cut off anywhere', async () => {
  const { length } = whole;
  const ends = [0, 100, 512, 1536, 2048, 100_000, length - 1536];
  if (IS_LONG) ends.push(length >> 1, length - 2048, length - 1);
  for (const end of ends) {
    expect(await rejectionOf(whole.subarray(0, end)), String(end)).toMatch(
      /^x\.tar\.gz cannot be restored: .+\. Nothing was restored; use another copy of it\.$/,
    );
  }
});

test('a backup is rejected, with nothing left of it, when one bit of a header or of a file is wrong', async () => {
  const [random, content] = [randomNumbers(2), gunzipSync(whole)];
  for (let time = 0; time < repeats(12, 4); ) {
    const corrupt = Buffer.from(whole);
    const place = Math.floor(random() * corrupt.length);
    corrupt[place] = (corrupt[place] ?? 0) ^ (1 << Math.floor(random() * 8));
    // In a run of zeros a copy from another distance is the same copy, and gzip's header has bits without a meaning.
    if (attempt(() => gunzipSync(corrupt).equals(content))) continue;
    time += 1;
    expect(await rejectionOf(corrupt), String(place)).toMatch(/^x\.tar\.gz .+\.$/);
  }
});

test('a backup is rejected, with nothing left of it, when something follows its end', async () => {
  const more = await archiveOf([[{ name: 'postgresql-18/more' }, 'x']]);
  const endOfArchive = 1024;
  const tar = gunzipSync(whole).subarray(0, -endOfArchive);
  for (const archive of [Buffer.concat([whole, gzipSync(more)]), gzipSync(Buffer.concat([tar, more]))]) {
    expect(await rejectionOf(archive)).toMatch(/: something follows its end\. /);
  }
});

test.each<[string, Headers & { readonly pax?: Readonly<Record<string, string>> }]>([
  ['a name that leads out of the folder', { name: 'postgresql-18/../../evil' }],
  ['an absolute name', { name: '/tmp/dms-evil' }],
  ['a name outside of the database', { name: 'run/owner.1' }],
  ['a name with a NUL', { name: 'postgresql-18/a', pax: { path: 'postgresql-18/a\0b' } }],
  ['a symbolic link', { name: 'postgresql-18/base', type: 'symlink', linkname: '/tmp' }],
  ['a hard link', { name: 'postgresql-18/base', type: 'link', linkname: '/etc/passwd' }],
  ['a device', { name: 'postgresql-18/base', type: 'character-device' }],
  ['a file in the place of a folder', { name: 'postgresql-18/PG_VERSION/x' }],
  ['the same file twice', { name: 'postgresql-18/PG_VERSION' }],
])('a backup is rejected, with nothing left of it, when it holds %s', async (_case, header) => {
  const archive = await archiveOf([
    [{ name: 'postgresql-18', type: 'directory' }, ''],
    [{ name: 'postgresql-18/PG_VERSION' }, '18\n'],
    [header, ''],
    [{ name: 'postgresql-18/global', type: 'directory' }, ''],
    [{ name: 'postgresql-18/global/pg_control' }, ''],
  ]);
  expect(await rejectionOf(gzipSync(archive))).toMatch(/^x\.tar\.gz cannot be restored: .+$/);
});

test('a backup is rejected, with nothing left of it, when it is of another major version of PostgreSQL', async () => {
  const archive = gzipSync(await archiveOf([[{ name: 'postgresql-17', type: 'directory' }, '']]));
  expect(await rejectionOf(archive)).toMatch(
    /: it is of PostgreSQL 17, and this program has PostgreSQL 18; /,
  );
});

test('a backup is rejected, with nothing left of it, when it is another archive, or none', async () => {
  const other = await archiveOf([[{ name: 'a' }, 'b']]);
  const texts = ['', 'text', 'text'.repeat(10_000)].map((text) => Buffer.from(text));
  for (const bytes of [other, gzipSync(other), ...texts, ...texts.map((text) => gzipSync(text))]) {
    expect(await rejectionOf(bytes)).toMatch(/^x\.tar\.gz cannot be restored: /);
  }
});

type Entries = readonly (readonly [Headers, string | Buffer])[];

async function entriesIn(backup: Buffer): Promise<Entries> {
  const entries: [Headers, Buffer][] = [];
  for await (const entry of Readable.from([gunzipSync(backup)]).pipe(extract())) {
    const { name, type } = entry.header;
    entries.push([{ name: name.replace(/\/$/, ''), type }, await buffer(entry)]);
  }
  return entries;
}

function archiveOf(entries: Entries): Promise<Buffer> {
  const archive = pack();
  for (const [header, content] of entries) archive.entry(header, content);
  archive.finalize();
  return buffer(Readable.from(archive));
}
