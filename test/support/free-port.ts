import { createServer } from 'node:net';
import { listen } from './web-server.js';

/** A port of loopback that nobody listens on now: for servers that cannot take one themselves. */
export async function freePort(): Promise<number> {
  const { port, close } = await listen(createServer());
  await close();
  return port;
}
