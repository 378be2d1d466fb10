import { csvHead, csvLine } from '../../../model/csv.js';
import { type Schema, schemaReference, text } from '../json-schema.js';
import { linesOf } from '../media-types.js';
import { EXAMPLE_CURSOR } from '../parameters.js';
import type { PageBody } from '../presenters/page.js';
import { STATUS_OF_CODE } from '../problem.js';
import { type AnonymousAccess, isOpen, type Route } from '../routes.js';

interface HeaderField {
  readonly description: string;
  readonly schema: Schema;
  readonly example: string | number;
  /** Whether every response that names the field has it. */
  readonly required?: boolean;
}

const TEXT = { type: 'string' };

/** The header fields of responses, by name. */
export const HEADER_FIELDS = {
  'X-Request-Id': {
    description: "The request's own `X-Request-Id`, or a new one. The log has it, too.",
    schema: { type: 'string', pattern: '^[A-Za-z0-9._-]{1,128}$' },
    example: '5a1f6c2e-8f0d-4c1b-9a57-0d7c1f1f4f10',
    required: true,
  },
  ETag: {
    description:
      'The validator of the body, for `If-None-Match` (RFC 9110, section 8.8.3). None where a time of the request was a duration.',
    schema: { type: 'string', pattern: '^(W/)?"[^"]*"$' },
    example: 'W/"42-getDomain"',
  },
  'Last-Modified': {
    description:
      'When something was last recorded of the domain, for `If-Modified-Since` (RFC 9110, section 8.8.2). None where a time of ' +
      'the request was a duration.',
    schema: TEXT,
    example: 'Fri, 01 Mar 2024 10:20:31 GMT',
  },
  Link: {
    description:
      'The next page, as `rel="next"` (RFC 8288), where there is one: a path with the query. Beside a body in JSON, which has the ' +
      'cursor, it is absent where it has more than 2,000 characters.',
    schema: { type: 'string', pattern: '^</[^>]*>; rel="next"$' },
    example: `</api/v1/changes?after=${EXAMPLE_CURSOR}>; rel="next"`,
  },
  'Cache-Control': {
    description:
      'Which caches may store the response, and for how long without revalidation (RFC 9111, section 5.2).',
    schema: TEXT,
    example: 'public, no-cache',
    required: true,
  },
  Vary: {
    description: 'The header fields of the request that the response depends on (RFC 9110, section 12.5.5).',
    schema: TEXT,
    example: 'Accept, Accept-Encoding, Authorization',
    required: true,
  },
  RateLimit: {
    description: 'What is left of the rate limit (draft-ietf-httpapi-ratelimit-headers).',
    schema: TEXT,
    example: '"anonymous";r=599;t=60',
    required: true,
  },
  'RateLimit-Policy': {
    description: 'The rate limit (draft-ietf-httpapi-ratelimit-headers).',
    schema: TEXT,
    example: '"anonymous";q=600;w=60',
    required: true,
  },
  'Retry-After': {
    description: 'In how many seconds to try again (RFC 9110, section 10.2.3).',
    schema: { type: 'integer', minimum: 1 },
    example: 12,
    required: true,
  },
  'WWW-Authenticate': {
    description: 'The credentials that are needed (RFC 6750, section 3).',
    schema: { type: 'string', pattern: '^Bearer realm="[^"]*"' },
    example: 'Bearer realm="Domain Metadata Service"',
    required: true,
  },
} satisfies Readonly<Record<string, HeaderField>>;

type HeaderFieldName = keyof typeof HEADER_FIELDS;

interface ErrorResponse {
  readonly description: string;
  readonly fields?: readonly HeaderFieldName[];
}

/** The errors that an operation can answer with, by status. */
const ERRORS: Readonly<Record<number, ErrorResponse>> = {
  400: { description: 'A parameter is not valid, or the request is not valid HTTP; `detail` says why.' },
  401: {
    description:
      'No access token where one is needed, or one that is not valid: malformed, unknown, expired or revoked.',
    fields: ['WWW-Authenticate'],
  },
  403: { description: 'The access token lacks the scope of the operation.', fields: ['WWW-Authenticate'] },
  413: { description: 'The request has a body of more than 512 kB. None is needed.' },
  429: {
    description: 'The rate limit is used up.',
    fields: ['Retry-After', 'RateLimit', 'RateLimit-Policy'],
  },
  431: {
    description:
      'The header fields of the request, with its path, are larger than 16 KiB, or more than 2,000.',
  },
  500: {
    description: 'Internal error. The log has it with the `X-Request-Id` of the response.',
  },
  503: {
    description: 'The database is not available, or too many large responses are being sent.',
    fields: ['Retry-After'],
  },
};

/**
 * The schema of every error's body (RFC 9457). It is open: each response adds to it by `allOf`, which knows no
 * properties but its own.
 */
export const PROBLEM_SCHEMA: Schema = {
  type: 'object',
  description: 'A problem (RFC 9457).',
  required: ['type', 'title', 'status', 'detail', 'code'],
  properties: {
    type: { type: 'string', const: 'about:blank', description: 'Status and code are sufficient.' },
    title: text('The phrase of the status.'),
    status: { type: 'integer', minimum: 400, maximum: 599, description: 'The status of the response.' },
    detail: text('What is wrong, and what to do about it, for people.'),
    code: {
      type: 'string',
      enum: Object.keys(STATUS_OF_CODE),
      description: 'What is wrong, for programs. It never changes.',
    },
  },
};

/**
 * The responses of an operation, by status.
 *
 * @param example Of the body.
 */
export function responsesOf(
  route: Route,
  access: AnonymousAccess,
  example: unknown,
): Readonly<Record<string, object>> {
  const kept: readonly HeaderFieldName[] = [
    'X-Request-Id',
    ...(route.state === null ? [] : (['ETag'] as const)),
    'Cache-Control',
    'Vary',
    'RateLimit',
    'RateLimit-Policy',
  ];
  return {
    200: {
      description: 'What is recorded.',
      headers: headersOf([
        ...kept,
        ...(route.state === null ? [] : (['Last-Modified'] as const)),
        ...(route.body.page === undefined ? [] : (['Link'] as const)),
      ]),
      content: {
        'application/json': { schema: schemaReference(route.body.name), example },
        ...(route.body.page && linesOfPage(route.body.page, example)),
        ...(route.live && {
          'text/event-stream': {
            schema: { type: 'string', description: route.live.description },
            example: `id: ${EXAMPLE_CURSOR}\n\n`,
          },
        }),
      },
    },
    ...(route.state === null ? {} : { 304: { description: NOT_MODIFIED, headers: headersOf(kept) } }),
    408: {
      description: 'The request was not complete in time. There is no body.',
      headers: headersOf(['X-Request-Id', 'Vary', 'Cache-Control']),
    },
    ...errorResponses(route, access),
  };
}

/** The forms of a page besides JSON. */
function linesOfPage({ columns, exampleRow }: PageBody, example: unknown): Readonly<Record<string, object>> {
  const [items = []] = Object.values(Object(example)).filter(Array.isArray);
  return {
    'text/csv': {
      schema: {
        type: 'string',
        description: `RFC 4180, with a line of the names: ${columns.join(', ')}. The next page is in \`Link\`.`,
      },
      example: csvHead(columns) + csvLine(columns, exampleRow),
    },
    'application/x-ndjson': {
      schema: {
        type: 'string',
        description: 'A line for each entry, as in JSON. The next page is in `Link`.',
      },
      example: linesOf(items),
    },
  };
}

const NOT_MODIFIED = 'Nothing was recorded since the answer that the client has. There is no body.';

function headersOf(names: readonly HeaderFieldName[]): Readonly<Record<string, object>> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function errorResponses(route: Route, access: AnonymousAccess): Readonly<Record<string, object>> {
  const { 403: forbidden, ...always } = ERRORS;
  const errors = {
    ...always,
    ...(route.scope === null || isOpen(route, access) || forbidden === undefined ? {} : { 403: forbidden }),
    ...(route.missing === null ? {} : { 404: { description: route.missing.meaning } }),
  };
  return Object.fromEntries(
    Object.entries(errors).map(([status, error]) => [status, errorResponse(route, Number(status), error)]),
  );
}

/** INVALID_PARAMETER has any operation: for what is not valid HTTP. */
function codesOf({ parameters, missing }: Route, status: number): readonly string[] {
  if (status === 404) return missing === null ? [] : [missing.code];
  if (status === 400) {
    const own = Object.values(parameters).map(({ errorCode }) => errorCode);
    return [...new Set([...own, 'INVALID_PARAMETER'])];
  }
  return Object.entries(STATUS_OF_CODE).flatMap(([code, [its]]) => (its === status ? [code] : []));
}

function errorResponse(route: Route, status: number, { description, fields = [] }: ErrorResponse): object {
  const content = {
    schema: {
      allOf: [
        schemaReference('Problem'),
        {
          type: 'object',
          properties: {
            status: { type: 'integer', const: status },
            code: { type: 'string', enum: codesOf(route, status) },
          },
        },
      ],
    },
  };
  return {
    description,
    headers: headersOf(['X-Request-Id', 'Vary', 'Cache-Control', ...fields]),
    content: {
      'application/json': content,
      // Where the header fields are not read, it is not known what the client accepts.
      ...(status === 431 ? {} : { 'application/problem+json': content }),
    },
  };
}
