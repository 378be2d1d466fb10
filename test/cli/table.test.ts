import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createTable } from '../../src/cli/output.js';

const ROWS = [
  ['a.example', 'TXT', 'v=spf1 include:spf.example.net include:mail.example.net -all'],
  ['b.example', 'A', '192.0.2.1'],
];

test('on a terminal, a cell that does not fit is continued below, at blanks', () => {
  expect(createTable(48)(ROWS)).toBe(
    [
      'a.example  TXT  v=spf1 include:spf.example.net',
      '                include:mail.example.net -all',
      'b.example  A    192.0.2.1',
      '',
    ].join('\n'),
  );
});

test('elsewhere, each row is one line', () => {
  expect(createTable(undefined)(ROWS).split('\n')).toHaveLength(3);
});

test('no line is wider than the terminal, and nothing of a cell is lost', () => {
  const cell = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '.'), maxLength: 120 });
  fc.assert(
    fc.property(
      fc.array(fc.tuple(cell, cell, cell), { minLength: 1 }),
      fc.integer({ min: 30, max: 120 }),
      (rows, columns) => {
        const text = createTable(columns)(rows);
        expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(columns);
        const letters = (each: string) => [...each.replace(/\s/g, '')].sort().join('');
        expect(letters(text)).toBe(letters(rows.flat().join('')));
      },
    ),
  );
});
