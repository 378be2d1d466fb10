import type { Writable } from 'node:stream';
import { OperationError } from '../model/errors.js';
import { unwritable } from '../model/file-failure.js';
import { formatInstant, type Instant } from '../model/instant.js';
import { shortTime } from './history-text.js';

/**
 * @param stream Standard output.
 * @param signal Ends the wait: the reader of a pipe may take its time.
 * @throws OperationError, caused by the system's error.
 */
export async function writeText(stream: Writable, text: string, signal?: AbortSignal): Promise<void> {
  if (text === '') return;
  await new Promise<void>((resolve, reject) => {
    signal?.addEventListener('abort', () => reject(new OperationError('Stopped by a signal.')), {
      once: true,
    });
    stream.write(text, (error) => (error == null ? resolve() : reject(unwritable('standard output', error))));
  });
}

export function jsonLine(value: object): string {
  return `${JSON.stringify(value)}\n`;
}

export const REJECTED_LINES_SHOWN = 10;

/** What is used of a CommandContext. */
interface Streams {
  readonly stdout: Writable;
  readonly stderr: { readonly isTTY?: boolean };
  note(text: string): void;
}

type Row = readonly string[];

/** Of a column: a longer cell moves what is beside it. */
const MAX_WIDTH = 60;

/** Makes lines of rows, part by part: the first part decides how wide the columns are. */
export function createTable(): (rows: readonly Row[]) => string {
  let widths: readonly number[] | undefined;
  return (rows) => {
    widths ??= (rows[0] ?? []).map((_, column) =>
      Math.min(MAX_WIDTH, Math.max(...rows.map((cells) => cells[column]?.length ?? 0))),
    );
    const pad = (cell: string, column: number) => cell.padEnd(widths?.[column] ?? 0);
    return rows.map((cells) => `${cells.map(pad).join('  ').trimEnd()}\n`).join('');
  };
}

interface Listing<Item> {
  readonly title?: string;
  readonly headings?: Row;
  row(item: Item): Row;
  /** For --json; absent: the item. */
  json?(item: Item): object;
  /** The note where there is no item. */
  readonly none?: string;
}

/** Writes items, page by page, as a table or with --json an object a line. @returns how many there are. */
export async function writeList<Item extends object>(
  { stdout, note }: Streams,
  pages: AsyncIterable<readonly Item[]> | Iterable<readonly Item[]>,
  asJson: boolean,
  { title = '', headings, row, json = (item) => item, none }: Listing<Item>,
): Promise<number> {
  const table = createTable();
  let count = 0;
  for await (const items of pages) {
    if (items.length === 0) continue;
    const head = count > 0 || headings === undefined ? [] : [headings];
    const asTable = () => (count === 0 ? title : '') + table([...head, ...items.map(row)]);
    await writeText(stdout, asJson ? items.map((item) => jsonLine(json(item))).join('') : asTable());
    count += items.length;
  }
  if (count === 0 && none !== undefined) note(`${none}\n`);
  return count;
}

export function timeText(time: Instant): string {
  return shortTime(formatInstant(time));
}

export function timestampOrNull(time: Instant | null): string | null {
  return time === null ? null : formatInstant(time);
}

export function numberText(count: number): string {
  return count.toLocaleString('en');
}

/** Such as `1 line`, `1,000 lines`. */
export function counted(count: number, one: string, several = `${one}s`): string {
  return `${numberText(count)} ${count === 1 ? one : several}`;
}

export interface ProgressState {
  readonly items: number;
  readonly noun: string;
  /** Of all that is to be done, from 0 to 1; absent: not known. */
  readonly share?: number | undefined;
}

const TERMINAL_MILLISECONDS = 500;
const PLAIN_MILLISECONDS = 10_000;
const ERASE_LINE = '\r\x1b[2K';

/** Shows how much of some work is done, and at which rate: a line that is written anew, or more and more lines. */
export async function withProgress<Result>(
  { stderr, note }: Streams,
  state: () => ProgressState,
  work: () => Promise<Result>,
): Promise<Result> {
  const terminal = stderr.isTTY === true;
  let [done, since] = [0, performance.now()];
  const show = () => {
    const { items, noun, share } = state();
    const time = performance.now();
    const rate = Math.round((Math.max(0, items - done) * 1000) / Math.max(1, time - since));
    [done, since] = [items, time];
    const percent = share === undefined ? '' : `${Math.floor(share * 100)} %  `;
    const line = `${percent}${numberText(items)} ${noun}, ${numberText(rate)}/s`;
    note(terminal ? `${ERASE_LINE}${line}` : `${line}\n`);
  };
  const timer = setInterval(show, terminal ? TERMINAL_MILLISECONDS : PLAIN_MILLISECONDS);
  timer.unref();
  try {
    return await work();
  } finally {
    clearInterval(timer);
    if (terminal) note(ERASE_LINE);
  }
}
