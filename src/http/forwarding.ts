import type { IncomingMessage } from 'node:http';
import express, { type Request } from 'express';
import { clientKey } from '../limits/client-key.js';
import type { Logger } from '../telemetry/logging.js';

export type Forwarding = ReturnType<typeof readForwarding>;

const UNTRUSTED_PROXY =
  'X-Forwarded-For comes with requests and is ignored, since no proxy is trusted: clients behind a proxy ' +
  'share one rate limit. If your proxy sends it, set TRUST_PROXY, such as TRUST_PROXY=1 behind one proxy; ' +
  'otherwise ignore this';

/** Reads what proxies add to requests, as Express does. @param trustProxy Its `trust proxy`; 0: none. */
export function readForwarding(trustProxy: number | readonly string[], log: Logger) {
  const app = express();
  app.set('trust proxy', trustProxy);
  const headOf = ({ headers, socket }: IncomingMessage): Pick<Request, 'ip' | 'protocol' | 'host'> =>
    Object.assign(Object.create(app.request), { headers, socket });
  let warned = false;
  return {
    schemeOf: (request: IncomingMessage) => headOf(request).protocol,
    /** As the client has used them, such as `https://dms.example`; '' where HTTP/1.0 names no host. */
    originOf(request: IncomingMessage): string {
      const { protocol, host } = headOf(request);
      return host ? `${protocol}://${host}` : '';
    },
    clientOf(request: IncomingMessage): string {
      const { headers, socket } = request;
      const forwarding = headers[FORWARDING];
      if (trustProxy !== 0) {
        // The nearest proxies have written its end.
        if (typeof forwarding === 'string' && forwarding.length > MAX_FORWARDING)
          headers[FORWARDING] = forwarding.slice(
            forwarding.indexOf(',', forwarding.length - MAX_FORWARDING) + 1,
          );
        return clientKey(headOf(request).ip, socket.remoteAddress);
      }
      if (!warned && forwarding !== undefined) {
        warned = true;
        log.warn(UNTRUSTED_PROXY);
      }
      return clientKey(undefined, socket.remoteAddress);
    },
  };
}

/** In characters: some 60 proxies. To compare 3,800 addresses with those that are trusted takes 57 ms. */
const MAX_FORWARDING = 1_000;
const FORWARDING = 'x-forwarded-for';
