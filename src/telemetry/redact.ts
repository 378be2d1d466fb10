const REDACTED = '[redacted]';

/** Names of what holds a secret, in headers, queries, connection strings and JSON. */
const SECRET_NAMES =
  '(?:proxy-)?authorization|(?:set-)?cookie|x-api-key|[a-z_-]{0,20}(?:token|password|passwd|secret|api_?key|signature)';

/** Looked for first: most lines hold nothing that is to be looked at closer. */
const SUSPICIOUS =
  /dms_|eyJ|:\/\/|bearer|basic|token|passw|secret|api_?-?key|authorization|cookie|signature/i;

// Each begins with a fixed text or repeats a bounded number of times: a client's path cannot make one slow.
const REPLACEMENTS: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  // Access tokens of our own, and JSON Web Tokens (RFC 7519).
  [/dms_[A-Za-z0-9_-]{20,}/g, `dms_${REDACTED}`],
  [/eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]*)?/g, REDACTED],
  // The credentials of an Authorization field (RFC 9110, section 11.4).
  [/\b(bearer|basic)(?: |%20|\+){1,9}[A-Za-z0-9._~+/=%-]{6,}/gi, `$1 ${REDACTED}`],
  // User and password of an address (RFC 3986, section 3.2.1).
  [/:\/\/[^\s"/@\\?#]{1,500}@/g, `://${REDACTED}@`],
  // In a query, a form or a connection string.
  [new RegExp(`(${SECRET_NAMES})(=|%3d)[^\\s&"'\\\\;,]{1,9999}`, 'gi'), `$1$2${REDACTED}`],
  // In JSON, and in JSON that is quoted in JSON.
  [new RegExp(`("(?:${SECRET_NAMES})":)(?:"(?:[^"\\\\]|\\\\.)*"|\\[[^\\]]*\\])`, 'gi'), `$1"${REDACTED}"`],
  [new RegExp(`(\\\\"(?:${SECRET_NAMES})\\\\": ?\\\\")[^"\\\\]*`, 'gi'), `$1${REDACTED}`],
];

/** A text without what looks like a secret: tokens, passwords, and what fields named after them hold. */
export function redactSecrets(text: string): string {
  if (!SUSPICIOUS.test(text)) return text;
  return REPLACEMENTS.reduce((redacted, [pattern, by]) => redacted.replace(pattern, by), text);
}

/** Shorter secrets would take too much of a line with them that is none. */
const SHORTEST_SECRET = 8;

/**
 * Makes a function like redactSecrets() that knows some secrets, too, wherever they stand: as they are,
 * percent-encoded, and as JSON writes them.
 *
 * @param secrets Those of less than eight characters are found only where they look like secrets.
 */
export function redactorOf(secrets: readonly string[]): (text: string) => string {
  const known = secrets.filter(({ length }) => length >= SHORTEST_SECRET);
  const forms = known.flatMap((secret) => [
    secret,
    encodeURIComponent(secret),
    JSON.stringify(secret).slice(1, -1),
  ]);
  return (text) => redactSecrets([...new Set(forms)].reduce(withoutSecret, text));
}

function withoutSecret(text: string, secret: string): string {
  return text.includes(secret) ? text.replaceAll(secret, REDACTED) : text;
}
