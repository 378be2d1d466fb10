import type { CsvRow } from '../../../model/csv.js';
import type { Instant } from '../../../model/instant.js';
import { cursorOf } from '../parameters.js';

/** Where a body is requested, in absolute URLs. */
export interface Place {
  /** Of the service, without a slash at the end. */
  readonly base: string;
  /** Of the request, with its query. */
  readonly self: string;
}

export interface Body {
  /** The name of its schema in openapi.yaml. */
  readonly name: string;
  /**
   * Makes the body, with its keys in the order of the schema.
   *
   * @param found What the route's stored operation has found.
   * @param countedFrom What the durations of the question are counted back from; null: it has none.
   * @param place For a body with addresses; absent: they are relative.
   */
  present(found: object, countedFrom: Instant | null, place?: Place): object;
  /** Absent: it is no page of a list. */
  readonly page?: PageBody;
  /** Its one media type, and how it is written; absent: it is JSON. */
  readonly feed?: {
    readonly mediaType: 'application/atom+xml' | 'application/feed+json';
    readonly textOf: (presented: object) => string;
    pageIn(found: object): PageResult<object>;
  };
  /** The lists that it has whole, however long they are; absent: none. */
  readonly lists?: readonly ('dnsRecords' | 'httpHeaders')[];
}

export interface PageResult<Node> {
  readonly nodes: readonly Node[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}

/** A body that is a page of a list, in the other forms that it has. */
export interface PageBody {
  /** The page, in what the stored operation has found. */
  pageIn(found: object): PageResult<object>;
  itemOf(node: object): object;
  /** As a table, of the operation with the fragments of tables/. */
  readonly columns: readonly string[];
  rowOf(node: object, found: object): CsvRow;
}

/** @param countedFrom As cursorOf() takes it. @returns null if no page follows. */
export function nextOf(page: PageResult<unknown> | undefined, countedFrom: Instant | null): string | null {
  const { hasNextPage = false, endCursor = null } = page?.pageInfo ?? {};
  return hasNextPage && endCursor !== null ? cursorOf(endCursor, countedFrom) : null;
}
