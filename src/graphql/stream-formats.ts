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
