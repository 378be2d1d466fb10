import { PublicError } from '../model/errors.js';

/**
 * Who gets an answer; Node.js' own ServerResponse is one. Nobody waits for the answer any more once it is
 * destroyed: it is written, or the client has gone. It tells of that by the event `close`.
 */
export interface Recipient {
  readonly destroyed: boolean;
  /** Whether the answer is made: what is left is the client's reading. */
  readonly headersSent: boolean;
  /** The socket of the request: a response that waits for others on its connection has none yet. */
  readonly req: { readonly socket: { destroy(): unknown } };
  once(event: 'close', listener: () => void): unknown;
}

/** What is asked for, and who for; without a recipient it is loaded whatever happens. */
export interface Requested {
  readonly recipient?: Pick<Recipient, 'destroyed'> | undefined;
}

/** Whether what is asked for is still wanted. */
export function isWanted({ recipient }: Requested): boolean {
  return recipient?.destroyed !== true;
}

/** Nobody sees it: it settles what the client's query is still waiting for. */
export function abandoned(): Error {
  return new PublicError('UNAVAILABLE', 'The client has gone.');
}
