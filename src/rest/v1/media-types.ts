import Negotiator from 'negotiator';
import { csvHead, csvLine } from '../../model/csv.js';
import type { Instant } from '../../model/instant.js';
import type { Body, Place } from './presenters/body.js';

export type MediaType =
  | 'application/json'
  | 'text/csv'
  | 'application/x-ndjson'
  | 'text/event-stream'
  | 'application/atom+xml'
  | 'application/feed+json';

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
