import type { ErrorRequestHandler, Handler, Request, Response } from 'express';
import { JSON_RESPONSE, mediaTypeFor } from '../graphql/request.js';
import { PublicError } from '../model/errors.js';
import { type Problem, problemOf, sendProblem } from '../rest/v1/problem.js';
import type { Logger } from '../telemetry/logging.js';

/** For every path that nothing else handles. */
export const notFound: Handler = () => {
  throw new PublicError('NOT_FOUND', 'There is nothing at this path.');
};

/**
 * Sends an error for whatever was thrown before, in the format of the path's API. What clients do not see is
 * logged with the request's id.
 *
 * @param isGraphql Whether a path, with the base path and without the query, is GraphQL's.
 */
export function handleErrors(log: Logger, isGraphql: (path: string) => boolean): ErrorRequestHandler {
  // Express knows an error handler by its four parameters.
  return (error: unknown, request, response, _next) => {
    const { requestId } = request;
    if (response.headersSent) {
      log.error({ requestId, err: error }, 'response aborted');
      response.destroy();
      return;
    }
    const failures: unknown[] = [];
    const problem = problemOf(error, (internal) => failures.push(internal));
    // A disconnected client needs no database.
    const concerns = !(response.destroyed && problem.body.code === 'UNAVAILABLE');
    if (concerns) for (const err of failures) log.error({ requestId, err }, 'request failed');
    if (isGraphql(request.originalUrl.split('?', 1)[0] ?? '')) sendGraphqlError(request, response, problem);
    else sendProblem(request, response, problem);
  };
}

function sendGraphqlError(request: Request, response: Response, { body, headers }: Problem): void {
  const errors = [{ message: body.detail, extensions: { code: body.code } }];
  const text = JSON.stringify({ errors });
  response.writeHead(body.status, {
    ...headers,
    'content-type': mediaTypeFor(request) ?? JSON_RESPONSE,
    'content-length': Buffer.byteLength(text),
  });
  response.end(text);
}
