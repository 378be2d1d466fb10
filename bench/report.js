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

const WIDEST_BAR = 40;

/**
 * Prints numbers as bars of text, each with its title before it.
 *
 * @param {string} title
 * @param {[title: string, number: number][]} rows
 */
export function printBars(title, rows) {
  const most = Math.max(...rows.map(([, number]) => number));
  const width = Math.max(...rows.map(([name]) => name.length));
  console.log(`\n${title}`);
  for (const [name, number] of rows) {
    const bar = '█'.repeat(Math.round((number / most) * WIDEST_BAR));
    console.log(`${name.padStart(width)} ${bar.padEnd(WIDEST_BAR)} ${whole(number)}`);
  }
}

/**
 * Ends the benchmark as failed, once what runs has ended.
 *
 * @param {string} line why
 */
export function complain(line) {
  console.error(line);
  process.exitCode = 1;
}
