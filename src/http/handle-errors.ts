import type { IncomingMessage, ServerResponse } from 'node:http';
import { acceptedBy, JSON_RESPONSE } from '../graphql/request.js';
import { problemOf, sendBody, sendProblem } from '../rest/v1/problem.js';
import type { Logger } from '../telemetry/logging.js';

/** Takes an error that the client of a request is not shown. */
export type OnRequestFailure = (error: unknown, request: IncomingMessage) => void;

/** Responds to a request that has failed. */
export type OnFailure = (error: unknown, request: IncomingMessage, response: ServerResponse) => void;

/** Sends an error for whatever was thrown before, in the format of the path's API. */
export function handleErrors(log: Logger, onInternalError: OnRequestFailure): OnFailure {
  return (error, request, response) => {
    // Rejected meanwhile: its body was not valid HTTP.
    if (response.writableEnded) return;
    if (response.headersSent) {
      log.error({ requestId: request.requestId, err: error }, 'response aborted');
      response.destroy();
      return;
    }
    const problem = problemOf(error, (internal) => onInternalError(internal, request), request.kind.isFeed);
    if (request.kind.api !== 'graphql') return sendProblem(request, response, problem);
    const { status, detail: message, code } = problem.body;
    const fields = { ...problem.headers, 'content-type': acceptedBy(request).mediaType ?? JSON_RESPONSE };
    sendBody(response, status, fields, JSON.stringify({ errors: [{ message, extensions: { code } }] }));
  };
}
