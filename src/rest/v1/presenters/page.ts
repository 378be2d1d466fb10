import type { Instant } from '../../../model/instant.js';
import type { Schema } from '../json-schema.js';
import { cursorOf } from '../parameters.js';

/** A page of a list as a stored operation selects it. */
export interface PageResult<Node> {
  readonly nodes: readonly Node[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
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
