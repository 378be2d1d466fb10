import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Context,
  DiagLogLevel,
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
import type { Logger } from './logging.js';
import type { RequestSpan, SpanAttributes, Tracing, WorkKind } from './tracing.js';

const SERVICE_NAME = 'domain-metadata-service';

/** How long, in milliseconds, sending the last spans may take. */
const STOP_TIMEOUT = 3000;

/** The current span, through promises and timers. */
type ActiveContext = AsyncLocalStorage<Context>;

/** Sends traces by OpenTelemetry, set up by its standard variables, which it reads itself. */
export function openTelemetry(log: Logger): Tracing {
  // The default handler would log the error as JSON, with its stack.
  setGlobalErrorHandler((error) => log.warn({ reason: reasonOf(error) }, 'traces could not be sent'));
  diag.setLogger(diagnosticsTo(log), { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  const provider = new BasicTracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': SERVICE_NAME }))
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  });
  const tracer = provider.getTracer(SERVICE_NAME);
  const active: ActiveContext = new AsyncLocalStorage();
  return {
    startRequest: (headers, name, attributes) => startRequest(tracer, active, headers, name, attributes),
    trace: (name, kind, attributes, work) => traceWork(tracer, active, name, kind, attributes, work),
    stop: () => stop(provider, log),
  };
}

const propagator = new W3CTraceContextPropagator();
const HEADERS = {
  get: (headers: Headers, name: string) => headers[name],
  keys: (headers: Headers) => Object.keys(headers),
};
type Headers = Parameters<Tracing['startRequest']>[0];

function startRequest(
  tracer: Tracer,
  active: ActiveContext,
  headers: Headers,
  name: string,
  attributes: SpanAttributes,
): RequestSpan {
  const parent = propagator.extract(ROOT_CONTEXT, headers, HEADERS);
  const span = tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, parent);
  return {
    traceId: span.spanContext().traceId,
    run: (work) => active.run(trace.setSpan(parent, span), work),
    end: (status) => endRequest(span, status),
  };
}

/** OpenTelemetry's semantic conventions for HTTP: a client error is not an error of the span. */
function endRequest(span: Span, status: number | undefined): void {
  if (status !== undefined) span.setAttribute('http.response.status_code', status);
  if (status !== undefined && status >= 500) {
    span.setStatus({ code: SpanStatusCode.ERROR });
    span.setAttribute('error.type', String(status));
  }
  span.end();
}

const KINDS: Readonly<Record<WorkKind, SpanKind>> = { internal: SpanKind.INTERNAL, client: SpanKind.CLIENT };

async function traceWork<Result>(
  tracer: Tracer,
  active: ActiveContext,
  name: string,
  kind: WorkKind,
  attributes: SpanAttributes,
  work: () => Promise<Result>,
): Promise<Result> {
  const parent = active.getStore() ?? ROOT_CONTEXT;
  const span = tracer.startSpan(name, { kind: KINDS[kind], attributes }, parent);
  try {
    return await active.run(trace.setSpan(parent, span), work);
  } catch (error) {
    // Its message may quote stored data, or the request.
    span.setStatus({ code: SpanStatusCode.ERROR });
    span.setAttribute('error.type', error instanceof Error ? error.name : 'unknown');
    throw error;
  } finally {
    span.end();
  }
}

async function stop(provider: BasicTracerProvider, log: Logger): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(() => {
      log.warn('the last traces could not be sent in time');
      resolve();
    }, STOP_TIMEOUT);
  });
  const sent = provider
    .shutdown()
    .catch((error: unknown) => log.warn({ reason: reasonOf(error) }, 'the last traces could not be sent'));
  await Promise.race([sent, limit]);
  clearTimeout(timer);
}

/** OpenTelemetry's own messages; an unavailable collector is not an error of the service. */
function diagnosticsTo(log: Logger) {
  const warn = (message: string) => log.warn({ reason: message }, 'OpenTelemetry');
  return { error: warn, warn, info: ignore, debug: ignore, verbose: ignore };
}

/** The error of several addresses has no message of its own. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(reasonOf).join('; ');
  return error instanceof Error ? error.message : String(error);
}

function ignore(): void {}
