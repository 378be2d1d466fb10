import type { Request } from 'express';
import { BoundedCache } from '../model/bounded-cache.js';

/** What all clients know. */
export const JSON_RESPONSE = 'application/json; charset=utf-8';

/** The media type under which a response without data has a status of 400 or more (GraphQL over HTTP, 6.4). */
export const GRAPHQL_RESPONSE = 'application/graphql-response+json; charset=utf-8';

/** What Apollo Server writes a response in, in its order: where a client takes several, the first of them. */
const OF_RESPONSE = [JSON_RESPONSE, GRAPHQL_RESPONSE, 'application/json; callbackSpec=1.0; charset=utf-8'];

/** All that Apollo Server chooses from for GET, in its order. */
const WITH_PAGE = [
  JSON_RESPONSE,
  GRAPHQL_RESPONSE,
  'multipart/mixed; deferSpec=20220824',
  'multipart/mixed; incrementalSpec=v0.2',
  'multipart/mixed',
  'text/html',
];

/** What was found for a field Accept: clients send few different ones, and it takes a while. */
const found = new BoundedCache<string, string | undefined>(1_000);
/** Longer ones are looked at each time, so that a full cache stays small. */
const LONGEST_KEPT = 255;

/**
 * The media type that the client takes a response in, as Apollo Server finds it.
 *
 * @returns The value of `Content-Type`; undefined: the client takes none.
 */
export function mediaTypeFor(request: Request): string | undefined {
  const { accept } = request.headers;
  if (accept === undefined) return JSON_RESPONSE;
  if (found.has(accept)) return found.get(accept);
  const mediaType = request.accepts(OF_RESPONSE) || undefined;
  if (accept.length <= LONGEST_KEPT) found.set(accept, mediaType);
  return mediaType;
}

/** Whether a GET takes a page rather than a response, as Apollo Server finds it. */
export function prefersPage(request: Request): boolean {
  return request.headers.accept !== undefined && request.accepts(WITH_PAGE) === 'text/html';
}
