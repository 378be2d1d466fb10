import type { Instant } from '../model/instant.js';

/**
 * A history is sent by columns, a text or an array for each field of all its rows: half as long as an object
 * for each row, and faster for PostgreSQL to write. Texts are joined by commas, which none of them (times, types,
 * classes, names of header fields) can contain.
 */
export function splitColumn(joined: string): readonly string[] {
  return joined.split(',');
}

/** A column of times: microseconds since the Unix epoch in decimal digits, since JSON has no such number. */
export function splitInstants(joined: string): readonly Instant[] {
  return splitColumn(joined).map(BigInt);
}

/**
 * The value of a column in a row.
 *
 * @throws Error where the column is too short: what is stored breaks a rule of the recorder.
 */
export function cell<Value>(column: readonly Value[], row: number): Value {
  const value = column[row];
  if (value === undefined) throw new Error('The columns of a history differ in length.');
  return value;
}

/** Rows of a table in their order, as one text. */
export interface Page {
  /** Null where there are no rows. */
  readonly columns: string | null;
  readonly rows: number;
}

/** How many rows the first page has, from which the size of a row is estimated. */
const FIRST_ROWS = 50;
const MAX_ROWS = 5_000;
/** To read or parse a page takes a few milliseconds; other requests are served in between. */
const PAGE_CHARACTERS = 65_536;

/** Reads rows in pages of about the same size, however large a row is. */
export class Pages {
  readonly #inTurn: <Result>(read: () => Promise<Result>) => Promise<Result>;

  /** @param inTurn Reads a page when its turn comes; it may reject. */
  constructor(inTurn: <Result>(read: () => Promise<Result>) => Promise<Result>) {
    this.#inTurn = inTurn;
  }

  /** @param read Reads so many rows after the last that were read, or as many as there are. */
  async readAll(read: (rows: number) => Promise<Page | undefined>): Promise<string[]> {
    const texts: string[] = [];
    for (let wanted = FIRST_ROWS; ; ) {
      const { columns, rows } = (await this.#inTurn(() => read(wanted))) ?? NO_ROWS;
      if (columns !== null) texts.push(columns);
      if (columns === null || rows < wanted) return texts;
      wanted = Math.min(Math.max(Math.floor((PAGE_CHARACTERS * rows) / columns.length), 1), MAX_ROWS);
    }
  }
}

const NO_ROWS: Page = { columns: null, rows: 0 };
