/** Attributes of a span, by OpenTelemetry's names or our own. */
export type SpanAttributes = Readonly<Record<string, string | number>>;

/** The span of one HTTP request. */
export interface RequestSpan {
  /** 32 digits in hexadecimal (W3C Trace Context). */
  readonly traceId: string;
  /** Runs work, with all its callbacks and promises, as part of the request. */
  run(work: () => void): void;
  /** @param status undefined: the client disconnected before there was one. */
  end(status: number | undefined): void;
}

/** OpenTelemetry's kinds of spans. */
export type WorkKind = 'internal' | 'client';

/** Sends traces. */
export interface Tracing {
  /** Begins a request's span, as a child of the client's where its headers name one. */
  startRequest(
    headers: Readonly<Record<string, string>>,
    name: string,
    attributes: SpanAttributes,
  ): RequestSpan;
  /** Does work in a span of its own, and returns its result. */
  trace<Result>(
    name: string,
    kind: WorkKind,
    attributes: SpanAttributes,
    work: () => Promise<Result>,
  ): Promise<Result>;
  /** Sends the last spans, for three seconds at most. */
  stop(): Promise<void>;
}
