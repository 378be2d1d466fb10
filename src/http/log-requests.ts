import type { Handler, Request, Response } from 'express';
import type { Logger } from '../telemetry/logging.js';

/**
 * Logs each request when its response is over, one line: no query, since that may hold what a client
 * wants to know, and no header, since one holds its token.
 */
export function logRequests(log: Logger): Handler {
  return (request, response, next) => {
    if (log.isLevelEnabled('info')) {
      const began = performance.now();
      const path = pathOf(request);
      response.once('close', () => log.info(lineOf(request, response, path, began), 'request'));
    }
    next();
  };
}

/** Read before a router cuts its own part of the path off. */
function pathOf({ url }: Request): string {
  const query = url.indexOf('?');
  return query === -1 ? url : url.slice(0, query);
}

function lineOf(request: Request, response: Response, path: string, began: number): object {
  return {
    requestId: request.requestId,
    method: request.method,
    path,
    status: response.statusCode,
    durationMs: Math.round((performance.now() - began) * 1000) / 1000,
    // The client went before the response was over.
    ...(response.writableFinished ? {} : { aborted: true }),
  };
}
