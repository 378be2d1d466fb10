const REDACTED = '[redacted]';

/** In headers, queries, connection strings and JSON. */
const SECRET_NAMES =
  '(?:proxy-)?authorization|(?:set-)?cookie|x-api-key|[a-z_-]{0,20}(?:token|password|passwd|secret|api_?key|signature)';

const JSON_TEXT = '"(?:[^"\\\\]|\\\\.)*"';

/** Checked first: most lines have none of it. Without the first letters the check is faster. */
const SUSPICIOUS = /ms_|eyj|:\/\/|earer|asic|oken|assw|ecret|key|horiz|ookie|gnatur/i;

// Each begins with a fixed text or repeats a bounded number of times: no path of a client makes it slow.
const REPLACEMENTS: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  // In JSON, a text or a list of texts; first, while what is in them is as it was written.
  [
    new RegExp(`("(?:${SECRET_NAMES})":)(?:${JSON_TEXT}|\\[${JSON_TEXT}(?:,${JSON_TEXT})*\\])`, 'gi'),
    `$1"${REDACTED}"`,
  ],
  [new RegExp(`(\\\\"(?:${SECRET_NAMES})\\\\": ?\\\\")[^"\\\\]*`, 'gi'), `$1${REDACTED}`],
  // Access tokens of our own, and JSON Web Tokens (RFC 7519).
  [/dms_[A-Za-z0-9_-]{20,}/g, `dms_${REDACTED}`],
  [/(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]*)?/g, REDACTED],
  // The credentials of an Authorization field (RFC 9110, section 11.4).
  [/\b(bearer|basic)(?: |%20|\+){1,9}[A-Za-z0-9._~+/=%-]{6,}/gi, `$1 ${REDACTED}`],
  // User and password of an address (RFC 3986, section 3.2.1), but not the placeholders of hints.
  [/:\/\/(?!user:password@)[^\s"/@\\?#]{1,500}@/g, `://${REDACTED}@`],
  // In a query, a form or a connection string.
  [new RegExp(`(${SECRET_NAMES})(=|%3d)[^\\s&"'\\\\;,]{1,9999}`, 'gi'), `$1$2${REDACTED}`],
];

/** Redacts what looks like a secret: tokens, passwords, and values of fields with such names. */
export function redactSecrets(text: string): string {
  if (!SUSPICIOUS.test(text)) return text;
  return REPLACEMENTS.reduce((redacted, [pattern, by]) => redacted.replace(pattern, by), text);
}

/** Shorter secrets would redact too much that is not one: they are redacted where they look like secrets. */
const SHORTEST_SECRET = 8;

/** Like redactSecrets(), and known secrets anywhere: as they are, percent-encoded, and escaped as in JSON. */
export function redactorOf(secrets: readonly string[]): (text: string) => string {
  const known = secrets.filter(({ length }) => length >= SHORTEST_SECRET);
  const forms = known.flatMap((one) => [one, encodeURIComponent(one), JSON.stringify(one).slice(1, -1)]);
  return (text) =>
    redactSecrets(forms.reduce((redacted, secret) => redacted.replaceAll(secret, REDACTED), text));
}
