import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Viewer } from '../auth/viewer.js';
import type { Logger } from '../telemetry/logging.js';
import type { RequestMetrics } from '../telemetry/request-metrics.js';
import type { RequestSpan, Tracing } from '../telemetry/tracing.js';
import { pathOf } from './endpoint.js';
import type { RequestKinds, RoutedKind } from './request-kind.js';
import { REQUEST_ID_FIELD, requestIdOf } from './response-fields.js';
import type { Stage } from './stages.js';

declare module 'node:http' {
  interface IncomingMessage {
    /** The id of the request, in the log and for the client. */
    requestId: string;
    /** What the request is for, by its path. */
    kind: RoutedKind;
    /** Set once the request is authenticated. */
    viewer: Viewer;
  }
}

/** Gives each request its id, and sets it in the response. */
export const identifyRequests: Stage = (request, response, next) => {
  const requestId = requestIdOf(request.headers);
  request.requestId = requestId;
  response.setHeader(REQUEST_ID_FIELD, requestId);
  next();
};

/** What observes requests. */
interface RequestObservers {
  readonly log: Logger;
  readonly kinds: RequestKinds;
  readonly metrics: RequestMetrics;
  /** Null: no traces are sent. */
  readonly tracing: Tracing | null;
  /** Removes secrets from what a client has sent, as the log does, before it is sent with a trace. */
  readonly redact: (text: string) => string;
  /** By which a client sent a request to this service or to a trusted proxy before it. */
  readonly schemeOf: (request: IncomingMessage) => string;
}

/**
 * Logs, counts and traces each request when its response is closed. The line of the log has no query, which may be
 * confidential, and no header fields, of which one has the token.
 */
export function logRequests(observers: RequestObservers): Stage {
  const { log, kinds, metrics } = observers;
  return (request, response, next) => {
    const began = performance.now();
    // Before a router removes its part of the path.
    const path = pathOf(request);
    const kind = kinds.of(path);
    request.kind = kind;
    const span = startSpan(request, path, observers);
    metrics.began();
    let sending: Sending = 'under way';
    // Before Node.js' own, which takes the socket from the response.
    response.prependOnceListener('finish', () => {
      sending = response.socket?.destroyed === false ? 'complete' : 'cut off';
    });
    response.once('close', () => {
      const duration = performance.now() - began;
      const served = isOfType(response, 'text/html') && kind.api === 'graphql' ? kinds.graphqlPage : kind;
      const status = statusOf(response, sending);
      // How long a client listens is no measure of the service.
      const measured = isOfType(response, 'text/event-stream') ? undefined : duration / 1000;
      metrics.answered(served, status, measured);
      log.info(
        {
          requestId: request.requestId,
          ...(span !== undefined && { traceId: span.traceId }),
          method: request.method,
          path,
          status,
          durationMs: Math.round(duration * 1000) / 1000,
          // The client disconnected before the end of the response.
          ...(sending !== 'complete' && { aborted: true }),
        },
        'request',
      );
      span?.end(status === 0 ? undefined : status);
    });
    if (span === undefined) next();
    else span.run(next);
  };
}

/**
 * The state of a response whose bytes are all written. Node.js' `finish` and `writableFinished` say
 * the same of bytes that have left and of those that were dropped with their connection.
 */
type Sending = 'under way' | 'complete' | 'cut off';

/**
 * A response may have a status that was never sent: where it never had a socket, or rejects a body whose client has
 * disconnected or was disconnected.
 */
function statusOf({ req, headersSent, socket, statusCode }: ServerResponse, sending: Sending): number {
  const tooLate = req.complete ? socket === null && sending === 'under way' : sending !== 'complete';
  return headersSent && !tooLate ? statusCode : 0;
}

function isOfType(response: ServerResponse, mediaType: string): boolean {
  const type = response.getHeader('content-type');
  return typeof type === 'string' && type.startsWith(mediaType);
}

/** What is sent of a request with its trace. */
function startSpan(
  request: IncomingMessage,
  path: string,
  observers: RequestObservers,
): RequestSpan | undefined {
  const { tracing, redact, schemeOf } = observers;
  const { method = '', kind, requestId } = request;
  const { traceparent, tracestate } = request.headers;
  const { route } = kind;
  return tracing?.startRequest(
    {
      ...(typeof traceparent === 'string' && { traceparent }),
      // What a client has written there is passed on to the collector.
      ...(typeof tracestate === 'string' && { tracestate: redact(tracestate) }),
    },
    // OpenTelemetry's semantic conventions for HTTP, name of a server's span.
    route === undefined ? method : `${method} ${route}`,
    {
      'http.request.method': method,
      'url.path': redact(path),
      'url.scheme': schemeOf(request),
      'dms.request.id': redact(requestId),
      ...(route !== undefined && { 'http.route': route }),
    },
  );
}
