// The page has this file, too: it imports nothing.

export const STAY_COLUMNS = 'domain,kind,name,class,type,value,first_seen,last_seen,removed,source'.split(
  ',',
);
export const DOMAIN_COLUMNS = 'domain,created,last_update,last_change'.split(',');
export const CHANGE_COLUMNS = 'id,date,domain,kind,name,type,old,new,last_seen,source,routine'.split(',');

export type CsvRow = Readonly<Record<string, string | null | undefined>>;

/** A line of RFC 4180, with its end. Values stay as they are, though spreadsheets take some for formulas. */
export function csvLine(columns: readonly string[], row: CsvRow): string {
  return `${columns.map((column) => cell(row[column] ?? '')).join(',')}\r\n`;
}

export function csvHead(columns: readonly string[]): string {
  return `${columns.join(',')}\r\n`;
}

/** RFC 4180, section 2: quotes around a value that needs them, and inner ones twice. */
function cell(value: string): string {
  return /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
}
