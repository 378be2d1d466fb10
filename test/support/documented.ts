import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { memoized } from '../../src/model/memoized.js';
import { openApiDocument } from '../../src/rest/v1/openapi/document.js';
import { ROUTES } from '../../src/rest/v1/routes.js';
import { parseCsv } from './csv.js';
import { xmlFault } from './xml.js';

export interface Exchange {
  readonly method: string;
  /** After `/api/v1`, without the query. */
  readonly path: string;
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

type Json = { readonly [key: string]: Json };

const TEXT = JSON.stringify(openApiDocument(ROUTES, { basePath: '', version: '1' }));
/** It says that keys come in the order in which it names them; JSON Schema has no word for that. */
const DOCUMENT: Json = JSON.parse(TEXT, (_key, value) =>
  Array.isArray(value?.required) ? { ...value, keysInOrder: Object.keys(value.properties ?? {}) } : value,
);
const ajv = new Ajv2020({ strictTypes: false });
formats.default(ajv);
ajv.addVocabulary([...Object.keys(DOCUMENT), 'discriminator']);
ajv.addKeyword({
  keyword: 'keysInOrder',
  type: 'object',
  validate: (order: readonly string[], value: object) =>
    Object.keys(value).join() === order.filter((key) => key in value).join(),
});
ajv.addSchema({ ...DOCUMENT, $id: 'openapi' });

/**
 * What is wrong with a response by the OpenAPI document: nothing, if it is documented for its path, with
 * its media type, its header fields, and its body to the last key and in the order of the keys. What is
 * no operation is a problem, or has no body: a success (that of a CORS preflight), or a request that came to no end.
 */
export function violationsOf(exchange: Exchange): readonly string[] {
  const { method, path, status } = exchange;
  const reads = method === 'GET' || method === 'HEAD';
  const route = ROUTES.find((each) => new RegExp(`^${each.path.replace('{domain}', '[^/]+')}$`).test(path));
  if (route === undefined || !reads) {
    if (status < 400 || status === 408)
      return exchange.body === '' ? [] : [`${status} is no problem, and no operation's answer`];
    return bodyViolations(exchange, ['application/json', 'application/problem+json'], () => PROBLEM);
  }
  const place = ['paths', route.path, 'get', 'responses', String(status)];
  const response = at(place);
  if (response === undefined) return [`${status} is not documented for ${route.summary}`];
  const mediaTypes = Object.keys(response['content'] ?? {});
  return [
    ...headerViolations(response['headers'] ?? {}, exchange.headers),
    ...bodyViolations(exchange, mediaTypes, (type) => pointer([...place, 'content', type, 'schema'])),
  ];
}

const PROBLEM = pointer(['components', 'schemas', 'Problem']);

function at(place: readonly string[]): Json | undefined {
  return place.reduce<Json | undefined>((value, key) => value?.[key], DOCUMENT);
}

function pointer(place: readonly string[]): string {
  const tokens = place.map((key) => encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1')));
  return `openapi#/${tokens.join('/')}`;
}

function bodyViolations(
  { method, status, headers, body }: Exchange,
  mediaTypes: readonly string[],
  schemaOf: (mediaType: string) => string,
): readonly string[] {
  if (mediaTypes.length === 0) return body === '' ? [] : [`${status} has a body`];
  const contentType = headers.get('content-type') ?? '';
  const mediaType = mediaTypes.find((candidate) => contentType === `${candidate}; charset=utf-8`);
  if (mediaType === undefined) return [`the media type ${contentType} is not documented`];
  if (method === 'HEAD') return body === '' ? [] : ['HEAD has a body'];
  if (mediaType === 'application/atom+xml') return [xmlFault(body) ?? []].flat();
  const parse = PARSERS[mediaType];
  if (parse === undefined) return schemaViolations(schemaOf(mediaType), JSON.parse(body), 'body');
  parse(body);
  return [];
}

/** Of what has no schema: they throw where it is not well-formed. */
const PARSERS: Readonly<Record<string, (body: string) => unknown>> = {
  'text/event-stream': () => {},
  'text/csv': parseCsv,
  'application/x-ndjson': (body) => body.match(/[^\n]*\n|[^\n]+$/g)?.map((line) => JSON.parse(line)),
};

function headerViolations(documented: Json, headers: Headers): readonly string[] {
  return Object.keys(documented).flatMap((name) => {
    const text = headers.get(name);
    const header = at(['components', 'headers', name]);
    const isRequired: unknown = header?.['required'];
    if (text === null) return isRequired === true ? [`the header ${name} is missing`] : [];
    const isNumber = /"type":"integer"/.test(JSON.stringify(header));
    const schema = pointer(['components', 'headers', name, 'schema']);
    return schemaViolations(schema, isNumber ? Number(text) : text, name);
  });
}

/** Compiled once: ajv keeps a schema by its object, and compiles it anew for any other that says the same. */
const validatorOf = memoized(($ref: string) => ajv.compile({ $ref }));

function schemaViolations($ref: string, value: unknown, what: string): readonly string[] {
  const validate = validatorOf($ref);
  if (validate(value)) return [];
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${what}${instancePath}: ${message} ${JSON.stringify(params)}`,
  );
}
