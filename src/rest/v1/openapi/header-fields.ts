import type { Schema } from './schema.js';

interface HeaderField {
  readonly description: string;
  readonly schema: Schema;
  /** Whether every response that names the field has it. */
  readonly required?: boolean;
}

const TEXT = { type: 'string' };

/** The header fields of responses, by name. */
export const HEADER_FIELDS = {
  'X-Request-Id': {
    description: "The request's own `X-Request-Id`, or a new one: what the log knows the request by.",
    schema: { type: 'string', pattern: '^[A-Za-z0-9._-]{1,128}$' },
    required: true,
  },
  ETag: {
    description: 'The validator of the body, for `If-None-Match` (RFC 9110, section 8.8.3).',
    schema: { type: 'string', pattern: '^(W/)?"[^"]*"$' },
    required: true,
  },
  'Last-Modified': {
    description:
      'When something was last recorded of the domain, for `If-Modified-Since` (RFC 9110, section 8.8.2).',
    schema: TEXT,
    required: true,
  },
  'Cache-Control': {
    description: 'Who may keep the answer, and for how long without asking again (RFC 9111, section 5.2).',
    schema: TEXT,
    required: true,
  },
  Vary: {
    description: 'The header fields of the request that the answer depends on (RFC 9110, section 12.5.5).',
    schema: TEXT,
    required: true,
  },
  RateLimit: {
    description: 'What is left of the budget of requests (draft-ietf-httpapi-ratelimit-headers).',
    schema: TEXT,
    required: true,
  },
  'RateLimit-Policy': {
    description: 'The budget of requests (draft-ietf-httpapi-ratelimit-headers).',
    schema: TEXT,
    required: true,
  },
  'Retry-After': {
    description: 'After how many seconds to try again (RFC 9110, section 10.2.3).',
    schema: { type: 'integer', minimum: 1 },
    required: true,
  },
  'WWW-Authenticate': {
    description: 'What to come with instead (RFC 6750, section 3).',
    schema: { type: 'string', pattern: '^Bearer realm="[^"]*"' },
    required: true,
  },
  // Not required: what is refused before the operation is looked at, such as a bad token, has none of them.
  Deprecation: {
    description: 'Since when the operation is deprecated: `@` and seconds since 1970 (RFC 9745).',
    schema: { type: 'string', pattern: '^@-?\\d+$' },
  },
  Sunset: {
    description: 'When the operation will answer no longer (RFC 8594).',
    schema: TEXT,
  },
  Link: {
    description: 'Where the deprecation is explained: `rel="deprecation"` and `rel="sunset"`.',
    schema: TEXT,
  },
} satisfies Readonly<Record<string, HeaderField>>;

export type HeaderFieldName = keyof typeof HEADER_FIELDS;

/** The `headers` of a response. */
export function headersOf(names: readonly HeaderFieldName[]): Readonly<Record<string, object>> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
