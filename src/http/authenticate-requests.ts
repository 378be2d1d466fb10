import type { Handler } from 'express';
import type { Authenticate } from '../auth/authenticate.js';
import { RateLimitedError } from '../model/errors.js';
import { clientKey } from '../rates/client-key.js';
import type { Penalties } from '../rates/penalties.js';
import { setRateFields } from '../rates/rate-fields.js';

/**
 * Decides who asks, before anything else is looked at: a credential that is not valid goes no further.
 *
 * @param failures As `authenticate` counts them, for what a client is told that has failed too often.
 */
export function authenticateRequests(authenticate: Authenticate, failures?: Penalties): Handler {
  return async (request, response, next) => {
    const client = clientKey(request.ip, request.socket.remoteAddress);
    try {
      request.viewer = await authenticate(request.headers.authorization, client);
    } catch (error) {
      if (error instanceof RateLimitedError) setRateFields(response, failures?.usedUp(client));
      throw error;
    }
    next();
  };
}
