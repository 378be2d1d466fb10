import type { IncomingMessage, ServerResponse } from 'node:http';
import { methodNotAllowed } from '../model/errors.js';
import { isLoopback } from '../model/ip-address.js';
import { pathOf } from '../model/request-target.js';
import { sendBody } from '../rest/v1/problem.js';
import type { Logger } from '../telemetry/logging.js';
import { DEFAULT_FIELDS, REQUEST_ID_FIELD, requestIdOf } from './response-fields.js';

/** Undefined for requests of others. Endpoints are neither authenticated, limited nor logged. */
export type Endpoint = (request: IncomingMessage) => Promise<TextResponse> | undefined;

interface TextResponse {
  readonly status: number;
  /** JSON, if its fields do not say otherwise. */
  readonly text: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** @returns whether the request is for the endpoint, also by a method that is rejected. */
export function answerAt(endpoint: Endpoint, request: IncomingMessage, response: ServerResponse): boolean {
  const answer = endpoint(request);
  void answer?.then((answered) => {
    if (response.headersSent) return;
    const isAllowed = request.method === 'GET' || request.method === 'HEAD';
    const notAllowed = {
      status: 405,
      headers: { allow: 'GET, HEAD' },
      text: rejected(methodNotAllowed('GET or HEAD')),
    };
    const { status, headers, text } = isAllowed ? answered : notAllowed;
    const fields = { ...DEFAULT_FIELDS, [REQUEST_ID_FIELD]: requestIdOf(request.headers) };
    const json = { 'content-type': 'application/json; charset=utf-8' };
    sendBody(response, status, { ...fields, ...json, ...headers }, text);
  });
  return answer !== undefined;
}

export async function nothingHere(): Promise<TextResponse> {
  return { status: 404, text: rejected('There is nothing at this path: use /livez, /readyz or /metrics.') };
}

function rejected(reason: string): string {
  return `${JSON.stringify({ status: 'rejected', reason })}\n`;
}

/** Why a running process should get no requests; null: it is ready. */
type Unreadiness = {
  readonly reason: string;
  /** For the log alone. */
  readonly cause?: string | undefined;
} | null;

/**
 * `/livez` succeeds while the process is up, `/readyz` while what it depends on is available. They are at the
 * root, whatever the base path: they are not requested through the proxy.
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
    const stopped = { reason: 'The service is stopping.' };
    if (stopping) return answerOf(stopped);
    const unreadiness = await check();
    const state = JSON.stringify(unreadiness);
    if (state !== logged && unreadiness === null) log.info('ready again');
    else if (state !== logged) log.warn(unreadiness, 'not ready');
    logged = state;
    return answerOf(stopping ? stopped : unreadiness, details());
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

export interface Exposition {
  readonly contentType: string;
  text(): Promise<string>;
}

/** @param isAllowed All others get 404. */
export function metricsEndpoint(
  exposition: Exposition,
  log: Logger,
  isAllowed: (request: IncomingMessage) => boolean = () => true,
): Endpoint {
  return (request) => {
    if (pathOf(request) !== '/metrics' || !isAllowed(request)) return undefined;
    return exposition.text().then(
      (text) => ({ status: 200, headers: { 'content-type': exposition.contentType }, text }),
      (err: unknown) => {
        log.error({ err }, 'metrics failed');
        const text = 'The metrics could not be read. The log has the cause.\n';
        return { status: 500, headers: { 'content-type': 'text/plain; charset=utf-8' }, text };
      },
    );
  };
}

/** Added by a proxy, or by a browser for a page of another site. */
const OF_OTHERS = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via', 'origin'];

/**
 * Whether a request comes from this machine itself: from a loopback address, by a name that only this
 * machine answers to (which a page whose name was turned to it cannot have), and through no proxy that says so.
 */
export function isFromThisMachine({ socket, headers }: IncomingMessage): boolean {
  const host = headers.host?.replace(/:\d*$/, '').replace(/^\[(.*)\]$/, '$1') ?? '';
  return (
    isLoopback(socket.remoteAddress ?? '') &&
    isLoopback(host) &&
    OF_OTHERS.every((name) => headers[name] === undefined)
  );
}
