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
