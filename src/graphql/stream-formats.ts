/** How results are written to a client that listens, each given as JSON. */
export interface StreamFormat {
  /** The value of Content-Type. */
  readonly mediaType: string;
  readonly begin: string;
  /** Tells nothing but that the stream is open. */
  readonly heartbeat: string;
  next(result: string): string;
  readonly end: string;
}

/** GraphQL over SSE, distinct connections. */
export const EVENTS: StreamFormat = {
  mediaType: 'text/event-stream; charset=utf-8',
  begin: '',
  heartbeat: ':\n\n',
  next: (result) => `event: next\ndata: ${result}\n\n`,
  end: 'event: complete\ndata:\n\n',
};

/**
 * Apollo's protocol for subscriptions by multipart/mixed. A part is followed by its delimiter at once, since
 * clients know only then that it is whole.
 */
export const PARTS: StreamFormat = {
  mediaType: 'multipart/mixed;boundary="-";subscriptionSpec=1.0',
  begin: '\r\n---',
  heartbeat: partOf('{}'),
  next: (result) => partOf(`{"payload":${result}}`),
  end: '--\r\n',
};

function partOf(json: string): string {
  return `\r\nContent-Type: application/json\r\n\r\n${json}\r\n---`;
}
