import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/** A port of loopback that nobody listens on now: for servers that cannot take one themselves. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  // A server on a port has such an address.
  const { port } = server.address() as AddressInfo;
  await once(server.close(), 'close');
  return port;
}
