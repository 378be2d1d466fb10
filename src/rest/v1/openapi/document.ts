import { buildSchema, isObjectType } from 'graphql';
import { STATUS_OF_CODE } from '../../../graphql/format-error.js';
import { schemaText } from '../../../graphql/schema.js';
import { csvHead } from '../../../model/csv.js';
import { TYPE_NAMES } from '../../../model/dns-types.js';
import {
  graphqlTypeOf,
  OTHER_RDATA_FIELDS,
  RDATA_FIELDS,
  type RdataField,
} from '../../../model/rdata-types.js';
import { DESCRIBED, type Schema, schemaReference } from '../described.js';
import { isTime, type Parameter } from '../parameters.js';
import { linesOf } from '../presenters/body.js';
import { type AnonymousAccess, isOpen, type Route } from '../routes.js';

const { LastEventID: LAST_EVENT_ID, ...CONDITIONS } = DESCRIBED.components.parameters;

/**
 * REST v1 as OpenAPI 3.1: openapi.yaml, with what follows from routes, types of records and settings.
 *
 * @param options Without what they have of AnonymousAccess, exactly the operations with a scope need a token.
 */
export function openApiDocument(
  routes: readonly Route[],
  options: { readonly basePath: string; readonly version: string } & Partial<AnonymousAccess>,
): object {
  const { basePath, version, tokenRequired = false, anonymousScopes = new Set() } = options;
  const api = `${basePath}/api/v1`;
  const access = { tokenRequired, anonymousScopes };
  const { headers, schemas: described, securitySchemes } = DESCRIBED.components;
  const first = [...routes.map(({ body }) => body.name), 'DnsRecordEntry'];
  const bodies = Object.fromEntries(first.map((name) => [name, described[name] ?? {}]));
  const schemas = { ...bodies, ...recordSchemas(), ...described };
  const description = `${DESCRIBED.info.description}\n\n[This document as a page](${api}/docs).`;
  return {
    openapi: '3.1.0',
    info: { ...DESCRIBED.info, version, description },
    servers: [{ url: api, description: 'The server that this document comes from.' }],
    tags: DESCRIBED.tags,
    paths: Object.fromEntries(
      routes.map((route) => [route.path, { get: operationOf(route, access, schemas) }]),
    ),
    components: { securitySchemes, parameters: CONDITIONS, headers, schemas },
  };
}

function operationOf(route: Route, access: AnonymousAccess, schemas: Readonly<Record<string, Schema>>) {
  const { operationId, summary, 'x-maturity': maturity, 'x-stream': stream, state, body, scope } = route;
  // A feed of all domains has an ETag alone.
  const conditions = Object.keys(CONDITIONS)
    .filter((name) => state !== null || (body.feed !== undefined && name === 'IfNoneMatch'))
    .map((name) => ({ $ref: `#/components/parameters/${name}` }));
  return {
    operationId,
    summary,
    description: [route.description, `Maturity: **${maturity}**.`, accessOf(route, access)].join('\n\n'),
    tags: ['Domains'],
    'x-maturity': maturity,
    parameters: [
      ...route.parameters.map(parameterOf),
      ...(stream === undefined ? [] : [LAST_EVENT_ID]),
      ...conditions,
    ],
    // An empty object among them: nothing is needed (OpenAPI 3.1.0, section 4.8.10).
    security: isOpen(route, access)
      ? [{}, { accessToken: [] }]
      : [{ accessToken: scope === null ? [] : [scope] }],
    responses: responsesOf(route, access, exampleOf(schemas[route.body.name] ?? {}, schemas)),
  };
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

function parameterOf(parameter: Parameter): object {
  const { name, description, schema, example } = parameter;
  return {
    ...{ name, in: 'query', required: parameter.in === 'path' },
    ...parameter,
    description: isTime(parameter) ? `${description} ${DESCRIBED['x-time-forms']}` : description,
    example: schema.type === 'array' ? [example] : example,
  };
}

/** Made of the examples of the schema's parts: of several shapes the first, of a list one item. */
function exampleOf(schema: Schema, schemas: Readonly<Record<string, Schema>>): unknown {
  const { $ref, examples, const: only, enum: values, oneOf, properties, items } = schema;
  const of = (part: unknown) => exampleOf(Object(part), schemas);
  if (Array.isArray(examples)) return examples[0];
  if (typeof $ref === 'string') return of(schemas[$ref.slice($ref.lastIndexOf('/') + 1)]);
  if (only !== undefined) return only;
  if (Array.isArray(values)) return values[0];
  if (Array.isArray(oneOf)) return of(oneOf[0]);
  if (items !== undefined) return [of(items)];
  if (properties === undefined) return schema['type'] === 'integer' ? 1 : null;
  const required = Object.keys(Object(properties)).filter((name) =>
    Object(schema['required']).includes(name),
  );
  return Object.fromEntries(required.map((name) => [name, of(Object(properties)[name])]));
}

function responsesOf(route: Route, access: AnonymousAccess, example: unknown): object {
  const never = [
    ...(route.state === null ? ['Last-Modified', ...(route.body.feed ? [] : ['304', 'ETag'])] : []),
    ...(route.scope === null || isOpen(route, access) ? ['403'] : []),
    ...(route.missing === null ? ['404'] : []),
    ...(route.body.page === undefined ? ['Link'] : []),
  ];
  const responses = Object.entries(DESCRIBED.components.responses).filter(
    ([status]) => !never.includes(status),
  );
  return Object.fromEntries(
    responses.map(([status, { description, 'x-headers': names }]) => {
      const headers = names.filter((name) => !never.includes(name));
      const references = headers.map((name) => [name, { $ref: `#/components/headers/${name}` }]);
      const content = status === '200' ? contentOf(route, example) : problemsOf(Number(status));
      return [status, { description, headers: Object.fromEntries(references), ...content }];
    }),
  );
}

function contentOf(route: Route, example: unknown): object {
  const { body, 'x-csv-row': row, 'x-stream': stream } = route;
  if (body.feed)
    return { content: { [body.feed.mediaType]: { schema: schemaReference(body.name), example } } };
  const [items = []] = Object.values(Object(example)).filter(Array.isArray);
  const { 'x-tables': tables, components } = DESCRIBED;
  const columns = body.page?.columns ?? [];
  const described = tables['text/csv'].description.replace('{columns}', columns.join(', '));
  const content = {
    'application/json': { schema: schemaReference(body.name), example },
    ...(body.page && {
      'text/csv': {
        schema: { ...tables['text/csv'], description: described },
        example: `${csvHead(columns)}${row}\r\n`,
      },
      'application/x-ndjson': { schema: tables['application/x-ndjson'], example: linesOf(items) },
    }),
    ...(stream !== undefined && {
      'text/event-stream': {
        schema: { type: 'string', description: stream },
        example: `id: ${Object(components.parameters['LastEventID']).example}\n\n`,
      },
    }),
  };
  return { content };
}

/** The forms of an error. Each adds to the schema of every error's body by `allOf`: that one is open. */
function problemsOf(status: number): object {
  const codes = Object.entries(STATUS_OF_CODE).flatMap(([code, [its]]) => (its === status ? [code] : []));
  // A client that was too slow, or has the body, gets none.
  if (codes.length === 0) return {};
  const properties = { status: { type: 'integer', const: status }, code: { type: 'string', enum: codes } };
  const problem = { schema: { allOf: [schemaReference('Problem'), { type: 'object', properties }] } };
  // Where the header fields are not read, it is not known what the client accepts.
  const forms = status === 431 ? {} : { 'application/problem+json': problem };
  return { content: { 'application/json': problem, ...forms } };
}

/** The schemas of the data of DNS records, by name (specification, 2.3). */
function recordSchemas(): Readonly<Record<string, Schema>> {
  const types = [...RDATA_FIELDS.keys()];
  const dataOf = dataSchemas();
  return {
    DnsRecordData: oneOf(
      'What the record says: the field `type` decides which fields follow the common ones. All types that ' +
        'have no schema of their own, `DS`, `TLSA`, `HTTPS` or `TYPE65534` for example, are OtherRecordData.',
      [...types, 'OTHER'],
      // Those that have names, so that clients can tell the schemas apart; the numbered ones are too many.
      TYPE_NAMES,
    ),
    TypedRecordData: oneOf('The data of a record whose type has fields of its own.', types, types),
    ...Object.fromEntries(
      Array.from(RDATA_FIELDS, ([type, fields]) => [schemaName(type), dataOf(type, { const: type }, fields)]),
    ),
    [schemaName('OTHER')]: dataOf(
      'OTHER',
      { pattern: '^[A-Z][A-Z0-9-]*$', not: { type: 'string', enum: types }, examples: ['TYPE65534'] },
      OTHER_RDATA_FIELDS,
    ),
  };
}

/** @param named The types that the discriminator names. */
function oneOf(description: string, types: readonly string[], named: readonly string[]): Schema {
  const refOf = (type: string) => schemaReference(schemaName(RDATA_FIELDS.has(type) ? type : 'OTHER'));
  const mapping = Object.fromEntries(named.map((type) => [type, refOf(type)['$ref']]));
  return { description, oneOf: types.map(refOf), discriminator: { propertyName: 'type', mapping } };
}

function schemaName(type: string): string {
  return `${graphqlTypeOf(type)}Data`;
}

function dataSchemas() {
  const { common, kinds, notes } = DESCRIBED['x-rdata'];
  const graphql = buildSchema(schemaText());
  return (type: string, values: Schema, fields: readonly RdataField[]): Schema => {
    const described = graphql.getType(graphqlTypeOf(type));
    const texts = isObjectType(described) ? described.getFields() : {};
    const own = fields.map(({ name, graphqlName, kind }) => {
      const description = [forRest(texts[graphqlName]?.description), notes[kind] ?? []].flat().join(' ');
      return [name, { ...kinds[kind], description }];
    });
    const properties: Readonly<Record<string, Schema>> = {
      ...common,
      type: { type: 'string', ...values, description: 'The type of the record.' },
      ...Object.fromEntries(own),
    };
    return {
      type: 'object',
      description: forRest(described?.description),
      required: Object.keys(properties),
      properties,
      additionalProperties: false,
    };
  };
}

function forRest(description: string | null | undefined): string {
  return (description ?? '').replace(/ REST calls .*$/s, '');
}
