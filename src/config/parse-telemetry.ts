import { choice, type Parse, parsed, parseUrl, type ReadSetting, text } from './parse.js';

const IS_SECRET = true;

const endpointUrl = parsed(
  (value) => (/^https?:$/.test(parseUrl(value)?.protocol ?? '') ? value : undefined),
  'write a URL such as http://127.0.0.1:4318',
  IS_SECRET,
);

/** A field name (RFC 9110, section 5.6.2), and its value. */
const HEADER = /^\s*[!#$%&'*+.^_`|~\w-]+\s*=/;

const headers = parsed(
  (value) => value.split(',').every((pair) => pair.trim() === '' || HEADER.test(pair)) || undefined,
  'write name=value, with commas between several',
  IS_SECRET,
);

const EXPORTER: readonly (readonly [name: string, parse: Parse<unknown>])[] = [
  ['ENDPOINT', endpointUrl],
  ['PROTOCOL', choice('http/protobuf')],
  ['HEADERS', headers],
];

/**
 * Whether traces are sent: where an endpoint or the exporter is set, and they are not disabled (OpenTelemetry
 * specification, environment variables; empty is unset). Only then the other variables are for this program.
 */
export function wantsTraces(read: ReadSetting): boolean {
  // Variables for traces take precedence over those for every signal.
  const chosen = EXPORTER.map(([name, parse]) => {
    const names = [`OTEL_EXPORTER_OTLP_TRACES_${name}`, `OTEL_EXPORTER_OTLP_${name}`];
    return { name: names.filter((each) => read(each, '', text) !== '')[0], parse };
  });
  const isDisabled = read('OTEL_SDK_DISABLED', '', text).toLowerCase() === 'true';
  const exporter = read('OTEL_TRACES_EXPORTER', '', text);
  if (isDisabled || exporter === 'none' || (exporter === '' && chosen[0]?.name === undefined)) return false;
  read('OTEL_TRACES_EXPORTER', 'otlp', choice('otlp', 'none'));
  for (const { name, parse } of chosen) if (name !== undefined) read(name, '', parse);
  return true;
}
