import type { AnonymousAccess } from '../anonymous-access.js';
import type { Route } from '../routes.js';
import { BODY_SCHEMAS } from './body-schemas.js';
import { HEADER_FIELDS } from './header-fields.js';
import { operationOf, TOKEN_SCHEME } from './operation.js';
import { PROBLEM_SCHEMA } from './problems.js';

/**
 * What the document says of the service around the table of routes. Without what it has of AnonymousAccess, a
 * token is needed for every operation with a scope, and for no other.
 */
export interface DocumentOptions extends Partial<AnonymousAccess> {
  /** '' or like `/dms`. */
  readonly basePath: string;
  /** The version of the program. */
  readonly version: string;
}

/** REST v1 as OpenAPI 3.1 describes it: made from the table of routes. */
export function openApiDocument(
  routes: readonly Route[],
  { basePath, version, tokenRequired = false, anonymousScopes = new Set() }: DocumentOptions,
): object {
  const api = `${basePath}/api/v1`;
  const access = { tokenRequired, anonymousScopes };
  return {
    openapi: '3.1.1',
    info: {
      title: 'Domain Metadata Service',
      version,
      summary: 'DNS records and HTTP response headers of domains over time.',
      description: DESCRIPTION,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: api, description: 'The server that this document comes from.' }],
    externalDocs: { url: `${api}/docs`, description: 'This document as a page.' },
    tags: [{ name: 'Domains', description: 'What was observed of a domain.' }],
    paths: Object.fromEntries(routes.map((route) => [route.path, { get: operationOf(route, access) }])),
    components: {
      securitySchemes: { [TOKEN_SCHEME]: TOKEN },
      parameters: PARAMETERS,
      headers: headersFor(routes),
      schemas: { ...BODY_SCHEMAS, Problem: PROBLEM_SCHEMA },
    },
  };
}

const DESCRIPTION = `The history of domains, for reading. Every operation is asked by GET, and by HEAD for the header
fields alone; another method is answered with 405. Bodies are JSON, with their keys in the order shown here.
Errors have the members of RFC 9457 and a \`code\`; their media type is \`application/problem+json\` for a client
whose \`Accept\` names it, and \`application/json\` for all others.

## Versions and deprecation

\`/api/v1\` is the version; what would break clients of settled operations comes under a new one, beside it. The
maturity of an operation says how settled it is. **Testing**: complete and meant to stay, but its body may still
change. **Developing**: everything of it may change with any release. An operation that is to go answers for at
least six months with the header fields \`Deprecation\` (RFC 9745) and \`Link\`, and with \`Sunset\` (RFC 8594) once
the day of its end is known. The file CHANGELOG.md of the service tells of every change.`;

const TOKEN = {
  type: 'http',
  scheme: 'bearer',
  description:
    'An access token, sent as `Authorization: Bearer <token>`. Whoever runs the service makes one with ' +
    '`dms token create`. Its scopes are `dns:read`, `details:read`, `headers:read` and `search:read`; each ' +
    'operation says which one it needs. A token that is sent must be valid, even where none is needed.',
};

const PARAMETERS = {
  IfNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    description: 'The `ETag` of an answer that the client has: 304 where it is still the same.',
    schema: { type: 'string' },
  },
  IfModifiedSince: {
    name: 'If-Modified-Since',
    in: 'header',
    description:
      'The `Last-Modified` of an answer that the client has: 304 where nothing was recorded since. It is not ' +
      'looked at beside `If-None-Match`.',
    schema: { type: 'string' },
  },
};

/** Those that are used: the fields of deprecation only where there is one. */
function headersFor(routes: readonly Route[]): object {
  const deprecations = routes.flatMap(({ deprecation }) => deprecation ?? []);
  const unused = new Set([
    ...(deprecations.length === 0 ? ['Deprecation', 'Link'] : []),
    ...(deprecations.some(({ sunset }) => sunset !== undefined) ? [] : ['Sunset']),
  ]);
  return Object.fromEntries(Object.entries(HEADER_FIELDS).filter(([name]) => !unused.has(name)));
}
