import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { listen } from './web-server.js';

interface ReceivedMessage {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly octets: Buffer;
  readonly body: string;
}

/** Starts a receiver on loopback. @param respond Without an end of the response, it hangs. */
export async function startReceiver(
  respond: (response: ServerResponse, count: number) => void = (response) => response.writeHead(204).end(),
) {
  const received: ReceivedMessage[] = [];
  const receiver = { respond };
  const server = createServer(async (request, response) => {
    const { method, url: path, headers } = request;
    const octets = await buffer(request);
    received.push({ method, path, headers, octets, body: octets.toString() });
    receiver.respond(response, received.length);
  });
  const { port, close } = await listen(server);
  return Object.assign(receiver, { received, url: `http://127.0.0.1:${port}/hooks/a-secret-path`, close });
}
