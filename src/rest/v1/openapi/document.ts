import { SCOPES } from '../../../auth/viewer.js';
import { closedObject, listOf, type Schema, schemaReference, text, timestamp } from '../json-schema.js';
import { EXAMPLE_CURSOR, isInPath, type Parameter } from '../parameters.js';
import { type AnonymousAccess, isOpen, type Route } from '../routes.js';
import { exampleOf } from './examples.js';
import { recordSchemas } from './record-schemas.js';
import { HEADER_FIELDS, PROBLEM_SCHEMA, responsesOf } from './responses.js';

/**
 * What the document says of the service around the table of routes. Without what it has of AnonymousAccess, a
 * token is needed for every operation with a scope, and for no other.
 */
interface DocumentOptions extends Partial<AnonymousAccess> {
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
  const schemas = {
    ...Object.fromEntries(routes.map(({ body }) => [body.name, body.schema])),
    ...recordSchemas(),
    ...HEADER_SCHEMAS,
    Timestamp: TIMESTAMP,
    Problem: PROBLEM_SCHEMA,
  };
  return {
    openapi: '3.1.0',
    info: {
      title: 'Domain Metadata Service',
      version,
      summary: 'DNS records and HTTP response headers of domains over time.',
      description: `${DESCRIPTION}\n\n[This document as a page](${api}/docs).`,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: api, description: 'The server that this document comes from.' }],
    tags: [{ name: 'Domains', description: 'What was observed of a domain.' }],
    paths: Object.fromEntries(
      routes.map((route) => [route.path, { get: operationOf(route, access, schemas) }]),
    ),
    components: {
      securitySchemes: { [TOKEN_SCHEME]: TOKEN },
      parameters: CONDITIONS,
      headers: HEADER_FIELDS,
      schemas,
    },
  };
}

function operationOf(
  route: Route,
  access: AnonymousAccess,
  schemas: Readonly<Record<string, Schema>>,
): object {
  const { operationId, name, description, maturity } = route;
  const paragraphs = [description, `Maturity: **${maturity}**.`, accessOf(route, access)];
  return {
    operationId,
    summary: name,
    description: paragraphs.join('\n\n'),
    tags: ['Domains'],
    'x-maturity': maturity,
    parameters: parametersOf(route),
    security: securityOf(route, access),
    responses: responsesOf(route, access, exampleOf(route.body.schema, schemas)),
  };
}

/** An empty object among them: nothing is needed (OpenAPI 3.1.0, section 4.8.10). */
function securityOf(route: Route, access: AnonymousAccess): readonly object[] {
  if (isOpen(route, access)) return [{}, { [TOKEN_SCHEME]: [] }];
  return [{ [TOKEN_SCHEME]: route.scope === null ? [] : [route.scope] }];
}

function accessOf(route: Route, access: AnonymousAccess): string {
  const { scope } = route;
  if (isOpen(route, access)) {
    const opened = ": the server's `ANONYMOUS_SCOPES` opens operations with the scope";
    return `Needs no access token${scope === null ? '' : `${opened} \`${scope}\``}.`;
  }
  if (scope === null) return 'Needs an access token.';
  const opened = access.tokenRequired
    ? ''
    : ", unless the server's `ANONYMOUS_SCOPES` opens it to all clients";
  return `Needs an access token with the scope \`${scope}\`${opened}.`;
}

function parametersOf({ path, parameters, state, live }: Route): readonly object[] {
  const ofRequest = Object.entries(parameters).map(([name, parameter]) => parameterOf(path, name, parameter));
  const own = live === undefined ? ofRequest : [...ofRequest, LAST_EVENT_ID];
  const conditions = Object.keys(CONDITIONS).map((name) => ({ $ref: `#/components/parameters/${name}` }));
  return state === null ? own : [...own, ...conditions];
}

function parameterOf(path: string, name: string, parameter: Parameter): object {
  const inPath = isInPath(path, name);
  const { description, schema, allowReserved, required = inPath } = parameter;
  return {
    name,
    in: inPath ? 'path' : 'query',
    required,
    description,
    ...(allowReserved && { allowReserved }),
    schema,
    example: exampleValue(parameter),
  };
}

/** The example as a value of the schema. */
function exampleValue({ schema, example }: Parameter): unknown {
  switch (schema['type']) {
    case 'array':
      return [example];
    case 'integer':
      return Number(example);
    case 'boolean':
      return example === 'true';
    default:
      return example;
  }
}

const DESCRIPTION = `The history of domains, read-only. Every operation has the method GET, and HEAD for the header
fields alone; any other is rejected with 405. Bodies are JSON, with their keys in the order shown here; pages of lists
are CSV or NDJSON, too, for a client that prefers these, and have the next page in \`Link\`.
Errors have the members of RFC 9457 and a \`code\`; their media type is \`application/problem+json\` for a client
whose \`Accept\` names it, and \`application/json\` for all others.

## Versions and deprecation

\`/api/v1\` is the version; changes that would break clients of stable operations get a new one beside it. Each
operation has a maturity. **Testing**: complete and meant to stay, but its body may still
change. **Developing**: anything may change with any release. An operation that will be removed works for at
least six months with the header fields \`Deprecation\` (RFC 9745) and \`Link\`, and with \`Sunset\` (RFC 8594) once
its last day is known. CHANGELOG.md of the service lists every change.`;

/** The name of the security scheme. */
const TOKEN_SCHEME = 'accessToken';

const SCOPE_NAMES = new Intl.ListFormat('en-GB').format(SCOPES.map((scope) => `\`${scope}\``));

const TOKEN = {
  type: 'http',
  scheme: 'bearer',
  description:
    'An access token, sent as `Authorization: Bearer <token>`. The operator of the service creates one with ' +
    `\`dms token create\`. Its scopes are ${SCOPE_NAMES}; each ` +
    'operation has the one that it needs. A token that is sent must be valid, even where none is needed.',
};

/** The header field with which EventSource reconnects. */
const LAST_EVENT_ID = {
  name: 'Last-Event-ID',
  in: 'header',
  description: 'Of a request for server-sent events: the `id` that they follow, before `after`.',
  schema: { type: 'string' },
  example: EXAMPLE_CURSOR,
};

/** The header fields of a conditional request. */
const CONDITIONS = {
  IfNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    description: 'The `ETag` of a response that the client has: 304 where it is still the same.',
    schema: { type: 'string' },
    example: HEADER_FIELDS.ETag.example,
  },
  IfModifiedSince: {
    name: 'If-Modified-Since',
    in: 'header',
    description:
      'The `Last-Modified` of a response that the client has: 304 where nothing was recorded since. It is ' +
      'ignored beside `If-None-Match`.',
    schema: { type: 'string' },
    example: HEADER_FIELDS['Last-Modified'].example,
  },
};

/** The schemas of HTTP headers and their history, by name (specification, 2.4 and 2.5). */
const HEADER_SCHEMAS: Readonly<Record<string, Schema>> = {
  HttpHeaderEntry: closedObject(
    'An HTTP response header and its history, also of one that is gone. Whether it is, GraphQL says: `HeaderHistory.present`, and ' +
      'when it was last seen: `HeaderHistory.lastSeen`.',
    {
      name: text('The name of the header, in lower case.', 'server'),
      value: text('The newest value: the `new` of the newest item of `history`.', 'nginx'),
      history: {
        ...listOf(schemaReference('HttpHeaderChange'), 'The values over time, oldest first.'),
        minItems: 1,
      },
    },
  ),
  HttpHeaderChange: closedObject('A new value of a header.', {
    event: {
      type: 'string',
      enum: ['created', 'updated'],
      description: '`created` for the first value of the header, `updated` for each later one.',
    },
    date: timestamp('When the value was first observed.'),
    new: text(
      'The value after the change. Several fields of one name are joined by a comma and a space.',
      'nginx',
    ),
    old: {
      type: ['string', 'null'],
      description: 'The value before the change; null for `created`.',
      examples: [null],
    },
  }),
};

const TIMESTAMP: Schema = {
  type: 'string',
  format: 'date-time',
  pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{6}Z$',
  description: 'A time in UTC, to the microsecond.',
  examples: ['2024-03-01T10:20:30.123456Z'],
};
