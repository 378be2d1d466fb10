import type { Handler, Response } from 'express';
import { compressResponse } from './compress-response.js';
import { defaultFields } from './default-fields.js';
import { asksForMethods, requireSingleFields } from './request-head.js';

/**
 * What is done for every request alike: the fields of its answer, its content coding, and the refusal of
 * what is no proper request. It is one stage, since a stage costs more than each of these.
 *
 * @param variesByOrigin Whether the answer is another for another site's page.
 */
export function beginResponses({ variesByOrigin }: { readonly variesByOrigin: boolean }): Handler {
  const setFields = defaultFields(variesByOrigin);
  return (request, response, next) => {
    setFields(response);
    compressResponse(request, response);
    requireSingleFields(request);
    if (asksForMethods(request)) sendMethods(response);
    else next();
  };
}

function sendMethods(response: Response): void {
  response.writeHead(204, { allow: 'GET, HEAD, POST' });
  response.end();
}
