import { formatInstant, type Instant } from '../model/instant.js';

/** Rows as the lines of a table. @param widths of the columns; the last needs none. */
export function tableText(rows: readonly (readonly string[])[], widths: readonly number[]): string {
  const lineOf = (cells: readonly string[]) =>
    cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ');
  return rows.map((cells) => `${lineOf(cells).trimEnd()}\n`).join('');
}

/** A time in UTC, to the second. */
export function timeText(time: Instant): string {
  return `${formatInstant(time).slice(0, 19)}Z`;
}

/** With separators of thousands. */
export function numberText(count: number): string {
  return count.toLocaleString('en');
}

/** A number with what is counted: `1 line`, `1,000 lines`. */
export function counted(count: number, one: string, several: string): string {
  return `${numberText(count)} ${count === 1 ? one : several}`;
}
