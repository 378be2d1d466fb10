import { HeaderMap } from '@apollo/server';
import type { Request } from 'express';
import type { Viewer } from '../auth/viewer.js';
import type { HttpAnswer } from './http-answer.js';
import { isNestedTooDeeply, MOST_LEVELS } from './limits.js';
import { refusal } from './refusal.js';
import type { GraphqlServer } from './server.js';

/** Answers any GraphQL request, right or wrong, and a browser's request for Apollo Sandbox. */
export async function answerByApollo(
  { apollo, door }: GraphqlServer,
  request: Request,
  viewer: Viewer,
): Promise<HttpAnswer> {
  const search = /\?.*$/s.exec(request.url)?.[0] ?? '';
  if (isNestedTooDeeply(queryOf(request, search))) {
    return refusal(400, 'GRAPHQL_VALIDATION_FAILED', `The document has more than ${MOST_LEVELS} levels.`);
  }
  // What HEAD has no body of is answered as GET is (RFC 9110, section 9.3.2), and Apollo Server knows no HEAD.
  const method = request.method === 'HEAD' ? 'GET' : request.method;
  const response = await apollo.executeHTTPGraphQLRequest({
    httpGraphQLRequest: { method, headers: headersOf(request), search, body: request.body },
    context: async () => door.contextFor(viewer, request.res),
  });
  const { status = 200, headers, body } = response;
  if (body.kind !== 'complete') throw new Error('Apollo Server answered in parts, which nothing asks for.');
  return { status, headers, body: withCodeOf(status, body.string) };
}

/** The codes of two refusals to which Apollo Server gives that of any bad request. */
const CODE_OF_STATUS: ReadonlyMap<number, string> = new Map([
  [405, 'METHOD_NOT_ALLOWED'],
  [415, 'UNSUPPORTED_MEDIA_TYPE'],
]);

function withCodeOf(status: number, body: string): string {
  const code = CODE_OF_STATUS.get(status);
  return code === undefined ? body : body.replace('"code":"BAD_REQUEST"', `"code":"${code}"`);
}

/** The document of a request; empty where there is none. */
function queryOf(request: Request, search: string): string {
  const query: unknown = request.body?.query ?? new URLSearchParams(search).get('query');
  return typeof query === 'string' ? query : '';
}

function headersOf(request: Request): HeaderMap {
  const headers = new HeaderMap();
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(', ') : value);
  }
  return headers;
}
