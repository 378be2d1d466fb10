import type { Instant } from '../model/instant.js';

/**
 * A history travels by columns, a text or an array for each field of all its rows: that is half as long
 * as an object for each row, and PostgreSQL writes it faster. Commas join the texts: none of what is
 * joined (times, types, classes, names of header fields) can hold one.
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

/** How many rows the first page has, of which the size of a row is learnt. */
const FIRST_ROWS = 50;
const MOST_ROWS = 5_000;
/** To read or parse a page takes a few milliseconds: the process answers others between them. */
const CHARACTERS = 262_144;

/** Reads rows in pages of about the same size, however large a row is. */
export class Pages {
  readonly #inTurn: <Result>(read: () => Promise<Result>) => Promise<Result>;

  /** @param inTurn Does the reading of a page when its turn comes; it may reject. */
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
      wanted = Math.min(Math.max(Math.floor((CHARACTERS * rows) / columns.length), 1), MOST_ROWS);
    }
  }
}

const NO_ROWS: Page = { columns: null, rows: 0 };
