import type { Handler } from 'express';
import type { Authenticate } from '../auth/authenticate.js';

/** Decides who asks, before anything else is looked at: a credential that is not valid goes no further. */
export function authenticateRequests(authenticate: Authenticate): Handler {
  return async (request, _response, next) => {
    request.viewer = await authenticate(request.headers.authorization, request.ip ?? '');
    next();
  };
}
