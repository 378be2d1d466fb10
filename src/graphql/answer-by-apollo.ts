import { HeaderMap, type HTTPGraphQLResponse } from '@apollo/server';
import type { Request } from 'express';
import type { Viewer } from '../auth/viewer.js';
import { askedOperation, searchOf } from './asked-operation.js';
import { refusalOfComplexity } from './complexity-refusal.js';
import type { HttpAnswer } from './http-answer.js';
import type { AskedOperation, QueryLimits } from './limits/query-limits.js';
import { JSON_RESPONSE, mediaTypeFor } from './media-type.js';
import type { GraphqlServer } from './server.js';

/**
 * Answers any GraphQL request, right or wrong.
 *
 * @param request One that does not get the page, and takes a response.
 */
export async function answerByApollo(
  { apollo, door, limits, persisted }: GraphqlServer,
  request: Request,
  viewer: Viewer,
): Promise<HttpAnswer> {
  const mediaType = mediaTypeFor(request) ?? JSON_RESPONSE;
  const asked = askedOperation(request, persisted);
  const cost = asked === undefined ? undefined : costOrRefusal(limits, asked, mediaType);
  if (typeof cost === 'object') return cost;
  // What HEAD has no body of is answered as GET is (RFC 9110, section 9.3.2), and Apollo Server knows no HEAD.
  const method = request.method === 'HEAD' ? 'GET' : request.method;
  const search = searchOf(request.url);
  const response = await apollo.executeHTTPGraphQLRequest({
    httpGraphQLRequest: { method, headers: headersOf(request, mediaType), search, body: request.body },
    context: async () => ({
      ...door.contextFor(viewer, request.res),
      cost,
      examined: asked !== undefined,
      mediaType,
    }),
  });
  return wholeAnswer(response);
}

/** Apollo Sandbox. Apollo Server sees nothing of the request, so that it cannot execute what stands in it. */
export async function answerWithPage({ apollo }: GraphqlServer): Promise<HttpAnswer> {
  const headers = new HeaderMap([['accept', 'text/html']]);
  const response = await apollo.executeHTTPGraphQLRequest({
    httpGraphQLRequest: { method: 'GET', headers, search: '', body: undefined },
    context: () => Promise.reject(new Error('Apollo Server took a request for the page for another.')),
  });
  return wholeAnswer(response);
}

function wholeAnswer({ status = 200, headers, body }: HTTPGraphQLResponse): HttpAnswer {
  if (body.kind !== 'complete') throw new Error('Apollo Server answered in parts, which nothing asks for.');
  return { status, headers, body: withCodeOf(status, body.string) };
}

/** What a request costs, or the refusal of one that asks for too much. */
function costOrRefusal(
  limits: QueryLimits,
  asked: AskedOperation,
  mediaType: string,
): HttpAnswer | number | undefined {
  try {
    return limits.costOf(asked);
  } catch (error) {
    return refusalOfComplexity(error, mediaType);
  }
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

/** Apollo Server is told what was chosen, so that it chooses nothing else, and no page. */
function headersOf(request: Request, mediaType: string): HeaderMap {
  const headers = new HeaderMap();
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(', ') : value);
  }
  headers.set('accept', mediaType);
  return headers;
}
