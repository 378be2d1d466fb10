import { type CsvRow, csvHead, csvLine } from '../../src/model/csv.js';

/** A table, and the names of its columns. */
export interface Table {
  readonly columns: readonly string[];
  readonly rows: readonly CsvRow[];
}

/** A table as the API and `dms export` write it, but with an apostrophe before a value that spreadsheets would execute. */
export function csvOf({ columns, rows }: Table): string {
  return csvHead(columns) + rows.map((row) => csvLine(columns, inert(row))).join('');
}

function inert(row: CsvRow): CsvRow {
  const cells = Object.entries(row).map(([name, value]) => [
    name,
    value != null && /^[=+\-@\t\r]/.test(value) ? `'${value}` : value,
  ]);
  return Object.fromEntries(cells);
}
