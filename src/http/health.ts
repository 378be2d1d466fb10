import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from '../telemetry/logging.js';
import { type Endpoint, JSON_TYPE, pathOf, sendText } from './endpoint.js';

/** Why a running process should get no requests; null: it is ready. */
export type Unreadiness = string | null;

/** A database that the process depends on, as `/readyz` shows it. */
export interface DatabaseHealth {
  readonly role: string;
  /** Why it is left out; null: it is in use. */
  readonly reason: string | null;
  /** How far it is behind the primary, in milliseconds; null: not known. */
  readonly lag: number | null;
}

/** The probes of a process. */
interface Health {
  /** Answers `/livez` and `/readyz`. */
  readonly endpoint: Endpoint;
  /** Makes the process not ready: it is stopping. */
  stopping(): void;
}

/** In seconds. */
const RETRY_AFTER = 5;
const STOPPING = 'The service is stopping.';

/**
 * Creates the probes: `/livez` succeeds while the process is up, `/readyz` while what it depends on is available. They
 * are at the root, whatever the base path: they are not requested through the proxy.
 *
 * @param unreadiness Checks what the process depends on, within a short time.
 * @param log Gets changes of the state, and not each probe.
 * @param cause For the log alone, beside the reason.
 * @param databases What `/readyz` shows besides; absent: nothing.
 */
export function createHealth(
  unreadiness: () => Promise<Unreadiness>,
  log: Logger,
  cause: () => string | null = () => null,
  databases?: () => readonly DatabaseHealth[],
): Health {
  let stopping = false;
  const logState = stateLogger(log);
  const readiness = async (): Promise<Unreadiness> => {
    if (stopping) return STOPPING;
    const reason = await unreadiness();
    logState(reason, reason === null ? null : cause());
    return stopping ? STOPPING : reason;
  };
  return {
    stopping() {
      stopping = true;
    },
    endpoint(request, response) {
      switch (pathOf(request)) {
        case '/livez':
          respond(request, response, null);
          return true;
        case '/readyz':
          void readiness().then((reason) => respond(request, response, reason, databases?.().map(shown)));
          return true;
        default:
          return false;
      }
    },
  };
}

/** Logs a state, unless it is the one before. */
function stateLogger(log: Logger): (reason: Unreadiness, cause: string | null) => void {
  let last = JSON.stringify([null, null]);
  return (reason, cause) => {
    const state = JSON.stringify([reason, cause]);
    if (state === last) return;
    last = state;
    if (reason === null) log.info('ready again');
    else log.warn({ reason, ...(cause === null ? {} : { cause }) }, 'not ready');
  };
}

/** Without its place: anyone may ask. */
function shown({ role, reason, lag }: DatabaseHealth): object {
  return { role, state: reason === null ? 'in use' : 'left out', reason, lag: lag && lag / 1000 };
}

/** @param databases Undefined: they are not shown. */
function respond(
  request: IncomingMessage,
  response: ServerResponse,
  reason: Unreadiness,
  databases?: readonly object[],
): void {
  const state = reason === null ? { status: 'ok' } : { status: 'unavailable', reason };
  const body = { ...state, databases };
  sendText(request, response, {
    status: reason === null ? 200 : 503,
    headers: reason === null ? {} : { 'retry-after': String(RETRY_AFTER) },
    contentType: JSON_TYPE,
    text: `${JSON.stringify(body)}\n`,
  });
}
