/** Lines of a table, by the names of their columns. */
export type Rows = readonly Readonly<Record<string, string>>[];

/** Rows as RFC 4180 has them. A cell that spreadsheets would execute has an apostrophe before it. */
export function csvOf(rows: Rows): string {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const lines = [names, ...rows.map((row) => names.map((name) => row[name] ?? ''))];
  return lines.map((cells) => `${cells.map(cellOf).join(',')}\r\n`).join('');
}

function cellOf(text: string): string {
  const inert = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return `"${inert.replaceAll('"', '""')}"`;
}
