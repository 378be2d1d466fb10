import type { CsvRow } from '../../../model/csv.js';
import type { Instant } from '../../../model/instant.js';
import type { Schema } from '../json-schema.js';
import { cursorOf } from '../parameters.js';

/** A page of a list as a stored operation selects it. */
export interface PageResult<Node> {
  readonly nodes: readonly Node[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}

/** A body that is a page of a list, in the other forms that it has. */
export interface PageBody {
  /** The page, in what the stored operation has found. */
  pageIn(found: object): PageResult<unknown>;
  /** The entries, as the body has them. */
  itemsIn(found: object): readonly object[];
  /** As a table, of the operation with the fragments of tables/. */
  readonly columns: readonly string[];
  rowsIn(found: object): readonly CsvRow[];
  /** A row for documentation. */
  readonly exampleRow: CsvRow;
}

/** The schema of where a page ends. */
export const NEXT: Schema = {
  type: ['string', 'null'],
  description: 'The cursor of the next page, for the parameter `after`; null on the last one.',
  examples: [null],
};

/**
 * The cursor of the page that follows; null if there is none.
 *
 * @param countedFrom As cursorOf() takes it.
 */
export function nextOf(page: PageResult<unknown> | undefined, countedFrom: Instant | null): string | null {
  const { hasNextPage = false, endCursor = null } = page?.pageInfo ?? {};
  return hasNextPage && endCursor !== null ? cursorOf(endCursor, countedFrom) : null;
}
