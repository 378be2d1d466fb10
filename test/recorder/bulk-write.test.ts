import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Columns, statementsFor, type WriteRows, write } from '../../src/recorder/bulk-write.js';
import { databaseOfFile } from '../support/database.js';

interface Row {
  readonly number: number;
  readonly text: string | null;
  readonly time: bigint | null;
  readonly isSighted: boolean;
  readonly json: string | null;
}

const COLUMNS: Columns<Row> = [
  ['number', 'integer', ({ number }) => number],
  ['text', 'text', ({ text }) => text],
  ['time', 'bigint', ({ time }) => time],
  ['is_sighted', 'boolean', ({ isSighted }) => isSighted],
  ['json', 'json', ({ json }) => json ?? undefined],
];

const database = databaseOfFile();

/** The rows as the database sees them. */
function seen(rows: readonly Row[]): Promise<Row[]> {
  const select: WriteRows = ({ from, values }) =>
    `SELECT number, text, time, is_sighted AS "isSighted", json::text AS json
       FROM (SELECT ${values()} FROM ${from}) AS row (number, text, time, is_sighted, json) ORDER BY number`;
  return write<Row, Row>(database.pool, select, COLUMNS, rows);
}

const special = fc.constantFrom(...'"\\{},\n\t\u0001\u007f\u2028 a');
const text = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: special }),
  fc.constantFrom('', 'NULL', 'null', ' ', '\\n', '{}', '"'),
);
const storable = text.filter((value) => !value.includes('\0'));
const row = fc.record({
  text: fc.option(storable),
  time: fc.option(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })),
  isSighted: fc.boolean(),
  json: fc.option(fc.json()),
});

test('rows that are written have the values that were given, whether they are different in a column, all the same, or none', async () => {
  const numbered = (rows: readonly Omit<Row, 'number'>[]) =>
    rows.map((each, number) => ({ ...each, number }));
  const rows = fc.oneof(
    fc.array(row, { maxLength: 5 }).map(numbered),
    fc.tuple(row, fc.integer({ min: 1, max: 3 })).map(([each, count]) => numbered(Array(count).fill(each))),
  );
  await fc.assert(
    fc.asyncProperty(rows, async (given) => {
      expect(await seen(given)).toEqual(given);
    }),
    { numRuns: 300, examples: [[[]]] },
  );
});

test('A value that all rows share is sent once where it is written, and for each row where it is compared: by one value, the planner would read a whole index', () => {
  const row: Row = { number: 7, text: 'A', time: 5n, isSighted: true, json: null };
  const update: WriteRows = ({ from, value, key }) =>
    `UPDATE t SET text = ${value('text')} FROM ${from} WHERE t.number = ${key('number')} AND t.time = ${key('time')}`;
  const [statement] = statementsFor(update, COLUMNS, [row, { ...row, number: 8 }]);
  expect(statement?.text).toMatch(/SET text = \$2::text FROM unnest\(\$1::integer\[\],\$3::bigint\[\]\)/);
  expect(statement?.values).toEqual(['{7,8}', 'A', '{"5","5"}']);
});
