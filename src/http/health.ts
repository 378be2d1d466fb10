import { pathOf } from '../model/request-target.js';
import type { Logger } from '../telemetry/logging.js';
import type { Endpoint, TextResponse } from './endpoint.js';

/** Why a running process should get no requests; null: it is ready. */
type Unreadiness = {
  readonly reason: string;
  /** For the log alone. */
  readonly cause?: string | undefined;
} | null;

const STOPPING: Unreadiness = { reason: 'The service is stopping.' };

/**
 * Creates the probes: `/livez` succeeds while the process is up, `/readyz` while what it depends on is
 * available. They are at the root, whatever the base path: they are not requested through the proxy.
 *
 * @param log Gets changes of the state, and not each probe.
 * @param details What the body of `/readyz` has besides, without places: anyone may ask.
 */
export function createHealth(
  check: () => Promise<Unreadiness>,
  log: Logger,
  details: () => object = () => ({}),
) {
  let stopping = false;
  let logged = JSON.stringify(null);
  const readiness = async (): Promise<TextResponse> => {
    if (stopping) return answerOf(STOPPING);
    const unreadiness = await check();
    const state = JSON.stringify(unreadiness);
    if (state !== logged && unreadiness === null) log.info('ready again');
    else if (state !== logged) log.warn(unreadiness, 'not ready');
    logged = state;
    return answerOf(stopping ? STOPPING : unreadiness, details());
  };
  const endpoint: Endpoint = (request) => {
    const path = pathOf(request);
    if (path === '/livez') return Promise.resolve(answerOf(null));
    return path === '/readyz' ? readiness() : undefined;
  };
  return {
    endpoint,
    stopping() {
      stopping = true;
    },
  };
}

function answerOf(unreadiness: Unreadiness, details: object = {}): TextResponse {
  if (unreadiness === null) return { status: 200, text: `${JSON.stringify({ status: 'ok', ...details })}\n` };
  const body = { status: 'unavailable', reason: unreadiness.reason, ...details };
  return { status: 503, headers: { 'retry-after': '5' }, text: `${JSON.stringify(body)}\n` };
}
