import { STATUS_OF_CODE } from '../../../graphql/format-error.js';
import { csvHead } from '../../../model/csv.js';
import { DESCRIBED, schemaReference } from '../described.js';
import { linesOf } from '../media-types.js';
import { type AnonymousAccess, isOpen, type Route } from '../routes.js';

export function responsesOf(
  route: Route,
  access: AnonymousAccess,
  example: unknown,
): Readonly<Record<string, object>> {
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
