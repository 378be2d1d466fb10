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
  const { log, kinds, metrics, tracing, redact } = observers;
  return (request, response, next) => {
    const began = performance.now();
    // Before a router removes its part of the path.
    const path = pathOf(request);
    const kind = kinds.of(path);
    request.kind = kind;
    const span = tracing?.startRequest(
      traceFieldsOf(request, redact),
      spanNameOf(request, kind),
      attributesOf(request, {
        path: redact(path),
        requestId: redact(request.requestId),
        scheme: observers.schemeOf(request),
        kind,
      }),
    );
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
      const outcome = { status, complete: sending === 'complete' };
      // How long a client listens is no measure of the service.
      const measured = isOfType(response, 'text/event-stream') ? undefined : duration / 1000;
      metrics.answered(served, status, measured);
      if (log.isLevelEnabled('info')) log.info(lineOf(request, path, outcome, duration, span), 'request');
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

/** The fields of W3C Trace Context. What a client has written into tracestate is passed on to the collector. */
function traceFieldsOf(
  { headers }: IncomingMessage,
  redact: (text: string) => string,
): Record<string, string> {
  const { traceparent, tracestate } = headers;
  return {
    ...(typeof traceparent === 'string' ? { traceparent } : {}),
    ...(typeof tracestate === 'string' ? { tracestate: redact(tracestate) } : {}),
  };
}

/** OpenTelemetry's semantic conventions for HTTP, name of a server's span. */
function spanNameOf({ method = '' }: IncomingMessage, { route }: RoutedKind): string {
  return route === undefined ? method : `${method} ${route}`;
}

/** What is sent of a request with its trace. */
interface Traced {
  readonly path: string;
  readonly requestId: string;
  readonly scheme: string;
  readonly kind: RoutedKind;
}

function attributesOf(
  { method = '' }: IncomingMessage,
  { path, requestId, scheme, kind: { route } }: Traced,
): Record<string, string> {
  return {
    'http.request.method': method,
    'url.path': path,
    'url.scheme': scheme,
    'dms.request.id': requestId,
    ...(route === undefined ? {} : { 'http.route': route }),
  };
}

function lineOf(
  { requestId, method }: IncomingMessage,
  path: string,
  { status, complete }: { readonly status: number; readonly complete: boolean },
  duration: number,
  span: RequestSpan | undefined,
): object {
  return {
    requestId,
    ...(span === undefined ? {} : { traceId: span.traceId }),
    method,
    path,
    status,
    durationMs: Math.round(duration * 1000) / 1000,
    // The client disconnected before the end of the response.
    ...(complete ? {} : { aborted: true }),
  };
}
