import type { Handler, Response } from 'express';
import { compressResponse } from './compress-response.js';
import { defaultFields } from './default-fields.js';
import { limitBody } from './limit-body.js';
import { asksForMethods, requireHost } from './request-head.js';

/** What the answers of a service differ by. */
export interface BeginOptions {
  /** Whether the answer is another for another site's page. */
  readonly variesByOrigin: boolean;
  /** Whether who answers at a path, with the base path, reads the request's body, and bounds it. */
  readonly readsBody: (path: string) => boolean;
}

/**
 * What is done for every request alike: the fields of its answer, its content coding, and the refusal of
 * what is no proper request. It is one stage, since a stage costs more than each of these.
 */
export function beginResponses({ variesByOrigin, readsBody }: BeginOptions): Handler {
  const setFields = defaultFields(variesByOrigin);
  return (request, response, next) => {
    setFields(response);
    compressResponse(request, response);
    requireHost(request);
    const begin = (error?: unknown) => {
      if (error !== undefined) next(error);
      else if (asksForMethods(request)) sendMethods(response);
      else next();
    };
    if (!limitBody(request, response, begin, readsBody)) begin();
  };
}

function sendMethods(response: Response): void {
  response.writeHead(204, { allow: 'GET, HEAD, POST' });
  response.end();
}
