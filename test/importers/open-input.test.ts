import { PassThrough, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { openInput } from '../../src/importers/open-input.js';
import { prepareFolder } from '../support/temporary-folder.js';

const TEXT = Buffer.from('one\ntwo\n');

/** As `xz --check=crc32` packs `one` and `two`, each in a line, together and alone. */
const [XZ, ...XZ_STREAMS] = [
  '/Td6WFoAAAFpIt42AgAhARYAAAB0L+WjAQAHb25lCnR3bwoA5gu6EgABHAhEYCrIkEKZDQEAAAAAAVla',
  '/Td6WFoAAAFpIt42AgAhARYAAAB0L+WjAQADb25lCgCfqBf4AAEYBGvp8KWQQpkNAQAAAAABWVo=',
  '/Td6WFoAAAFpIt42AgAhARYAAAB0L+WjAQADdHdvCgB0CBeWAAEYBGvp8KWQQpkNAQAAAAABWVo=',
].map((text) => Buffer.from(text, 'base64')) as [Buffer, Buffer, Buffer];

const { write } = prepareFolder();

function open(path: string, stdin: Readable = Readable.from([]), signal?: AbortSignal) {
  return openInput(path, stdin, () => {}, signal);
}

const MEMBERS = Buffer.concat([gzipSync('one\n'), gzipSync('two\n')]);

test.each([
  ['plain', TEXT, TEXT],
  ['packed', gzipSync(TEXT), TEXT],
  ['packed in two members', MEMBERS, TEXT],
  ['packed by xz', XZ, TEXT],
  ['packed by xz in two streams', Buffer.concat(XZ_STREAMS), TEXT],
  ['of the first bytes of a file of xz', XZ.subarray(0, 4), XZ.subarray(0, 4)],
  ['of one byte', Buffer.from('x'), Buffer.from('x')],
  ['of the first byte of a packed file', Buffer.from([0x1f]), Buffer.from([0x1f])],
  ['empty', Buffer.alloc(0), Buffer.alloc(0)],
])('standard input is unpacked, wherever it is cut into chunks: %s', async (_, bytes, unpacked) => {
  for (const size of [1, 2, 3, 1000]) {
    const starts = Array.from({ length: Math.ceil(bytes.length / size) }, (__, index) => index * size);
    const stdin = Readable.from(starts.map((start) => bytes.subarray(start, start + size)));
    expect(await buffer((await open('-', stdin)).bytes)).toEqual(unpacked);
  }
});

test('an input is named by its path, or as standard input', async () => {
  const path = write('plain', TEXT);
  expect(await open(path)).toMatchObject({ name: path, size: TEXT.length });
  expect(await open('-')).toMatchObject({ name: 'standard input', size: null });
});

test('of a packed file, what was read tells how much of its lines was taken, from the beginning on', async () => {
  // As lines of addresses are: packed to about a fifth, of which what is read ahead is a small part.
  const lines = Array.from({ length: 600_000 }, (_, at) => `{"ip":"192.0.2.${(at * 7919) % 65_521}"}\n`);
  const text = lines.join('');
  const packed = gzipSync(text);
  let [read, taken] = [0, 0];
  const count = (octets: number) => {
    read += octets;
  };
  const input = await openInput(write('progress', packed), Readable.from([]), count);
  for await (const octets of input.bytes) {
    // The next is asked for when all lines of this one are recorded.
    taken += octets.length;
    expect(Math.abs(read / packed.length - taken / text.length)).toBeLessThan(0.1);
  }
  expect([read, taken]).toEqual([packed.length, text.length]);
});

const GZIP_DAMAGED =
  'has damaged gzip data, or other data after it: check it with gzip -t, and copy or download it again.';
const XZ_DAMAGED =
  'has xz data that are damaged, end too early, or are packed in a way that is not supported: check it with xz -t, ' +
  'and unpack it first, xz -dc FILE | dms import -.';

test.each([
  ['cut', gzipSync(TEXT).subarray(0, 20), 'ends in the middle of its gzip data: copy or download the whole'],
  ['followed by something else', Buffer.concat([gzipSync(TEXT), TEXT]), GZIP_DAMAGED],
  ['damaged', Buffer.concat([gzipSync(TEXT).subarray(0, 10), Buffer.alloc(20, 0xff)]), GZIP_DAMAGED],
  ['cut (xz)', XZ.subarray(0, -9), XZ_DAMAGED],
  ['damaged (xz)', Buffer.from(XZ).fill(0xff, 30, 40), XZ_DAMAGED],
])('of packed data that is %s the error says what to do', async (name, bytes, message) => {
  const path = write(name, bytes);
  await expect(buffer((await open(path)).bytes)).rejects.toThrow(`${path} ${message}`);
});

test.each([
  ['plain', TEXT],
  ['packed', gzipSync(TEXT)],
])('a reader that stops early closes the input: %s', async (_, bytes) => {
  const stdin = new PassThrough();
  stdin.write(bytes);
  // Flushed by the start of a next member: unpacking waits for the rest of it.
  if (bytes !== TEXT) stdin.write(gzipSync(Buffer.alloc(4_000_000)));
  for await (const __ of (await open('-', stdin)).bytes) break;
  expect(stdin.destroyed).toBe(true);
});

test.each([
  ['plain', TEXT],
  ['packed', gzipSync(TEXT).subarray(0, 12)],
])('an aborted signal ends with its reason a reading that waits: %s', async (_, bytes) => {
  const stop = new AbortController();
  const stdin = new PassThrough();
  stdin.write(bytes);
  const read = buffer((await open('-', stdin, stop.signal)).bytes);
  stop.abort();
  await expect(read).rejects.toBe(stop.signal.reason);
  expect(stdin.destroyed).toBe(true);
});

test('an aborted signal ends the reading with its reason before it has begun, of a file too', async () => {
  const path = write('aborted', TEXT);
  const signal = AbortSignal.abort();
  await expect(buffer((await open(path, undefined, signal)).bytes)).rejects.toBe(signal.reason);
  await expect(buffer((await open('-', new PassThrough(), signal)).bytes)).rejects.toBe(signal.reason);
});
