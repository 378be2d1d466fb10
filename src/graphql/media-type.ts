import type { Request } from 'express';

/** The media type under which a response without data has a status of 400 or more (GraphQL over HTTP, 6.4). */
export const GRAPHQL_RESPONSE = 'application/graphql-response+json';

/** Where a client takes both, the one that all clients know. */
const MEDIA_TYPES = ['application/json', GRAPHQL_RESPONSE];

/** The media type that the client takes a response in, as Apollo Server finds it; undefined: it takes none. */
export function mediaTypeFor(request: Request): string | undefined {
  return request.accepts(MEDIA_TYPES) || undefined;
}
