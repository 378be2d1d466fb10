import { Duplex } from 'node:stream';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { InvalidObservationError } from '../../../src/model/errors.js';
import { requireStorable } from '../../../src/model/text.js';
import { requestHead, responseFields } from '../../../src/observer/http/response.js';

/** A connection on which these pieces come, one at a time, and then its end. */
function connectionWith(pieces: readonly string[]): Duplex {
  const left = pieces.filter((piece) => piece !== '').map((piece) => Buffer.from(piece, 'latin1'));
  return new Duplex({
    readableHighWaterMark: 1,
    read() {
      this.push(left.shift() ?? null);
    },
    write(_octets, _encoding, done) {
      done();
    },
  });
}

/** The head that is read, or the reason why none is. */
function headIn(pieces: readonly string[]): Promise<unknown> {
  return requestHead(connectionWith(pieces), 'a.example', 'dms').catch(String);
}

const PARTS = [
  ...['HTTP/1.1 200 OK', 'HTTP/1.0 404', 'HTTP/1.1 103 E', 'HTTP/1.1 101 S', 'RTSP/1.0 200 OK', 'HTTP/2 200'],
  ...['\r\n', '\n', '\r', '\n\n', '\r\n\r\n', ' ', '\t', ':', '\0', 'a', 'A: b', 'é', 'x'.repeat(40_000)],
];
const octets = fc.array(fc.constantFrom(...PARTS), { maxLength: 12 }).map((parts) => parts.join(''));
/** Likely heads, mostly: what is random is rejected at the first octet. */
const responses = octets.map((text) => `HTTP/1.1 200 OK\r\n${text}\n\n`);
const cuts = fc.array(fc.nat(200), { maxLength: 20 });

/** The text in pieces of these lengths, the last with what is left. */
function cut(text: string, lengths: readonly number[]): string[] {
  let from = 0;
  const pieces = lengths.map((length) => {
    const piece = text.slice(from, from + length);
    from += length;
    return piece;
  });
  return [...pieces, text.slice(from)];
}

test('whatever comes is read the same in whatever pieces it comes', async () => {
  const reads: { head: number; rejected: number } = { head: 0, rejected: 0 };
  await fc.assert(
    fc.asyncProperty(fc.oneof(octets, responses), cuts, async (text, lengths) => {
      const whole = await headIn([text]);
      expect(await headIn(cut(text, lengths))).toEqual(whole);
      reads[typeof whole === 'string' ? 'rejected' : 'head'] += 1;
    }),
    { numRuns: 1000 },
  );
  expect(Math.min(reads.head, reads.rejected)).toBeGreaterThan(50);
});

test('the last octet of a head is enough: nothing after it is waited for', async () => {
  const text = 'HTTP/1.1 103 E\r\n\r\nHTTP/1.1 200 OK\r\nServer: x\r\n\r\n';
  const head = { version: '1.1', status: 200, fields: [['Server', 'x']] };
  expect(await headIn([...text])).toEqual(head);
  const open = connectionWith([]);
  open._read = () => undefined;
  open.push(Buffer.from(text));
  expect(await requestHead(open, 'a.example', 'dms')).toEqual(head);
});

const latin1 = (text: string) => Buffer.from(text, 'utf8').toString('latin1');

/** A field for each line, such as `Server: x`. */
function fieldsOf(...lines: readonly string[]): [string, string][] {
  return lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]);
}

test.each<[string, string[], string[]]>([
  ['have lower-case names and trimmed values', ['Server: nginx\t', 'X-Empty:'], ['server:nginx', 'x-empty:']],
  [
    'that come several times are joined in their order, whatever the case of their name',
    ['Via:1.1 a', 'Server:x', 'VIA:1.1 b', 'via:'],
    ['via:1.1 a, 1.1 b,', 'server:x'],
  ],
  [
    'that are ignored are left out, whatever the case of their name',
    ['DATE:now', 'Server:x', 'date:then'],
    ['server:x'],
  ],
  [
    'are read as UTF-8 where the octets are, and as ISO 8859-1 otherwise',
    [latin1('A:Zürich 日本 🦊'), 'B:caf\u00e9', 'C:\u0080\u00ff'],
    ['a:Zürich 日本 🦊', 'b:café', 'c:\u0080\u00ff'],
  ],
  [
    'have names that are UTF-8 as what they are, with ASCII letters in lower case',
    [latin1('X-ZÜRICH:a'), latin1('X-\u212a:b'), 'X-CAF\u00c9:c', '__proto__:d'],
    ['x-zÜrich:a', 'x-\u212a:b', 'x-cafÉ:c', '__proto__:d'],
  ],
  ['are recorded without those whose names are invalid', ['X Y:a', ':b', 'X\x01:c', 'S:x'], ['s:x']],
  ['are decoded each by itself: one that is not UTF-8 changes no other', [latin1('A:é'), 'A:é'], ['a:é, é']],
])('the fields of a response %s', (_what, lines, expected) => {
  expect([...responseFields(fieldsOf(...lines), new Set(['date']))]).toEqual(fieldsOf(...expected));
});

test('the fields of a response hold any octets that a parser lets through as text that can be stored', () => {
  const octets = fc.array(fc.oneof(fc.constant(9), fc.integer({ min: 0x20, max: 0xff })));
  fc.assert(
    fc.property(octets, (value) => {
      const text = responseFields([['A', String.fromCharCode(...value)]], new Set()).get('a');
      expect(() => requireStorable(text ?? '')).not.toThrow();
    }),
  );
});

test('the fields of a response with a name that is too long are rejected', () => {
  expect(() => responseFields([['x'.repeat(1025), '']], new Set())).toThrow(InvalidObservationError);
});
