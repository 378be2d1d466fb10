import { durationOf } from '../model/duration.js';
import { UsageError } from '../model/errors.js';
import { badSetting } from './parse.js';

const LONGEST_SHUTDOWN = 600_000_000n;

/** A time limit as a duration, in milliseconds. @throws UsageError for none, and for more than ten minutes. */
export function parseShutdownTimeout(name: string, value: string): number {
  const duration = durationOf(value);
  if (duration !== undefined && duration <= LONGEST_SHUTDOWN) return Number(duration / 1000n);
  throw badSetting(name, value, 'write a time up to ten minutes, such as 10s');
}

/** A port, 0 for a free one; empty: undefined. @throws UsageError for anything else. */
export function parseOptionalPort(name: string, value: string): number | undefined {
  if (value === '') return undefined;
  const port = /^\d{1,5}$/.test(value) ? Number(value) : Number.NaN;
  if (port <= 65_535) return port;
  throw badSetting(name, value, 'write a port from 0 to 65535, or leave it unset');
}

/** What the standard variables say that decide whether traces are sent. */
export interface TraceVariables {
  /** OTEL_SDK_DISABLED. */
  readonly disabled: string;
  /** OTEL_TRACES_EXPORTER. */
  readonly exporter: string;
  /** OTEL_EXPORTER_OTLP_TRACES_PROTOCOL or OTEL_EXPORTER_OTLP_PROTOCOL. */
  readonly protocol: string;
  /** OTEL_EXPORTER_OTLP_TRACES_ENDPOINT or OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly endpoint: string;
  /** OTEL_EXPORTER_OTLP_TRACES_HEADERS or OTEL_EXPORTER_OTLP_HEADERS. */
  readonly headers: string;
}

/**
 * Whether traces are sent: where an endpoint is named, or the exporter, and nothing says no (OpenTelemetry
 * specification, environment variables; empty is unset).
 *
 * @throws UsageError for an exporter, a protocol, an endpoint or headers that this program does not know.
 */
export function wantsTraces({ disabled, exporter, protocol, endpoint, headers }: TraceVariables): boolean {
  if (disabled.toLowerCase() === 'true' || exporter === 'none') return false;
  if (exporter === '' && endpoint === '') return false;
  if (exporter !== '' && exporter !== 'otlp') {
    throw badSetting('OTEL_TRACES_EXPORTER', exporter, 'write otlp or none');
  }
  if (protocol !== '' && protocol !== 'http/protobuf') {
    throw badSetting('OTEL_EXPORTER_OTLP_PROTOCOL', protocol, 'write http/protobuf, or leave it unset');
  }
  if (endpoint !== '' && !/^https?:$/.test(protocolOf(endpoint))) {
    throw new UsageError(
      'OTEL_EXPORTER_OTLP_ENDPOINT is no address (it is not shown, since it may hold a password): ' +
        'write one such as http://127.0.0.1:4318.',
    );
  }
  if (!headers.split(',').every((pair) => pair.trim() === '' || HEADER.test(pair))) {
    throw new UsageError(
      'OTEL_EXPORTER_OTLP_HEADERS is no list of headers (it is not shown, since it may hold a secret): ' +
        'write name=value, with commas between several.',
    );
  }
  return true;
}

/** A field name (RFC 9110, section 5.6.2), and its value. */
const HEADER = /^\s*[!#$%&'*+.^_`|~\w-]+\s*=/;

function protocolOf(address: string): string {
  return URL.canParse(address) ? new URL(address).protocol : '';
}

/** Where the service listens, and its metrics; undefined: these have no port of their own. */
interface Listening {
  readonly host: string;
  readonly port: number;
  readonly metricsHost: string;
  readonly metricsPort: number | undefined;
}

const ALL_ADDRESSES = ['0.0.0.0', '::'];

/** @throws UsageError where both are to listen on one port of one address. */
export function requireOwnMetricsPort({ host, port, metricsHost, metricsPort }: Listening): void {
  if (port === 0 || port !== metricsPort) return;
  if (host !== metricsHost && ![host, metricsHost].some((one) => ALL_ADDRESSES.includes(one))) return;
  throw new UsageError(`PORT and METRICS_PORT are both ${port}: set one of them to another port.`);
}
