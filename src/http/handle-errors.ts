import type { IncomingMessage, ServerResponse } from 'node:http';
import { JSON_RESPONSE, mediaTypeFor } from '../graphql/request.js';
import { type Problem, problemOf, sendProblem } from '../rest/v1/problem.js';
import type { Logger } from '../telemetry/logging.js';

/**
 * Sends an error for whatever was thrown before, in the format of the path's API. What clients do not see is
 * logged with the request's id.
 */
export function handleErrors(log: Logger) {
  return (error: unknown, request: IncomingMessage, response: ServerResponse): void => {
    const { requestId } = request;
    // Rejected meanwhile: its body was not valid HTTP.
    if (response.writableEnded) return;
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
    if (request.kind.api === 'graphql') sendGraphqlError(request, response, problem);
    else sendProblem(request, response, problem);
  };
}

function sendGraphqlError(
  request: IncomingMessage,
  response: ServerResponse,
  { body, headers }: Problem,
): void {
  const errors = [{ message: body.detail, extensions: { code: body.code } }];
  const text = JSON.stringify({ errors });
  response.writeHead(body.status, {
    ...headers,
    'content-type': mediaTypeFor(request) ?? JSON_RESPONSE,
    'content-length': Buffer.byteLength(text),
  });
  response.end(text);
}
