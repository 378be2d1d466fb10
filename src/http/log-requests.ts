import type { Handler, Request, Response } from 'express';
import type { Logger } from '../telemetry/logging.js';
import { redactSecrets } from '../telemetry/redact.js';
import type { RequestMetrics } from '../telemetry/request-metrics.js';
import type { RequestSpan, Tracing } from '../telemetry/tracing.js';
import type { RequestKinds, RoutedKind } from './request-kind.js';

/** What is told of requests, and to whom. */
export interface RequestFollowers {
  readonly log: Logger;
  readonly kinds: RequestKinds;
  readonly metrics: RequestMetrics;
  /** Null: no traces are sent. */
  readonly tracing: Tracing | null;
}

/**
 * Logs, counts and traces each request when its response is over. The log has one line: no query, since
 * that may hold what a client wants to know, and no header, since one holds its token.
 */
export function logRequests({ log, kinds, metrics, tracing }: RequestFollowers): Handler {
  return (request, response, next) => {
    const began = performance.now();
    const path = pathOf(request);
    const kind = kinds.of(path);
    const span = tracing?.startRequest(
      request.headers,
      spanNameOf(request, kind),
      attributesOf(request, path, kind),
    );
    metrics.began();
    response.once('close', () => {
      const duration = performance.now() - began;
      const answered = isPage(response) && kind.door === 'graphql' ? kinds.graphqlPage : kind;
      metrics.answered(answered, statusOf(response), duration / 1000);
      if (log.isLevelEnabled('info')) log.info(lineOf(request, response, path, duration, span), 'request');
      span?.end(response.headersSent ? response.statusCode : undefined);
    });
    if (span === undefined) next();
    else span.run(next);
  };
}

/** Read before a router cuts its own part of the path off. */
function pathOf({ url }: Request): string {
  const query = url.indexOf('?');
  return query === -1 ? url : url.slice(0, query);
}

/** 0: the client went before there was one. */
function statusOf(response: Response): number {
  return response.headersSent ? response.statusCode : 0;
}

function isPage(response: Response): boolean {
  const type = response.getHeader('content-type');
  return typeof type === 'string' && type.startsWith('text/html');
}

/** OpenTelemetry's semantic conventions for HTTP, name of a server's span. */
function spanNameOf({ method }: Request, { route }: RoutedKind): string {
  return route === undefined ? method : `${method} ${route}`;
}

function attributesOf(request: Request, path: string, { route }: RoutedKind): Record<string, string> {
  return {
    'http.request.method': request.method,
    'url.path': redactSecrets(path),
    'url.scheme': request.protocol,
    'dms.request.id': request.requestId,
    ...(route === undefined ? {} : { 'http.route': route }),
  };
}

function lineOf(
  request: Request,
  response: Response,
  path: string,
  duration: number,
  span: RequestSpan | undefined,
): object {
  return {
    requestId: request.requestId,
    ...(span === undefined ? {} : { traceId: span.traceId }),
    method: request.method,
    path,
    status: response.statusCode,
    durationMs: Math.round(duration * 1000) / 1000,
    // The client went before the response was over.
    ...(response.writableFinished ? {} : { aborted: true }),
  };
}
