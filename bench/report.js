/**
 * @param {number[]} numbers at least one
 * @returns {number} the one in the middle
 */
export function median(numbers) {
  const sorted = [...numbers].sort((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/**
 * Prints rows as a Markdown table, so that it can go into the README as it is.
 *
 * @param {string[]} titles
 * @param {(string | number)[][]} rows
 */
export function printTable(titles, rows) {
  const cells = [titles, ...rows.map((row) => row.map(String))];
  const widths = titles.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  const line = (/** @type {string[]} */ row) =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const [head = [], ...body] = cells;
  console.log([line(head), line(widths.map((width) => '-'.repeat(width))), ...body.map(line)].join('\n'));
}

/**
 * @param {number} number
 * @returns {string} whole, with thousands separated
 */
export function whole(number) {
  return Math.round(number).toLocaleString('en');
}
