import { once } from 'node:events';
import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http';
import type { AddressInfo } from 'node:net';
import { OperationError } from '../model/errors.js';
import type { Logger } from '../telemetry/logging.js';
import { answerClientErrors } from './client-errors.js';
import { readTarget } from './request-head.js';
import { TIME_LIMITS, type TimeLimits } from './time-limits.js';

/** Where to listen. Port 0 takes a free one. */
export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly log: Logger;
  /** Absent: TIME_LIMITS. */
  readonly timeLimits?: TimeLimits | undefined;
}

/** A server that answers. */
export interface HttpServer {
  readonly port: number;
  /** Takes no more requests, and gives those under way ten seconds to be answered. */
  close(): Promise<void>;
}

/** How long, in milliseconds, requests under way may take once the server is closing. */
const LAST_REQUESTS = 10_000;
const SWEEP_EVERY = 50;

/**
 * Listens, and answers what comes by `listener`.
 *
 * @throws OperationError, one line that names the setting, where it cannot listen there.
 */
export async function startHttpServer(
  listener: RequestListener,
  { host, port, log, timeLimits = TIME_LIMITS }: ListenOptions,
): Promise<HttpServer> {
  const answer: RequestListener = (request, response) => {
    readTarget(request);
    listener(request, response);
  };
  const server = createServer(optionsOf(timeLimits), answer);
  server.setTimeout(timeLimits.silence);
  // An expectation that is not known may be passed over (RFC 9110, section 10.1.1).
  server.on('checkExpectation', answer);
  answerClientErrors(server, log);
  server.listen(port, host);
  await once(server, 'listening').catch((error: NodeJS.ErrnoException) => {
    throw new OperationError(explain(error, host, port), { cause: error });
  });
  return { port: portOf(server), close: () => close(server) };
}

function optionsOf({ header, request, idle, checkEvery }: TimeLimits): ServerOptions {
  return {
    headersTimeout: header,
    requestTimeout: request,
    keepAliveTimeout: idle,
    connectionsCheckingInterval: checkEvery,
    // Whoever answers refuses it, in the shape that all refusals have.
    requireHostHeader: false,
  };
}

function explain(error: NodeJS.ErrnoException, host: string, port: number): string {
  switch (error.code) {
    case 'EADDRINUSE':
      return `Port ${port} of ${host} is in use: set PORT to a free one, such as PORT=${port === 65_535 ? 4000 : port + 1}.`;
    case 'EACCES':
      return `Port ${port} needs more rights than this user has: set PORT to one above 1023, such as PORT=4000.`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `HOST is ${JSON.stringify(host)}, which is no address of this machine: set HOST to one, such as 127.0.0.1, or 0.0.0.0 for all of them.`;
    default:
      return `Cannot listen on port ${port} of ${host}: ${error.message}.`;
  }
}

function portOf(server: Server): number {
  const address = server.address();
  return isAddressInfo(address) ? address.port : 0;
}

function isAddressInfo(address: AddressInfo | string | null): address is AddressInfo {
  return typeof address === 'object' && address !== null;
}

async function close(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  // A connection that is kept alive becomes idle only after its last response.
  const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_EVERY);
  const limit = setTimeout(() => server.closeAllConnections(), LAST_REQUESTS);
  await closed;
  clearInterval(sweep);
  clearTimeout(limit);
}
