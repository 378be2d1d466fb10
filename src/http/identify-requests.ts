import { randomUUID } from 'node:crypto';
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

/** Gives each request its id: the client's own, if it is one that a log can hold, or a new one. */
export const identifyRequests: Handler = (request, response, next) => {
  const sent = request.headers[REQUEST_ID_FIELD];
  const requestId = typeof sent === 'string' && SANE_ID.test(sent) ? sent : randomUUID();
  request.requestId = requestId;
  response.setHeader(REQUEST_ID_FIELD, requestId);
  next();
};
