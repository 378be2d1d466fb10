import { csvHead } from '../../../model/csv.js';
import { DESCRIBED, schemaReference } from '../described.js';
import { linesOf } from '../media-types.js';
import { STATUS_OF_CODE } from '../problem.js';
import { type AnonymousAccess, isOpen, type Route } from '../routes.js';

const MEANING = DESCRIBED.components.responses;

/** The errors that an operation can answer with, and their header fields. */
const ERRORS: Readonly<Record<number, readonly string[]>> = {
  400: [],
  401: ['WWW-Authenticate'],
  403: ['WWW-Authenticate'],
  404: [],
  413: [],
  429: ['Retry-After', 'RateLimit', 'RateLimit-Policy'],
  431: [],
  500: [],
  503: ['Retry-After'],
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
  const validated = route.state !== null;
  const kept = [
    'X-Request-Id',
    ...(validated ? ['ETag'] : []),
    ...['Cache-Control', 'Vary', 'RateLimit', 'RateLimit-Policy'],
  ];
  return {
    200: {
      description: MEANING[200],
      headers: headersOf([
        ...kept,
        ...(validated ? ['Last-Modified'] : []),
        ...(route.body.page === undefined ? [] : ['Link']),
      ]),
      content: contentOf(route, example),
    },
    ...(validated && { 304: { description: MEANING[304], headers: headersOf(kept) } }),
    408: { description: MEANING[408], headers: headersOf(['X-Request-Id', 'Vary', 'Cache-Control']) },
    ...errorResponses(route, access),
  };
}

/** The forms of a body. */
function contentOf({ body, described }: Route, example: unknown): object {
  const { 'x-csv-row': row, 'x-stream': stream } = described;
  const [items = []] = Object.values(Object(example)).filter(Array.isArray);
  const { LastEventID } = DESCRIBED.components.parameters;
  return {
    'application/json': { schema: schemaReference(body.name), example },
    ...(body.page && {
      'text/csv': {
        schema: {
          type: 'string',
          description:
            `RFC 4180, with a line of the names: ${body.page.columns.join(', ')}. ` +
            'The next page is in `Link`.',
        },
        example: `${csvHead(body.page.columns)}${row}\r\n`,
      },
      'application/x-ndjson': {
        schema: {
          type: 'string',
          description: 'A line for each entry, as in JSON. The next page is in `Link`.',
        },
        example: linesOf(items),
      },
    }),
    ...(stream !== undefined && {
      'text/event-stream': {
        schema: { type: 'string', description: stream },
        example: `id: ${Object(LastEventID).example}\n\n`,
      },
    }),
  };
}

function headersOf(names: readonly string[]): Readonly<Record<string, object>> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function errorResponses(route: Route, access: AnonymousAccess): Readonly<Record<string, object>> {
  const never = [
    ...(route.scope === null || isOpen(route, access) ? ['403'] : []),
    ...(route.missing === null ? ['404'] : []),
  ];
  return Object.fromEntries(
    Object.entries(ERRORS)
      .filter(([status]) => !never.includes(status))
      .map(([status, fields]) => [status, errorResponse(route, Number(status), fields)]),
  );
}

function codesOf({ parameters }: Route, status: number): readonly string[] {
  if (status === 404) return ['DOMAIN_NOT_FOUND'];
  // INVALID_PARAMETER has any operation: for what is not valid HTTP.
  if (status === 400) return [...new Set([...parameters.map(codeOf), 'INVALID_PARAMETER'])];
  return Object.entries(STATUS_OF_CODE).flatMap(([code, [its]]) => (its === status ? [code] : []));
}

/** The code of a value that is not valid. */
function codeOf({ name }: Route['parameters'][number]): string {
  if (name === 'after') return 'INVALID_CURSOR';
  return /domain/i.test(name) ? 'INVALID_DOMAIN' : 'INVALID_PARAMETER';
}

/** Each adds to the schema of every error's body by `allOf`, which knows no properties but its own: that one is open. */
function errorResponse(route: Route, status: number, fields: readonly string[]): object {
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
    description: MEANING[status],
    headers: headersOf(['X-Request-Id', 'Vary', 'Cache-Control', ...fields]),
    content: {
      'application/json': content,
      // Where the header fields are not read, it is not known what the client accepts.
      ...(status === 431 ? {} : { 'application/problem+json': content }),
    },
  };
}
