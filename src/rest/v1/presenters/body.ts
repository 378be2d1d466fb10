import Negotiator from 'negotiator';
import { type CsvRow, csvHead, csvLine } from '../../../model/csv.js';
import type { Instant } from '../../../model/instant.js';
import { cursorOf } from '../parameters.js';

export type MediaType =
  | 'application/json'
  | 'text/csv'
  | 'application/x-ndjson'
  | 'text/event-stream'
  | 'application/atom+xml'
  | 'application/feed+json';

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
   * Its keys are in the order of the schema.
   *
   * @param found What the route's stored operation has found.
   * @param countedFrom What the durations of the question are counted back from; null: it has none.
   * @param place For a body with addresses.
   */
  present(found: object, countedFrom: Instant | null, place?: Place): object;
  readonly page?: {
    pageIn(found: object): PageResult<object>;
    itemOf(node: object): object;
    /** As a table, of the operation with the fragments of tables/. */
    readonly columns: readonly string[];
    rowOf(node: object, found: object): CsvRow;
  };
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

/** @param countedFrom As cursorOf() takes it. @returns null if no page follows. */
export function nextOf(page: PageResult<unknown> | undefined, countedFrom: Instant | null): string | null {
  const { hasNextPage = false, endCursor = null } = page?.pageInfo ?? {};
  return hasNextPage && endCursor !== null ? cursorOf(endCursor, countedFrom) : null;
}

/** As they are sent: a client may name the parameters, too (RFC 4180, section 3). */
const PARAMETERS = '; charset=utf-8; header=present';

/** The type that a client prefers (RFC 9110, section 12.5.1). One that accepts none gets the first. */
export function preferredType(accept: string | undefined, offered: readonly MediaType[]): MediaType {
  const [first = 'application/json'] = offered;
  if (!accept || offered.length < 2) return first;
  const types = offered.map((type) => type + PARAMETERS);
  const preferred = new Negotiator({ headers: { accept } }).mediaType(types) ?? '';
  return offered[types.indexOf(preferred)] ?? first;
}

/** Whole as JSON, the entries of a page as lines of JSON or of CSV. The parameters are those of `present`. */
export function writeBody(
  { present, page, feed }: Body,
  found: object,
  countedFrom: Instant | null,
  mediaType: MediaType,
  place?: Place,
): string {
  if (feed !== undefined) return feed.textOf(present(found, countedFrom, place));
  if (page === undefined || mediaType === 'application/json') {
    return JSON.stringify(present(found, countedFrom));
  }
  const { nodes } = page.pageIn(found);
  if (mediaType === 'application/x-ndjson') return linesOf(nodes.map((node) => page.itemOf(node)));
  const lines = nodes.map((node) => csvLine(page.columns, page.rowOf(node, found)));
  return csvHead(page.columns) + lines.join('');
}

export function linesOf(items: readonly object[]): string {
  return items.map((item) => `${JSON.stringify(item)}\n`).join('');
}
