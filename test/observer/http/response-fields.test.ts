import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { InvalidObservationError } from '../../../src/model/errors.js';
import { refuseUnstorable } from '../../../src/model/storable-text.js';
import { responseFields } from '../../../src/observer/http/response-fields.js';

const NOTHING: ReadonlySet<string> = new Set();
const latin1 = (text: string) => Buffer.from(text, 'utf8').toString('latin1');

function fieldsOf(...rawHeaders: string[]): [string, string][] {
  return [...responseFields(rawHeaders, NOTHING)];
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
    const fields = responseFields(['DATE', 'now', 'Server', 'x', 'date', 'then'], new Set(['date']));
    expect([...fields]).toEqual([['server', 'x']]);
  });

  test('are read as UTF-8 where the octets are, and as ISO 8859-1 otherwise', () => {
    expect(fieldsOf('A', latin1('Zürich 日本 🦊'), 'B', 'caf\u00e9', 'C', '\u0080\u00ff')).toEqual([
      ['a', 'Zürich 日本 🦊'],
      ['b', 'café'],
      ['c', '\u0080\u00ff'],
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
