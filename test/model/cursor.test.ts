import { expect, test } from 'vitest';
import { cursorsOf } from '../../src/model/cursor.js';

const { read, write } = cursorsOf('question');
const CURSOR = write({ number: '7n' });

test('a cursor is the place that it was written for', () => {
  expect(read('after', CURSOR, (place) => place)).toEqual({ number: '7n' });
});

test.each([
  ['is empty', ''],
  ['is none', 'cursor'],
  ['is cut', CURSOR.slice(0, -4)],
  ['is longer', `${CURSOR}A`],
  ['is changed', CURSOR.replace(/...$/, 'AAA')],
  ['is of another question', cursorsOf('other').write({ number: '7n' })],
])('a cursor that %s is INVALID_CURSOR, and the message says what to do', (_is, cursor) => {
  const message = expect.stringMatching(/^after: .* begin without/);
  const error = expect.objectContaining({ code: 'INVALID_CURSOR', message });
  expect(() => read('after', cursor, (place) => place)).toThrow(error);
});
