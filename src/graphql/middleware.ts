import { HeaderMap } from '@apollo/server';
import express, { type Request, type RequestHandler, type Response } from 'express';
import type { Viewer } from '../auth/viewer.js';
import { answerFrequent } from './answer-frequent.js';
import { BODY_LIMIT, refusalOfBody } from './body-refusal.js';
import type { HttpAnswer } from './http-answer.js';
import { sandboxPolicy } from './sandbox.js';
import type { GraphqlServer } from './server.js';

/**
 * GraphQL over HTTP on one path: POST and GET, and Apollo Sandbox for a browser. It reads the body itself.
 *
 * @param viewerOf Who sent a request.
 */
export function graphqlMiddleware(
  server: GraphqlServer,
  viewerOf: (request: Request) => Viewer,
): RequestHandler {
  const readBody = express.json({ limit: BODY_LIMIT });
  return (request, response, next) => {
    readBody(request, response, (error?: unknown) => {
      const refusal = refusalOfBody(error);
      if (refusal !== undefined) send(response, refusal);
      else if (error !== undefined) next(error);
      else answer(server, request, response, viewerOf(request)).catch(next);
    });
  };
}

async function answer(
  server: GraphqlServer,
  request: Request,
  response: Response,
  viewer: Viewer,
): Promise<void> {
  const frequent = await answerFrequent(server, request, viewer);
  send(response, frequent ?? (await answerByApollo(server, request, viewer)));
}

async function answerByApollo(
  { apollo, door }: GraphqlServer,
  request: Request,
  viewer: Viewer,
): Promise<HttpAnswer> {
  const {
    status = 200,
    headers,
    body,
  } = await apollo.executeHTTPGraphQLRequest({
    httpGraphQLRequest: {
      method: request.method,
      headers: headersOf(request),
      search: /\?.*$/s.exec(request.url)?.[0] ?? '',
      body: request.body,
    },
    context: async () => door.contextFor(viewer),
  });
  if (body.kind !== 'complete') throw new Error('Apollo Server answered in parts, which nothing asks for.');
  return { status, headers, body: body.string };
}

function headersOf(request: Request): HeaderMap {
  const headers = new HeaderMap();
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(', ') : value);
  }
  return headers;
}

function send(response: Response, { status, headers, body }: HttpAnswer): void {
  response.statusCode = status;
  for (const [name, value] of headers) response.setHeader(name, value);
  if (headers.get('content-type')?.startsWith('text/html') === true) {
    response.setHeader('content-type', 'text/html; charset=utf-8');
    response.setHeader('content-security-policy', sandboxPolicy(body));
    // It would keep Apollo's frame out.
    response.removeHeader('cross-origin-embedder-policy');
  }
  response.end(body);
}
