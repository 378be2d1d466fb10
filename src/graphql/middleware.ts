import express, { type Request, type RequestHandler, type Response } from 'express';
import { requireToken } from '../auth/require-scope.js';
import type { Viewer } from '../auth/viewer.js';
import { setRateFields } from '../rates/rate-fields.js';
import { answerByApollo, answerWithPage } from './answer-by-apollo.js';
import { answerFrequent } from './answer-frequent.js';
import { askedOperation } from './asked-operation.js';
import { BODY_LIMIT, refusalOfBody } from './body-refusal.js';
import type { HttpAnswer } from './http-answer.js';
import { sizeOfDocument } from './limit-documents.js';
import { refusalOfUnlisted } from './persisted/unlisted-refusal.js';
import { getsPage, refusalOfHead, refusalOfNothing } from './request-refusal.js';
import { sandboxPolicy } from './sandbox.js';
import type { GraphqlServer } from './server.js';

/**
 * GraphQL over HTTP on one path: POST, GET and HEAD, and Apollo Sandbox for a browser. It reads the body
 * itself.
 *
 * @param viewerOf Who sent a request.
 */
export function graphqlMiddleware(
  server: GraphqlServer,
  viewerOf: (request: Request) => Viewer,
): RequestHandler {
  const readBody = express.json({ limit: BODY_LIMIT });
  return (request, response, next) => {
    const refusedAtOnce = refusalOfHead(request, server.sandbox);
    if (refusedAtOnce !== undefined) {
      send(response, refusedAtOnce);
      return;
    }
    const viewer = viewerOf(request);
    try {
      if (!getsPage(request, server.sandbox)) requireToken(viewer);
      server.documents?.requireLeft(viewer, lengthOf(request));
    } catch (error) {
      setRateFields(response, viewer.rates);
      next(error);
      return;
    }
    readBody(request, response, (error?: unknown) => {
      const refused = error === undefined ? undefined : refusalOfBody(request, error);
      if (refused !== undefined) send(response, refused);
      else if (error !== undefined) next(error);
      else answer(server, request, response, viewer).catch(next);
    });
  };
}

async function answer(
  server: GraphqlServer,
  request: Request,
  response: Response,
  viewer: Viewer,
): Promise<void> {
  let answered: HttpAnswer;
  try {
    answered = await answerOf(server, request, viewer);
  } finally {
    setRateFields(response, viewer.rates);
  }
  send(response, answered);
}

async function answerOf(server: GraphqlServer, request: Request, viewer: Viewer): Promise<HttpAnswer> {
  if (getsPage(request, server.sandbox)) return answerWithPage(server);
  const quick =
    refusalOfNothing(request, server.sandbox) ??
    refusalOfUnlisted(request, server.persisted) ??
    (await answerFrequent(server, request, viewer));
  if (quick !== undefined) return quick;
  const byApollo = () => answerByApollo(server, request, viewer);
  if (server.documents === undefined) return byApollo();
  const asked = askedOperation(request, server.persisted);
  const size = () => sizeOfDocument(asked?.source, asked && server.limits.estimate(asked));
  return server.documents.answer(viewer, asked?.source, byApollo, size);
}

/** The length of a request's body; undefined where it is sent in chunks. */
function lengthOf({ headers }: Request): number | undefined {
  if (headers['transfer-encoding'] !== undefined) return undefined;
  return Number(headers['content-length'] ?? 0);
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
  // Node.js itself would leave it out of the answer to HEAD.
  response.setHeader('content-length', Buffer.byteLength(body));
  response.end(body);
}
