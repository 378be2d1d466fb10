import { Duplex } from 'node:stream';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Connection } from '../../../src/observer/http/connection.js';
import { requestHead } from '../../../src/observer/http/response.js';

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
  return requestHead(connectionWith(pieces), {}, new Connection()).catch(String);
}

const PARTS = [
  ...['HTTP/1.1 200 OK', 'HTTP/1.0 404', 'HTTP/1.1 103 E', 'HTTP/1.1 101 S', 'RTSP/1.0 200 OK', 'HTTP/2 200'],
  ...['\r\n', '\n', '\r', '\n\n', '\r\n\r\n', ' ', '\t', ':', '\0', 'a', 'A: b', 'é', 'x'.repeat(40_000)],
];
const octets = fc.array(fc.constantFrom(...PARTS), { maxLength: 12 }).map((parts) => parts.join(''));
/** Likely heads, mostly: what is random is refused at the first octet. */
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
  const reads: { head: number; refused: number } = { head: 0, refused: 0 };
  await fc.assert(
    fc.asyncProperty(fc.oneof(octets, responses), cuts, async (text, lengths) => {
      const whole = await headIn([text]);
      expect(await headIn(cut(text, lengths))).toEqual(whole);
      reads[typeof whole === 'string' ? 'refused' : 'head'] += 1;
    }),
    { numRuns: 1000 },
  );
  expect(Math.min(reads.head, reads.refused)).toBeGreaterThan(50);
});

test('the last octet of a head is enough: nothing after it is waited for', async () => {
  const text = 'HTTP/1.1 103 E\r\n\r\nHTTP/1.1 200 OK\r\nServer: x\r\n\r\n';
  const head = { version: '1.1', status: 200, fields: [['Server', 'x']] };
  expect(await headIn([...text])).toEqual(head);
  const open = connectionWith([]);
  open._read = () => undefined;
  open.push(Buffer.from(text));
  expect(await requestHead(open, {}, new Connection())).toEqual(head);
});
