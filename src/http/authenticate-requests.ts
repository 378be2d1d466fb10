import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Authenticate } from '../auth/authenticate.js';
import type { Viewer } from '../auth/viewer.js';
import { clientKey } from '../limits/client-key.js';
import { setRateFields } from '../limits/rate-policy.js';
import { UnauthenticatedError } from '../model/errors.js';
import type { Logger } from '../telemetry/logging.js';
import type { Stage } from './stages.js';

/** Takes what a failed authentication costs from what its address may spend. @throws RateLimitedError where nothing is left. */
export type ChargeFailure = (viewer: Viewer) => Promise<void>;

/**
 * Sets the request's viewer. An invalid credential is rejected before anything else of the request is read, with one
 * error for every reason; the log has the reason, with the request's id.
 *
 * @param chargeFailure Absent: failures are not limited.
 */
export function authenticateRequests(
  authenticate: Authenticate,
  clientOf: ClientOf,
  log: Logger,
  chargeFailure?: ChargeFailure,
): Stage {
  return async (request, response, next) => {
    const client = clientOf(request);
    try {
      request.viewer = await authenticate(request.headers.authorization, client);
    } catch (error) {
      if (error instanceof UnauthenticatedError && error.reason !== undefined) {
        log.info({ requestId: request.requestId, reason: error.reason }, 'token rejected');
      }
      if (error instanceof UnauthenticatedError && chargeFailure !== undefined) {
        const viewer: Viewer = { kind: 'anonymous', rateLimitKey: client, scopes: new Set() };
        await chargeFailure(viewer).catch((rejection: unknown) => {
          // Only here: 401 has one response for all tokens.
          setRateFields(response, viewer.rates);
          throw rejection;
        });
      }
      throw error;
    }
    next();
  };
}

/** Gives the key of a request's client. */
export type ClientOf = (request: IncomingMessage) => string;

/** @param addressOf The address that trusted proxies name; null: none is trusted. */
export function findClients(addressOf: ((request: IncomingMessage) => string | undefined) | null): ClientOf {
  if (addressOf === null) return ({ socket }) => clientKey(undefined, socket.remoteAddress);
  return (request) => {
    shortenForwarding(request.headers);
    return clientKey(addressOf(request), request.socket.remoteAddress);
  };
}

/** In characters: some 60 proxies. To compare 3,800 addresses with those that are trusted takes 57 ms. */
const LONGEST_FORWARDING = 1_000;
const FORWARDING = 'x-forwarded-for';

/** Keeps the end of a long X-Forwarded-For, which the nearest proxies have written. */
function shortenForwarding(headers: IncomingHttpHeaders): void {
  const { [FORWARDING]: addresses } = headers;
  if (typeof addresses !== 'string' || addresses.length <= LONGEST_FORWARDING) return;
  headers[FORWARDING] = addresses.slice(addresses.indexOf(',', addresses.length - LONGEST_FORWARDING) + 1);
}

const UNTRUSTED_PROXY =
  'X-Forwarded-For comes with requests and is ignored, since no proxy is trusted: clients behind a proxy share one ' +
  'rate limit. If your proxy sends it, set TRUST_PROXY, such as TRUST_PROXY=1 behind one proxy; otherwise ignore this';

/** Logs once that there may be a proxy that TRUST_PROXY does not name. For use where no proxy is trusted. */
export function warnOfForwarding(log: Logger): Stage {
  let warned = false;
  return (request, _response, next) => {
    if (!warned && request.headers['x-forwarded-for'] !== undefined) {
      warned = true;
      log.warn(UNTRUSTED_PROXY);
    }
    next();
  };
}
