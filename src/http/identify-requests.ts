import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Handler } from 'express';
import type { Viewer } from '../auth/viewer.js';

declare global {
  namespace Express {
    interface Request {
      /** What the log and the client know the request by. */
      requestId: string;
      /** Who asks: known once the request is authenticated. */
      viewer: Viewer;
    }
  }
}

/** The field that carries a request's id, both ways. */
export const REQUEST_ID_FIELD = 'x-request-id';

const SANE_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** Gives each request its id, and says it in the answer. */
export const identifyRequests: Handler = (request, response, next) => {
  const requestId = requestIdOf(request.headers);
  request.requestId = requestId;
  response.setHeader(REQUEST_ID_FIELD, requestId);
  next();
};

/** The client's own id, if it is one that a log can hold, or a new one. */
export function requestIdOf(headers: IncomingHttpHeaders): string {
  const sent = headers[REQUEST_ID_FIELD];
  return typeof sent === 'string' && SANE_ID.test(sent) ? sent : randomUUID();
}
