import { PublicError } from '../model/errors.js';

/**
 * A response in progress, such as Node.js' own ServerResponse. It is destroyed once it is written or the client has
 * disconnected, and then emits `close`.
 */
export interface Recipient {
  readonly destroyed: boolean;
  /** Whether the response is made: what remains is the client's reading. */
  readonly headersSent: boolean;
  /** The socket of the request: a response that waits for others on its connection has none yet. */
  readonly req: { readonly socket: { destroy(): unknown } };
  once(event: 'close', listener: () => void): unknown;
}

/** What is loaded for a recipient; without one it is always loaded. */
export interface Requested {
  readonly recipient?: Pick<Recipient, 'destroyed'> | undefined;
}

/** Whether the recipient still waits for it. */
export function isWanted({ recipient }: Requested): boolean {
  return recipient?.destroyed !== true;
}

/** The error for what a disconnected client was waiting for. No client sees it. */
export function abandoned(): Error {
  return new PublicError('UNAVAILABLE', 'The client has gone.');
}
