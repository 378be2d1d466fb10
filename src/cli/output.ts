import type { Writable } from 'node:stream';
import { errorCode, OperationError } from '../model/errors.js';
import { unwritable } from '../model/file-failure.js';
import { formatInstant, type Instant } from '../model/instant.js';
import { shortTime } from './history-text.js';

/** Streams whose write error has been thrown to the command that waited for the write. */
const awaited = new WeakSet<Writable>();

const OUTPUT = 'standard output';

/**
 * Waits until a text is written to standard output.
 *
 * @param signal Ends the wait: the reader of a pipe may take its time.
 * @throws OperationError, caused by the system's error.
 */
export async function writeText(stream: Writable, text: string, signal?: AbortSignal): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    signal?.addEventListener('abort', () => reject(new OperationError('Stopped by a signal.')), {
      once: true,
    });
    stream.write(text, (error) => {
      if (error === null || error === undefined) return resolve();
      awaited.add(stream);
      reject(unwritable(OUTPUT, error));
    });
  });
}

export function jsonLine(value: object): string {
  return `${JSON.stringify(value)}\n`;
}

/**
 * Ends the process when standard output cannot be written, unless a command waits for what it writes, and so ends by
 * itself. It is no failure if the reader of a pipe closes it early.
 */
export function endWithoutOutput(stdout: Writable, stderr: Writable): void {
  stdout.on('error', (error) => {
    if (awaited.has(stdout)) return;
    if (isClosedPipe(error)) process.exit();
    stderr.write(`dms: ${unwritable(OUTPUT, error).message}\n`);
    process.exit(1);
  });
  // What is lost is no result, and there is nowhere to say so.
  stderr.on('error', () => {});
}

/** Whether the reader of a pipe has closed it. */
export function isClosedPipe(error: unknown): boolean {
  return errorCode(error) === 'EPIPE';
}

type Row = readonly string[];
type Rows = readonly Row[];

const GAP = '  ';
/** A column is not narrower, and in what is no terminal not wider, where the lines after it would be as wide. */
const [LEAST_WIDTH, MOST_WIDTH] = [8, 60];

/**
 * Makes rows the lines of a table, part by part: the first ones decide how wide its columns are.
 *
 * @param columns The width of the terminal: cells that do not fit into it are wrapped. Undefined: it is none, and every row
 *   is one line.
 * @param headings The row above the first one.
 */
export function createTable(columns: number | undefined, headings?: Row): (rows: Rows) => string {
  let widths: readonly number[] | undefined;
  return (part) => {
    if (part.length === 0) return '';
    const rows = widths === undefined && headings !== undefined ? [headings, ...part] : part;
    const chosen = widths ?? widthsOf(rows, columns);
    widths = chosen;
    return rows
      .map((cells) => rowText(columns === undefined ? [cells] : wrapped(cells, chosen), chosen))
      .join('');
  };
}

export interface Listing<Item> {
  /** A line above the table. */
  readonly title?: string;
  readonly headings?: Row | undefined;
  row(item: Item): Row;
  /** What --json has of an item; absent: the item. */
  json?(item: Item): object;
}

/**
 * Writes items, page by page, as a table or with --json an object a line.
 *
 * @returns how many there are.
 */
export async function writeList<Item extends object>(
  stdout: Writable & { readonly columns?: number },
  pages: AsyncIterable<readonly Item[]> | Iterable<readonly Item[]>,
  { title = '', headings, row, json = (item) => item }: Listing<Item>,
  asJson: boolean,
): Promise<number> {
  const table = createTable(stdout.columns, headings);
  let count = 0;
  for await (const items of pages) {
    if (items.length === 0) continue;
    const above = count === 0 ? title : '';
    count += items.length;
    const text = asJson ? items.map((item) => jsonLine(json(item))).join('') : above + table(items.map(row));
    await writeText(stdout, text);
  }
  return count;
}

function widthsOf(rows: Rows, columns: number | undefined): readonly number[] {
  const most = columns ?? MOST_WIDTH;
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.min(most, Math.max(...rows.map((cells) => cells[column]?.length ?? 0))),
  );
  if (columns === undefined) return widths;
  const room = columns - GAP.length * (widths.length - 1);
  const sum = () => widths.reduce((total, width) => total + width, 0);
  for (let widest = Math.max(...widths); sum() > room && widest > LEAST_WIDTH; widest = Math.max(...widths)) {
    widths[widths.indexOf(widest)] = widest - 1;
  }
  return widths;
}

/** A row as the lines that its longest cell needs. */
function wrapped(cells: readonly string[], widths: readonly number[]): Rows {
  const lines = cells.map((cell, column) => linesOf(cell, widths[column] ?? MOST_WIDTH));
  const height = Math.max(...lines.map((each) => each.length));
  return Array.from({ length: height }, (_, line) => lines.map((each) => each[line] ?? ''));
}

/** Divided at blanks where there are some. */
function linesOf(text: string, width: number): readonly string[] {
  if (text.length <= width) return [text];
  return text.match(new RegExp(`\\S.{0,${width - 1}}(?=\\s|$)|\\S.{0,${width - 1}}`, 'gsu')) ?? [text];
}

function rowText(lines: Rows, widths: readonly number[]): string {
  return lines
    .map((cells) => cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(GAP))
    .map((line) => `${line.trimEnd()}\n`)
    .join('');
}

export function timeText(time: Instant): string {
  return shortTime(formatInstant(time));
}

export function numberText(count: number): string {
  return count.toLocaleString('en');
}

/** Such as `1 line`, `1,000 lines`. */
export function counted(count: number, one: string, several: string): string {
  return `${numberText(count)} ${count === 1 ? one : several}`;
}
