import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Viewer } from '../auth/viewer.js';
import { pathOf } from '../model/request-target.js';
import type { Logger } from '../telemetry/logging.js';
import type { RequestMetrics } from '../telemetry/request-metrics.js';
import type { RequestSpan, Tracing } from '../telemetry/tracing.js';
import type { Forwarding } from './forwarding.js';
import { PAGE, type RoutedKind } from './request-kind.js';
import { REQUEST_ID_FIELD, requestIdOf } from './response-fields.js';

declare module 'node:http' {
  interface IncomingMessage {
    requestId: string;
    kind: RoutedKind;
    /** Set once the request is authenticated. */
    viewer: Viewer;
  }
}

export interface RequestParts {
  readonly log: Logger;
  readonly metrics: RequestMetrics;
  /** Null: no traces are sent. */
  readonly tracing: Tracing | null;
  /** Removes secrets from what a client has sent, as the log does, before it is sent with a trace. */
  readonly redact: (text: string) => string;
}

/** By Content-Type: how long a client listens is no measure of the service. */
const STREAM = /^(?:text\/event-stream|multipart\/mixed)/;

/**
 * Gives each request its id and its kind, and logs, counts and traces it when its response is closed. The line
 * of the log has no query, which may be confidential, and no header fields, of which one has the token.
 */
export function observeRequests(
  kindOf: (path: string) => RoutedKind,
  schemeOf: Forwarding['schemeOf'],
  { log, metrics, tracing, redact }: RequestParts,
) {
  const startSpan = (request: IncomingMessage): RequestSpan | undefined => {
    const { method = '', headers, requestId, kind } = request;
    const { traceparent = '', tracestate = '' } = headers;
    return tracing?.startRequest(
      // What a client has written there is passed on to the collector.
      { traceparent: String(traceparent), tracestate: redact(String(tracestate)) },
      // OpenTelemetry's semantic conventions for HTTP, name of a server's span.
      kind.route === undefined ? method : `${method} ${kind.route}`,
      {
        'http.request.method': method,
        'url.path': redact(pathOf(request)),
        'url.scheme': schemeOf(request),
        'dms.request.id': redact(requestId),
        ...(kind.route !== undefined && { 'http.route': kind.route }),
      },
    );
  };
  return (request: IncomingMessage, response: ServerResponse, answer: () => void): void => {
    const began = performance.now();
    const path = pathOf(request);
    request.requestId = requestIdOf(request.headers);
    request.kind = kindOf(path);
    response.setHeader(REQUEST_ID_FIELD, request.requestId);
    const span = startSpan(request);
    metrics.began();
    /** Whether its bytes, which are all written, have left; undefined: they are not yet. */
    let hasLeft: boolean | undefined;
    // Before Node.js' own, which takes the socket: afterwards, bytes that were dropped look the same.
    response.prependOnceListener('finish', () => {
      hasLeft = response.socket?.destroyed === false;
    });
    response.once('close', () => {
      const milliseconds = performance.now() - began;
      const status = statusOf(response, hasLeft);
      const { requestId, method, kind } = request;
      const type = String(response.getHeader('content-type'));
      // GraphQL's page for browsers is on the same path as GraphQL itself.
      const served = type.startsWith('text/html') ? PAGE : kind;
      metrics.answered(served, status, STREAM.test(type) ? undefined : milliseconds / 1000);
      const durationMs = Math.round(milliseconds * 1000) / 1000;
      // Its client disconnected before the end of the response.
      const aborted = hasLeft === true ? undefined : true;
      log.info({ requestId, traceId: span?.traceId, method, path, status, durationMs, aborted }, 'request');
      span?.end(status === 0 ? undefined : status);
    });
    if (span === undefined) answer();
    else span.run(answer);
  };
}

/**
 * A response may have a status that was never sent: where it never had a socket, or rejects a body whose client
 * has disconnected or was disconnected.
 */
function statusOf({ req, headersSent, socket, statusCode }: ServerResponse, hasLeft: boolean | undefined) {
  const wasSent = req.complete ? socket !== null || hasLeft !== undefined : hasLeft === true;
  return headersSent && wasSent ? statusCode : 0;
}
