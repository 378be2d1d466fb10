import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CSV } from '../../src/exporters/csv.js';
import type { StoredHistory } from '../../src/history/stored-history.js';
import type { Instant } from '../../src/model/instant.js';
import { parseCsv } from '../support/csv.js';
import { exportHistory, historyOf } from '../support/histories.js';
import { instant, observation } from '../support/observations.js';

function rowsOf(history: StoredHistory, at?: Instant): Record<string, string>[] {
  return parseCsv(CSV.head + exportHistory(CSV, history, at).lines.join(''));
}

const time = (at: number) => `2024-01-01T00:00:${String(at).padStart(2, '0')}.000000Z`;

const HISTORY = historyOf([
  observation({ at: 0, records: ['192.0.2.1'], headers: { server: 'a', via: 'x, "y"' }, source: 'one' }),
  observation({ at: 10, records: ['192.0.2.1'], headers: { server: 'a', via: 'x, "y"' } }),
  observation({ at: 20, records: ['192.0.2.2'], headers: { server: 'b' } }),
  observation({ at: 30, records: ['192.0.2.2'], headers: { server: 'b' } }),
]);

const spanOf = (first: number, last: number, removed?: number) => ({
  ...{ first_seen: time(first), last_seen: time(last) },
  removed: removed === undefined ? '' : time(removed),
});
const record = { domain: 'example.com', kind: 'DNS', name: 'example.com', class: 'IN', type: 'A' };
const header = { domain: 'example.com', kind: 'HTTP', class: '', type: '' };

test('CSV has a row for each stay of a record and each time in which a header had a value', () => {
  expect(rowsOf(HISTORY)).toEqual([
    { ...record, value: '192.0.2.1', ...spanOf(0, 10, 20), source: 'one' },
    { ...record, value: '192.0.2.2', ...spanOf(20, 30), source: '' },
    { ...header, name: 'server', value: 'a', ...spanOf(0, 10, 20), source: 'one' },
    { ...header, name: 'server', value: 'b', ...spanOf(20, 30), source: '' },
    { ...header, name: 'via', value: 'x, "y"', ...spanOf(0, 10, 20), source: 'one' },
  ]);
});

test('in CSV as of an instant, what came later is unknown, and what ended later is present', () => {
  expect(rowsOf(HISTORY, instant(15))).toEqual([
    { ...record, value: '192.0.2.1', ...spanOf(0, 10), source: 'one' },
    { ...header, name: 'server', value: 'a', ...spanOf(0, 10), source: 'one' },
    { ...header, name: 'via', value: 'x, "y"', ...spanOf(0, 10), source: 'one' },
  ]);
  expect(rowsOf(HISTORY, instant(-1))).toEqual([]);
});

test('a reader of RFC 4180 gets every value unchanged, formulas too', () => {
  const unit = fc.constantFrom('"', ',', ' ', '=', '-', '@', '\t', 'a', 'é', '1', ';');
  fc.assert(
    fc.property(fc.string({ unit, minLength: 1, maxLength: 8 }), (value) => {
      const history = historyOf([observation({ at: 0, headers: { server: value } })]);
      expect(rowsOf(history).map((row) => row['value'])).toEqual(history.headers.map((each) => each.value));
    }),
  );
});
