/** Attributes of a span, by OpenTelemetry's names or our own. */
export type SpanAttributes = Readonly<Record<string, string | number>>;

/** The span of one HTTP request. */
export interface RequestSpan {
  /** 32 digits in hexadecimal (W3C Trace Context). */
  readonly traceId: string;
  /** Runs some work, and all that follows from it, as part of the request. */
  run(work: () => void): void;
  /** @param status undefined: the client went before there was one. */
  end(status: number | undefined): void;
}

/** How a piece of work stands to what is at its other end: OpenTelemetry's kinds of spans. */
export type WorkKind = 'internal' | 'client';

/** Sends traces. */
export interface Tracing {
  /** Begins a request's span, under that of the client where its headers name one. */
  startRequest(
    headers: Readonly<Record<string, string>>,
    name: string,
    attributes: SpanAttributes,
  ): RequestSpan;
  /** Does a piece of work in a span of its own, and gives what it gives. */
  trace<Result>(
    name: string,
    kind: WorkKind,
    attributes: SpanAttributes,
    work: () => Promise<Result>,
  ): Promise<Result>;
  /** Sends what is left, for three seconds at most. */
  stop(): Promise<void>;
}
