import { execFileSync } from 'node:child_process';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { requireLines } from '../../src/importers/foreign-input.js';
import { openInput } from '../../src/importers/open-input.js';
import { OperationError } from '../../src/model/errors.js';
import { observationLine } from '../support/observations.js';
import { prepareFolder } from '../support/temporary-folder.js';

const LINE = `${observationLine({ at: 1, records: ['192.0.2.1'] })}\n`;

/** What is given of standard input that comes in pieces. */
async function read(pieces: readonly (string | Buffer)[]): Promise<string> {
  const stdin = Readable.from(pieces.map((piece) => Buffer.from(piece)));
  return text(requireLines(await openInput('-', stdin, () => {})));
}

const UTF16 = Buffer.from(LINE, 'utf16le');
const BIG_ENDIAN = Buffer.from(UTF16).swap16();

const READS = 'dms import reads one JSON object per line, in format dms ({"domain":';

const { folder, write } = prepareFolder();
write('plain', LINE);

test.each([
  ['bzip2 -1c plain', 'packed with bzip2', 'bzip2 -dc'],
  ['tar -cf - plain', 'a tar archive', 'tar -xOf'],
  ['tar -czf - plain', 'a tar archive', 'tar -xOf'],
])('an input that %s has made is rejected with the command that unpacks it', async (pack, is, unpack) => {
  const packed = execFileSync('sh', ['-c', pack], { cwd: folder });
  const reason = `is ${is}, and nothing of it is imported: unpack it first, ${unpack} FILE | dms import -.`;
  await expect(read([packed])).rejects.toThrow(new OperationError(`standard input ${reason}`));
});

test.each([
  ['zstd', Buffer.from('28b52ffd0458', 'hex'), 'packed with zstd', 'zstd -dc FILE'],
  ['zip', Buffer.from('504b030414000000', 'hex'), 'packed with zip', 'unzip -p FILE'],
  ['lz4', Buffer.from('04224d1864a7', 'hex'), 'packed with lz4', 'lz4 -dc FILE'],
  ['compress', Buffer.from('1f9d907b44', 'hex'), 'packed with compress', 'gzip -dc FILE'],
  ['7-Zip', Buffer.from('377abcaf271c0004', 'hex'), 'packed with 7-Zip', '7z x -so FILE'],
  ['UTF-16 without a mark', UTF16, 'text in UTF-16', 'iconv -f UTF-16 -t UTF-8 FILE'],
  ['UTF-16, big-endian', BIG_ENDIAN, 'text in UTF-16', 'iconv'],
  ['a page', '\ufeff\n<!DOCTYPE html>\n<html></html>\n', 'HTML or XML', 'it may be an error page'],
  ['a packed page', gzipSync('<html>\n'), 'HTML or XML', 'check where it comes from'],
  ['a PDF', '%PDF-1.7\n%\u00e2\n', 'a PDF', READS],
  ['an array', `[${LINE.trim()}]\n`, 'one JSON array', "jq -c '.[]' FILE"],
  ['an array over lines', `[\n  ${LINE}]\n`, 'one JSON array', "jq -c '.[]' FILE"],
  ['a table', 'domain,ip\nexample.com,192.0.2.1\n', 'a table (CSV)', READS],
  ['a table of tabs', '"domain"\t"ip"\r\n"a"\t"b"\r\n', 'a table (CSV)', 'as httpx -json -irh, dnsx -json'],
  ['gzip in gzip', gzipSync(gzipSync(LINE)), 'packed with gzip twice', 'gzip -dc FILE'],
  ['a zone file', '$ORIGIN example.com.\n@ IN NS ns1\n', 'a zone file', READS],
  ['what dig prints', '\n; <<>> DiG 9.18 <<>> example.com\n', 'the output of dig', READS],
  ['records alone', 'example.com.\t300\tIN\tA\t192.0.2.1\n', 'the output of dig', READS],
  ['massdns -o S', 'example.com. A 192.0.2.1\n', 'massdns -o S', READS],
])('an input of another kind is rejected in one line with advice: %s', async (_what, bytes, is, advice) => {
  const reason = await read([bytes]).catch((error) => error instanceof OperationError && error.message);
  expect(reason).toMatch(/^standard input is [^\n]+, and nothing of it is imported: [^\n]+\.$/);
  for (const part of [is, advice]) expect(reason).toContain(part);
});

test('an input of another kind is rejected though it comes octet by octet', async () => {
  const packed = [...Buffer.from('28b52ffd0458', 'hex')].map((octet) => Buffer.of(octet));
  await expect(read(packed)).rejects.toThrow('packed with zstd');
});

test('an input of another kind is closed once it is rejected, though its writer goes on', async () => {
  const input = new PassThrough();
  input.write('PK\x03\x04aaaa\n');
  const lines = requireLines(await openInput('-', input, () => {}));
  await expect(lines.next()).rejects.toThrow('packed with zip');
  expect(input.destroyed).toBe(true);
});

test.each([
  ...[LINE, 'broken\n', 'not, json\n', '{"domain":\n', '[1]\n', '[]\n', '{}\n', '{\n'],
  ...['example.com\nexample.net\n', 'BZ\n', 'PK\n', '', '\n'],
  ...['# a comment, by me\n# more, text, here\n', 'hello, world\n"a, b, c\n', 'example.com\nA record scan\n'],
])('an input that begins with %j, right or merely broken, is given as it is', async (beginning) => {
  expect(await read([beginning, LINE])).toBe(beginning + LINE);
  expect(await read([...beginning, LINE])).toBe(beginning + LINE);
});
