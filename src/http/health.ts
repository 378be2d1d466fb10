import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from '../telemetry/logging.js';
import { type Endpoint, JSON_TYPE, pathOf, sendText } from './endpoint.js';

/** Why a process that runs should get no requests; null: it should. */
export type Unreadiness = string | null;

/** The probes of a process. */
export interface Health {
  /** Answers `/livez` and `/readyz`. */
  readonly endpoint: Endpoint;
  /** From now on the process is not ready: it is stopping. */
  stopping(): void;
}

/** Whole seconds after which asking again makes sense. */
const RETRY_AFTER = 5;
const STOPPING = 'The service is stopping.';

/**
 * Makes the probes. `/livez` says that the process is up, whatever it depends on; `/readyz` whether it can
 * do its work. They stand at the root, whatever the base path: they are asked past the proxy.
 *
 * @param unreadiness Asks what the work depends on, and settles soon.
 * @param log Told when the process is no longer ready, and when it is again; not of each probe.
 */
export function createHealth(unreadiness: () => Promise<Unreadiness>, log: Logger): Health {
  let stopping = false;
  let last: Unreadiness = null;
  const readiness = async (): Promise<Unreadiness> => {
    if (stopping) return STOPPING;
    const reason = await unreadiness();
    if (reason !== last) {
      if (reason === null) log.info('ready again');
      else log.warn({ reason }, 'not ready');
    }
    last = reason;
    return stopping ? STOPPING : reason;
  };
  return {
    stopping() {
      stopping = true;
    },
    endpoint(request, response) {
      switch (pathOf(request)) {
        case '/livez':
          answer(request, response, null);
          return true;
        case '/readyz':
          void readiness().then((reason) => answer(request, response, reason));
          return true;
        default:
          return false;
      }
    },
  };
}

function answer(request: IncomingMessage, response: ServerResponse, reason: Unreadiness): void {
  const body = reason === null ? { status: 'ok' } : { status: 'unavailable', reason };
  sendText(request, response, {
    status: reason === null ? 200 : 503,
    headers: reason === null ? {} : { 'retry-after': String(RETRY_AFTER) },
    contentType: JSON_TYPE,
    text: `${JSON.stringify(body)}\n`,
  });
}
