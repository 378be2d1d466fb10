import { csvHead, csvLine } from '../../model/csv.js';
import type { Instant } from '../../model/instant.js';
import type { Body, Place } from './presenters/body.js';

/** What an operation may answer with. */
export type MediaType =
  | 'application/json'
  | 'text/csv'
  | 'application/x-ndjson'
  | 'text/event-stream'
  | 'application/atom+xml'
  | 'application/feed+json';

/** Whether an Accept field names the media type itself, and not with the weight 0 (RFC 9110, section 12.4.2). */
export function namesType(accept: string | undefined, wanted: string): boolean {
  return (weightsIn(accept).get(wanted) ?? 0) > 0;
}

/**
 * The media type that a client prefers of those that there are (RFC 9110, section 12.5.1): by weight, then one that it names before one
 * that it only allows, then by their order. One that accepts none of them gets the first.
 */
export function preferredType(accept: string | undefined, offered: readonly MediaType[]): MediaType {
  let [preferred = 'application/json'] = offered;
  if (accept === undefined || offered.length < 2) return preferred;
  const weights = weightsIn(accept);
  let most = 0;
  for (const type of offered) {
    const ranges = [type, type.replace(/\/.*/, '/*'), '*/*'];
    // The most specific range counts. Weights have three digits.
    const range = ranges.findIndex((each) => weights.has(each));
    const preference = (weights.get(ranges[range] ?? '') ?? 0) * 3_000 - range;
    if (range >= 0 && preference > most) [preferred, most] = [type, preference];
  }
  return preferred;
}

/** The weights of the ranges in an Accept field, 1 where it says none. */
function weightsIn(accept = ''): ReadonlyMap<string, number> {
  return new Map(
    accept.split(',').map((range) => {
      const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
      const [weight = '1'] = parameters.flatMap((text) => /^q=([01](?:\.\d*)?)$/.exec(text)?.[1] ?? []);
      return [type, Number(weight)] as const;
    }),
  );
}

/**
 * Writes a body: whole as JSON, the entries of a page as lines of JSON or of CSV.
 *
 * @param found As `present` of the body takes it.
 * @param countedFrom Likewise.
 * @param place Likewise.
 */
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

/** Each value as a line of JSON. */
export function linesOf(items: readonly object[]): string {
  return items.map((item) => `${JSON.stringify(item)}\n`).join('');
}
