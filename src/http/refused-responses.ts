import type { ServerResponse } from 'node:http';

/** What a client was told in the place of a response, by the socket itself. */
export interface SocketRefusal {
  readonly status: number;
  /** Node.js' code of what was wrong with the request. */
  readonly reason: string | undefined;
}

const refusals = new WeakMap<ServerResponse, SocketRefusal>();

/** Remembers what a client was told in the place of a response, which itself will never be sent. */
export function markRefused(response: ServerResponse, refusal: SocketRefusal): void {
  refusals.set(response, refusal);
}

/** What the client was told in the place of this response, if it was. */
export function socketRefusalOf(response: ServerResponse): SocketRefusal | undefined {
  return refusals.get(response);
}
