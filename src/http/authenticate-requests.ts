import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Authenticate } from '../auth/authenticate.js';
import type { Viewer } from '../auth/viewer.js';
import type { Gate } from '../limits/gate.js';
import { setRateFields } from '../limits/rates.js';
import { UnauthenticatedError } from '../model/errors.js';
import type { Logger } from '../telemetry/logging.js';
import type { Forwarding } from './forwarding.js';

export interface RequestAuthentication {
  readonly authenticate: Authenticate;
  /** Takes the cost of a failed authentication from its address. @throws RateLimitedError */
  readonly chargeFailure: (viewer: Viewer) => Promise<void>;
  /** Where a token that is looked up takes a place of its address: invalid ones are paid for afterwards. */
  readonly gate: Pick<Gate, 'enter'>;
  readonly log: Logger;
}

/**
 * Sets the request's viewer. An invalid credential is rejected before anything else of the request is read,
 * with one error for every reason; the log has the reason, with the request's id.
 */
export function authenticateRequests(
  clientOf: Forwarding['clientOf'],
  { authenticate, gate, log, chargeFailure }: RequestAuthentication,
) {
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const client = clientOf(request);
    const { authorization } = request.headers;
    const waiting = { viewer: anonymous(`tokens of ${client}`), signal: response };
    const leave = authorization === undefined ? undefined : await gate.enter(waiting);
    try {
      request.viewer = await authenticate(authorization, client);
    } catch (error) {
      if (!(error instanceof UnauthenticatedError)) throw error;
      const { reason } = error;
      if (reason !== undefined) log.info({ requestId: request.requestId, reason }, 'token rejected');
      const viewer = anonymous(client);
      await chargeFailure(viewer).catch((rejection: unknown) => {
        // Only here: 401 has one response for all tokens.
        setRateFields(response, viewer.rates);
        throw rejection;
      });
      throw error;
    } finally {
      leave?.();
    }
  };
}

function anonymous(rateLimitKey: string): Viewer {
  return { kind: 'anonymous', rateLimitKey, scopes: new Set() };
}
