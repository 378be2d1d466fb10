import type { Request } from 'express';

const JSON_UTF_8 = 'application/json; charset=utf-8';
const GRAPHQL_RESPONSE_UTF_8 = 'application/graphql-response+json; charset=utf-8';

/** All that Apollo Server chooses from for GET, in its order. */
const WITH_PAGE = [
  JSON_UTF_8,
  GRAPHQL_RESPONSE_UTF_8,
  'multipart/mixed; deferSpec=20220824',
  'multipart/mixed; incrementalSpec=v0.2',
  'multipart/mixed',
  'text/html',
];

/** The media type under which a response without data has a status of 400 or more (GraphQL over HTTP, 6.4). */
export const GRAPHQL_RESPONSE = 'application/graphql-response+json';

/** Where a client takes both, the one that all clients know. */
const MEDIA_TYPES = ['application/json', GRAPHQL_RESPONSE];

/** The media type that the client takes a response in, as Apollo Server finds it; undefined: it takes none. */
export function mediaTypeFor(request: Request): string | undefined {
  return request.accepts(MEDIA_TYPES) || undefined;
}

/** Whether a GET takes a page rather than a response, as Apollo Server finds it. */
export function prefersPage(request: Request): boolean {
  return request.headers.accept !== undefined && request.accepts(WITH_PAGE) === 'text/html';
}
