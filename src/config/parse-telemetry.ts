import { invalidSecret, invalidSetting, parseUrl } from './parse.js';

/**
 * Whether traces are sent: where an endpoint or the exporter is set, and they are not disabled (OpenTelemetry
 * specification, environment variables; empty is unset).
 *
 * @param read The value of one of OpenTelemetry's variables; empty: it is not set.
 * @throws UsageError for an exporter, a protocol, an endpoint or headers that are not supported.
 */
export function wantsTraces(read: (name: string) => string): boolean {
  /** Variables for traces take precedence over those for every signal. */
  const otlp = (name: string) =>
    read(`OTEL_EXPORTER_OTLP_TRACES_${name}`) || read(`OTEL_EXPORTER_OTLP_${name}`);
  const exporter = read('OTEL_TRACES_EXPORTER');
  const endpoint = otlp('ENDPOINT');
  if (read('OTEL_SDK_DISABLED').toLowerCase() === 'true' || exporter === 'none') return false;
  if (exporter === '' && endpoint === '') return false;
  if (exporter !== '' && exporter !== 'otlp') {
    throw invalidSetting('OTEL_TRACES_EXPORTER', exporter, 'write otlp or none');
  }
  const protocol = otlp('PROTOCOL');
  if (protocol !== '' && protocol !== 'http/protobuf') {
    throw invalidSetting('OTEL_EXPORTER_OTLP_PROTOCOL', protocol, 'write http/protobuf, or leave it unset');
  }
  if (endpoint !== '' && !/^https?:$/.test(parseUrl(endpoint)?.protocol ?? '')) {
    throw invalidSecret(
      'OTEL_EXPORTER_OTLP_ENDPOINT',
      'a valid URL',
      'write one such as http://127.0.0.1:4318',
    );
  }
  const pairs = otlp('HEADERS').split(',');
  if (!pairs.every((pair) => pair.trim() === '' || HEADER.test(pair))) {
    const advice = 'write name=value, with commas between several';
    throw invalidSecret('OTEL_EXPORTER_OTLP_HEADERS', 'a list of headers', advice, 'secret');
  }
  return true;
}

/** A field name (RFC 9110, section 5.6.2), and its value. */
const HEADER = /^\s*[!#$%&'*+.^_`|~\w-]+\s*=/;
