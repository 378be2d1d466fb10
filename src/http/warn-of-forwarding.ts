import type { Handler } from 'express';
import type { Logger } from '../telemetry/logging.js';

const WARNING =
  'X-Forwarded-For comes with requests and is ignored, since no proxy is trusted: clients behind a proxy share one ' +
  'rate limit. If a proxy of yours sends it, set TRUST_PROXY, such as TRUST_PROXY=1 behind one; otherwise nothing is to be done';

/**
 * Says in the log, once, that a proxy may stand before the service which nobody told it of. To be used where no
 * proxy is trusted.
 */
export function warnOfForwarding(log: Logger): Handler {
  let warned = false;
  return (request, _response, next) => {
    if (!warned && request.headers['x-forwarded-for'] !== undefined) {
      warned = true;
      log.warn(WARNING);
    }
    next();
  };
}
