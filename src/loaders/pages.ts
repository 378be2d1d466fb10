/** What a page has: rows, and characters of the text that they came as. */
export interface PageSize {
  readonly rows: number;
  readonly characters: number;
}

/** How many rows the first page has, of which the size of a row is learnt. */
const FIRST_ROWS = 50;
const MOST_ROWS = 5_000;
/** A page takes a few milliseconds: the process answers others between them. */
const CHARACTERS = 262_144;

/** Reads rows in pages of about the same size, however large a row is. */
export class Pages {
  readonly #inTurn: (read: () => Promise<PageSize>) => Promise<PageSize>;

  /** @param inTurn Does the reading of a page when its turn comes; it may reject. */
  constructor(inTurn: (read: () => Promise<PageSize>) => Promise<PageSize>) {
    this.#inTurn = inTurn;
  }

  /** @param read Reads so many rows after the last that were read, or as many as there are. */
  async readAll(read: (rows: number) => Promise<PageSize>): Promise<void> {
    for (let wanted = FIRST_ROWS; ; ) {
      const { rows, characters } = await this.#inTurn(() => read(wanted));
      if (rows < wanted) return;
      wanted = Math.min(Math.max(Math.floor((CHARACTERS * rows) / characters), 1), MOST_ROWS);
    }
  }
}
