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
 * @param cause What the log alone is told beside the reason; null: nothing.
 */
export function createHealth(
  unreadiness: () => Promise<Unreadiness>,
  log: Logger,
  cause: () => string | null = () => null,
): Health {
  let stopping = false;
  const tell = changesTo(log);
  const readiness = async (): Promise<Unreadiness> => {
    if (stopping) return STOPPING;
    const reason = await unreadiness();
    tell(reason, reason === null ? null : cause());
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

/** Tells the log of a state, unless it is the one before. */
function changesTo(log: Logger): (reason: Unreadiness, cause: string | null) => void {
  let last = JSON.stringify([null, null]);
  return (reason, cause) => {
    const state = JSON.stringify([reason, cause]);
    if (state === last) return;
    last = state;
    if (reason === null) log.info('ready again');
    else log.warn({ reason, ...(cause === null ? {} : { cause }) }, 'not ready');
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
