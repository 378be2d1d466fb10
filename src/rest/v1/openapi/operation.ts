import { type AnonymousAccess, isOpen } from '../anonymous-access.js';
import type { Route } from '../routes.js';
import { foundExamples, INVALID_DOMAIN, problemExamples, SAMPLE_DOMAIN, UNKNOWN_DOMAIN } from './examples.js';
import { type HeaderFieldName, headersOf } from './header-fields.js';
import { examplesOf, type ProblemStatus, problemResponse } from './problems.js';
import { schemaReference } from './schema.js';

/** The name of the security scheme. */
export const TOKEN_SCHEME = 'accessToken';

/** An operation of the table as OpenAPI has it. */
export function operationOf(route: Route, access: AnonymousAccess): object {
  return {
    operationId: route.operationId,
    summary: route.name,
    description: descriptionOf(route, access),
    tags: ['Domains'],
    'x-maturity': route.maturity,
    ...(route.deprecation === undefined ? {} : { deprecated: true }),
    parameters: parametersOf(route),
    security: securityOf(route, access),
    responses: responsesOf(route, access),
  };
}

/** What an empty object is among them: nothing is needed (OpenAPI 3.1.1, section 4.8.10). */
function securityOf(route: Route, access: AnonymousAccess): readonly object[] {
  if (isOpen(route, access)) return [{}, { [TOKEN_SCHEME]: [] }];
  return [{ [TOKEN_SCHEME]: route.scope === null ? [] : [route.scope] }];
}

function descriptionOf(route: Route, access: AnonymousAccess): string {
  const { description, maturity, deprecation } = route;
  const paragraphs = [description, `Maturity: **${maturity}**.`, accessOf(route, access)];
  if (deprecation !== undefined) {
    const { since, sunset, notice } = deprecation;
    const end = sunset === undefined ? '' : ` It answers until ${dayOf(sunset)}.`;
    paragraphs.push(`Deprecated since ${dayOf(since)}.${end} What to use instead: <${notice}>`);
  }
  return paragraphs.join('\n\n');
}

function accessOf(route: Route, access: AnonymousAccess): string {
  const { scope } = route;
  if (isOpen(route, access)) {
    const opened = ": the server's `ANONYMOUS_SCOPES` opens to everybody what has the scope";
    return `Needs no access token${scope === null ? '' : `${opened} \`${scope}\``}.`;
  }
  if (scope === null) return 'Needs an access token.';
  const opened = access.tokenRequired ? '' : ", unless the server's `ANONYMOUS_SCOPES` opens it to everybody";
  return `Needs an access token with the scope \`${scope}\`${opened}.`;
}

function dayOf(date: Date): string {
  return date.toISOString().slice(0, 10);
}

function parametersOf(route: Route): readonly object[] {
  const found = Object.keys(foundExamples(route));
  // The page of the document tries the first one.
  const names = new Set([SAMPLE_DOMAIN, ...found, UNKNOWN_DOMAIN, INVALID_DOMAIN]);
  const domain = {
    name: 'domain',
    in: 'path',
    required: true,
    description:
      'The domain, in Unicode or as A-labels, in any case, with or without a final dot. At most 253 ' +
      'characters as A-labels; labels of 1 to 63 letters, digits, `-` and `_`; no IP address.',
    schema: { type: 'string', minLength: 1 },
    examples: examplesOf(Object.fromEntries(Array.from(names, (name) => [name, name]))),
  };
  return [
    domain,
    { $ref: '#/components/parameters/IfNoneMatch' },
    { $ref: '#/components/parameters/IfModifiedSince' },
  ];
}

function responsesOf(route: Route, access: AnonymousAccess): Readonly<Record<string, object>> {
  const always = fieldsOfEvery(route);
  const statuses: readonly ProblemStatus[] = [
    400,
    401,
    ...(route.scope === null || isOpen(route, access) ? [] : [403 as const]),
    404,
    413,
    429,
    431,
    500,
    503,
  ];
  const cached: readonly HeaderFieldName[] = [
    'ETag',
    'Cache-Control',
    'Vary',
    'RateLimit',
    'RateLimit-Policy',
  ];
  return {
    200: {
      description: 'What is recorded.',
      headers: headersOf([...always, 'Last-Modified', ...cached]),
      content: {
        'application/json': {
          schema: schemaReference(route.body),
          examples: examplesOf(foundExamples(route)),
        },
      },
    },
    304: {
      description: 'Nothing was recorded since the answer that the client has. There is no body.',
      headers: headersOf([...always, ...cached]),
    },
    408: {
      description: 'The request did not come to its end in time. There is no body.',
      headers: headersOf([...always, 'Vary', 'Cache-Control']),
    },
    ...Object.fromEntries(
      statuses.map((status) => [status, problemResponse(status, problemExamples(route, status), always)]),
    ),
  };
}

/** The header fields that every response of an operation may have. */
function fieldsOfEvery({ deprecation }: Route): readonly HeaderFieldName[] {
  if (deprecation === undefined) return ['X-Request-Id'];
  const sunset: readonly HeaderFieldName[] = deprecation.sunset === undefined ? [] : ['Sunset'];
  return ['X-Request-Id', 'Deprecation', ...sunset, 'Link'];
}
