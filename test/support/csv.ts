/**
 * The rows of a CSV file by its header line: the grammar of RFC 4180, section 2.
 *
 * @throws Error for what the grammar does not allow, and rows of another length than the first.
 */
export function parseCsv(text: string): Record<string, string>[] {
  const field = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/gy;
  const rows: string[][] = [];
  let row: string[] = [];
  while (field.lastIndex < text.length) {
    const at = field.lastIndex;
    const [, quoted, plain = '', end] = field.exec(text) ?? [];
    if (end === undefined) throw new Error(`not CSV: ${JSON.stringify(text.slice(at, at + 80))}`);
    row.push(quoted?.replaceAll('""', '"') ?? plain);
    if (end === ',') continue;
    rows.push(row);
    row = [];
  }
  const [header = [], ...others] = rows;
  return others.map((values) => {
    if (values.length !== header.length)
      throw new Error(`a row of ${values.length} fields: ${values.join(',')}`);
    return Object.fromEntries(header.map((name, at) => [name, values[at] ?? '']));
  });
}
