import { attempt } from '../model/attempt.js';
import { parseUrl, splitList } from './parse.js';

/** Settings that are URLs, perhaps with a password. */
const URLS = [
  'DATABASE_URL',
  'REDIS_URL',
  'SMTP_URL',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
];
const URL_LISTS = ['DATABASE_READ_URLS'];
/** Settings that are lists of `name=value`, with percent-encoded values that are secrets. */
const LISTS = ['OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_EXPORTER_OTLP_TRACES_HEADERS'];
/** Settings that are secrets as they are: PostgreSQL's driver reads it. */
const PLAIN = ['PGPASSWORD'];

/** The secrets in an environment, each once, decoded and as in a URL. */
export function secretsIn(environment: Readonly<Record<string, string | undefined>>): readonly string[] {
  const values = (names: readonly string[]) => names.map((name) => environment[name] ?? '');
  const secrets = [
    ...values(URLS).map(passwordIn),
    ...values(URL_LISTS).flatMap(splitList).map(passwordIn),
    ...values(LISTS).flatMap((list) =>
      list.split(',').map((pair) => pair.slice(pair.indexOf('=') + 1).trim()),
    ),
    ...values(PLAIN),
  ];
  return [
    ...new Set(secrets.flatMap((secret) => [secret, attempt(() => decodeURIComponent(secret)) ?? ''])),
  ].filter((text) => text !== '');
}

function passwordIn(url: string): string {
  return parseUrl(url)?.password ?? '';
}
