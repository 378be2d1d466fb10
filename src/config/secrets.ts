/** Settings that are addresses, with a password in them perhaps. */
const ADDRESSES = [
  'DATABASE_URL',
  'REDIS_URL',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
];
/** Settings that are lists of `name=value`, with percent-encoded values that are secrets. */
const LISTS = ['OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_EXPORTER_OTLP_TRACES_HEADERS'];
/** Settings that are secrets as they are: PostgreSQL's driver reads it. */
const PLAIN = ['PGPASSWORD'];

/** The secrets in an environment, each once, as they are and as an address writes them. */
export function secretsIn(environment: Readonly<Record<string, string | undefined>>): readonly string[] {
  const values = (names: readonly string[]) => names.map((name) => environment[name] ?? '');
  const secrets = [
    ...values(ADDRESSES).map(passwordIn),
    ...values(LISTS).flatMap((list) =>
      list.split(',').map((pair) => pair.slice(pair.indexOf('=') + 1).trim()),
    ),
    ...values(PLAIN),
  ];
  return [...new Set(secrets.flatMap((secret) => [secret, decoded(secret)]))].filter((text) => text !== '');
}

function passwordIn(address: string): string {
  return URL.canParse(address) ? new URL(address).password : '';
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
