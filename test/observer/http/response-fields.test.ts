import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { InvalidObservationError } from '../../../src/model/errors.js';
import { refuseUnstorable } from '../../../src/model/storable-text.js';
import { responseFields } from '../../../src/observer/http/response.js';

const NOTHING: ReadonlySet<string> = new Set();
const latin1 = (text: string) => Buffer.from(text, 'utf8').toString('latin1');

/** @param turns Names and values in turns. */
function fieldsOf(...turns: string[]): [string, string][] {
  const fields = turns.flatMap((name, at) => (at % 2 === 0 ? [[name, turns[at + 1] ?? ''] as const] : []));
  return [...responseFields(fields, NOTHING)];
}

describe('the fields of a response', () => {
  test('have lower-case names and trimmed values', () => {
    expect(fieldsOf('Server', ' nginx\t', 'X-Empty', '')).toEqual([
      ['server', 'nginx'],
      ['x-empty', ''],
    ]);
  });

  test('that come several times are joined in their order, whatever the case of their name', () => {
    expect(fieldsOf('Via', '1.1 a', 'Server', 'x', 'VIA', '1.1 b', 'via', '')).toEqual([
      ['via', '1.1 a, 1.1 b,'],
      ['server', 'x'],
    ]);
  });

  test('that are ignored are left out, whatever the case of their name', () => {
    const fields = [['DATE', 'now'] as const, ['Server', 'x'] as const, ['date', 'then'] as const];
    expect([...responseFields(fields, new Set(['date']))]).toEqual([['server', 'x']]);
  });

  test('are read as UTF-8 where the octets are, and as ISO 8859-1 otherwise', () => {
    expect(fieldsOf('A', latin1('Zürich 日本 🦊'), 'B', 'caf\u00e9', 'C', '\u0080\u00ff')).toEqual([
      ['a', 'Zürich 日本 🦊'],
      ['b', 'café'],
      ['c', '\u0080\u00ff'],
    ]);
  });

  test('have names that are UTF-8 as what they are, with ASCII letters in lower case', () => {
    expect(fieldsOf(latin1('X-ZÜRICH'), 'a', latin1('X-\u212a'), 'b', 'X-CAF\u00c9', 'c')).toEqual([
      ['x-zÜrich', 'a'],
      ['x-\u212a', 'b'],
      ['x-cafÉ', 'c'],
    ]);
  });

  test('are recorded without those whose names none may have', () => {
    expect(fieldsOf('X Y', 'a', '', 'b', 'X(Y)', 'c', 'X\x01', 'd', 'Server', 'x')).toEqual([
      ['server', 'x'],
    ]);
  });

  test('each choose for themselves: one that is not UTF-8 changes no other', () => {
    expect(fieldsOf('A', latin1('é'), 'A', '\u00e9')).toEqual([['a', 'é, é']]);
  });

  test('hold any octets that a parser lets through as text that can be stored', () => {
    const octets = fc.array(fc.oneof(fc.constant(9), fc.integer({ min: 0x20, max: 0xff })));
    fc.assert(
      fc.property(octets, (value) => {
        const [[, text] = []] = fieldsOf('A', String.fromCharCode(...value));
        expect(() => refuseUnstorable(text ?? '')).not.toThrow();
      }),
    );
  });

  test('with a name that is too long are refused', () => {
    expect(() => fieldsOf('x'.repeat(1025), '')).toThrow(InvalidObservationError);
  });
});
