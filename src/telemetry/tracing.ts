import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import {
  type Attributes,
  type Context,
  DiagLogLevel,
  defaultTextMapGetter,
  diag,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { setGlobalErrorHandler, W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { messageOf } from '../model/errors.js';
import type { Logger } from './logging.js';

const SERVICE_NAME = 'domain-metadata-service';

/** For the last spans, in milliseconds. */
const STOP_TIMEOUT = 3000;

export interface RequestSpan {
  /** 32 digits in hexadecimal (W3C Trace Context). */
  readonly traceId: string;
  /** Runs work, with all its callbacks and promises, as part of the request. */
  run(work: () => void): void;
  /** @param status undefined: the client disconnected before there was one. */
  end(status: number | undefined): void;
}

const propagator = new W3CTraceContextPropagator();
const ignore = () => undefined;
const KINDS = { internal: SpanKind.INTERNAL, client: SpanKind.CLIENT } as const;

/** OpenTelemetry reads its standard variables itself. This file is loaded only where traces are sent. */
export class Tracing {
  readonly #log: Logger;
  readonly #provider: BasicTracerProvider;
  readonly #tracer: Tracer;
  readonly #active = new AsyncLocalStorage<Context>();

  constructor(log: Logger) {
    this.#log = log;
    // The default handler would log its stack.
    setGlobalErrorHandler((error) => log.warn({ reason: messageOf(error) }, 'traces could not be sent'));
    // An unavailable collector is not an error of the service.
    const warn = (message: string) => log.warn({ reason: message }, 'OpenTelemetry');
    const logger = { error: warn, warn, info: ignore, debug: ignore, verbose: ignore };
    diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
    this.#provider = new BasicTracerProvider({
      resource: defaultResource()
        .merge(resourceFromAttributes({ 'service.name': SERVICE_NAME }))
        .merge(detectResources({ detectors: [envDetector] })),
      spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
    });
    this.#tracer = this.#provider.getTracer(SERVICE_NAME);
  }

  /** As a child of the client's span where its headers name one. */
  startRequest(headers: Readonly<Record<string, string>>, name: string, attributes: Attributes): RequestSpan {
    const parent = propagator.extract(ROOT_CONTEXT, headers, defaultTextMapGetter);
    const span = this.#tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, parent);
    return {
      traceId: span.spanContext().traceId,
      run: (work) => this.#active.run(trace.setSpan(parent, span), work),
      end: (status) => endRequest(span, status),
    };
  }

  async trace<Result>(
    name: string,
    kind: keyof typeof KINDS,
    attributes: Attributes,
    work: () => Promise<Result>,
  ): Promise<Result> {
    const parent = this.#active.getStore() ?? ROOT_CONTEXT;
    const span = this.#tracer.startSpan(name, { kind: KINDS[kind], attributes }, parent);
    try {
      return await this.#active.run(trace.setSpan(parent, span), work);
    } catch (error) {
      // Its message may quote stored data, or the request.
      span.setStatus({ code: SpanStatusCode.ERROR });
      span.setAttribute('error.type', error instanceof Error ? error.name : 'unknown');
      throw error;
    } finally {
      span.end();
    }
  }

  async stop(): Promise<void> {
    const failed = (reason: string) => this.#log.warn({ reason }, 'the last traces could not be sent');
    const sent = this.#provider.shutdown().catch((error: unknown) => failed(messageOf(error)));
    const isLate = pause(STOP_TIMEOUT, true, { ref: false });
    if ((await Promise.race([sent, isLate])) === true) failed('they are not sent yet');
  }
}

/** OpenTelemetry's semantic conventions for HTTP: a client error is not an error of the span. */
function endRequest(span: Span, status = 0): void {
  if (status > 0) span.setAttribute('http.response.status_code', status);
  if (status >= 500) {
    span.setStatus({ code: SpanStatusCode.ERROR });
    span.setAttribute('error.type', String(status));
  }
  span.end();
}
