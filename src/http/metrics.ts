import type { IncomingMessage } from 'node:http';
import { isLoopback } from '../model/ip-address.js';
import { pathOf } from '../model/request-target.js';
import type { Logger } from '../telemetry/logging.js';
import type { Endpoint } from './endpoint.js';

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
