/**
 * Who gets an answer; Node.js' own ServerResponse is one. Nobody waits for the answer any more once it is
 * destroyed: the client has gone.
 */
export interface Recipient {
  readonly destroyed: boolean;
}

/** What is asked for, and who for; without a recipient it is loaded whatever happens. */
export interface Requested {
  readonly recipient?: Recipient | undefined;
}

/** Whether what is asked for is still wanted. */
export function isWanted({ recipient }: Requested): boolean {
  return recipient?.destroyed !== true;
}
