import type { IncomingMessage, ServerResponse } from 'node:http';
import { acceptedBy, JSON_RESPONSE } from '../graphql/request.js';
import { type Problem, problemOf, sendProblem } from '../rest/v1/problem.js';
import type { Logger } from '../telemetry/logging.js';

/** Takes an error that the client of a request is not shown. */
export type OnRequestFailure = (error: unknown, request: IncomingMessage) => void;

/** Responds to a request that has failed. */
export type OnFailure = (error: unknown, request: IncomingMessage, response: ServerResponse) => void;

/** Sends an error for whatever was thrown before, in the format of the path's API. */
export function handleErrors(log: Logger, onInternalError: OnRequestFailure): OnFailure {
  return (error: unknown, request: IncomingMessage, response: ServerResponse): void => {
    // Rejected meanwhile: its body was not valid HTTP.
    if (response.writableEnded) return;
    if (response.headersSent) {
      log.error({ requestId: request.requestId, err: error }, 'response aborted');
      response.destroy();
      return;
    }
    const problem = problemOf(error, (internal) => onInternalError(internal, request));
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
    'content-type': acceptedBy(request).mediaType ?? JSON_RESPONSE,
    'content-length': Buffer.byteLength(text),
  });
  response.end(text);
}
