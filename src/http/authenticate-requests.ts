import type { Handler } from 'express';
import type { Authenticate } from '../auth/authenticate.js';
import { RateLimitedError, UnauthenticatedError } from '../model/errors.js';
import { clientKey } from '../rates/client-key.js';
import type { Penalties } from '../rates/penalties.js';
import { setRateFields } from '../rates/rate-fields.js';
import type { Logger } from '../telemetry/logging.js';

/**
 * Decides who asks, before anything else is looked at: a credential that is not valid goes no further.
 * Its client is told one thing for every reason; the log has the reason under the request's id.
 *
 * @param failures As `authenticate` counts them, for what a client is told that has failed too often.
 */
export function authenticateRequests(authenticate: Authenticate, log: Logger, failures?: Penalties): Handler {
  return async (request, response, next) => {
    const client = clientKey(request.ip, request.socket.remoteAddress);
    try {
      request.viewer = await authenticate(request.headers.authorization, client);
    } catch (error) {
      if (error instanceof RateLimitedError) setRateFields(response, failures?.usedUp(client));
      if (error instanceof UnauthenticatedError && error.reason !== undefined) {
        log.info({ requestId: request.requestId, reason: error.reason }, 'token refused');
      }
      throw error;
    }
    next();
  };
}
